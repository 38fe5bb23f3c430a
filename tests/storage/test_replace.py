"""A file that takes a name in one step, or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from zipfian.errors import DiskFull
from zipfian.storage.container import SectionFile
from zipfian.storage.regular import map_regular
from zipfian.storage.replace import is_unfinished, replacing, replacing_sections


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.bin"
    with replacing(path) as file:
        file.write(b"one")
        assert not path.exists()
    with replacing(path) as file:
        file.write(b"other")
        assert path.read_bytes() == b"one"
    assert path.read_bytes() == b"other"
    with pytest.raises(KeyError), replacing(path) as file:
        file.write(b"half")
        raise KeyError
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"] and path.read_bytes() == b"other"


def test_what_a_kill_leaves_is_known_by_its_name(tmp_path: Path) -> None:
    with replacing(tmp_path / "a.bin"):
        assert [is_unfinished(p) for p in tmp_path.iterdir()] == [True]
    assert not is_unfinished(tmp_path / "a.bin")


@pytest.mark.parametrize("sync", [True, False])
def test_content_is_synced_before_the_rename_and_the_name_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool
) -> None:
    done: list[str] = []
    real_sync, real_replace = os.fsync, os.replace

    def synced(fd: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(fd).st_mode) else f"{os.fstat(fd).st_size} bytes")
        real_sync(fd)

    def replaced(old: str, new: Path) -> None:
        done.append("rename")
        real_replace(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", replaced)
    with replacing(tmp_path / "a.bin", sync=sync) as file:
        file.write(b"12345")
    assert done == (["5 bytes", "rename", "folder"] if sync else ["rename"])


@pytest.mark.parametrize("named", [lambda p: p / "a", lambda p: p / "b" / "c"])
def test_missing_folders_are_made_for_this_user_alone(tmp_path: Path, named: Callable[[Path], Path]) -> None:
    with replacing(named(tmp_path / "x")) as file:
        file.write(b"1")
    assert stat.S_IMODE(named(tmp_path / "x").parent.stat().st_mode) == 0o700


def test_a_container_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "My State (1).zpfn"
    for n in (3, 200_000):
        with replacing_sections(path, "test", {"n": n}) as writer:
            writer.add("a", np.arange(n, dtype=np.int32))
        found = SectionFile.parse(map_regular(path), path.name, "test")
        assert found.meta == {"n": n} and found.array("a").tolist() == list(range(n))
        found.verify()
    with pytest.raises(KeyError), replacing_sections(path, "test", {}) as writer:
        writer.add("a", np.arange(5))
        raise KeyError
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    assert SectionFile.parse(map_regular(path), path.name, "test").length("a") == 200_000


def test_a_container_that_does_not_fit_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "a.zpfn"
    path.write_bytes(b"old")
    monkeypatch.setattr("zipfian.storage.replace.fsync", full)
    with pytest.raises(DiskFull, match=r"a\.zpfn"), replacing_sections(path, "test", {}) as writer:
        writer.add("a", np.arange(5))
    assert [p.name for p in tmp_path.iterdir()] == ["a.zpfn"] and path.read_bytes() == b"old"
