"""A merged segment equals one built at once from the documents that are left, array for array."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.fields import SPECS, as_rows, few, from_rows, random_field, segment_batch
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import InvalidInput
from zipfian.index import merge as merge_module
from zipfian.index.merge import merge_segments
from zipfian.index.metadata import check_metadata
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.types import SegmentBatch

KINDS = {"words": ("count", True), "latent": ("fixed", False), "root": ("sqrt", False), "float": ("float32", False)}
SPEC = {name: SPECS[kind] for name, (kind, _) in KINDS.items()}


def metadata_row(rng: np.random.Generator) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if rng.random() < 0.7:
        row["lang"] = str(rng.choice(["en", "de", "fr"]))
    if rng.random() < 0.7:
        row["n"] = int(rng.integers(5)) if rng.random() < 0.5 else float(rng.random())
    if rng.random() < 0.5:
        row["tags"] = [str(t) for t in rng.choice(list("abcdef"), rng.integers(0, 3))]
    if rng.random() < 0.3:
        row["day"] = date(2024, 1, int(rng.integers(1, 28)))
    return row


def make_segments(
    directory: MemoryDirectory, sizes: list[int], deleted: list[list[int]], seed: int = 0
) -> tuple[list[SegmentReader], SegmentBatch, Mapping[str, Any]]:
    """Segments with these numbers of documents; returns readers and what is left, as plain values."""
    rng = np.random.default_rng(seed)
    readers: list[SegmentReader] = []
    left: dict[str, Any] = {
        "ids": [],
        "texts": [],
        "metadata": [],
        "vectors": [],
        "fields": {name: [] for name in KINDS},
    }
    like = {}
    columns: Mapping[str, Any] = {}
    for s, (n, gone) in enumerate(zip(sizes, deleted, strict=True)):
        fields = {
            name: random_field(100 * s + i + seed, n, 30 + 10 * s, 5, "fixed" if kind == "sqrt" else kind, words)
            for i, (name, (kind, words)) in enumerate(KINDS.items())
        }
        metadata = []
        for _ in range(n):
            row, columns = check_metadata(metadata_row(rng), columns)
            metadata.append(row)
        vectors = rng.normal(size=(n, 3)).astype(np.float32)
        vectors[rng.random(n) < 0.3] = np.nan
        batch = segment_batch([f"{s}.{i}" for i in range(n)], fields, metadata, {"v": vectors} if n else {})
        reader = SegmentReader(directory, write_segment(directory, f"s{s}", batch, SPEC, columns))
        gone = sorted({d % n for d in gone}) if n else []
        readers.append(SegmentReader(directory, delete_documents(directory, reader, np.array(gone, np.int64))))
        keep = [i for i in range(n) if i not in gone]
        left["ids"] += [batch.ids[i] for i in keep]
        left["texts"] += [batch.texts[i] for i in keep]
        left["metadata"] += [metadata[i] for i in keep]
        left["vectors"].append(vectors[keep])
        for name, field in fields.items():
            rows = as_rows(field)
            left["fields"][name] += [rows[i] for i in keep]
            like[name] = field
    fields = {name: from_rows(rows, like[name]) for name, rows in left["fields"].items()}
    vectors = np.concatenate([np.empty((0, 3), np.float32), *left["vectors"]])
    whole = segment_batch(left["ids"], fields, left["metadata"], {"v": vectors}, left["texts"])
    return readers, whole, columns


def assert_same(merged: SegmentReader, built: SegmentReader) -> None:
    assert merged.n_docs == merged.n_live == built.n_docs
    for name in KINDS:
        a, b = merged.fields[name], built.fields[name]
        assert a.meta == b.meta
        assert a.file.names == b.file.names
        for section in a.file.names:
            assert a.file.array(section).tobytes() == b.file.array(section).tobytes(), (name, section)
    for doc in range(built.n_docs):
        assert merged.docs.id(doc) == built.docs.id(doc)
        assert merged.docs.find(built.docs.id(doc)) == doc
        assert merged.docs.record(doc) == built.docs.record(doc)
    for section in ("ids", "id_offsets", "hashes", "hash_docs"):
        assert merged.docs.file.array(section).tobytes() == built.docs.file.array(section).tobytes()
    if built.vectors is not None and merged.vectors is not None:
        assert merged.vectors.array("v").tobytes() == built.vectors.array("v").tobytes()
        assert merged.vectors.present("v").tolist() == built.vectors.present("v").tolist()
    columns = built.columns.types if built.columns else {}
    assert set(merged.columns.types if merged.columns else {}) == set(columns)
    for name in columns:
        column, other = merged.column(name), built.column(name)
        assert column is not None and other is not None
        assert column.present.tolist() == other.present.tolist()
        assert np.array_equal(column.values, other.values)
        assert column.starts is None or np.array_equal(column.starts, other.starts)
        if column.words is not None:
            assert column.words.all_raw() == other.words.all_raw()


@few(60)
@given(
    st.lists(st.tuples(st.integers(0, 90), st.lists(st.integers(0, 1000), max_size=30)), min_size=1, max_size=4),
    st.integers(0, 50),
)
def test_a_merge_equals_a_rebuild(parts: Any, seed: int) -> None:
    directory = MemoryDirectory()
    readers, whole, columns = make_segments(directory, [n for n, _ in parts], [d for _, d in parts], seed)
    merged = SegmentReader(directory, merge_segments(directory, "m", readers))
    built = SegmentReader(directory, write_segment(directory, "b", whole, SPEC, columns))
    assert_same(merged, built)


def test_pieces_smaller_than_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge_module, "_POSTINGS", 100)
    monkeypatch.setattr(merge_module, "_ROWS", 37)
    directory = MemoryDirectory()
    readers, whole, columns = make_segments(directory, [300, 200, 100], [range(0, 300, 3), [5], range(100)], 3)
    merged = SegmentReader(directory, merge_segments(directory, "m", readers))
    assert_same(merged, SegmentReader(directory, write_segment(directory, "b", whole, SPEC, columns)))


def test_merging_merged_segments() -> None:
    directory = MemoryDirectory()
    readers, whole, columns = make_segments(directory, [50, 40, 30, 20], [[1, 2], [], [7], []], 4)
    first = SegmentReader(directory, merge_segments(directory, "m1", readers[:2]))
    second = SegmentReader(directory, merge_segments(directory, "m2", [first, readers[2]]))
    merged = SegmentReader(directory, merge_segments(directory, "m3", [second, readers[3]]))
    assert_same(merged, SegmentReader(directory, write_segment(directory, "b", whole, SPEC, columns)))


def test_all_documents_deleted() -> None:
    directory = MemoryDirectory()
    readers, _, _ = make_segments(directory, [10, 5], [range(10), range(5)])
    merged = SegmentReader(directory, merge_segments(directory, "m", readers))
    assert merged.n_docs == 0 and all(field.n_terms == 0 for field in merged.fields.values())


def test_a_field_that_only_one_segment_has() -> None:
    directory = MemoryDirectory()
    words, latent = random_field(1, 20, 30, 5, "count", True), random_field(2, 20, 30, 5)
    specs = {"words": SPECS["count"], "latent": SPECS["fixed"]}
    batch = segment_batch([f"a{i}" for i in range(20)], {"words": words, "latent": latent})
    first = SegmentReader(directory, write_segment(directory, "s1", batch, specs, {}))
    batch = segment_batch([f"b{i}" for i in range(20)], {"words": words})
    second = SegmentReader(directory, write_segment(directory, "s2", batch, {"words": SPECS["count"]}, {}))
    merged = SegmentReader(directory, merge_segments(directory, "m", [second, first, second]))
    assert as_rows(merged.fields["latent"].to_batch()) == [{}] * 20 + as_rows(latent) + [{}] * 20
    assert merged.fields["latent"].lengths.tolist() == [0] * 20 + first.fields["latent"].lengths.tolist() + [0] * 20


def test_what_cannot_be_merged() -> None:
    directory = MemoryDirectory()
    with pytest.raises(InvalidInput, match="nothing to merge"):
        merge_segments(directory, "m", [])
    field = random_field(2, 5, 30, 5)
    readers = [
        SegmentReader(
            directory, write_segment(directory, s, segment_batch(list("abcde"), {"x": field}), {"x": spec}, {})
        )
        for s, spec in (("s1", SPECS["fixed"]), ("s2", SPECS["sqrt"]))
    ]
    before = directory.list()
    with pytest.raises(InvalidInput, match="stored in different ways"):
        merge_segments(directory, "m", readers)
    assert directory.list() == before
