"""The queries of a dataset, encoded many at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import query_of
from zipfian.fields.base import Field
from zipfian.fields.query import Query, encode_together

AT_ONCE = 64
"""Queries encoded together: 50 MB of patches where they are pictures."""


def streamed(dataset: Dataset, fields: Iterable[Field]) -> Iterator[tuple[str, Query]]:
    """Every query, encoded some at a time on all threads: one by one would leave most of them idle."""
    waiting, wanted = list(dataset.queries.items()), list(fields)
    for start in range(0, len(waiting), AT_ONCE):
        part = [(key, query_of(judged)) for key, judged in waiting[start : start + AT_ONCE]]
        encode_together([query for _, query in part], wanted)
        yield from part
