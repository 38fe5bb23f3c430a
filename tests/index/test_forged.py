"""Files with right checksums and hostile content: refused when they open, before anything is allocated by their claims.

`tests/hostile/sections.py` makes such files by the thousand; here is one of each kind, and exactly where it is refused.
"""

from __future__ import annotations

import json
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from tests.index.fields import SPECS, from_rows, random_field, segment_batch
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index import deletes as deletes_module
from zipfian.index import docstore
from zipfian.index._crosscheck import cross_check, cross_check_ids
from zipfian.index.deletes import FieldDeletes
from zipfian.index.docstore import DocStoreReader
from zipfian.index.docstore_writer import pack_records, write_docs_file
from zipfian.index.entry import SegmentEntry
from zipfian.index.field import FieldWriteSpec
from zipfian.index.manifest import check_segments
from zipfian.index.merge import merge_segments
from zipfian.index.metadata import decode_metadata
from zipfian.index.segment import SegmentReader, delete_documents, write_segment
from zipfian.limits import MAX_DOCUMENTS, MAX_METADATA_BYTES, MAX_TEXT_CHARS
from zipfian.storage.container import SectionFile, SectionWriter

N = 70
FIELDS = {"words": SPECS["count"], "latent": SPECS["fixed"], "float": SPECS["float32"]}
COLUMNS = {"s": "string", "t": "list[string]", "u": "number", "b": "boolean", "i": "integer"}
Sections = dict[str, Any]
Meta = dict[str, Any]


def batch(seed: int = 1) -> Any:
    fields = {
        "words": random_field(seed, N, 30, 6, "count", words=True),
        "latent": random_field(seed + 1, N, 40, 8),
        "float": random_field(seed + 2, N, 20, 4, "float32"),
    }
    rows = [
        {"s": "ab"[i % 2], "t": ["x", "y"][: i % 3], "u": 2**53 + 1 if i == 5 else i / 3, "b": i % 2 == 0, "i": i}
        for i in range(N - 1)
    ]
    vectors = np.random.default_rng(seed).normal(size=(N, 3)).astype(np.float32)
    return segment_batch([f"{seed}-{i}" for i in range(N)], fields, [*rows, {}], {"v": vectors})


@pytest.fixture
def directory() -> MemoryDirectory:
    return MemoryDirectory()


@pytest.fixture
def entry(directory: MemoryDirectory) -> SegmentEntry:
    made = write_segment(directory, "s1", batch(), FIELDS, COLUMNS)
    return delete_documents(directory, SegmentReader(directory, made), np.array([3, 4, 40]))


def forged(directory: MemoryDirectory, entry: SegmentEntry, role: str, change: Callable[..., object]) -> SegmentEntry:
    """The segment with one file rewritten."""
    kind = role.partition(":")[0]
    old = SectionFile.open(directory, entry.files[role], kind)
    sections, meta = {name: old.array(name).copy() for name in old.names}, json.loads(json.dumps(old.meta))
    change(sections, meta)
    with SectionWriter(directory, f"x{len(directory.files)}.{kind}", kind, meta) as file:
        for name, array in sections.items():
            file.add(name, array)
        return entry.with_file(role, file.close())


