"""The engines of the speed table, by name. Importing this imports none of them."""

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


def engine_class(name: str) -> type[Engine]:
    """The class behind a name; ImportError where its package is missing."""
    _, module, attribute = PLACES[name]
    found: type[Engine] = getattr(import_module(module), attribute)
    return found
