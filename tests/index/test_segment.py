"""Segments: all files together, a field added later, errors that leave nothing behind."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import numpy as np
import pytest

from tests.index.fields import SPECS, as_rows, random_field, segment_batch
from tests.storage.doubles import FaultyDirectory, MemoryDirectory
from zipfian.errors import FileGone, IndexCorrupt, InvalidInput
from zipfian.index.segment import (
    SegmentEntry,
    SegmentReader,
    delete_documents,
    write_field_for_segment,
    write_segment,
)
from zipfian.types import FieldBatch, SegmentBatch

COLUMNS = {"lang": "string", "year": "integer", "day": "date"}
ROWS = [{"lang": "en", "year": 2020}, {"lang": "de", "day": date(2024, 5, 1)}, {}, {"year": None}]
TWO_FIELDS = {"words": SPECS["count"], "latent": SPECS["fixed"]}


def two_fields(n: int) -> dict[str, FieldBatch]:
    return {"words": random_field(1, n, 30, 6, "count", words=True), "latent": random_field(2, n, 50, 8)}


def batch(n: int = 4) -> SegmentBatch:
    vectors = {"pooled": np.ones((n, 3), np.float32)}
    return segment_batch([f"d{i}" for i in range(n)], two_fields(n), ROWS[:n], vectors)


def test_everything_together() -> None:
    directory = MemoryDirectory()
    entry = write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS)
    assert set(entry.files) == {"doc", "field:words", "field:latent", "col", "vec"}
    entry = SegmentEntry.from_json(json.loads(json.dumps(entry.to_json())))
    reader = SegmentReader(directory, entry)
    assert (reader.n_docs, reader.n_live, set(reader.fields)) == (4, 4, {"words", "latent"})
    for name, field in two_fields(4).items():
        assert as_rows(reader.fields[name].to_batch()) == as_rows(field)
        assert reader.df_live(name).tolist() == reader.fields[name].df.tolist()
    assert reader.docs.metadata(1) == ROWS[1] and reader.docs.id(3) == "d3"
    assert reader.columns.types == COLUMNS
    assert reader.column("year").present.tolist() == [True, False, False, False]
    assert reader.column("other") is None
    assert reader.vectors.array("pooled").shape == (4, 3)


def test_files_that_are_not_needed_are_not_written() -> None:
    directory = MemoryDirectory()
    plain = segment_batch(["a"], {})
    entry = write_segment(directory, "s1", plain, {}, {})
    assert set(entry.files) == {"doc"}
    reader = SegmentReader(directory, entry)
    assert reader.columns is None and reader.vectors is None and reader.column("x") is None


def test_a_segment_without_documents() -> None:
    directory = MemoryDirectory()
    entry = write_segment(directory, "s1", segment_batch([], two_fields(0)), TWO_FIELDS, {})
    reader = SegmentReader(directory, entry)
    assert reader.n_live == 0 and reader.find("a") == -1 and reader.total_length_live("words") == 0


def test_two_segments_of_one_id_never_share_a_file() -> None:
    directory = MemoryDirectory()
    first = write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS)
    second = write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS)
    assert not {r.name for r in first.files.values()} & {r.name for r in second.files.values()}


@pytest.mark.parametrize("deleted", [[], [0, 2]])
def test_a_field_added_later(deleted: list[list[int]]) -> None:
    directory = MemoryDirectory()
    only_words = segment_batch([f"d{i}" for i in range(4)], {"words": two_fields(4)["words"]})
    reader = SegmentReader(directory, write_segment(directory, "s1", only_words, {"words": SPECS["count"]}, {}))
    reader = SegmentReader(directory, delete_documents(directory, reader, np.array(deleted, np.int64)))
    latent = two_fields(4)["latent"]
    entry = write_field_for_segment(directory, reader, "latent", latent, SPECS["fixed"])
    later = SegmentReader(directory, entry)
    at_once = SegmentReader(directory, write_segment(directory, "s2", batch(), TWO_FIELDS, COLUMNS))
    at_once = SegmentReader(directory, delete_documents(directory, at_once, np.array(deleted, np.int64)))
    for name in ("words", "latent"):
        assert later.df_live(name).tolist() == at_once.df_live(name).tolist()
        assert later.total_length_live(name) == at_once.total_length_live(name)
    assert later.n_live == 4 - len(deleted) and later.entry.id == "s1"
    with pytest.raises(InvalidInput, match="already"):
        write_field_for_segment(directory, later, "latent", latent, SPECS["fixed"])
    with pytest.raises(InvalidInput, match="rows"):
        write_field_for_segment(directory, later, "third", two_fields(5)["latent"], SPECS["fixed"])


@pytest.mark.parametrize(
    "wrong",
    [
        segment_batch(["a", "b"], {"words": two_fields(3)["words"], "latent": two_fields(2)["latent"]}),
        segment_batch(["a", "b"], {"words": two_fields(2)["words"]}),
        segment_batch(["a", "b"], two_fields(2), metadata=[{}]),
        segment_batch(["a", "b"], two_fields(2), texts=["x"]),
        segment_batch(["a", "b"], two_fields(2), metadata=[{"lang": 3}, {}]),
        segment_batch(["a", "b"], two_fields(2), metadata=[{"unknown": 3}, {}]),
        segment_batch(["a", "b"], two_fields(2), vectors={"v": np.zeros((3, 2), np.float32)}),
        segment_batch(["a", "a"], two_fields(2)),
    ],
)
def test_a_batch_that_does_not_fit_leaves_no_file(wrong: Any) -> None:
    directory = MemoryDirectory()
    with pytest.raises(InvalidInput):
        write_segment(directory, "s1", wrong, TWO_FIELDS, COLUMNS)
    assert directory.list() == []


def test_a_missing_file_is_named() -> None:
    directory = MemoryDirectory()
    entry = write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS)
    directory.delete(entry.files["field:latent"].name)
    with pytest.raises(FileGone) as caught:
        SegmentReader(directory, entry)
    assert caught.value.file == entry.files["field:latent"].name


def test_files_of_another_segment_are_refused() -> None:
    directory = MemoryDirectory()
    entry = write_segment(directory, "s1", batch(4), TWO_FIELDS, COLUMNS)
    other = write_segment(directory, "s2", batch(3), TWO_FIELDS, COLUMNS)
    for role, ref in other.files.items():
        with pytest.raises(IndexCorrupt):
            SegmentReader(directory, entry.with_file(role, ref))
    with pytest.raises(IndexCorrupt, match="no document file"):
        SegmentReader(directory, SegmentEntry("s1", 4, {}))


def test_reading_after_close_is_refused() -> None:
    directory = MemoryDirectory()
    reader = SegmentReader(directory, write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS))
    lengths = reader.fields["words"].lengths
    reader.close()
    assert lengths.sum() > 0
    with pytest.raises(InvalidInput, match="closed"):
        reader.docs.text(0)


def test_files_that_an_earlier_state_has_open_are_read_through_it() -> None:
    directory = MemoryDirectory()
    entry = write_segment(directory, "s1", batch(), TWO_FIELDS, COLUMNS)
    before = SegmentReader(directory, entry)
    changed = delete_documents(directory, before, np.array([1]))
    for ref in entry.files.values():
        directory.delete(ref.name)  # whoever opened them again would notice
    after = SegmentReader(directory, changed, before)
    assert after.docs is before.docs and after.columns is before.columns and after.vectors is before.vectors
    assert all(after.fields[name] is field for name, field in before.fields.items())
    assert (before.n_live, after.n_live) == (4, 3) and after.find(before.docs.id(1)) == -1
    after.close()
    assert before.docs.text(0) == after.docs.text(0)  # who opened a file closes it
    before.close()
    with pytest.raises(InvalidInput, match="closed"):
        after.docs.id(0)


def test_a_file_that_replaced_another_is_not_read_through_the_one_before() -> None:
    directory = MemoryDirectory()
    before = SegmentReader(directory, write_segment(directory, "s1", batch(4), TWO_FIELDS, COLUMNS))
    other = write_segment(directory, "s1", batch(4), TWO_FIELDS, COLUMNS)
    mixed = before.entry.with_file("field:words", other.files["field:words"])
    after = SegmentReader(directory, mixed, before)
    assert after.fields["words"].file.name == other.files["field:words"].name
    assert after.fields["latent"] is before.fields["latent"]
    before.close()
    assert after.fields["words"].lengths.sum() > 0


def test_a_failing_disk_leaves_only_what_could_not_be_deleted() -> None:
    steps = 0
    while True:
        memory = MemoryDirectory()
        broken_at = steps + 1

        def breaks(i: int, verb: str, at: int = broken_at) -> OSError | None:
            return OSError("broken") if i == at else None

        faulty = FaultyDirectory(memory, breaks)
        try:
            write_segment(faulty, "s1", batch(), TWO_FIELDS, COLUMNS)
            break
        except OSError:
            assert memory.list() == []
            steps += 1
    assert steps >= 15
