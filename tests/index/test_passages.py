"""Fields and vectors whose rows are passages: written, deleted, merged and checked with their documents."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.fields import SPECS, as_rows, few, from_rows, random_field, segment_batch
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._crosscheck import cross_check
from zipfian.index.field import FieldReader
from zipfian.index.field_writer import write_field
from zipfian.index.merge import merge_segments
from zipfian.index.passages import ENDS, join_passages, rows_of
from zipfian.index.segment import (
    SegmentReader,
    delete_documents,
    write_field_for_segment,
    write_segment,
    write_vectors_for_segment,
)
from zipfian.retrieve.dense import DenseSearcher
from zipfian.retrieve.statistics import FieldStatistics
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.types import FieldBatch, Passages, SegmentBatch
from zipfian.vocabulary.pruning import Pruning

SPEC = {"words": SPECS["count"], "latent": SPECS["fixed"]}
TEXT = "a text of forty characters, and no more."


def passages(counts: list[int]) -> Passages | None:
    """So many passages for each document; a document with one has the whole text."""
    if sum(counts) == len(counts):
        return None
    spans = [(0, 0) if n == 1 else (i, i + 5) for n in counts for i in range(n)]
    starts, ends = (np.array(side, np.int64) for side in zip(*spans, strict=True))
    return Passages(np.cumsum([0, *counts]).astype(np.int64), starts, ends)


def batch(name: str, counts: list[int], seed: int) -> SegmentBatch:
    n, rows = len(counts), sum(counts)
    latent = replace(random_field(seed, rows, 30, 4.0), passages=passages(counts))
    fields = {"words": random_field(seed + 1, n, 20, 5.0, "count", True), "latent": latent}
    vectors = np.random.default_rng(seed).normal(size=(rows, 3)).astype(np.float32)
    whole = np.random.default_rng(seed + 2).normal(size=(n, 2)).astype(np.float32)
    texts: list[str | None] = [TEXT] * n
    made = segment_batch([f"{name}.{i}" for i in range(n)], fields, None, {"dense": vectors, "given": whole}, texts)
    found = passages(counts)
    return made if found is None else replace(made, vector_passages={"dense": found})


def live(made: SegmentBatch, keep: list[int]) -> dict[str, Any]:
    """What is left of a batch without the other documents."""
    parts, field = made.fields["latent"].passages, made.fields["latent"]
    rows = rows_of(parts, np.array(keep, np.int64))
    words, latent = as_rows(made.fields["words"]), as_rows(field)
    return {
        "ids": [made.ids[i] for i in keep], "counts": np.diff(parts.first)[keep].tolist() if parts else [1] * len(keep),
        "words": [words[i] for i in keep], "latent": [latent[i] for i in rows],
        "dense": made.vectors["dense"][rows], "given": made.vectors["given"][keep],
        "spans": [(0, 0) if parts is None else (int(parts.starts[i]), int(parts.ends[i])) for i in rows],
    }  # fmt: skip


def joined(parts: list[dict[str, Any]], like: SegmentBatch) -> SegmentBatch:
    """One batch of all that is left."""
    counts = [n for part in parts for n in part["counts"]]
    spans = [span for part in parts for span in part["spans"]]
    found = passages(counts)
    if found is not None:
        starts, ends = (np.array(side, np.int64) for side in zip(*spans, strict=True))
        found = Passages(found.first, starts, ends)
    rows = {name: [row for part in parts for row in part[name]] for name in ("words", "latent")}
    fields = {name: from_rows(rows[name], like.fields[name]) for name in rows}
    fields["latent"] = replace(fields["latent"], passages=found)
    vectors = {name: np.concatenate([part[name] for part in parts]) for name in ("dense", "given")}
    ids = [i for part in parts for i in part["ids"]]
    made = segment_batch(ids, fields, None, vectors, [TEXT] * len(ids))
    return made if found is None else replace(made, vector_passages={"dense": found})


@few(60)
@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 4), min_size=1, max_size=25), st.lists(st.integers(0, 24), max_size=20)),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 50),
)
def test_a_merge_after_deletes_equals_a_rebuild(given_parts: Any, seed: int) -> None:
    directory, readers, left = MemoryDirectory(), [], []
    made = batch("none", [1], 0)
    for s, (counts, gone) in enumerate(given_parts):
        made = batch(str(s), counts, seed + s)
        reader = SegmentReader(directory, write_segment(directory, f"s{s}", made, SPEC, {}))
        gone = sorted({d % len(counts) for d in gone})
        reader = SegmentReader(directory, delete_documents(directory, reader, np.array(gone, np.int64)))
        cross_check(reader)
        readers.append(reader)
        left.append(live(made, [i for i in range(len(counts)) if i not in gone]))
    merged = SegmentReader(directory, merge_segments(directory, "m", readers))
    built = SegmentReader(directory, write_segment(directory, "b", joined(left, made), SPEC, {}))
    cross_check(merged)
    assert set(merged.entry.files) == set(built.entry.files)
    for name in SPEC:
        a, b = merged.fields[name].file, built.fields[name].file
        assert a.names == b.names
        for section in a.names:
            assert a.array(section).tobytes() == b.array(section).tobytes(), (name, section)
        before, after = (FieldStatistics(name, some, "identity", Pruning()) for some in (readers, [merged]))
        assert before.n_live == after.n_live and before.mean_length == after.mean_length
        assert before.vocabulary[0] == after.vocabulary[0]
        assert before.vocabulary[1].tolist() == after.vocabulary[1].tolist()
    for name in ("dense", "given") if merged.n_docs else ():
        found, wanted = merged.vectors_of(name), built.vectors_of(name)
        assert found is not None and wanted is not None
        assert found.array(name).tobytes() == wanted.array(name).tobytes()
        for side in ("first", "starts", "ends") if wanted.passages else ():
            assert np.array_equal(getattr(found.passages, side), getattr(wanted.passages, side))
        old, new = (DenseSearcher.from_segments(name, some, name) for some in (readers, [merged]))
        assert old.n_vectors == new.n_vectors


def test_rows_of_documents() -> None:
    parts = passages([1, 3, 2])
    assert rows_of(parts, np.array([0, 2])).tolist() == [0, 4, 5]
    assert rows_of(parts, np.array([1])).tolist() == [1, 2, 3]
    assert rows_of(parts, np.array([], np.int64)).tolist() == []
    assert rows_of(None, np.array([2, 5])).tolist() == [2, 5]


def test_passages_are_gone_with_the_last_long_document() -> None:
    keep = np.array([True, False, True])
    assert join_passages([(passages([1, 3, 1]), keep), (None, np.array([True]))]) is None
    both = join_passages([(passages([1, 3, 1]), ~keep), (None, np.array([True]))])
    assert both is not None and np.diff(both.first).tolist() == [3, 1] and both.ends.tolist() == [5, 6, 7, 0]


def test_a_field_and_vectors_for_a_segment_that_is_there() -> None:
    directory = MemoryDirectory()
    made = batch("x", [2, 1, 3], 1)
    bare = replace(made, fields={"words": made.fields["words"]}, vectors={}, vector_passages={})
    reader = SegmentReader(directory, write_segment(directory, "s", bare, {"words": SPEC["words"]}, {}))
    reader = SegmentReader(directory, delete_documents(directory, reader, np.array([2])))
    reader = SegmentReader(
        directory, write_field_for_segment(directory, reader, "latent", made.fields["latent"], SPEC["latent"])
    )
    dense = {"dense": made.vectors["dense"]}
    parts = made.vector_passages["dense"]
    reader = SegmentReader(directory, write_vectors_for_segment(directory, reader, dense, parts))
    cross_check(reader)
    assert reader.dims == {"dense": 3} and reader.live_rows("latent").tolist() == [True] * 3 + [False] * 3
    with pytest.raises(InvalidInput, match="already"):
        write_vectors_for_segment(directory, reader, dense, parts)
    with pytest.raises(InvalidInput, match="2 documents for 3"):
        write_vectors_for_segment(directory, reader, {"other": made.vectors["dense"]}, passages([3, 3]))


@pytest.mark.parametrize(
    "wrong",
    [
        Passages(np.array([0, 0, 4]), np.zeros(4, np.int64), np.ones(4, np.int64)),
        Passages(np.array([1, 2, 4]), np.zeros(4, np.int64), np.ones(4, np.int64)),
        Passages(np.array([0, 1, 3]), np.zeros(3, np.int64), np.ones(3, np.int64)),
        Passages(np.array([0, 1, 4]), np.ones(4, np.int64), np.zeros(4, np.int64)),
    ],
)
def test_passages_that_do_not_fit_are_refused(wrong: Passages) -> None:
    field = replace(random_field(1, 4, 9, 2.0), passages=wrong)
    with pytest.raises(InvalidInput):
        write_field(MemoryDirectory(), "a.field", field, SPECS["fixed"])


def forged(section: str, values: Any) -> FieldReader:
    """A field of passages with another section under a sound checksum."""
    directory = MemoryDirectory()
    field: FieldBatch = replace(random_field(1, 5, 9, 2.0), passages=passages([2, 3]))
    good = SectionFile.open(directory, write_field(directory, "a.field", field, SPECS["fixed"]), "field")
    with SectionWriter(directory, "b.field", "field", good.meta) as file:
        for name in good.names:
            file.add(name, np.asarray(values) if name == section else good.array(name))
        file.close()
    return FieldReader.open(directory, "b.field")


@pytest.mark.parametrize(
    "section, values",
    [
        ("passage_counts", np.array([5, 0], np.uint8)),
        ("passage_counts", np.array([2, 2], np.uint8)),
        ("passage_starts", np.array([9, 9, 9, 9, 9], np.uint8)),
        ("passage_ends", np.full(5, 2**31, np.uint32)),
        ("passage_ends", np.array([5, 6], np.uint8)),
        ("passage_counts", np.array([2.0, 3.0])),
    ],
)
def test_forged_passages_are_errors(section: str, values: Any) -> None:
    assert forged("nothing", None).passages is not None
    with pytest.raises(IndexCorrupt):
        assert forged(section, values).passages


def test_a_check_finds_passages_outside_the_text() -> None:
    directory = MemoryDirectory()
    made = replace(batch("x", [2, 3], 1), texts=["short", TEXT])
    with pytest.raises(IndexCorrupt, match="does not lie in its text"):
        cross_check(SegmentReader(directory, write_segment(directory, "s", made, SPEC, {})))
    assert ENDS == "passage_ends"


def test_vectors_by_passage_stand_alone() -> None:
    directory = MemoryDirectory()
    made = batch("x", [2, 1], 1)
    entry = write_segment(directory, "s", made, SPEC, {})
    whole, parted = entry.files["vec"], entry.files["vec:dense"]
    with pytest.raises(IndexCorrupt):
        SegmentReader(directory, entry.with_file("vec:given", parted))
    with pytest.raises(IndexCorrupt):
        SegmentReader(directory, entry.with_file("vec", parted))
    with pytest.raises(IndexCorrupt):
        SegmentReader(directory, entry.with_file("vec:dense", whole))
