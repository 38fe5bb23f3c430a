"""Files that somebody names: regular ones only, of bounded size, and known by their hash."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from zipfian.errors import LimitExceeded, NotAFile
from zipfian.storage import regular


def test_a_hash_is_of_all_bytes_and_of_a_regular_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(bytes(range(256)) * 8192 + b"end")  # more than two blocks
    assert regular.sha256_of(path) == hashlib.sha256(path.read_bytes()).hexdigest()
    assert regular.sha256_of(path, path.stat().st_size) == regular.sha256_of(path)
    with pytest.raises(LimitExceeded, match="limit of 10 bytes"):
        regular.sha256_of(path, 10)
    os.mkfifo(tmp_path / "pipe")
    for wrong in (tmp_path, tmp_path / "pipe"):
        with pytest.raises(NotAFile):
            regular.sha256_of(wrong)
    with pytest.raises(FileNotFoundError):
        regular.sha256_of(tmp_path / "gone")


def test_a_file_that_is_replaced_by_a_pipe_between_the_look_and_the_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.png"
    os.mkfifo(path)
    monkeypatch.setattr(regular, "look", lambda *_: None)
    with pytest.raises(NotAFile, match="a pipe"):
        regular.open_regular(path)


def test_a_file_that_grows_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(bytes(300))
    real = os.fstat

    def earlier(handle: int) -> os.stat_result:
        return os.stat_result((*real(handle)[:6], 100, *real(handle)[7:]))

    monkeypatch.setattr(regular, "look", lambda *_: None)
    monkeypatch.setattr(os, "fstat", earlier)
    assert regular.read_regular(path, 300) == bytes(300)
    assert sum(map(len, regular.blocks(path, 300))) == 300
    for limit in (100, 200, 299):
        with pytest.raises(LimitExceeded, match=f"limit of {limit} bytes"):
            regular.read_regular(path, limit)
        with pytest.raises(LimitExceeded, match=f"limit of {limit} bytes"):
            list(regular.blocks(path, limit))
