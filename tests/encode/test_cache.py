"""The cache of encoded items."""

from __future__ import annotations

import errno
import os
import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian.encode.cache import ENTRY_BYTES, EncodingCache, content_hash
from zipfian.errors import InvalidInput
from zipfian.storage.packed import pack, seal

ARRAYS = {"pooled": np.arange(4, dtype=np.float32), "ids": np.arange(6, dtype=np.uint16).reshape(3, 2)}
ENTRY = len(seal(pack(ARRAYS)))


def test_get_put_and_keys(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path / "c")
    assert cache.get("a", "1") is None
    assert cache.put("a", "1", ARRAYS)
    found = cache.get("a", "1")
    assert found is not None and np.array_equal(found["ids"], ARRAYS["ids"])
    assert cache.get("b", "1") is None and cache.get("a", "2") is None
    assert EncodingCache(tmp_path / "c").get("a", "1") is not None
    assert cache.size() == ENTRY
    cache.clear()
    assert cache.size() == 0 and cache.get("a", "1") is None


def test_a_damaged_entry_is_a_miss(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path)
    cache.put("a", "1", ARRAYS)
    (path,) = tmp_path.glob("*/*")
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get("a", "1") is None
    assert not path.exists()
    assert cache.put("a", "1", ARRAYS) and cache.get("a", "1") is not None


def test_an_entry_in_another_format_is_a_miss(tmp_path: Path) -> None:
    """Whatever an older or newer release kept: it is encoded again."""
    cache = EncodingCache(tmp_path, max_bytes=10 * ENTRY)
    cache.put("a", "1", ARRAYS)
    (path,) = tmp_path.glob("*/*")
    whole = path.read_bytes()
    for other in (whole.replace(b"ZPFC\x01", b"ZPFC\x02"), b"", b"ZPFN", seal(b"[1, 2]"), whole * 20):
        path.write_bytes(other)
        assert cache.get("a", "1") is None and not path.exists()
    path.mkdir()
    assert cache.get("a", "1") is None


def test_an_entry_of_0_1_is_still_found(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path)
    cache.put("a", "1", {})
    (path,) = tmp_path.glob("*/*")
    table = b'{"ids": ["<u2", [2]]}'
    body = struct.pack("<I", len(table)) + table + b"\x05\x00\x07\x00"
    path.write_bytes(b"ZPFC\x01\x00\x00\x00" + struct.pack("<I", zlib.crc32(body)) + body)
    found = cache.get("a", "1")
    assert found is not None and found["ids"].tolist() == [5, 7]


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    entry = ENTRY
    cache = EncodingCache(tmp_path, max_bytes=10 * entry)
    for n in range(10):
        cache.put("f", str(n), ARRAYS)
        os.utime(cache._place("f", str(n)), (n, n))
    assert cache.get("f", "0") is not None  # used just now
    cache.put("f", "new", ARRAYS)
    kept = [n for n in range(10) if cache.get("f", str(n)) is not None]
    assert kept == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    assert cache.size() <= 10 * entry
    for n in range(100):
        cache.put("f", f"more {n}", ARRAYS)
        assert cache.size() <= 10 * entry


def test_an_entry_larger_than_the_limit_is_not_stored(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path, max_bytes=10)
    assert not cache.put("f", "1", ARRAYS)
    assert cache.size() == 0 and cache.problem is None
    with pytest.raises(InvalidInput):
        EncodingCache(tmp_path, max_bytes=-1)


def test_a_full_disk_stops_caching_with_one_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    cache = EncodingCache(tmp_path)
    monkeypatch.setattr("zipfian.storage.replace.os.replace", full)
    with pytest.warns(RuntimeWarning, match="the disk is full; encoding goes on"):
        assert not cache.put("f", "1", ARRAYS)
    assert not cache.put("f", "2", ARRAYS)
    assert cache.problem is not None
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_many_threads(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path, max_bytes=20 * ENTRY)

    def work(seed: int) -> None:
        random = np.random.default_rng(seed)
        for _ in range(60):
            n = int(random.integers(40))
            found = cache.get("f", str(n))
            if found is None:
                cache.put("f", str(n), {"n": np.array([n])})
            else:
                assert found["n"].tolist() == [n]

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.problem is None


def test_content_hashes(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(b"bytes")
    assert content_hash(path, "image") == content_hash(b"bytes", "image") == content_hash(str(path), "image")
    pixels = np.zeros((2, 3, 3), dtype=np.uint8)
    assert content_hash(pixels, "image") != content_hash(pixels.reshape(3, 2, 3), "image")
    assert content_hash("bytes", "text") != content_hash(b"bytes", "image")
    assert content_hash("half \ud800", "text") != content_hash("half ", "text")
    with pytest.raises(InvalidInput):
        content_hash(b"bytes", "text")


@pytest.mark.parametrize("tokens", [1, 40, 300])
def test_what_an_estimate_adds_for_each_entry(tokens: int) -> None:
    """Names, shapes and checksum of what a latent field keeps: the constant is right to a few dozen bytes."""
    arrays: dict[str, Any] = {
        "terms": np.zeros((tokens, 32), dtype=np.uint16),
        "values": np.zeros((tokens, 32), dtype=np.float32),
        "places": np.zeros((tokens, 2), dtype=np.int32),
    }
    overhead = len(seal(pack(arrays))) - sum(array.nbytes for array in arrays.values())
    assert abs(overhead - ENTRY_BYTES) < 64
