"""Deletes: the statistics without the deleted documents, in any number of steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.fields import SPECS, as_rows, few, from_rows, random_field, segment_batch
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index.deletes import Deletes, FieldDeletes, read_deletes, write_deletes
from zipfian.index.field import FieldWriteSpec
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.types import FieldBatch

FIELDS = {"words": ("count", True), "latent": ("fixed", False), "root": ("sqrt", False), "float": ("float32", False)}


def segment(
    directory: MemoryDirectory, seed: int = 1, n: int = 60
) -> tuple[SegmentReader, dict[str, FieldBatch], dict[str, FieldWriteSpec]]:
    fields = {
        name: random_field(seed + i, n, 25, 5, "fixed" if kind == "sqrt" else kind, words)
        for i, (name, (kind, words)) in enumerate(FIELDS.items())
    }
    specs = {name: SPECS[kind] for name, (kind, _) in FIELDS.items()}
    entry = write_segment(directory, "s1", segment_batch([f"d{i}" for i in range(n)], fields), specs, {})
    return SegmentReader(directory, entry), fields, specs


@few(40)
@given(st.lists(st.lists(st.integers(0, 59), max_size=25), min_size=1, max_size=4))
def test_statistics_are_those_of_the_documents_that_are_left(steps: list[list[int]]) -> None:
    directory = MemoryDirectory()
    reader, fields, specs = segment(directory)
    for docs in steps:
        reader = SegmentReader(directory, delete_documents(directory, reader, np.array(docs, np.int64)))
    gone = {d for docs in steps for d in docs}
    assert reader.n_live == 60 - len(gone)
    assert np.flatnonzero(~reader.live).tolist() == sorted(gone)
    rebuilt_directory = MemoryDirectory()
    left = {
        name: from_rows([row for d, row in enumerate(as_rows(field)) if d not in gone], field)
        for name, field in fields.items()
    }
    ids = [f"d{i}" for i in range(60) if i not in gone]
    rebuilt = SegmentReader(
        rebuilt_directory, write_segment(rebuilt_directory, "s1", segment_batch(ids, left), specs, {})
    )
    for name in FIELDS:
        assert reader.total_length_live(name) == rebuilt.fields[name].total_length
        live = {reader.fields[name].term(i): n for i, n in enumerate(reader.df_live(name).tolist()) if n}
        assert live == {rebuilt.fields[name].term(i): n for i, n in enumerate(rebuilt.fields[name].df.tolist())}
    for i in range(60):
        assert reader.find(f"d{i}") == (-1 if i in gone else i)


def test_deleting_again_changes_nothing() -> None:
    directory = MemoryDirectory()
    reader, _, _ = segment(directory)
    entry = delete_documents(directory, reader, np.array([3, 5]))
    again = SegmentReader(directory, entry)
    assert delete_documents(directory, again, np.array([5, 3, 3])) is again.entry
    assert delete_documents(directory, again, np.array([], np.int64)) is again.entry


def test_documents_out_of_range() -> None:
    directory = MemoryDirectory()
    reader, _, _ = segment(directory)
    for bad in (-1, 60):
        with pytest.raises(InvalidInput, match="out of range"):
            delete_documents(directory, reader, np.array([bad]))


def test_a_delete_reads_few_bytes_of_the_postings() -> None:
    """It goes through the forward index; posting lists are not touched."""
    directory = MemoryDirectory()
    reader, _, _ = segment(directory)
    reader.deletes.plus(np.array([1, 2]), reader.fields)
    assert "blocks" not in vars(reader.fields["words"])


def forged(
    n_deleted: int = 2,
    terms: tuple[int, ...] = (0, 1),
    counts: tuple[int, ...] = (1, 1),
    length: Any = 3,
    listed: Any = None,
) -> MemoryDirectory:
    directory = MemoryDirectory()
    deletes = Deletes(np.arange(60) < 2, {"words": FieldDeletes(np.array(terms), np.array(counts), 3)})
    good = SectionFile.open(directory, write_deletes(directory, "a.del", deletes), "del")
    meta = {**good.meta, "n_deleted": n_deleted}
    meta["fields"] = [{**meta["fields"][0], "length": length}] if listed is None else listed
    with SectionWriter(directory, "b.del", "del", meta) as file:
        for name in good.names:
            file.add(name, good.array(name))
        file.close()
    return directory


@pytest.mark.parametrize(
    "change",
    [
        {"n_deleted": 3},
        {"n_deleted": -1},
        {"terms": (1, 0)},
        {"terms": (1, 1)},
        {"counts": (0, 1)},
        {"length": -1},
        {"length": "x"},
        {"listed": 3},
        {"listed": [{}]},
        {"listed": [{"name": "words", "terms": 5, "length": 1}]},
    ],
)
def test_forged_files_with_sound_checksums_are_errors(change: Any) -> None:
    assert read_deletes(forged(), "b.del").count == 2
    with pytest.raises(IndexCorrupt):
        read_deletes(forged(**change), "b.del")


def test_deletes_that_do_not_belong_to_the_segment() -> None:
    directory = MemoryDirectory()
    reader, _, _ = segment(directory)
    share = FieldDeletes(np.array([0]), np.array([1]), 1)
    flags = np.arange(60) < 1
    all_fields = dict.fromkeys(FIELDS, share)
    wrong = {
        "fewer documents": Deletes(flags[:50], all_fields),
        "a field not counted": Deletes(flags, {"words": share}),
        "a term that is not there": Deletes(
            flags, {**all_fields, "words": FieldDeletes(np.array([99]), np.array([1]), 1)}
        ),
        "more than were deleted": Deletes(
            flags, {**all_fields, "words": FieldDeletes(np.array([0]), np.array([2]), 1)}
        ),
    }
    for i, deletes in enumerate(wrong.values()):
        ref = write_deletes(directory, f"x{i}.del", deletes)
        with pytest.raises(IndexCorrupt):
            SegmentReader(directory, reader.entry.with_file("del", ref))
    rare = int(np.argmin(reader.fields["words"].df))
    n = int(reader.fields["words"].df[rare]) + 1
    too_many = Deletes(np.arange(60) < n, {**all_fields, "words": FieldDeletes(np.array([rare]), np.array([n]), 10**9)})
    ref = write_deletes(directory, "y.del", too_many)
    damaged = SegmentReader(directory, reader.entry.with_file("del", ref))
    with pytest.raises(IndexCorrupt, match="takes away more"):
        damaged.df_live("words")
    with pytest.raises(IndexCorrupt, match="takes away more"):
        damaged.total_length_live("words")
