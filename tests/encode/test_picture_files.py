"""Pictures that a collection names: plain files of a known size and hash."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from zipfian.encode.picture_files import HASH_COLUMN, SIZE_COLUMN, Stamp, read
from zipfian.errors import ImageUnreadable, LimitExceeded, NotAFile

DATA = b"picture" * 100
SHA256 = hashlib.sha256(DATA).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "a.png"
    path.write_bytes(DATA)
    return path


def test_a_file_is_known_again(file: Path) -> None:
    stamp = Stamp.take(file)
    assert stamp == Stamp(len(DATA), SHA256) == Stamp.of(Stamp(len(DATA), SHA256).metadata() | {"other": 1})
    assert stamp.read(str(file)) == DATA == read(str(file))
    file.write_bytes(DATA[:-1] + b"x")
    with pytest.raises(ImageUnreadable, match=r"no longer what was indexed$"):
        stamp.read(str(file))
    file.write_bytes(DATA + b"x")
    with pytest.raises(ImageUnreadable, match="it has another size"):
        stamp.read(str(file))


@pytest.mark.parametrize("size", [None, True, 0, -5, 1.0, "700", 2**40])
def test_a_size_that_is_none_is_no_stamp(size: Any) -> None:
    assert Stamp.of({SIZE_COLUMN: size, HASH_COLUMN: SHA256}) is None


@pytest.mark.parametrize("sha256", [None, 5, "", SHA256[:-1], SHA256.upper(), SHA256 + "\n", "g" * 64])
def test_a_hash_that_is_none_is_no_stamp(sha256: Any) -> None:
    assert Stamp.of({SIZE_COLUMN: 5, HASH_COLUMN: sha256}) is None


def test_a_file_of_another_size_is_not_opened(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(ImageUnreadable):
        Stamp(5, SHA256).read(str(file))


@pytest.mark.parametrize("what", ["pipe", "folder", "device"])
def test_only_plain_files(tmp_path: Path, what: str) -> None:
    path = tmp_path / "x"
    if what == "pipe":
        os.mkfifo(path)
    elif what == "folder":
        path.mkdir()
    else:
        path = Path("/dev/zero")
    with pytest.raises(NotAFile, match="not a regular file"):
        read(str(path))
    assert Stamp.take(path) is None


def test_a_pipe_that_takes_the_place_of_a_file_holds_nobody_up(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.stat

    def looked(path: Any, *rest: Any, **more: Any) -> os.stat_result:
        found = real(path, *rest, **more)
        if str(path) == str(file):
            file.unlink()
            os.mkfifo(file)
        return found

    monkeypatch.setattr("zipfian.storage.regular.os.stat", looked)
    failed: list[BaseException] = []

    def try_it() -> None:
        try:
            read(str(file))
        except NotAFile as error:
            failed.append(error)

    thread = threading.Thread(target=try_it, daemon=True)
    thread.start()
    thread.join(5)
    assert not thread.is_alive() and "not a regular file" in str(failed[0])


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "x").open("wb") as file:
        file.truncate(1 << 40)
    monkeypatch.setattr(os, "open", lambda *_: pytest.fail("it was opened"))
    with pytest.raises(LimitExceeded, match="more than the limit"):
        read(str(tmp_path / "x"))
    assert Stamp.take(tmp_path / "x") is None
    assert Stamp.take(tmp_path / "missing") is None
