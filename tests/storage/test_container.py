"""The file format: what goes in comes out, and no damage goes unnoticed."""

from __future__ import annotations

import json
import random
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.storage.doubles import FaultyDirectory, MemoryDirectory, fail_once
from zipfian.errors import FileGone, FormatTooNew, FormatTooOld, IndexCorrupt, InvalidInput
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.storage.directory import FSDirectory
from zipfian.storage.layout import BLOCK, DTYPES, FOOTER, HEADER, FileRef, Footer

Arrays = dict[str, npt.NDArray[Any]]
NAME = "a.bin"


def write(directory: Any, arrays: Arrays, name: str = NAME, kind: str = "test", meta: Any = None) -> FileRef:
    with SectionWriter(directory, name, kind, meta or {"n": 3}) as writer:
        for section, array in arrays.items():
            writer.add(section, array)
        return writer.close()


def sample(seed: int = 0, n: int = 60_000) -> Arrays:
    rng = np.random.default_rng(seed)
    return {
        "ints": rng.integers(0, 2**31, n).astype(np.int32),
        "empty": np.empty(0, np.uint16),
        "matrix": rng.random((7, 5)).astype(np.float32),
        "none": np.empty((0, 5), np.float64),
        "narrow": np.empty((4, 0), np.int8),
        "bytes": np.frombuffer(b"words", np.uint8),
    }


stored = st.sampled_from(sorted(DTYPES)).flatmap(
    lambda t: hnp.arrays(DTYPES[t], hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=40))
)


