"""The engines of the benchmarks, by name. Importing this imports none of them."""

from __future__ import annotations

from importlib import import_module

from benchmarks.engines.base import Engine

PLACES = {
    "zipfian": ("zipfian", "benchmarks.engines.own", "Zipfian"),
    "bm25s": ("bm25s", "benchmarks.engines.arrays", "Bm25s"),
    "scipy": ("scipy", "benchmarks.engines.arrays", "ScipyCsc"),
    "tantivy": ("tantivy", "benchmarks.engines.tantivy", "Tantivy"),
    "pisa": ("pyterrier-pisa", "benchmarks.engines.pisa", "Pisa"),
    "pisa-maxscore": ("pyterrier-pisa", "benchmarks.engines.pisa", "PisaMaxScore"),
    "lucene": ("lucene", "benchmarks.engines.lucene", "Lucene"),
}
"""Name -> (distribution, module, class)."""

APPROXIMATE = {
    "seismic": ("pyseismic-lsr", "benchmarks.engines.approximate", "Seismic"),
    "kannolo": ("kannolo", "benchmarks.engines.approximate", "Kannolo"),
}
"""Engines that may miss documents: beside the speed table (`benchmarks.curves`), not in it."""


def distribution(name: str) -> str:
    """What is installed for it."""
    return (PLACES | APPROXIMATE)[name][0]


def engine_class(name: str) -> type[Engine]:
    """The class behind a name; ImportError where its package is missing."""
    _, module, attribute = (PLACES | APPROXIMATE)[name]
    found: type[Engine] = getattr(import_module(module), attribute)
    return found
