"""docs/format.md, taken at its word: a reader that uses none of the package's code finds all that was written."""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.storage.doubles import MemoryDirectory
from zipfian.index.commit import Writer
from zipfian.index.segment import FieldWriteSpec, SegmentReader, delete_documents, write_segment
from zipfian.types import FieldBatch, SegmentBatch

N = 300
CODES = dict(
    zip("uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64".split(), "BHIQbhiqfd", strict=True)
)


def rows() -> list[dict[int, int]]:
    rng = np.random.default_rng(4)
    return [
        {int(t): int(rng.integers(1, 40)) for t in np.flatnonzero(rng.random(90) < 1 / (1 + np.arange(90) / 3))}
        for _ in range(N)
    ]


def field(data: list[dict[int, int]], terms: Any, tf_type: Any) -> FieldBatch:
    indptr = np.cumsum([0, *map(len, data)])
    indices = np.array([t for row in data for t in sorted(row)], np.int32)
    return FieldBatch(indptr, terms, indices, np.array([row[t] for row in data for t in sorted(row)], tf_type))


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    """A collection of one segment with three fields, metadata, vectors and deletes."""
    directory, data = MemoryDirectory(), rows()
    specs = {
        "words": FieldWriteSpec("count"),
        "fixed": FieldWriteSpec("fixed", 100.0),
        "float": FieldWriteSpec("float32"),
    }
    batch = SegmentBatch(
        ids=[f"id-{i}" for i in range(N)],
        texts=[None if i % 7 == 0 else f"text é {i} " * (i % 50) for i in range(N)],
        metadata=[{"n": i, "tags": [f"t{i % 3}"] * (i % 2)} if i % 5 else {} for i in range(N)],
        fields={
            "words": field(data, [f"w{i:03}" for i in range(90)], np.uint32),
            "fixed": field(data, np.arange(90) * 1000, np.uint32),
            "float": field(data, np.arange(90), np.float32),
        },
        vectors={"v": np.arange(N * 3, dtype=np.float32).reshape(N, 3)},
    )
    with Writer(directory, create=True, settings={"a": "ü"}) as writer:
        columns: Any = {"n": "integer", "tags": "list[string]"}
        writer.add_segment(write_segment(directory, writer.new_segment_id(), batch, specs, columns))
        reader = SegmentReader(directory, writer.entries[0])
        writer.update(delete_documents(directory, reader, np.arange(0, N, 9)))
        writer.commit({"why": "test"})
    return {name: bytes(inode.data) for name, inode in directory.files.items()}


def manifest(files: dict[str, bytes]) -> dict[str, Any]:
    raw = files["manifest-000000000002.json"]
    content: dict[str, Any] = json.loads(raw)
    assert (json.dumps(content, indent=1, sort_keys=True) + "\n").encode("ascii") == raw
    rest = {key: value for key, value in content.items() if key != "crc"}
    assert zlib.crc32(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()) == content["crc"]
    return content


def read(files: dict[str, bytes], role: str) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """Meta data and sections of a file, with every checksum on the way."""
    ref = manifest(files)["segments"][0]["files"][role]
    data = files[ref["name"]]
    assert len(data) == ref["size"]
    magic, version, zero, kind, file_id = struct.unpack_from("<4sHH8sQ", data)
    assert (magic, version, zero, kind.rstrip(b"\0").decode()) == (b"ZPFN", 2, 0, role.partition(":")[0])
    toc, toc_bytes, block, blocks, table_crc, same_id, crc, end = struct.unpack("<QQIIIQI4s", data[-44:])
    assert (end, block, same_id, crc) == (b"ZPFN", 65536, file_id, zlib.crc32(data[-44:-8]))
    assert f"{table_crc:08x}{crc:08x}" == ref["checksum"] and f"{file_id:016x}" == ref["file_id"]
    body, table = data[: toc + toc_bytes], data[toc + toc_bytes : -44]
    assert zlib.crc32(table) == table_crc
    wanted = [zlib.crc32(body[i : i + block]) for i in range(0, len(body), block)]
    assert list(struct.unpack(f"<{blocks}I", table)) == wanted
    contents = json.loads(body[toc:])
    sections = {}
    for name, s in contents["sections"].items():
        count = int(np.prod(s["shape"]))
        assert s["offset"] % 64 == 0
        sections[name] = list(struct.unpack_from(f"<{count}{CODES[s['dtype']]}", data, s["offset"]))
    return contents["meta"], sections