@given(arrays=st.dictionaries(st.text(max_size=8), stored, max_size=5), meta=st.dictionaries(st.text(), st.integers()))
def test_round_trip(arrays: Arrays, meta: dict[str, int]) -> None:
    directory = MemoryDirectory()
    ref = write(directory, arrays, meta=meta)
    assert ref.size == directory.size(NAME)
    file = SectionFile.open(directory, ref, "test")
    file.verify()
    assert file.meta == (meta or {"n": 3})
    assert file.names == list(arrays) and file.ref == ref
    for section, array in arrays.items():
        found = file.array(section)
        assert found.dtype == array.dtype and found.shape == array.shape
        assert found.tobytes() == array.tobytes()
        assert not found.flags.writeable and found.flags.aligned
        assert file.length(section) == len(array)
        assert file.part(section, len(array) // 3, len(array)).tobytes() == array[len(array) // 3 :].tobytes()
    assert FileRef.from_json(json.loads(json.dumps(ref.to_json()))) == ref


@pytest.mark.parametrize("size", [0, 1, BLOCK - HEADER.size, 3 * BLOCK, (1 << 20) - 40, (1 << 20) + 1, 3 << 20])
def test_sizes_around_blocks_and_buffers(size: int) -> None:
    directory = MemoryDirectory()
    data = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    file = SectionFile.open(directory, write(directory, {"a": data[: size // 2], "b": data, "c": data[:5]}), "test")
    file.verify()
    assert np.array_equal(file.array("b"), data) and np.array_equal(file.array("a"), data[: size // 2])


def test_streamed_sections_equal_whole_ones(tmp_path: Path) -> None:
    directory = FSDirectory(tmp_path)
    data = np.arange(300_000, dtype=np.uint32)
    writer = SectionWriter(directory, NAME, "test", {})
    stream = writer.stream("s", np.uint32)
    for part in np.array_split(data, 77):
        stream.append(part)
    with pytest.raises(ValueError, match="has not ended"):
        writer.add("other", data)
    with pytest.raises(TypeError):
        stream.append(data.astype(np.int64))
    stream.end()
    for late in (stream.end, lambda: stream.append(data)):
        with pytest.raises(ValueError, match="has ended"):
            late()
    writer.stream("t", "u1").end()
    writer.meta["late"] = True
    file = SectionFile.open(directory, writer.close(), "test")
    assert np.array_equal(file.array("s"), data) and file.length("t") == 0 and file.meta == {"late": True}


def test_a_strided_or_foreign_endian_array_is_stored_plainly() -> None:
    directory = MemoryDirectory()
    array = np.arange(20, dtype=">i4").reshape(4, 5)
    ref = write(directory, {"t": array.T, "s": array[:, ::2]})
    file = SectionFile.open(directory, ref, "test")
    assert np.array_equal(file.array("t"), array.T) and np.array_equal(file.array("s"), array[:, ::2])


def test_misuse_of_the_writer() -> None:
    directory = MemoryDirectory()
    with SectionWriter(directory, NAME, "test", {}) as writer:
        writer.add("a", np.zeros(3, np.int32))
        with pytest.raises(ValueError, match="already"):
            writer.add("a", np.zeros(3, np.int32))
        for bad in (np.zeros(3, np.bool_), np.array(["x"]), np.array([None]), np.zeros(3, np.complex64)):
            with pytest.raises(TypeError, match="cannot be stored"):
                writer.add("b", bad)
        with pytest.raises(ValueError, match="dimensions"):
            writer.add("b", np.zeros((2, 2, 2), np.int32))
    assert directory.list() == []  # never closed, so it never was
    with pytest.raises(ValueError, match="ASCII"):
        SectionWriter(directory, NAME, "much too long", {})
    assert directory.list() == []


@pytest.mark.parametrize("n", range(1, 6))
def test_a_failed_write_leaves_no_file(n: int) -> None:
    inner = MemoryDirectory()
    directory = FaultyDirectory(inner, fail_once(n))
    try:
        write(directory, sample(n=500_000))
    except OSError:
        assert inner.list() == []
    else:
        assert n > len(directory.log)


def test_parts_are_bounds_checked_and_verify_only_what_they_touch() -> None:
    directory = MemoryDirectory()
    data = np.arange(10 * BLOCK, dtype=np.uint8)
    ref = write(directory, {"a": data})
    directory.files[NAME].data[5 * BLOCK + 100] ^= 1
    file = SectionFile.open(directory, ref, "test")
    assert len(file.part("a", 0, 4 * BLOCK)) == 4 * BLOCK
    assert len(file.part("a", 6 * BLOCK, 10 * BLOCK)) == 4 * BLOCK
    for _ in range(2):  # damage is found every time, not once
        with pytest.raises(IndexCorrupt, match=rf"{NAME}: its bytes {5 * BLOCK} to {6 * BLOCK} fail"):
            file.part("a", 5 * BLOCK, 5 * BLOCK + 10)
        with pytest.raises(IndexCorrupt):
            file.array("a")
        with pytest.raises(IndexCorrupt):
            file.verify()
    for start, stop in ((-1, 3), (3, 2), (0, 10 * BLOCK + 1), (2**62, 2**63)):
        with pytest.raises(IndexCorrupt, match="which has"):
            file.part("a", start, stop)
    with pytest.raises(IndexCorrupt, match="no section"):
        file.array("b")


def test_slices_are_what_parts_are() -> None:
    directory = MemoryDirectory()
    data = np.arange(10 * BLOCK, dtype=np.uint8)
    ref = write(directory, {"first": np.arange(7, dtype=np.uint8), "a": data})
    directory.files[NAME].data[5 * BLOCK + 100] ^= 1
    file = SectionFile.open(directory, ref, "test")
    ranges = [(3, 9), (0, 0), (7 * BLOCK, 9 * BLOCK - 300), (BLOCK - 200, BLOCK + 200), (2, 4 * BLOCK)]
    assert file.slices("a", ranges) == [file.part("a", *r).tobytes() for r in ranges] != []
    fresh = SectionFile.open(directory, ref, "test")
    assert fresh.slices("a", ranges) == file.slices("a", ranges) and fresh.slices("a", []) == []
    for damaged in [(5 * BLOCK, 5 * BLOCK + 10), (4 * BLOCK, 6 * BLOCK)] * 2:
        with pytest.raises(IndexCorrupt, match="fail"):
            file.slices("a", [(0, 3), damaged])
    for outside in ((-1, 3), (3, 2), (0, 10 * BLOCK + 1), (2**62, 2**63)):
        with pytest.raises(IndexCorrupt, match="refers to"):
            file.slices("a", [outside])
    with pytest.raises(IndexCorrupt, match="no section"):
        file.slices("b", [(0, 0)])
    file.close()
    with pytest.raises(InvalidInput, match="closed"):
        file.slices("a", ranges)


def test_every_flipped_bit_of_a_small_file_is_found() -> None:
    directory = MemoryDirectory()
    ref = write(directory, {"a": np.arange(40, dtype=np.int32)})
    for use in (ref, NAME):
        sound = bytes(directory.files[NAME].data)
        for position in range(len(sound)):
            for bit in range(8):
                damaged = bytearray(sound)
                damaged[position] ^= 1 << bit
                directory.files[NAME].data[:] = damaged
                with pytest.raises(IndexCorrupt, match=NAME):
                    SectionFile.open(directory, use, "test").verify()
        directory.files[NAME].data[:] = sound


def test_every_truncation_and_any_appended_byte_is_found() -> None:
    directory = MemoryDirectory()
    write(directory, sample(n=30))
    sound = bytes(directory.files[NAME].data)
    for length in range(len(sound)):
        directory.files[NAME].data[:] = sound[:length]
        with pytest.raises(IndexCorrupt):
            SectionFile.open(directory, NAME, "test")
    for tail in (b"\0", sound[-FOOTER.size :], sound):
        directory.files[NAME].data[:] = sound + tail
        with pytest.raises(IndexCorrupt):
            SectionFile.open(directory, NAME, "test")


def test_another_file_in_its_place_is_found() -> None:
    directory = MemoryDirectory()
    one, two = write(directory, sample()), write(directory, sample(), "b.bin")
    assert one.size == two.size and one.file_id != two.file_id
    directory.files[NAME], directory.files["b.bin"] = directory.files["b.bin"], directory.files[NAME]
    with pytest.raises(IndexCorrupt, match="not the one the manifest names"):
        SectionFile.open(directory, one, "test")
    with pytest.raises(IndexCorrupt, match="kind"):
        SectionFile.open(directory, NAME, "other")
    with pytest.raises(FileGone, match=r"gone\.bin: is missing"):
        SectionFile.open(directory, "gone.bin", "test")


def forge(directory: MemoryDirectory, toc: Any, *, version: int = 2, **footer: int) -> None:
    """A file whose checksums are right but whose content was made up by an enemy."""
    raw = toc if isinstance(toc, bytes) else json.dumps(toc).encode()
    body = HEADER.pack(b"ZPFN", version, 0, b"test", 7).ljust(128, b"\0") + raw
    crcs = [zlib.crc32(body[i : i + BLOCK]) for i in range(0, len(body), BLOCK)]
    table = np.array(crcs, "<u4").tobytes()
    values = {"toc_offset": 128, "toc_nbytes": len(raw), "blocks": len(crcs)} | footer
    end = Footer.make(**values, table_crc=zlib.crc32(table), file_id=7).pack()
    directory.files.clear()
    file = directory.create(NAME)
    file.write(body + table + end)


def section(**changes: Any) -> dict[str, Any]:
    made = {"offset": 64, "nbytes": 8, "dtype": "int32", "shape": [2]} | changes
    return {"meta": {}, "sections": {"a": made}}


def test_a_forged_file_that_is_consistent_opens() -> None:
    directory = MemoryDirectory()
    forge(directory, section())
    assert SectionFile.open(directory, NAME, "test").array("a").tolist() == [0, 0]


@pytest.mark.parametrize(
    "toc",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b"[" * 100_000,
        {"meta": [], "sections": {}},
        {"meta": {}, "sections": []},
        {"meta": {}},
        section(offset=0),
        section(offset=65),
        section(offset=-64),
        section(offset=2**62),
        section(offset="64"),
        section(offset=64.0),
        section(offset=True),
        section(nbytes=2**40, shape=[2**38]),
        section(shape=[2**62, 4], nbytes=2**66),
        section(shape=[3]),
        section(shape=[-1, -2]),
        section(shape=[]),
        section(shape=[1, 1, 2]),
        section(shape=2),
        section(shape={"2": 2}),
        section(shape=[2**62 + 1] * 100_000),  # a product of so many digits takes minutes
        section() | {"meta": {"more": [[]] * 210_000}},
        section(shape=None),
        section(dtype="object"),
        section(dtype="O"),
        section(dtype=["int32"]),
        section(dtype=None),
        {"meta": {}, "sections": {"a": None}},
        {"meta": {}, "sections": {k: section()["sections"]["a"] for k in "ab"}},  # two sections on the same bytes
    ],
)
def test_forged_contents_are_refused(toc: Any) -> None:
    directory = MemoryDirectory()
    forge(directory, toc)
    with pytest.raises(IndexCorrupt, match=NAME):
        SectionFile.open(directory, NAME, "test")


@pytest.mark.parametrize(
    "footer",
    [
        {"toc_offset": 0},
        {"toc_offset": 64},
        {"toc_offset": 2**63},
        {"toc_nbytes": 2**63},
        {"toc_nbytes": 2**40, "blocks": 2**24},
        {"blocks": 0},
        {"blocks": 2**32 - 1},
    ],
)
def test_forged_footers_are_refused(footer: dict[str, int]) -> None:
    directory = MemoryDirectory()
    forge(directory, section(), **footer)
    with pytest.raises(IndexCorrupt, match=NAME):
        SectionFile.open(directory, NAME, "test")


def test_a_file_of_the_first_release_is_refused_with_one_sentence() -> None:
    directory = MemoryDirectory()
    forge(directory, section(), version=1)
    with pytest.raises(FormatTooOld, match=r"has format 1, of an older zipfian.*: index the documents into a new"):
        SectionFile.open(directory, NAME, "test")


def test_a_later_format_is_told_apart_from_damage() -> None:
    directory = MemoryDirectory()
    forge(directory, section(), version=3)
    with pytest.raises(FormatTooNew, match="pip install -U zipfian"):
        SectionFile.open(directory, NAME, "test")
    directory.files[NAME].data[-8:] = b"otherend"  # one that ends in a way we do not know
    with pytest.raises(FormatTooNew):
        SectionFile.open(directory, NAME, "test")
    write(directory, sample(), "b.bin")
    struct.pack_into("<H", directory.files["b.bin"].data, 4, 9)  # a version that its own checksum belies
    with pytest.raises(IndexCorrupt):
        SectionFile.open(directory, "b.bin", "test")


@given(st.binary(max_size=300))
def test_random_bytes_are_never_a_file(data: bytes) -> None:
    directory = MemoryDirectory({NAME: data})
    with pytest.raises((IndexCorrupt, FormatTooNew, FormatTooOld)):
        SectionFile.open(directory, NAME, "test")


def test_threads_verify_each_block_once_and_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = MemoryDirectory()
    data = np.arange(40 * BLOCK // 8, dtype=np.uint64)
    file = SectionFile.open(directory, write(directory, {"a": data}), "test")
    counted: list[int] = []
    crc32 = zlib.crc32

    def counting(piece: Any, value: int = 0) -> int:
        counted.append(len(piece))
        return crc32(piece, value)

    monkeypatch.setattr("zipfian.storage.container.zlib.crc32", counting)
    wrong: list[object] = []

    def read(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(200):
            start = rng.randrange(len(data))
            stop = rng.randrange(start, len(data) + 1)
            if not np.array_equal(file.part("a", start, stop), data[start:stop]):
                wrong.append((start, stop))

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(counted) <= 41


def test_closing_keeps_arrays_and_refuses_new_ones(tmp_path: Path) -> None:
    directory = FSDirectory(tmp_path)
    file = SectionFile.open(directory, write(directory, sample()), "test")
    kept = file.array("ints")
    file.close()
    file.close()
    directory.delete(NAME)
    assert np.array_equal(kept, sample()["ints"])
    with pytest.raises(InvalidInput, match="closed"):
        file.array("ints")
