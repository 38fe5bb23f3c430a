"""Stored documents: ids both ways, texts and metadata, and copies of blocks."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.fields import segment_batch
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index import docstore, docstore_writer
from zipfian.index.docstore import DocStoreReader
from zipfian.index.docstore_writer import merge_blocks, write_docs, write_docs_file
from zipfian.limits import MAX_ID_BYTES, MAX_METADATA_BYTES, MAX_TEXT_CHARS
from zipfian.storage.container import SectionFile, SectionWriter

names = st.text(min_size=1, max_size=20).filter(lambda s: s.isprintable())
texts = st.one_of(st.none(), st.text(max_size=100).filter(lambda s: all(not 0xD800 <= ord(c) < 0xE000 for c in s)))


def stored(
    ids: list[str], texts: list[str | None] | None = None, metadata: list[dict[str, Any]] | None = None
) -> DocStoreReader:
    directory = MemoryDirectory()
    return DocStoreReader.open(directory, write_docs(directory, "a.doc", segment_batch(ids, {}, metadata, None, texts)))


@given(st.lists(st.tuples(names, texts), unique_by=lambda d: d[0], max_size=20))
def test_what_is_stored_is_what_is_read(documents: Any) -> None:
    metadata = [{"n": i, "name": name} for i, (name, _) in enumerate(documents)]
    reader = stored([i for i, _ in documents], [t for _, t in documents], metadata)
    assert reader.n_docs == len(documents)
    for doc, (name, text) in enumerate(documents):
        assert (reader.id(doc), reader.find(name)) == (name, doc)
        assert (reader.text(doc), reader.metadata(doc)) == (text, metadata[doc])
    backwards = np.arange(len(documents), dtype=np.int64)[::-1]
    assert reader.ids_of(backwards) == [i for i, _ in documents][::-1]
    assert reader.find_many(["no such id", *(i for i, _ in documents)]).tolist() == [-1, *range(len(documents))]


def test_many_blocks_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstore_writer, "BLOCK_BYTES", 500)
    texts = [f"document number {i} " * (i % 40) for i in range(400)]
    reader = stored([f"d{i}" for i in range(400)], texts)
    assert len(reader.blocks[2]) > 50
    for doc in np.random.default_rng(0).permutation(400).tolist():
        assert reader.text(doc) == texts[doc]


def test_a_block_is_unpacked_once_for_all_threads_and_one_of_another_file_is_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unpacked: list[tuple[DocStoreReader, int]] = []
    usual = DocStoreReader._unpack

    def counted(reader: DocStoreReader, block: int) -> Any:
        unpacked.append((reader, block))
        return usual(reader, block)

    monkeypatch.setattr(DocStoreReader, "_unpack", counted)
    one, other = stored(["a", "b"], ["first", "second"]), stored(["a", "b"], ["third", "fourth"])
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(one.text, 0).result() == "first"
    assert (one.text(1), other.text(0), one.text(0)) == ("second", "third", "first")
    assert unpacked == [(one, 0), (other, 0)]
    monkeypatch.setattr(docstore, "_LARGE_BYTES", 0)  # kept by the thread itself, one at a time
    assert (one.text(1), one.text(0), other.text(0), one.text(0)) == ("second", "first", "third", "first")
    assert unpacked[2:] == [(one, 0), (other, 0), (one, 0)]


def test_metadata_keeps_its_types() -> None:
    row = {
        "when": datetime(2024, 1, 2, 3, 4, 5, 6, UTC),
        "naive": datetime(2024, 1, 2),
        "day": date(2024, 1, 2),
        "days": [date(2024, 1, 2), date(1, 1, 1)],
        "number": 0.1,
        "big": 2**63 - 1,
        "nothing": None,
        "flag": True,
        "text": 'quotes " and \u2028 \U0001f600',
    }
    assert stored(["a"], metadata=[row]).metadata(0) == row


def test_ids_whose_hashes_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docstore, "id_hash", lambda raw: len(raw))
    reader = stored(["aa", "b", "bb", "cc"])
    assert reader.find_many(["cc", "b", "aa", "bb", "dd"]).tolist() == [3, 1, 0, 2, -1]


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        ([""], InvalidInput, "empty"),
        ([3], InvalidInput, "must be text, not int"),
        ([None], InvalidInput, "must be text"),
        ([b"a"], InvalidInput, "must be text"),
        (["a\ud800"], InvalidInput, "Unicode"),
        (["x" * (MAX_ID_BYTES + 1)], LimitExceeded, "bytes"),
        (["a", "b", "a"], InvalidInput, "'a' is there twice"),
    ],
)
def test_bad_ids_are_refused(ids: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        stored(ids, [""] * len(ids))


def test_bad_texts_and_metadata_are_refused() -> None:
    for text, error in ((3, InvalidInput), ("\udc00", InvalidInput), ("x" * (MAX_TEXT_CHARS + 1), LimitExceeded)):
        with pytest.raises(error):
            stored(["a"], [text])
    with pytest.raises(LimitExceeded):
        stored(["a"], metadata=[{"x": "y" * MAX_METADATA_BYTES}])


def test_documents_out_of_range() -> None:
    reader = stored(["a"])
    for bad in (-1, 1):
        for ask in (reader.id, reader.text, reader.metadata):
            with pytest.raises(InvalidInput, match="no document"):
                ask(bad)
        with pytest.raises(InvalidInput, match="no document"):
            reader.ids_of(np.array([0, bad]))
    assert reader.find("\ud800") == -1


@given(st.lists(st.lists(st.tuples(st.integers(0, 3000), st.booleans()), max_size=30), min_size=1, max_size=3))
def test_merged_blocks_hold_the_kept_documents_in_order(parts: Any) -> None:
    sources, expected = [], []
    for p, documents in enumerate(parts):
        texts = [f"{p}.{i} " + "x" * size for i, (size, _) in enumerate(documents)]
        reader = stored([f"{p}.{i}" for i in range(len(documents))], texts)
        keep = np.array([k for _, k in documents], np.bool_)
        sources.append((reader, keep))
        expected += [t for t, k in zip(texts, keep, strict=True) if k]
    directory = MemoryDirectory()
    blocks = list(merge_blocks(sources))
    n = len(expected)
    ids = [(np.frombuffer(b"abc" * n, np.uint8), np.full(n, 3))]
    merged = DocStoreReader.open(
        directory, write_docs_file(directory, "m.doc", ids, np.arange(n, dtype=np.uint64), blocks)
    )
    assert [merged.text(i) for i in range(n)] == expected


def test_untouched_blocks_are_copied_as_they_are() -> None:
    reader = stored([str(i) for i in range(3000)], ["some text " * 10] * 3000)
    keep = np.ones(3000, np.bool_)
    keep[5] = False
    before = [reader.packed_block(i) for i in range(len(reader.blocks[2]))]
    after = [block.data for block in merge_blocks([(reader, keep)])]
    assert len(before) > 5 and before[1:-1] == after[1 : len(before) - 1]


def forged(reader: DocStoreReader, changes: dict[str, Any]) -> DocStoreReader:
    directory = MemoryDirectory()
    with SectionWriter(directory, "b.doc", "doc", reader.file.meta) as file:
        for name in reader.file.names:
            section = reader.file.array(name).copy()
            file.add(name, changes[name](section) if name in changes else section)
        file.close()
    return DocStoreReader(SectionFile.open(directory, "b.doc", "doc"))


@pytest.mark.parametrize(
    "changes",
    [
        {"id_offsets": lambda s: s[::-1].copy()},
        {"id_offsets": lambda s: s[:-1]},
        {"ids": lambda s: s | 0x80},
        {"hash_docs": lambda s: s + 100},
        {"hashes": lambda s: s.astype(np.uint32)},
        {"block_sizes": lambda s: s + 1},
        {"block_sizes": lambda s: s - 1},
        {"block_sizes": lambda s: s * 0},
        {"block_sizes": lambda s: s.astype(np.uint64) + 2**62},
        {"block_docs": lambda s: s // 2},
        {"block_offsets": lambda s: s[::-1].copy()},
        {"blocks": lambda s: s[::-1].copy()},
        {"blocks": lambda s: s ^ (np.arange(len(s)) == len(s) // 2).astype(np.uint8)},
    ],
)
def test_forged_files_with_sound_checksums_are_errors(changes: dict[str, Any]) -> None:
    good = stored(["aé", "bé", "cé"], ["first text", "second", None], [{"x": 1}, {}, {"y": "z"}])
    with pytest.raises(IndexCorrupt):
        reader = forged(good, changes)
        reader.ids_of(np.arange(3))
        for doc in range(3):
            reader.find(reader.id(doc))
            reader.text(doc)
            reader.metadata(doc)
