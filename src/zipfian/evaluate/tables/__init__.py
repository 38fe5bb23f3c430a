"""One command per published table or figure: `zipfian eval table NAME --data pets=DIR --out DIR`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from zipfian.errors import InvalidInput
from zipfian.evaluate.tables import (
    adaptive_k,
    bm25v,
    bm25v_cost,
    fusion,
    hybridvl,
    hybridvl_index,
    hybridvl_sweeps,
    latentterms,
    surrogate,
)
from zipfian.evaluate.tables.base import Context, Made, Table

_PARTS = (bm25v, bm25v_cost, latentterms, hybridvl, hybridvl_sweeps, hybridvl_index, adaptive_k, surrogate, fusion)

TABLES: dict[str, Table] = {table.name: table for part in _PARTS for table in part.TABLES}


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
