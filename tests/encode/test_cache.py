"""The cache of encoded items."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zipfian.encode import cache as cache_module
from zipfian.encode._entry import Damaged, pack, unpack
from zipfian.encode.base import Outcome, Progress
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.encode.cached import CachedEncoder, everything, pooled_only, restored
from zipfian.errors import InvalidInput
from zipfian.types import Encoded

ARRAYS = {"pooled": np.arange(4, dtype=np.float32), "ids": np.arange(6, dtype=np.uint16).reshape(3, 2)}


@given(
    st.dictionaries(
        st.text(max_size=8),
        hnp.arrays(
            st.sampled_from([np.float32, np.float16, np.uint16, np.int32, np.uint8, np.int64]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
        ),
        max_size=4,
    )
)
def test_arrays_come_back_as_they_were(arrays: dict[str, Any]) -> None:
    found = unpack(pack(arrays))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


@given(st.integers(0, len(pack(ARRAYS)) - 1), st.integers(1, 255))
def test_any_damage_is_noticed(place: int, change: int) -> None:
    whole = pack(ARRAYS)
    flipped = bytearray(whole)
    flipped[place] ^= change
    for data in (bytes(flipped), whole[:place], whole + b"\0"):
        with pytest.raises(Damaged):
            unpack(data)


def test_get_put_and_keys(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path / "c")
    assert cache.get("a", "1") is None
    assert cache.put("a", "1", ARRAYS)
    found = cache.get("a", "1")
    assert found is not None and np.array_equal(found["ids"], ARRAYS["ids"])
    assert cache.get("b", "1") is None and cache.get("a", "2") is None
    assert EncodingCache(tmp_path / "c").get("a", "1") is not None
    assert cache.size() == len(pack(ARRAYS))
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


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    entry = len(pack(ARRAYS))
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
    monkeypatch.setattr(cache_module.folder.os, "replace", full)
    with pytest.warns(RuntimeWarning, match="No space left on device"):
        assert not cache.put("f", "1", ARRAYS)
    assert not cache.put("f", "2", ARRAYS)
    assert cache.problem is not None
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []


def test_many_threads(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path, max_bytes=20 * len(pack(ARRAYS)))

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


class Counting:
    """An encoder that remembers what it was asked to do; negative numbers are items it cannot encode."""

    kind: Literal["text"] = "text"
    dim = 3
    pooled_dim = 2
    fingerprint = "counting:1"

    def __init__(self) -> None:
        self.seen: list[str] = []

    def try_documents(self, items: Sequence[str], *, progress: Progress | None = None) -> list[Outcome]:
        self.seen.extend(items)
        return [InvalidInput(item) if item.startswith("-") else self._one(item) for item in items]

    def encode_documents(self, items: Sequence[str], *, progress: Progress | None = None) -> list[Encoded]:
        return [self._one(item) for item in items]

    encode_queries = encode_documents

    def stream_documents(self, items: Any) -> Any:
        return map(self._one, items)

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        return [len(item) for item in items]

    def _one(self, item: str) -> Encoded:
        n = len(item)
        return Encoded(
            np.full((n, 3), n, dtype=np.float32),
            np.zeros((n, 2), dtype=np.int32),
            np.arange(n, dtype=np.int32),
            np.array([n, 1], dtype=np.float32),
        )


def test_only_what_is_new_is_encoded(tmp_path: Path) -> None:
    encoder = Counting()
    cached = CachedEncoder(encoder, EncodingCache(tmp_path), lambda e: {"sum": e.vectors.sum(axis=0)}, "sums")
    items = [f"item {n}" * n for n in range(1, 400)]
    calls: list[tuple[int, int]] = []
    first = list(cached.documents(items, progress=lambda done, total: calls.append((done, total))))
    assert calls == sorted(calls) and len(calls) > 1 and calls[-1] == (399, 399)
    assert (cached.hits, cached.misses) == (0, 399)
    second = list(cached.documents([*items[::-1], "brand new"]))
    assert encoder.seen == [*items, "brand new"]
    assert (cached.hits, cached.misses) == (399, 400)
    for a, b in zip(first, second[-2::-1], strict=True):
        assert np.array_equal(a["sum"], b["sum"]) and np.array_equal(a["pooled"], b["pooled"])


def test_another_form_or_encoder_has_its_own_entries(tmp_path: Path) -> None:
    encoder, cache = Counting(), EncodingCache(tmp_path)
    list(CachedEncoder(encoder, cache, pooled_only, "pooled").documents(["a"]))
    (kept,) = CachedEncoder(encoder, cache, everything, "full").documents(["abc"])
    (again,) = CachedEncoder(encoder, cache, everything, "full").documents(["abc"])
    other = Counting()
    other.fingerprint = "counting:2"
    list(CachedEncoder(other, cache, pooled_only, "pooled").documents(["a"]))
    assert encoder.seen == ["a", "abc"] and other.seen == ["a"]
    whole, back = restored(kept), restored(again)
    assert np.array_equal(whole.vectors, back.vectors) and back.grid is None and back.pieces.tolist() == [0, 1, 2]
    with pytest.raises(InvalidInput, match="form is empty"):
        CachedEncoder(encoder, cache, pooled_only, "")


def test_bad_items_are_not_cached_and_keep_their_place(tmp_path: Path) -> None:
    encoder = Counting()
    cached = CachedEncoder(encoder, EncodingCache(tmp_path), pooled_only, "pooled")
    for _ in range(2):
        good, bad, also_good = cached.try_documents(["one", "-2", "three"])
        assert isinstance(bad, InvalidInput)
        assert not isinstance(good, Exception) and not isinstance(also_good, Exception)
    assert encoder.seen == ["one", "-2", "three", "-2"]
    with pytest.raises(InvalidInput):
        list(cached.documents(["one", "-2"]))


def test_the_estimate_is_close(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path)
    cached = CachedEncoder(Counting(), cache, everything, "full")
    items = ["x" * (1 + n % 50) for n in range(1_000)]
    items = [f"{n:04d}{item}" for n, item in enumerate(items)]
    estimate = cached.estimate(items, per_token=12 + 8 + 4)
    list(cached.documents(items))
    assert estimate.items == 1_000
    assert estimate.tokens == pytest.approx(sum(map(len, items)), rel=0.1)
    assert estimate.bytes == pytest.approx(cache.size(), rel=0.2)
    assert cached.estimate([], per_token=1).bytes == 0


def test_a_real_encoder_through_the_cache(text_encoder: Any, tmp_path: Path) -> None:
    cached = CachedEncoder(text_encoder, EncodingCache(tmp_path), everything, "full")
    texts = ["a river", "a bridge over the river"]
    fresh = [restored(a) for a in cached.documents(texts)]
    stored = [restored(a) for a in cached.documents(texts)]
    direct = text_encoder.encode_documents(texts)
    for a, b, c in zip(fresh, stored, direct, strict=True):
        assert np.array_equal(a.vectors, c.vectors) and np.array_equal(b.vectors, c.vectors)
        assert np.array_equal(b.pooled, c.pooled) and np.array_equal(b.places, c.places)
