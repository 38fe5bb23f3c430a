"""Fields: what is written is what is read, by every way of reading; damage that a checksum cannot see is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.fields import SPECS, as_rows, few, fields, random_field
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index import forward as forward_module
from zipfian.index import postings as postings_module
from zipfian.index.field import FieldReader, FieldWriteSpec
from zipfian.index.field_writer import write_field
from zipfian.index.lengths import document_lengths, exact_sum, length_unit
from zipfian.index.phi import parse_phi
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.types import FieldBatch


def written(batch: FieldBatch, spec: FieldWriteSpec) -> FieldReader:
    directory = MemoryDirectory()
    return FieldReader.open(directory, write_field(directory, "a.field", batch, spec))


def batch_of(
    indptr: tuple[int, ...] = (0, 2),
    terms: tuple[Any, ...] = (0, 5),
    indices: tuple[int, ...] = (0, 1),
    tf: tuple[float, ...] = (1, 2),
    tf_type: type[np.generic] = np.uint32,
) -> FieldBatch:
    return FieldBatch(
        np.array(indptr, np.int64),
        list(terms) if terms and isinstance(terms[0], str) else np.array(terms, np.int64),
        np.array(indices, np.int32),
        np.array(tf, tf_type),
    )


@given(fields())
def test_every_way_of_reading_gives_what_was_written(field: tuple[FieldBatch, FieldWriteSpec]) -> None:
    batch, spec = field
    reader = written(batch, spec)
    rows = as_rows(batch)
    assert as_rows(reader.to_batch()) == rows
    assert reader.n_docs == len(rows) and reader.n_postings == len(batch.indices)
    by_term: dict[Any, Any] = {}
    for doc, row in enumerate(rows):
        for term, tf in row.items():
            by_term.setdefault(term, []).append((doc, tf))
        assert [reader.term(i) for i in reader.forward(doc)] == sorted(row)
    assert reader.n_terms == len(by_term)
    indptr, docs, tfs = reader.all_postings()
    for i in range(reader.n_terms):
        term = reader.term(i)
        assert reader.lookup(term) == i
        found = list(zip(*(a.tolist() for a in reader.postings(i)), strict=True))
        assert found == by_term[term]
        assert found == list(
            zip(docs[indptr[i] : indptr[i + 1]].tolist(), tfs[indptr[i] : indptr[i + 1]].tolist(), strict=False)
        )
        assert reader.df[i] == len(found)
        some = np.arange(reader.n_docs)[::3][::-1]
        assert reader.tf_of(i, some).tolist() == [dict(found).get(d, 0) for d in some.tolist()]
    lengths = document_lengths(batch.indptr, batch.tf, spec.tf, spec.scale, spec.phi)
    assert reader.lengths.tolist() == lengths.tolist()
    assert reader.total_length == sum(lengths.tolist())


@few(40)
@given(fields())
def test_compiled_and_numpy_decoders_agree_bit_for_bit(field: tuple[FieldBatch, FieldWriteSpec]) -> None:
    reader = written(*field)
    for plain, compiled in zip(reader.all_postings(), reader.all_postings(compiled=True), strict=True):
        assert plain.dtype == compiled.dtype and plain.tobytes() == compiled.tobytes()
    for term in range(0, reader.n_terms, 2):
        for plain, compiled in zip(reader.postings(term), reader.postings(term, compiled=True), strict=True):
            assert plain.dtype == compiled.dtype and plain.tobytes() == compiled.tobytes()


@pytest.mark.parametrize("kind", ["count", "fixed", "float32"])
@pytest.mark.parametrize("words", [False, True])
def test_long_lists_of_many_blocks(kind: str, words: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings_module, "_CHUNK", 1000)  # so that lists cross the chunks of the encoder
    monkeypatch.setattr(forward_module, "_CHUNK", 1000)
    batch = random_field(7, 5000, 60, 8, kind, words)
    reader = written(batch, SPECS[kind])
    assert int(reader.df.max()) > 1000
    assert as_rows(reader.to_batch()) == as_rows(batch)
    for plain, compiled in zip(reader.all_postings(), reader.all_postings(compiled=True), strict=True):
        assert plain.tobytes() == compiled.tobytes()
    whole = reader.rows.rows(0, 5000)
    pieces = [(low, high, docs) for low, high, docs, _ in reader.scan(500)]
    assert [p[1] for p in pieces[:-1]] == [p[0] for p in pieces[1:]]
    assert np.concatenate([p[2] for p in pieces]).tobytes() == reader.all_postings()[1].tobytes()
    docs = np.array([0, 63, 64, 65, 200, 1000, 4999])
    indptr, terms = reader.forward_many(docs)
    for i, doc in enumerate(docs.tolist()):
        mine = terms[indptr[i] : indptr[i + 1]]
        assert mine.tolist() == whole[1][whole[0][doc] : whole[0][doc + 1]].tolist() == reader.forward(doc).tolist()


def test_extreme_values_survive() -> None:
    counts = batch_of((0, 2, 3), (0, 2**31 - 3), (0, 1, 1), (1, 2**32 - 1, 7))
    assert as_rows(written(counts, SPECS["count"]).to_batch()) == [{0: 1, 2**31 - 3: 2**32 - 1}, {2**31 - 3: 7}]
    floats = batch_of(tf=(1e-45, 1e6), tf_type=np.float32)
    reader = written(floats, SPECS["float32"])
    assert reader.postings(0)[1].tobytes() == floats.tf[:1].tobytes()
    assert reader.postings(1, compiled=True)[1].tobytes() == floats.tf[1:].tobytes()


def test_a_field_may_be_empty() -> None:
    for batch in (batch_of((0,), (), (), ()), batch_of((0, 0, 0), (), (), ()), batch_of((0, 0), ("a", "b"), (), ())):
        reader = written(batch, SPECS["count"])
        assert reader.n_terms == 0 and reader.total_length == 0 and len(reader.lengths) == len(batch.indptr) - 1
        assert as_rows(reader.to_batch()) == [{}] * reader.n_docs
        assert reader.lookup("x" if reader.term_kind == "str" else 3) == -1
        assert all(not len(reader.forward(d)) for d in range(reader.n_docs))


def test_lookup_of_words_that_are_not_there() -> None:
    reader = written(batch_of(terms=("ab", "zebra")), SPECS["count"])
    assert [reader.lookup(w) for w in ("ab", "zebra")] == [0, 1]
    assert [reader.lookup(w) for w in ("", "a", "abc", "zz", "é", "\udc80")] == [-1] * 6
    with pytest.raises(InvalidInput, match="terms are words"):
        reader.lookup(3)
    ids = written(batch_of(), SPECS["count"])
    assert [ids.lookup(t) for t in (0, 5, -1, 1, 6, 2**40)] == [0, 1, -1, -1, -1, -1]
    with pytest.raises(InvalidInput, match="terms are numbers"):
        ids.lookup("a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indptr": (1, 2)}, "indptr"),
        ({"indptr": (0, 2, 1, 2)}, "indptr"),
        ({"indptr": (0, 3)}, "indptr ends at 3"),
        ({"indices": (1, 0)}, "ascending"),
        ({"indices": (1, 1)}, "ascending"),
        ({"indices": (0, 2)}, "from 0 to 1"),
        ({"indices": (-1, 1)}, "from 0 to 1"),
        ({"terms": (5, 0)}, "term ids"),
        ({"terms": (5, 5)}, "term ids"),
        ({"terms": (-1, 5)}, "term ids"),
        ({"terms": ("b", "a")}, "words must be"),
        ({"terms": ("a", "a")}, "words must be"),
        ({"terms": ("a", "\ud800")}, "Unicode"),
        ({"tf": (0, 1)}, "at least 1"),
        ({"tf": (1, 70000)}, "16 bits"),
        ({"tf": (1, 1), "tf_type": np.float32}, "cannot take"),
    ],
)
def test_a_batch_that_breaks_the_rules_is_refused_and_leaves_no_file(change: Any, message: str) -> None:
    directory = MemoryDirectory()
    with pytest.raises(InvalidInput, match=message):
        write_field(directory, "a.field", batch_of(**change), SPECS["fixed"])
    assert directory.list() == []


def test_float_weights_must_be_positive_and_finite() -> None:
    for bad in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(InvalidInput, match="positive"):
            written(batch_of(tf=(1.0, bad), tf_type=np.float32), SPECS["float32"])


def test_limits() -> None:
    with pytest.raises(LimitExceeded, match="bytes"):
        written(batch_of(terms=("a", "b" * 2000)), SPECS["count"])
    with pytest.raises(LimitExceeded, match="weight"):
        written(batch_of(tf=(1.0, 2e6), tf_type=np.float32), SPECS["float32"])
    with pytest.raises(LimitExceeded, match="phi"):
        written(batch_of(tf=(1, 2**32 - 1)), FieldWriteSpec("count", 1.0, "power:0.9"))
    for bad in ({"tf": "double"}, {"scale": 0.0}, {"scale": float("nan")}, {"phi": "cube"}, {"phi": "power:9"}):
        with pytest.raises(InvalidInput):
            FieldWriteSpec(**bad)


@pytest.mark.parametrize("phi", ["identity", "sqrt", "power:0.7"])
@pytest.mark.parametrize("kind", ["count", "fixed", "float32"])
def test_lengths_are_integers_close_to_the_real_sum(kind: str, phi: str) -> None:
    batch = random_field(3, 50, 30, 6, kind)
    scale = 100.0 if kind == "fixed" else 1.0
    lengths = document_lengths(batch.indptr, batch.tf, kind, scale, phi)
    unit = length_unit(kind, scale, phi)
    for doc, row in enumerate(as_rows(batch)):
        real = sum((tf / scale) ** parse_phi(phi) for tf in row.values())
        assert abs(lengths[doc] * unit - real) <= 1e-6 * (len(row) + 1)
    order = np.random.default_rng(0).permutation(50)
    assert exact_sum(lengths[order]) == exact_sum(lengths) == sum(lengths.tolist())


def test_exact_sum_does_not_overflow() -> None:
    assert exact_sum(np.full(3, 2**63 - 1, np.int64)) == 3 * (2**63 - 1)


def rewritten(reader: FieldReader, changes: dict[str, Any], meta: dict[str, Any] | None = None) -> FieldReader:
    """The same field file with some sections replaced: sound checksums, wrong contents."""
    directory = MemoryDirectory()
    with SectionWriter(directory, "b.field", "field", {**reader.meta, **(meta or {})}) as file:
        for name in reader.file.names:
            section = reader.file.array(name).copy()
            file.add(name, changes[name](section) if name in changes else section)
        file.close()
    return FieldReader(SectionFile.open(directory, "b.field", "field"))


def use(reader: FieldReader) -> FieldReader:
    reader.to_batch()
    for doc in range(0, reader.n_docs, 50):
        reader.forward(doc)
    return reader


def poke(at: Any, value: Any) -> Callable[[Any], Any]:
    def change(section: Any) -> Any:
        section[at] = value
        return section

    return change


@pytest.mark.parametrize(
    ("changes", "meta"),
    [
        ({"df": poke(0, 0)}, {}),
        ({"df": poke(0, 255)}, {}),
        ({"df": lambda s: s[:-1]}, {}),
        ({"block_first": poke(0, 2**32 - 1)}, {}),
        ({"block_first": lambda s: s[::-1].copy()}, {}),
        ({"block_doc_width": poke(0, 40)}, {}),
        ({"block_doc_width": poke(0, 0)}, {}),
        ({"block_tf_width": poke(0, 255)}, {}),
        ({"block_tf_width": lambda s: s.astype(np.uint16)}, {}),
        ({"postings": lambda s: s[:-1]}, {}),
        ({"postings": lambda s: s.view(np.int64)}, {}),
        ({"postings": lambda s: s | np.uint64(0xFFFF_FFFF_FFFF)}, {}),
        ({"forward": lambda s: s[:-1]}, {}),
        ({"forward": lambda s: ~s}, {}),
        ({"forward": lambda s: s * np.uint64(3)}, {}),
        ({"forward_counts": lambda s: s[::-1].copy()}, {}),
        ({"forward_counts": poke(0, 1)}, {}),
        ({"lengths": lambda s: s[1:]}, {}),
        ({}, {"n_docs": 10}),
        ({}, {"n_docs": -1}),
        ({}, {"n_docs": 2**62}),
        ({}, {"n_terms": 3}),
        ({}, {"n_postings": 5}),
        ({}, {"terms": "bytes"}),
        ({}, {"tf": "float64"}),
        ({}, {"scale": "x"}),
        ({}, {"scale": None}),
        ({}, {"phi": 3}),
        ({}, {"phi": 0.5}),
        ({}, {"forward_low": 31}),
        ({}, {"forward_low": 99}),
        ({}, {"forward_low": None}),
        ({}, {"total_length": "many"}),
    ],
)
def test_forged_contents_with_sound_checksums_are_errors(changes: dict[str, Any], meta: dict[str, Any] | None) -> None:
    good = written(random_field(5, 300, 40, 6), SPECS["fixed"])
    use(rewritten(good, {}))
    with pytest.raises(IndexCorrupt):
        use(rewritten(good, changes, meta))


def test_forged_weights_are_errors() -> None:
    good = written(random_field(5, 300, 40, 6, "float32"), SPECS["float32"])
    with pytest.raises(IndexCorrupt):
        use(rewritten(good, {"postings": lambda s: s * np.uint64(0)}))


@few(60)
@given(st.sampled_from(["postings", "forward", "block_first", "terms", "term_offsets"]), st.data())
def test_random_forgeries_never_crash(section: Any, data: st.DataObject) -> None:
    good = written(random_field(5, 120, 20, 4, "count", words=True), SPECS["count"])
    size = good.file.length(section)
    at = data.draw(st.integers(0, size - 1))
    limit = np.iinfo(good.file.array(section).dtype).max
    value = data.draw(st.integers(0, int(limit)))
    for compiled in (False, True):
        try:
            reader = rewritten(good, {section: poke(at, value)})
            reader.all_postings(compiled)
            use(reader)
            reader.lookup("w3")
        except IndexCorrupt:
            continue


@pytest.mark.parametrize("compiled", [False, True])
def test_a_document_right_behind_the_last_is_an_error(compiled: bool) -> None:
    """The first number that no array has room for, as a term's only document and at the end of a longer list."""
    batch = FieldBatch(
        np.array([0, 1, 2, 4]), np.array([3, 8]), np.array([0, 0, 0, 1], np.int32), np.full(4, 1, np.uint32)
    )
    good = written(batch, SPECS["count"])
    docs = good.all_postings(compiled)[1].tolist()
    assert docs == [0, 1, 2, 2] and good.file.array("block_first").tolist() == [0, 2]
    for block, first in ((0, 1), (1, 3)):  # 1, 2, 3 and 3, where there are documents 0 to 2
        with pytest.raises(IndexCorrupt, match="out of order or out of range"):
            rewritten(good, {"block_first": poke(block, first)}).all_postings(compiled)


def test_documents_out_of_range() -> None:
    reader = written(random_field(5, 30, 20, 4), SPECS["fixed"])
    for bad in (-1, 30, 10**9):
        with pytest.raises(InvalidInput):
            reader.forward(bad)
        with pytest.raises(InvalidInput):
            reader.forward_many(np.array([bad]))
        assert reader.tf(0, bad) == 0
