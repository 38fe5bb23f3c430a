"""A collection for one table: settings of a field are fixed when it is made, so other settings need another field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from zipfian.collection import Collection
from zipfian.evaluate.datasets.base import Dataset
from zipfian.fields import Field


@contextmanager
def fresh(dataset: Dataset, fields: Mapping[str, Field]) -> Iterator[Collection]:
    """The documents under these fields, until the block ends. Fields of one encoder share its pass."""
    with (
        TemporaryDirectory(prefix="zipfian-table-") as folder,
        Collection.create(Path(folder) / "table.zf", dict(fields)) as collection,
    ):
        collection.add(dataset.documents())
        collection.commit()
        yield collection
