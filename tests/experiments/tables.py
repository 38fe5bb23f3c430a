"""A made-up table, for tests of what is written and shown of one."""

from __future__ import annotations

from experiments.base import Made
from experiments.plots import Plot


def made() -> Made:
    plot = Plot("t", "x", "y", {"a": [(1, 0.5), (2, 0.7)], "b": [(1, 0.1)]}, marks={"published": 1.5})
    rows = [
        {"method": "a|b", "R@1": 0.5, "R@1 paper": None, "index_bytes": 1234.5},
        {"method": "c", "R@1": float("nan")},
    ]
    columns = ["method", "R@1", "R@1 paper", "index_bytes"]
    return Made("seed9-x", "A table", columns, rows, ("a note",), ("HNSW: not built",), {"seed9-x": plot}, {"seed": 1})
