"""The encode cache at the keyboard."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Command
from zipfian.encode.cache import DEFAULT_MAX_BYTES, EncodingCache


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EncodingCache:
    monkeypatch.setenv("ZIPFIAN_CACHE_DIR", str(tmp_path))
    made = EncodingCache()
    for i in range(10):
        made.put("f", str(i), {"x": np.full(1_000, i, np.float32)})
        place = made._place("f", str(i))
        os.utime(place, (i, i))
    return made


def numbers(zipfian: Command, *options: object) -> dict[str, int]:
    code, out, err = zipfian("cache", *options, "--json")
    assert code == 0, err
    return json.loads(out)


def test_size_and_limit(cache: EncodingCache, zipfian: Command) -> None:
    found = numbers(zipfian)
    assert (found["entries"], found["limit"], found["removed"]) == (10, DEFAULT_MAX_BYTES, 0)
    assert 40_000 < found["bytes"] < 42_000
    code, out, _ = zipfian("cache")
    assert code == 0 and "39.4 KiB in 10 entries, 1.0 GiB at most" in out


def test_a_limit_removes_the_oldest_and_stays(cache: EncodingCache, zipfian: Command) -> None:
    found = numbers(zipfian, "--limit", "20K")
    assert found["limit"] == 20 * 1024 and found["bytes"] <= 20 * 1024
    kept = [i for i in range(10) if cache.get("f", str(i)) is not None]
    assert kept == [6, 7, 8, 9], "what was used last; room is made for more than the one that asks"
    assert EncodingCache().max_bytes == 20 * 1024, "for all who open it later"
    assert EncodingCache(max_bytes=5).max_bytes == 5
    assert numbers(zipfian, "--limit", "1.5G")["limit"] == 3 * 2**29


def test_clear_keeps_the_limit(cache: EncodingCache, zipfian: Command) -> None:
    numbers(zipfian, "--limit", "1M")
    found = numbers(zipfian, "--clear")
    assert (found["entries"], found["bytes"], found["limit"]) == (0, 0, 2**20)
    assert found["removed"] > 40_000


@pytest.mark.parametrize("said", [b"", b"-1", b"many", b"9" * 40])
def test_a_limit_that_is_none_is_not_heeded(said: bytes, cache: EncodingCache) -> None:
    (cache.path / "limit").write_bytes(said)
    assert EncodingCache().max_bytes == DEFAULT_MAX_BYTES


@pytest.mark.parametrize("options", [["--limit", "much"], ["--limit", "-1"], ["--limit", "1X"]])
def test_a_size_that_is_none(options: list[str], cache: EncodingCache, zipfian: Command) -> None:
    code, _, err = zipfian("cache", *options)
    assert code == 2 and "usage: zipfian cache" in err


def test_one_thing_at_a_time(cache: EncodingCache, zipfian: Command) -> None:
    code, _, err = zipfian("cache", "--clear", "--limit", "1M")
    assert code == 1 and "not both" in err
    assert numbers(zipfian)["entries"] == 10


def test_an_extra_that_is_missing_is_said_before_any_work(
    tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zipfian.errors.importlib.util.find_spec", lambda _: None)
    for command in (["eval", "text", tmp_path / "none"], ["tune", tmp_path / "none"]):
        code, _, err = zipfian(*command)
        assert code == 1
        assert "needs the optional extra 'eval': pip install 'zipfian[eval]'" in err
