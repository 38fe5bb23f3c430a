"""Every table and figure by name, and how one is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from experiments import (
    adaptive_k,
    confidence,
    fusion,
    kinds,
    languages,
    long,
    more_like_this,
    multilingual,
    needles,
    photo_queries,
    quality,
    short_texts,
    terms_kept,
    together,
    trials,
)
from experiments.base import Context, Made, Table
from experiments.bm25v import cost as bm25v_cost
from experiments.bm25v import tables as bm25v
from experiments.hybridvl import index as hybridvl_index
from experiments.hybridvl import sweeps as hybridvl_sweeps
from experiments.hybridvl import tables as hybridvl
from experiments.latentterms import tables as latentterms
from experiments.surrogate import figure1
from zipfian.errors import InvalidInput

TABLES: dict[str, Table] = {
    table.name: table
    for part in (
        bm25v,
        bm25v_cost,
        latentterms,
        hybridvl,
        hybridvl_sweeps,
        hybridvl_index,
        adaptive_k,
        figure1,
        fusion,
        kinds,
        languages,
        long,
        more_like_this,
        multilingual,
        needles,
        quality,
        short_texts,
        terms_kept,
        confidence,
        together,
        photo_queries,
        trials,
    )
    for table in part.TABLES
}


def run_table(name: str, data: Mapping[str, Path], out: Path | None = None, work: Path | None = None) -> Made:
    """Make one table; with `out`, its files too."""
    if name not in TABLES:
        raise InvalidInput(f"unknown table {name!r}; there are: {', '.join(TABLES)}")
    table = TABLES[name]
    made = table.run(Context(name, dict(data), table.data, work))
    given = {key: path.name for key, path in data.items()}  # where it lay on this machine is nobody's business
    made = replace(made, settings={**made.settings, "data": given})
    if out is not None:
        made.write(out)
    return made