@contextmanager
def little_memory(limit: int = 8 << 20) -> Iterator[None]:
    """What happens inside allocates little."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < limit
    finally:
        tracemalloc.stop()


def every_section(directory: MemoryDirectory, entry: SegmentEntry) -> list[tuple[str, str]]:
    return [
        (role, name)
        for role, ref in entry.files.items()
        for name in SectionFile.open(directory, ref, role.partition(":")[0]).names
    ]


def test_every_section_is_checked_at_open(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    found = every_section(directory, entry)
    assert len(found) > 50 and {role for role, _ in found} == set(entry.files)
    for role, name in found:
        wrong: dict[str, Callable[[Any], Any]] = {
            "n x 1": lambda a: a.reshape(-1, 1),
            "1 x n": lambda a: a.reshape(1, -1),
            "type": lambda a: a.astype(np.float32 if a.dtype != np.float32 else np.float64),
            "signed": lambda a: a.view(np.int8 if a.dtype != np.int8 else np.uint8),
        }
        for what, change in wrong.items():
            bad = forged(directory, entry, role, lambda s, m, c=change, n=name: s.update({n: c(s[n])}))
            with pytest.raises(IndexCorrupt):
                SegmentReader(directory, bad)
                pytest.fail(f"{role} {name}: {what}")
        if not name.endswith(("odd", "odd_at")):  # both may be left out
            with pytest.raises(IndexCorrupt, match="has no section"):
                SegmentReader(directory, forged(directory, entry, role, lambda s, m, n=name: s.pop(n)))


FREE = {"ids", "blocks", "postings", "forward"}
"""Sections whose length no number of the meta data gives (nor that of the words of columns): offsets and counts inside
the file are checked against it when they are first used."""


def test_lengths_of_sections_agree_with_the_counts_at_open(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    for role, name in every_section(directory, entry):
        if name in FREE or (role in ("col", "field:words") and "term" in name and name != "term_offsets"):
            continue
        bad = forged(directory, entry, role, lambda s, m, n=name: s.update({n: s[n][:-1]}))
        with pytest.raises(IndexCorrupt):
            SegmentReader(directory, bad)
            pytest.fail(f"{role} {name}")


@pytest.mark.parametrize("n", [2**24, 2**28, 2**30])
def test_documents_that_are_not_there_are_not_believed(directory: MemoryDirectory, entry: SegmentEntry, n: int) -> None:
    """Even if every file and the manifest say so: nothing of that size is allocated."""
    bad = entry
    for role in entry.files:
        bad = forged(directory, bad, role, lambda s, m: m.update(n_docs=n))
    with little_memory(), pytest.raises(IndexCorrupt, match="elements"):
        SegmentReader(directory, SegmentEntry(entry.id, n, bad.files))
    only_documents = {"doc": entry.files["doc"]}
    with little_memory(), pytest.raises(IndexCorrupt, match=f"where its segment has {n}"):
        SegmentReader(directory, SegmentEntry(entry.id, n, only_documents))


def test_the_documents_of_all_segments_are_limited() -> None:
    half = MAX_DOCUMENTS // 2
    check_segments((SegmentEntry("s1", half, {}), SegmentEntry("s2", half, {})))
    with pytest.raises(InvalidInput, match="more than the limit"):
        check_segments((SegmentEntry("s1", half, {}), SegmentEntry("s2", half + 1, {})))


def test_postings_that_are_not_there_are_not_believed(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    terms = 1 << 18

    def claim(sections: Sections, meta: Meta) -> None:
        meta.update(n_terms=terms, n_postings=terms * N)
        sections["df"], sections["terms"] = np.full(terms, N, np.uint8), np.arange(terms, dtype=np.uint32)

    with pytest.raises(IndexCorrupt, match="n_postings"):
        SegmentReader(directory, forged(directory, entry, "field:latent", claim))

    def with_forward(sections: Sections, meta: Meta) -> None:
        claim(sections, meta)
        sections["forward"] = np.zeros(terms * N // 64 + 1, np.uint64)

    reader = SegmentReader(directory, forged(directory, entry, "field:latent", with_forward))
    with pytest.raises(IndexCorrupt, match="blocks of postings"):
        reader.fields["latent"].blocks  # noqa: B018 - reading it is the point


@pytest.mark.parametrize("scale", [1e-320, 1e-19, 1e19, 1e300, 10**400, 0, -1.0])
def test_a_scale_that_would_make_weights_infinite(
    directory: MemoryDirectory, entry: SegmentEntry, scale: float
) -> None:
    with pytest.raises(IndexCorrupt, match="how its weights are stored"):
        SegmentReader(directory, forged(directory, entry, "field:latent", lambda s, m: m.update(scale=scale)))


def test_any_scale_within_the_limits_keeps_weights_finite_and_positive() -> None:
    for scale in (1e-18, 1e18):
        FieldWriteSpec("fixed", scale)
        weights = (np.array([1, 2**32 - 1], np.float64) / scale).astype(np.float32)
        assert np.isfinite(weights).all() and (weights > 0).all()


def test_lengths_that_would_turn_negative(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    def change(sections: Sections, meta: Meta) -> None:
        sections["lengths"] = sections["lengths"].astype(np.uint64)
        meta["total_length"] += 2**63 - int(sections["lengths"][1])
        sections["lengths"][1] = 2**63

    reader = SegmentReader(directory, forged(directory, entry, "field:words", change))
    with pytest.raises(IndexCorrupt, match="lengths do not add up"):
        reader.fields["words"].lengths  # noqa: B018


def test_metas_that_are_nested_are_not_spelt_out(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    deep: Any = 1
    for _ in range(900):
        deep = [deep]
    keys = {
        "doc": [],
        "col": ["columns"],
        "vec": ["vectors"],
        "del": ["fields"],
        "field": ["scale", "phi", "terms", "tf"],
    }
    for role in entry.files:
        for key in ["n_docs", *keys[role.partition(":")[0]]]:
            bad = forged(directory, entry, role, lambda s, m, k=key: m.update({k: deep}))
            with pytest.raises(IndexCorrupt, match="is a list" if key in ("n_docs", "terms") else None) as error:
                SegmentReader(directory, bad)
            assert len(str(error.value)) < 600


def test_columns_that_point_beyond_their_dictionary(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    at = {name: i for i, name in enumerate(sorted(COLUMNS))}

    def no_words(sections: Sections, meta: Meta) -> None:
        sections[f"{at['s']}.terms"] = np.empty(0, np.uint8)
        sections[f"{at['s']}.term_offsets"] = np.zeros(1, np.uint8)
        sections[f"{at['s']}.values"][:] = 0

    def far(sections: Sections, meta: Meta) -> None:
        sections[f"{at['u']}.odd_at"] = np.array([2**64 - 1], np.uint64)  # as int64 it would be the last place

    with pytest.raises(IndexCorrupt, match="dictionary"):
        SegmentReader(directory, forged(directory, entry, "col", no_words)).column("s")
    with pytest.raises(IndexCorrupt, match="not there"):
        SegmentReader(directory, forged(directory, entry, "col", far)).column("u")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_no_numbers(directory: MemoryDirectory, entry: SegmentEntry, value: float) -> None:
    def change(sections: Sections, meta: Meta) -> None:
        sections["0.values"][3 * 7] = value

    vectors = SegmentReader(directory, forged(directory, entry, "vec", change)).vectors
    assert vectors is not None
    assert len(vectors.rows("v", np.array([6, 8]))) == 2
    reads: tuple[Callable[[], Any], ...] = (lambda: vectors.array("v"), lambda: vectors.rows("v", np.array([7])))
    for read in reads:
        with pytest.raises(IndexCorrupt, match="NaN or infinite"):
            read()


def test_deletes_with_terms_that_would_turn_negative(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    def change(sections: Sections, meta: Meta) -> None:
        sections["0.terms"] = sections["0.terms"].astype(np.uint64)
        sections["0.terms"][0] = 2**64 - 1

    with pytest.raises(IndexCorrupt, match=r"0\.terms"):
        SegmentReader(directory, forged(directory, entry, "del", change))
    with pytest.raises(IndexCorrupt, match="33 fields"):
        SegmentReader(directory, forged(directory, entry, "del", lambda s, m: m.update(fields=m["fields"] * 11)))


def test_counting_deletes_in_pieces_changes_nothing(
    directory: MemoryDirectory, entry: SegmentEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    field = SegmentReader(directory, entry).fields["latent"]
    docs = np.array([0, 1, 2, 30, 63, 64, 69])
    whole = FieldDeletes.of(field, docs)
    monkeypatch.setattr(deletes_module, "_POSTINGS", 20)
    cut = FieldDeletes.of(field, docs)
    assert cut.terms.tolist() == whole.terms.tolist() and cut.counts.tolist() == whole.counts.tolist()
    assert cut.length == whole.length > 0 and int(whole.counts.max()) > 1


# -- stored documents ----------------------------------------------------------------------------------------------


def stored(*records: tuple[bytes | None, bytes]) -> DocStoreReader:
    """A document file with these records, whatever they are, one block each if they are large."""
    directory = MemoryDirectory()
    n = len(records)
    ids = [(np.frombuffer(b"".join(b"%06d" % i for i in range(n)), np.uint8), np.full(n, 6))]
    ref = write_docs_file(directory, "a.doc", ids, np.arange(n, dtype=np.uint64), pack_records(records))
    return DocStoreReader.open(directory, ref)


def test_a_block_is_no_larger_than_the_largest_document() -> None:
    bomb = stored((b"a" * (4 * MAX_TEXT_CHARS + MAX_METADATA_BYTES + 40_000), b"{}"))
    assert bomb.file.length("blocks") < 400_000  # bytes on disk
    with little_memory(), pytest.raises(IndexCorrupt, match="claims to hold"):
        bomb.text(0)
    for record in ((b"a" * (4 * MAX_TEXT_CHARS + 1), b"{}"), (b"", b" " * (MAX_METADATA_BYTES + 1))):
        with pytest.raises(IndexCorrupt, match="over the limit"):
            stored(record).text(0)
    with pytest.raises(IndexCorrupt, match="characters; the limit is"):
        stored((b"a" * (MAX_TEXT_CHARS + 1), b"{}")).text(0)


def test_the_largest_document_is_read() -> None:
    text, raw = "\U0001f600" * MAX_TEXT_CHARS, b'{"a":"' + b"x" * (MAX_METADATA_BYTES - 8) + b'"}'
    reader = stored((b"small", b"{}"), (text.encode(), raw))
    assert len(reader.blocks[2]) == 1  # the small one waited for it: as large as a block can be
    assert reader.content(1)[0] == text and len(reader.metadata(1)["a"]) == MAX_METADATA_BYTES - 8
    assert reader.text(0) == "small"


def test_one_large_block_is_kept_and_no_two(monkeypatch: pytest.MonkeyPatch) -> None:
    large = [(b"%d" % i * (2 << 20), b"{}") for i in range(3)]
    first, second = stored(large[0], large[1], (b"small", b"{}")), stored(large[2])
    unpacked = []
    inner = DocStoreReader._unpack

    def unpack(self: DocStoreReader, block: int) -> Any:
        unpacked.append((self, block))
        return inner(self, block)

    monkeypatch.setattr(DocStoreReader, "_unpack", unpack)
    for reader, doc, times in ((first, 0, 1), (first, 0, 1), (first, 2, 2), (first, 0, 2), (second, 0, 3)):
        reader.text(doc)
        assert len(unpacked) == times
        assert len(docstore._large.kept) == 1
    first.text(0)
    assert len(unpacked) == 4
    del reader, first
    unpacked.clear()
    assert len(docstore._large.kept) == 0  # gone with its reader


def test_bytes_after_a_block_are_no_part_of_it() -> None:
    good = stored((b"text", b"{}"))
    directory = MemoryDirectory()
    blocks = np.concatenate([good.file.array("blocks"), np.zeros(3, np.uint8)])
    with SectionWriter(directory, "b.doc", "doc", good.file.meta) as file:
        for name in good.file.names:
            changed = {"blocks": blocks, "block_offsets": np.array([0, len(blocks)], np.uint8)}
            file.add(name, changed.get(name, good.file.array(name)))
        file.close()
    assert zlib.decompressobj().decompress(blocks.tobytes())  # which is what zlib itself would take
    with pytest.raises(IndexCorrupt, match="does not hold"):
        DocStoreReader.open(directory, "b.doc").text(0)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":[[1]]}',
        b'{"a":{"b":1}}',
        b'{"a":[{"b":1}]}',
        b'{"a":[1,"x"]}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":9223372036854775808}',
        b'{"a":"\\ud800"}',
        b'{"\\udc00":1}',
        b'{"a":{"$date":5}}',
        b'{"$date":"2024-01-01"}',
        b"[]",
        b"",
    ],
)
def test_stored_metadata_is_what_metadata_may_be(raw: bytes) -> None:
    with pytest.raises((ValueError, TypeError, RecursionError)):
        decode_metadata(raw)
    with pytest.raises(IndexCorrupt, match="metadata of document 0"):
        stored((b"x", raw)).metadata(0)


# -- check and merge -----------------------------------------------------------------------------------------------


def test_check_refuses_ids_over_the_limits(directory: MemoryDirectory, entry: SegmentEntry) -> None:
    cross_check(SegmentReader(directory, entry))

    def longer(sections: Sections, meta: Meta) -> None:
        ids = sections["ids"].tobytes()
        sections["ids"] = np.frombuffer(ids + b"x" * 600, np.uint8)
        sections["id_offsets"] = sections["id_offsets"].astype(np.uint32)
        sections["id_offsets"][-1] += 600

    def empty(sections: Sections, meta: Meta) -> None:
        sections["id_offsets"][1] = 0

    for change in (longer, empty):
        with pytest.raises(IndexCorrupt, match="document id"):
            cross_check(SegmentReader(directory, forged(directory, entry, "doc", change)))


def test_an_id_in_two_segments_is_found_among_many_equal_hashes(
    directory: MemoryDirectory, entry: SegmentEntry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(docstore, "id_hash", lambda raw: 7)
    one, two = (write_segment(directory, f"s{i}", batch(i), FIELDS, COLUMNS) for i in (1, 2))
    cross_check_ids([SegmentReader(directory, one), SegmentReader(directory, two)])
    with pytest.raises(IndexCorrupt, match="there twice"):
        cross_check_ids([SegmentReader(directory, one), SegmentReader(directory, two), SegmentReader(directory, one)])


def all_gone_of_one_term(sections: Sections, meta: Meta) -> None:
    """The delete file says that more of a term is gone than is."""
    sections["0.counts"][:] = 3


def no_deletes_counted(sections: Sections, meta: Meta) -> None:
    for i, field in enumerate(meta["fields"]):
        field["terms"] = 0
        sections[f"{i}.terms"], sections[f"{i}.counts"] = sections[f"{i}.terms"][:0], sections[f"{i}.counts"][:0]


def terms_exchanged(sections: Sections, meta: Meta) -> None:
    sections["terms"] = sections["terms"][::-1].copy()


def hashes_of_one(sections: Sections, meta: Meta) -> None:
    sections["hash_docs"][:] = 0


@pytest.mark.parametrize(
    ("role", "change", "problem"),
    [
        ("del", all_gone_of_one_term, "contradict|takes away more"),
        ("del", no_deletes_counted, "contradict"),
        ("field:latent", terms_exchanged, "not ascending"),
        ("doc", hashes_of_one, "table of ids"),
        ("vec", lambda s, m: s["0.values"].fill(np.nan), "NaN"),
    ],
)
def test_a_merge_writes_nothing_that_contradicts_itself(
    directory: MemoryDirectory, entry: SegmentEntry, role: str, change: Any, problem: str
) -> None:
    other = SegmentReader(directory, write_segment(directory, "s2", batch(9), FIELDS, COLUMNS))
    merge_segments(directory, "s3", [SegmentReader(directory, entry), other])
    before = set(directory.files)
    bad = SegmentReader(directory, forged(directory, entry, role, change))
    kept = set(directory.files) - before
    with pytest.raises(IndexCorrupt, match=problem):
        merge_segments(directory, "s4", [bad, other])
    assert set(directory.files) == before | kept


def three_documents(directory: MemoryDirectory, *rows: dict[int, int]) -> SegmentEntry:
    """A segment of documents given as {term: tf}, the first of them deleted."""
    made = segment_batch(["a", "b", "c"], {"t": from_rows(list(rows), random_field(1, 1, 1, 1))})
    entry = write_segment(directory, "s5", made, {"t": SPECS["fixed"]}, {})
    return delete_documents(directory, SegmentReader(directory, entry), np.array([0]))


@pytest.mark.parametrize(
    "other",
    [
        ({0: 1, 1: 1}, {0: 1}, {1: 1, 2: 1}),  # a live document with a term that only the deleted one has
        ({1: 1}, {0: 1, 1: 1}, {1: 1, 2: 1}),  # and with one posting more
        ({1: 1}, {1: 1, 2: 1}, {0: 1, 2: 1}),
    ],
)
def test_a_merge_refuses_a_forward_index_of_other_terms(
    directory: MemoryDirectory, other: tuple[dict[int, int], ...]
) -> None:
    sound = three_documents(directory, {0: 1, 1: 1}, {1: 1}, {1: 1, 2: 1})
    field = three_documents(directory, *other).files["field:t"]
    forward = SectionFile.open(directory, field, "field").array("forward")
    bad = forged(directory, sound, "field:t", lambda s, m: s.update(forward=forward))
    with pytest.raises(IndexCorrupt, match="contradict"):
        merge_segments(directory, "s7", [SegmentReader(directory, bad)])


def test_a_merge_refuses_a_forward_index_with_more_in_live_documents(directory: MemoryDirectory) -> None:
    """Every term is one that live documents have, and all postings are there: only their number in live ones is not."""
    sound = three_documents(directory, {1: 1, 2: 1}, {1: 1}, {1: 1, 2: 1})
    field = three_documents(directory, {1: 1}, {1: 1, 2: 1}, {1: 1, 2: 1}).files["field:t"]
    forward = SectionFile.open(directory, field, "field").array("forward")
    bad = forged(directory, sound, "field:t", lambda s, m: s.update(forward=forward))
    with pytest.raises(IndexCorrupt, match="contradict"):
        merge_segments(directory, "s7", [SegmentReader(directory, bad)])


def test_a_merge_refuses_deletes_that_are_right_in_sum_only(directory: MemoryDirectory) -> None:
    sound = three_documents(directory, {1: 1}, {1: 1, 2: 1}, {1: 1, 2: 1})
    bad = forged(directory, sound, "del", lambda s, m: s["0.terms"].fill(1))  # of term 2 where term 1 has gone
    with pytest.raises(IndexCorrupt, match="contradict"):
        merge_segments(directory, "s7", [SegmentReader(directory, bad)])
