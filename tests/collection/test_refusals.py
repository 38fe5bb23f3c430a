"""What a caller can get wrong in surprising ways, each with a clear error or a stated behaviour."""

from __future__ import annotations

import copy
import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from zipfian.errors import DiskFull, IndexLocked, IndexNotFound, InvalidInput, LimitExceeded, shown
from zipfian.limits import MAX_FILTER_DEPTH

FIELDS = {"words": zf.Words(), "near": zf.Dense(vector="default")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    with zf.Collection.create(tmp_path / "c", FIELDS, encodings=False) as c:
        c.add([{"id": "a", "text": "apple", "vector": [3.0, 4.0], "metadata": {"lang": "en", "n": 1}}])
        c.commit()
    return tmp_path / "c"


def nested(depth: int, wrap: Callable[[Any], Any], inner: Any) -> Any:
    for _ in range(depth):
        inner = wrap(inner)
    return inner


class TestFilters:
    @pytest.mark.parametrize("depth", [MAX_FILTER_DEPTH, 2_000, 100_000])
    @pytest.mark.parametrize("wrap", [lambda w: {"not": w}, lambda w: {"and": [w]}, lambda w: {"or": (w,)}])
    def test_nested_too_deep(self, path: Path, depth: int, wrap: Callable[[Any], Any]) -> None:
        with zf.Collection.open(path) as c, pytest.raises(LimitExceeded, match="nested more than 32 deep"):
            c.search("apple", where=nested(depth, wrap, {"lang": "en"}))

    @pytest.mark.parametrize("wrap", [lambda w: {"and": [w]}, lambda w: {"or": (w,)}])
    def test_as_deep_as_allowed(self, path: Path, wrap: Callable[[Any], Any]) -> None:
        where = nested(MAX_FILTER_DEPTH - 1, wrap, {"lang": {"in": ["en", "de"]}})
        with zf.Collection.open(path) as c:
            assert [h.id for h in c.search("apple", fields="words", where=where)] == ["a"]

    def test_values_nested_deep(self, path: Path) -> None:
        with zf.Collection.open(path) as c:
            for where in (
                {"lang": nested(100_000, lambda v: [v], 1)},
                {"lang": {"in": nested(100_000, lambda v: (v,), 1)}},
            ):
                with pytest.raises(LimitExceeded, match="nested"):
                    c.search("apple", where=where)

    def test_one_part_used_very_often(self, path: Path) -> None:
        where = nested(MAX_FILTER_DEPTH + 8, lambda w: {"and": [w, w]}, {"lang": "en"})  # 2**40 paths
        with zf.Collection.open(path) as c, pytest.raises(LimitExceeded, match="nested"):
            c.search("apple", where=where)

    def test_a_cluster_sees_the_same(self) -> None:
        from zipfian.engines.opensearch.filters import to_query

        with pytest.raises(LimitExceeded, match="nested"):
            to_query(nested(100_000, lambda w: {"not": w}, {"lang": "en"}), {"lang": "string"})


class TestDocuments:
    @pytest.mark.parametrize("value", [nested(100_000, lambda v: [v], 1), [[1]], ([1],), [{"a": 1}]])
    def test_metadata_in_metadata(self, path: Path, value: Any) -> None:
        with (
            zf.Collection.open(path, "w") as c,
            pytest.raises(InvalidInput, match=r"of type (list|dict) cannot be metadata"),
        ):
            c.add([{"id": "b", "metadata": {"new": value}}])

    @pytest.mark.parametrize(
        ("value", "problem"),
        [
            ([1j, 2], "sequence of numbers"),
            (np.array([1j, 2]), "sequence of numbers"),
            (["1", "2"], "sequence of numbers"),
            ([True, False], "sequence of numbers"),
            ([1e39, 0], "too large for 32 bits"),
            ([np.nan, 0], "not finite"),
        ],
    )
    def test_vectors_that_are_none(self, path: Path, value: Any, problem: str) -> None:
        with zf.Collection.open(path, "w") as c, pytest.raises(InvalidInput, match=problem):
            c.add([{"id": "b", "vector": value}])


class TestVectors:
    @pytest.mark.parametrize("query", [[3e38, 4e38], [3e-40, 4e-40], [3e300, 4e300], [3, 4]])
    def test_a_direction_is_a_direction_however_long(self, path: Path, query: list[float]) -> None:
        with zf.Collection.open(path) as c:
            (hit,) = c.search(np.array(query), fields="near")
        assert hit.score == pytest.approx(1.0, abs=1e-4)

    def test_stored_vectors_of_extreme_length(self, path: Path) -> None:
        with zf.Collection.open(path, "w") as c:
            c.add([{"id": "huge", "vector": [3e38, 3e38]}, {"id": "tiny", "vector": [1e-40, 0.0]}])
            c.commit()
            found = {h.id: h.score for h in c.search(np.array([1.0, 1.0]), fields="near")}
        assert found["huge"] == pytest.approx(1.0)
        assert found["tiny"] == 0.0  # too short to have a direction

    def test_zeros_have_none(self, path: Path) -> None:
        with zf.Collection.open(path) as c, pytest.raises(InvalidInput, match="no direction"):
            c.search(np.zeros(2), fields="near")

    def test_a_list_is_taken_for_terms(self, path: Path) -> None:
        with zf.Collection.open(path) as c, pytest.raises(InvalidInput, match="vector"):
            c.search([3e38] * 3, fields="near")


@pytest.mark.parametrize("k", [True, np.True_, 1.0, "3", None, np.array([1, 2]), 3 + 0j])
def test_hits_are_counted_in_whole_numbers(path: Path, k: Any) -> None:
    with zf.Collection.open(path) as c, pytest.raises(InvalidInput, match="k must be a whole number, not"):
        c.search("apple", k=k)


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_collection_is_opened_again_rather_than_copied(path: Path, copied: Callable[[Any], Any]) -> None:
    with (
        zf.Collection.open(path) as c,
        pytest.raises(InvalidInput, match=r"cannot be pickled or copied: open .+ag"),
    ):
        copied(c)


class TestLock:
    @pytest.mark.parametrize("second", [True, False])
    def test_taken_away_under_a_writer(self, path: Path, second: bool) -> None:
        first = zf.Collection.open(path, "w")
        first.add([{"id": "mine", "text": "pear"}])
        (path / "write.lock").unlink()
        if second:
            with zf.Collection.open(path, "w") as other:
                other.add([{"id": "theirs", "text": "plum"}])
                other.commit()
        for problem in ("was removed or replaced while this writer held it", "open it again"):
            with pytest.raises((IndexLocked, InvalidInput), match=problem):
                first.commit()
        first.close()
        with zf.Collection.open(path, "w") as now:
            assert list(now.ids()) == (["a", "theirs"] if second else ["a"])
            assert now.check().ok


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("allowed", range(5))
def test_a_full_disk_is_named(path: Path, monkeypatch: pytest.MonkeyPatch, code: int, allowed: int) -> None:
    left, plain = [allowed], os.fsync

    def fsync(fd: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        plain(fd)

    with zf.Collection.open(path, "w") as c:
        c.add([{"id": "b", "text": "pear"}])
        monkeypatch.setattr(os, "fsync", fsync)
        with pytest.raises(DiskFull, match="free some space there, then repeat") as caught:
            c.commit()
        monkeypatch.undo()
        assert str(path) in str(caught.value)
        assert caught.value.errno == errno.ENOSPC
    with zf.Collection.open(path) as c:
        assert list(c.ids()) == ["a"]
        assert c.check().ok


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_is_full_at_the_first_byte(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = os.open

    def full(file: Any, flags: int, *mode: int, **at: Any) -> int:
        made = plain(file, flags, *mode, **at)
        if not flags & os.O_EXCL:
            return made
        os.close(made)
        return plain("/dev/full", os.O_WRONLY)

    with zf.Collection.open(path, "w") as c:
        c.add([{"id": "b", "text": "pear"}])
        monkeypatch.setattr(os, "open", full)
        with pytest.raises(DiskFull, match="the disk is full"):
            c.commit()
        monkeypatch.undo()
        c.commit()  # as the message says: repeated once there is room
        assert list(c.ids()) == ["a", "b"]


def test_a_file_of_a_cache_that_does_not_fit(tmp_path: Path) -> None:
    from zipfian.storage.replace import replacing

    with pytest.raises(DiskFull, match=r"new\.bin: the quota"), replacing(tmp_path / "new.bin"):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")
    assert list(tmp_path.iterdir()) == []


def test_a_previous_manifest_that_is_missing(path: Path) -> None:
    """Nothing but the way back is lost: it is said when asked for, and writing goes on."""
    for n in range(2):
        with zf.Collection.open(path, "w") as c:
            c.add([{"id": f"more{n}", "text": "pear"}])
            c.commit()
    older = sorted(path.glob("manifest-*.json"))[:-1]
    assert older
    for manifest in older:
        manifest.unlink()
    with pytest.raises(IndexNotFound, match=r"there is no generation 3; those kept are \[4\]"):
        zf.Collection.open(path, generation=3)
    with zf.Collection.open(path, "w") as c:
        c.add([{"id": "last", "text": "plum"}])
        c.commit()
        assert sorted(c.ids()) == ["a", "last", "more0", "more1"]
        assert c.check().ok


def test_values_in_messages_are_short_whatever_they_are() -> None:
    class Unshowable:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    values = [nested(100_000, lambda v: [v], 1), 10**6_000, "x" * 10**6, Unshowable(), [Unshowable()] * 10**5, {1: 2}]
    for value in values:
        assert 0 < len(shown(value)) <= 80
    assert shown(3) == "3"
    assert shown("it's") == repr("it's")
    assert shown(10**6_000) == "a number of 19932 bits"
