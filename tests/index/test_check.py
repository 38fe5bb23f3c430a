"""`check` finds what checksums cannot: files that were wrong when they were written."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexNotFound
from zipfian.index.check import check
from zipfian.index.commit import Writer
from zipfian.index.metadata import ColumnType
from zipfian.index.segment import FieldWriteSpec, SegmentReader, delete_documents, write_segment
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.storage.layout import FileRef
from zipfian.types import FieldBatch, SegmentBatch

SPECS = {"words": FieldWriteSpec("count"), "latent": FieldWriteSpec("float32", 1.0, "power:0.7")}
ROWS: list[dict[str, Any]] = [
    {"s": "x", "n": 1.5, "i": 3, "b": True, "d": date(2024, 1, 31), "ls": ["p", "q"], "ln": [1, 2.5], "e": []},
    {"s": "y", "n": 2**60 + 1, "i": -(2**62), "b": False, "d": datetime(2024, 1, 31, 5, tzinfo=UTC), "ls": []},
    {"s": None, "ls": ["q"], "lb": [True, False], "ld": [date(1969, 1, 1)]},
    {},
    {"s": "x", "n": -1, "ln": [2**60 + 1]},
]
COLUMNS: dict[str, ColumnType] = {
    "s": "string", "n": "number", "i": "integer", "b": "boolean", "d": "date", "e": "list",
    "ls": "list[string]", "ln": "list[number]", "lb": "list[boolean]", "ld": "list[date]",
}  # fmt: skip


def batch(prefix: str) -> SegmentBatch:
    n = len(ROWS)
    rng = np.random.default_rng(0)
    dense = rng.random((n, 6)) < 0.6
    indptr, indices = np.concatenate([[0], np.cumsum(dense.sum(1))]), np.nonzero(dense)[1].astype(np.int32)
    tf = rng.integers(1, 9, len(indices))
    return SegmentBatch(
        ids=[f"{prefix}{i}" for i in range(n)],
        texts=[f"text {i}" if i else None for i in range(n)],
        metadata=ROWS,
        fields={
            "words": FieldBatch(indptr, ["a", "b", "c", "d", "e", "f"], indices, tf.astype(np.uint32)),
            "latent": FieldBatch(indptr, np.arange(6) * 7, indices, (tf / 8).astype(np.float32)),
        },
        vectors={"pooled": rng.random((n, 3)).astype(np.float32)},
    )


@pytest.fixture
def directory() -> MemoryDirectory:
    directory = MemoryDirectory()
    with Writer(directory, create=True) as writer:
        for prefix in ("x", "y"):
            writer.add_segment(write_segment(directory, writer.new_segment_id(), batch(prefix), SPECS, COLUMNS))
        first = SegmentReader(directory, writer.entries[0])
        writer.update(delete_documents(directory, first, np.array([1, 3])))
        writer.commit()
    return directory


def test_a_sound_collection(directory: MemoryDirectory) -> None:
    seen: list[str] = []
    report = check(directory, lambda name, size: seen.append(name))
    assert report.ok and report.orphans == [] and report.problems == []
    assert (report.generation, report.generations, report.segments, report.documents) == (2, [1, 2], 2, 8)
    assert report.files == len(seen) + 2 and report.bytes == sum(
        directory.size(name) for name in directory.list() if name != "write.lock"
    )
    assert str(report).startswith("generation 2: 8 documents in 2 segments") and str(report).endswith("ok")


def test_leftovers_are_named_but_are_no_problem(directory: MemoryDirectory) -> None:
    names = ["manifest-000000000009-00000000.tmp", "s00000009-00000000-a.doc"]
    for name in [*names, "readme.md"]:
        directory.create(name).write(b"x")
    report = check(directory)
    assert report.ok and report.orphans == names


def test_all_damage_is_reported_at_once(directory: MemoryDirectory) -> None:
    files = [name for name in directory.list() if name.endswith((".doc", ".field"))]
    for name in files:
        directory.files[name].data[70] ^= 1
    directory.delete(next(name for name in directory.list() if name.endswith(".vec")))
    report = check(directory)
    assert not report.ok and {file for file, _ in report.problems} >= set(files)
    assert len(report.problems) == len(files) + 1
    assert "DAMAGED" in str(report) and str(report).endswith("problems")


def test_nothing_to_check() -> None:
    with pytest.raises(IndexNotFound):
        check(MemoryDirectory())


Change = Callable[[dict[str, Any], dict[str, Any]], None]
"""Changes the sections and the meta data of a file."""


def rewrite(directory: MemoryDirectory, role: str, change: Change) -> str:
    """Replace a file of the first segment by one with right checksums and other content, and commit that."""
    with Writer(directory) as writer:
        entry = writer.entries[0]
        old = SectionFile.open(directory, entry.files[role], role.partition(":")[0])
        sections, meta = {name: old.array(name).copy() for name in old.names}, dict(old.meta)
        change(sections, meta)
        name = f"{entry.id}-forged.{role.partition(':')[0]}"
        with SectionWriter(directory, name, role.partition(":")[0], meta) as file:
            for section, array in sections.items():
                file.add(section, array)
            ref: FileRef = file.close()
        writer.update(entry.with_file(role, ref))
        writer.commit()
    return name


def bump(section: str, at: int = 0, by: int = 1) -> Change:
    def change(sections: dict[str, Any], meta: dict[str, Any]) -> None:
        sections[section][at] += by

    return change


def longer_document(sections: dict[str, Any], meta: dict[str, Any]) -> None:
    sections["lengths"][2] += 1
    meta["total_length"] += 1


def more_length(sections: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["total_length"] += 1


def other_length_of_deletes(sections: dict[str, Any], meta: dict[str, Any]) -> None:
    meta["fields"][0]["length"] += 1


def swap_hashes(sections: dict[str, Any], meta: dict[str, Any]) -> None:
    sections["hash_docs"][[0, 1]] = sections["hash_docs"][[1, 0]]


def swap_ids(sections: dict[str, Any], meta: dict[str, Any]) -> None:
    sections["ids"][1] = ord("4")  # x0 becomes x4, which is there already


@pytest.mark.parametrize(
    ("role", "change", "problem"),
    [
        ("field:words", longer_document, "lengths do not follow"),
        ("field:latent", longer_document, "lengths do not follow"),
        ("field:words", bump("lengths", 2), "lengths do not add up"),
        ("field:words", more_length, "lengths do not add up"),
        ("field:words", bump("terms", 0, 1), "not in ascending order"),
        ("field:words", bump("block_first", 0), "."),
        ("field:words", bump("forward", 0, 2), "."),
        ("doc", swap_hashes, "table of ids"),
        ("doc", swap_ids, "table of ids"),
        ("doc", bump("blocks", 20), "."),
        ("del", bump("0.counts", 0), "."),
        ("del", other_length_of_deletes, "takes away"),
        ("del", bump("deleted", 0, 4), "."),
        ("vec", bump("0.values", 0, np.inf), "NaN or infinite"),  # type: ignore[arg-type]
    ],
)
def test_contradictions_inside_a_segment(directory: MemoryDirectory, role: str, change: Change, problem: str) -> None:
    name = rewrite(directory, role, change)
    report = check(directory)
    assert not report.ok
    assert [p for file, p in report.problems if file == name and problem.strip(".") in p], str(report)


def test_every_column_is_compared_with_the_documents(directory: MemoryDirectory) -> None:
    with Writer(directory) as writer:
        entry = writer.entries[0]
        columns = SectionFile.open(directory, entry.files["col"], "col")
        sections = [name for name in columns.names if name.partition(".")[2] in ("values", "odd", "starts", "present")]
        words = [name for name in columns.names if name.endswith(".terms")]
    missed = []
    sound = {name: bytes(inode.data) for name, inode in directory.files.items()}
    for section in sections + words:
        for at in range(columns.length(section)):
            copy = MemoryDirectory(sound)
            rewrite(copy, "col", flip(section, at))
            if check(copy).ok:
                missed.append((section, at))
    assert len(sections) > 10
    # What is left is where a column says nothing: values of documents without the field.
    absent = {(name, at) for name in sections for at in absent_at(columns, name)}
    assert set(missed) <= absent, sorted(set(missed) - absent)


def flip(section: str, at: int) -> Change:
    def change(sections: dict[str, Any], meta: dict[str, Any]) -> None:
        sections[section].view(np.uint8)[at * sections[section].itemsize] ^= 1

    return change


def absent_at(columns: SectionFile, section: str) -> list[int]:
    """Places of a scalar column whose documents do not have the field."""
    i, kind = section.split(".")
    if kind != "values" or f"{i}.starts" in columns.names or f"{i}.present" not in columns.names:
        return []
    present = np.unpackbits(columns.array(f"{i}.present"), bitorder="little")[: len(ROWS)]
    return np.flatnonzero(present == 0).tolist()


def test_an_id_in_two_segments(directory: MemoryDirectory) -> None:
    with Writer(directory) as writer:
        writer.add_segment(write_segment(directory, writer.new_segment_id(), batch("y"), SPECS, COLUMNS))
        writer.commit()
    report = check(directory)
    assert [re.sub("y.", "y", problem) for _, problem in report.problems] == ["the document 'y' is there twice"]
    with Writer(directory) as writer:  # x1 was deleted from the first segment, so it may be there again
        writer.replace(writer.entries[1:], None)
        one = SegmentBatch(
            ["x1"], [None], [{}], {"words": empty_field([]), "latent": empty_field(np.empty(0, np.int64))}
        )
        writer.add_segment(write_segment(directory, writer.new_segment_id(), one, SPECS, COLUMNS))
        writer.commit({"second": True})
        writer.commit({"third": True})
    assert check(directory).ok


def empty_field(terms: Any) -> FieldBatch:
    tf = np.empty(0, np.float32 if isinstance(terms, np.ndarray) else np.uint32)
    return FieldBatch(np.zeros(2, np.int64), terms, np.empty(0, np.int32), tf)