class Bits:
    """A bit stream, as one large number."""

    def __init__(self, words: list[int]) -> None:
        self.number = sum(word << 64 * i for i, word in enumerate(words))
        self.size, self.at = 64 * len(words), 0

    def run(self, count: int, width: int) -> list[int]:
        out = [self.number >> self.at + i * width & (1 << width) - 1 for i in range(count)]
        self.at += count * width
        return out

    def assert_end(self) -> None:
        assert self.size == 64 * (-(-self.at // 64) + 1)


def bits(packed: list[int], count: int) -> list[bool]:
    return [bool(packed[i // 8] >> i % 8 & 1) for i in range(count)]


def pieces(blob: list[int], ends: list[int]) -> list[bytes]:
    return [bytes(blob[a:b]) for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", ["words", "fixed", "float"])
def test_field(files: dict[str, bytes], name: str) -> None:
    meta, s = read(files, f"field:{name}")
    terms = [w.decode() for w in pieces(s["terms"], s["term_offsets"])] if meta["terms"] == "str" else s["terms"]
    found: list[dict[Any, float]] = [{} for _ in range(meta["n_docs"])]
    stream, block = Bits(s["postings"]), 0
    for term, df in zip(terms, s["df"], strict=True):
        for left in range(df, 0, -128):
            n = min(left, 128)
            gaps = stream.run(n - 1, s["block_doc_width"][block])
            tf = stream.run(n, s["block_tf_width"][block])
            doc = s["block_first"][block]
            for i in range(n):
                value = struct.unpack("<f", struct.pack("<I", tf[i]))[0] if meta["tf"] == "float32" else tf[i] + 1
                found[doc][term] = value
                doc += gaps[i] + 1 if i < n - 1 else 0
            block += 1
    stream.assert_end()
    as_term: Any = {"words": lambda t: f"w{t:03}", "fixed": lambda t: t * 1000, "float": lambda t: t}[name]
    assert found == [{as_term(t): tf for t, tf in row.items()} for row in rows()]
    unit = 2**20 if name == "float" else 1
    assert s["lengths"] == [sum(row.values()) * unit for row in rows()]
    assert meta["total_length"] == sum(s["lengths"]) and meta["n_postings"] == sum(map(len, found))
    assert forward(meta, s) == [[terms.index(t) for t in row] for row in found]


def forward(meta: dict[str, Any], s: dict[str, list[Any]]) -> list[list[int]]:
    low, stream = meta["forward_low"], Bits(s["forward"])
    high = ((max(meta["n_terms"], 1) - 1) >> low) + 1
    out: list[list[int]] = []
    for group, n in enumerate(s["forward_counts"]):
        docs = min(64, meta["n_docs"] - 64 * group)
        upper = stream.run(-(-(docs * high + n) // 32), 32)
        lower = stream.run(n, low)
        ones = [32 * i + b for i, value in enumerate(upper) for b in range(32) if value >> b & 1]
        rows: list[list[int]] = [[] for _ in range(docs)]
        for k, (one, rest) in enumerate(zip(ones, lower, strict=True)):
            doc, t = divmod(one - k, high)
            rows[doc].append(t << low | rest)
        out += rows
    stream.assert_end()
    return out


def test_documents(files: dict[str, bytes]) -> None:
    meta, s = read(files, "doc")
    ids = pieces(s["ids"], s["id_offsets"])
    assert ids == [f"id-{i}".encode() for i in range(N)] and meta["n_docs"] == N
    digests = [int.from_bytes(hashlib.blake2b(i, digest_size=8).digest(), "little") for i in ids]
    assert s["hashes"] == sorted(digests) == [digests[doc] for doc in s["hash_docs"]]
    stored = []
    packed = pieces(s["blocks"], s["block_offsets"])
    for block, size, first, last in zip(packed, s["block_sizes"], s["block_docs"], s["block_docs"][1:], strict=False):
        raw = zlib.decompress(block)
        assert len(raw) == size
        n = last - first
        sizes, at = struct.unpack_from(f"<{2 * n}I", raw), 8 * n
        for text, metadata in zip(sizes[::2], sizes[1::2], strict=True):
            length = max(text - 1, 0)
            kept = raw[at : at + length].decode() if text else None
            stored.append((kept, json.loads(raw[at + length : at + length + metadata])))
            at += length + metadata
        assert at == size
    assert [text for text, _ in stored] == [None if i % 7 == 0 else f"text é {i} " * (i % 50) for i in range(N)]
    assert [m for _, m in stored] == [{"n": i, "tags": [f"t{i % 3}"] * (i % 2)} if i % 5 else {} for i in range(N)]


def test_columns(files: dict[str, bytes]) -> None:
    meta, s = read(files, "col")
    assert [(f["name"], f["type"], f["some"]) for f in meta["columns"]] == [
        ("n", "integer", True),
        ("tags", "list[string]", True),
    ]
    has = [i % 5 > 0 for i in range(N)]
    assert bits(s["0.present"], N) == bits(s["1.present"], N) == has
    assert [v for v, h in zip(s["0.values"], has, strict=True) if h] == [i for i in range(N) if i % 5]
    words = [w.decode() for w in pieces(s["1.terms"], s["1.term_offsets"])]
    starts = s["1.starts"]
    tags = [[words[v] for v in s["1.values"][a:b]] for a, b in pairwise(starts)]
    assert tags == [[f"t{i % 3}"] * (i % 2) if i % 5 else [] for i in range(N)]


def test_vectors_and_deletes(files: dict[str, bytes]) -> None:
    meta, s = read(files, "vec")
    assert meta["vectors"] == [{"name": "v", "dim": 3, "some": False}] and s["0.values"] == list(range(3 * N))
    meta, s = read(files, "del")
    gone = [i % 9 == 0 for i in range(N)]
    assert bits(s["deleted"], N) == gone and meta["n_deleted"] == sum(gone)
    names = [entry["name"] for entry in meta["fields"]]
    assert sorted(names) == ["fixed", "float", "words"]
    for i, entry in enumerate(meta["fields"]):
        df = dict(zip(s[f"{i}.terms"], s[f"{i}.counts"], strict=True))
        deleted = [row for row, g in zip(rows(), gone, strict=True) if g]
        assert {t: n for t in range(90) if (n := sum(t in row for row in deleted))} == df
        unit = 2**20 if entry["name"] == "float" else 1
        assert entry["length"] == unit * sum(sum(row.values()) for row in deleted)


def test_manifest_and_note(files: dict[str, bytes]) -> None:
    content = manifest(files)
    assert content["format"] == 2 and content["generation"] == 2
    assert content["settings"] == {"a": "ü"} and content["user"] == {"why": "test"}
    digits, crc = files["write.lock"][:12], files["write.lock"][13:21]
    assert digits == b"000000000002" and int(crc, 16) == zlib.crc32(digits) and files["write.lock"][21:] == b"\n"
