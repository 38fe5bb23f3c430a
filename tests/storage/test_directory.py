"""The file system underneath: names, write-once files, mappings, the lock."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from zipfian.errors import IndexCorrupt, IndexLocked, IndexNotFound, InvalidInput, ReadOnly
from zipfian.storage.directory import FSDirectory, check_name


@pytest.fixture
def directory(tmp_path: Path) -> FSDirectory:
    return FSDirectory(tmp_path)


def put(directory: FSDirectory, name: str, data: bytes) -> None:
    file = directory.create(name)
    file.write(data)
    file.close()


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../a",
        "a/b",
        "a\\b",
        "/etc/passwd",
        "a..b",
        ".hidden",
        "A",
        "a b",
        "a\0b",
        "a.",
        "nul",
        "con.json",
        "x" * 121,
        "é",
    ],
)
def test_names_that_could_escape_or_collide_are_refused(directory: FSDirectory, name: str) -> None:
    with pytest.raises(InvalidInput):
        directory.create(name)
    with pytest.raises(InvalidInput):
        directory.read(name, 10)


def test_names_of_our_files_are_accepted() -> None:
    for name in ("s00000001-0a1b2c3d.field-words", "manifest-000000000001.json", "write.lock"):
        assert check_name(name) == name


def test_a_file_is_written_once_and_read_back(directory: FSDirectory) -> None:
    put(directory, "a.bin", b"hello")
    assert directory.read("a.bin", 10) == b"hello"
    assert directory.size("a.bin") == 5
    assert directory.exists("a.bin") and not directory.exists("b.bin")
    mapped = directory.map("a.bin")
    assert mapped.tobytes() == b"hello" and not mapped.flags.writeable
    with pytest.raises(FileExistsError):
        directory.create("a.bin")


def test_reading_is_bounded(directory: FSDirectory) -> None:
    put(directory, "a.bin", b"hello")
    with pytest.raises(IndexCorrupt, match=r"a\.bin.*5 bytes"):
        directory.read("a.bin", 4)


def test_an_empty_file_maps_to_an_empty_array(directory: FSDirectory) -> None:
    put(directory, "a.bin", b"")
    assert directory.map("a.bin").shape == (0,)
    assert not directory.map("a.bin").flags.writeable
    assert directory.read("a.bin", 4) == b""


def test_a_mapping_survives_deletion(directory: FSDirectory) -> None:
    put(directory, "a.bin", bytes(range(256)) * 1000)
    mapped = directory.map("a.bin")
    directory.delete("a.bin")
    assert np.array_equal(mapped[:256], np.arange(256))


def test_rename_never_replaces(directory: FSDirectory) -> None:
    put(directory, "a.tmp", b"new")
    put(directory, "a.json", b"old")
    with pytest.raises(FileExistsError):
        directory.rename("a.tmp", "a.json")
    directory.rename("a.tmp", "b.json")
    assert directory.list() == ["a.json", "b.json"]
    directory.sync()


def test_links_and_special_files_are_refused(directory: FSDirectory, tmp_path: Path) -> None:
    secret = tmp_path.parent / "secret"
    secret.write_bytes(b"secret")
    os.symlink(secret, tmp_path / "link.bin")
    os.mkfifo(tmp_path / "pipe.bin")
    (tmp_path / "folder.bin").mkdir()
    for name, what in (("link.bin", "symbolic link"), ("pipe.bin", "plain file"), ("folder.bin", "plain file")):
        for read in (directory.map, directory.size, lambda n: directory.read(n, 100)):
            with pytest.raises(IndexCorrupt, match=what):
                read(name)
    with pytest.raises(FileExistsError):
        directory.create("link.bin")
    os.symlink(secret, tmp_path / "write.lock")
    with pytest.raises(IndexCorrupt):
        directory.lock()
    assert secret.read_bytes() == b"secret"


def test_a_missing_folder(tmp_path: Path) -> None:
    missing = FSDirectory(tmp_path / "a" / "b")
    with pytest.raises(IndexNotFound, match="no such folder"):
        missing.list()
    missing.prepare()
    assert missing.list() == []
    missing.prepare()
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexNotFound):
        FSDirectory(tmp_path / "file").list()


def test_key_is_the_same_folder_by_any_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    os.symlink(tmp_path / "real", tmp_path / "alias")
    assert FSDirectory(tmp_path / "real").key == FSDirectory(tmp_path / "alias").key
    assert FSDirectory(tmp_path / "real").key != FSDirectory(tmp_path).key


def test_the_system_refusing_to_write_is_read_only(directory: FSDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    for code in (errno.EACCES, errno.EROFS, errno.EPERM):

        def refuse(*_: object, code: int = code) -> int:
            raise OSError(code, os.strerror(code))

        with monkeypatch.context() as patch, pytest.raises(ReadOnly, match="cannot be written to"):
            patch.setattr(os, "open", refuse)
            directory.create("a.bin")


def test_one_lock_per_folder_in_one_process(directory: FSDirectory, tmp_path: Path) -> None:
    lock = directory.lock()
    with pytest.raises(IndexLocked, match="another writer"):
        FSDirectory(tmp_path).lock()
    lock.note(b"0123456789")
    lock.note(b"ABC")
    assert directory.read("write.lock", 100) == b"ABC3456789"
    lock.release()
    lock.release()
    second = directory.lock()
    del second  # a lock that is forgotten is given back
    directory.lock().release()


def test_the_lock_dies_with_its_process(directory: FSDirectory, tmp_path: Path) -> None:
    code = (
        "import sys, time; from zipfian.storage.directory import FSDirectory\n"
        "lock = FSDirectory(sys.argv[1]).lock(); print('locked', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "locked\n"
        with pytest.raises(IndexLocked):
            directory.lock()
        child.kill()
        child.wait()
        directory.lock().release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_keep_the_lock(directory: FSDirectory) -> None:
    lock = directory.lock()
    ready, go = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        os.write(ready[1], b"x")
        os.read(go[0], 1)  # stay alive while the parent gives the lock back
        os._exit(0)
    try:
        os.read(ready[0], 1)
        with pytest.raises(IndexLocked):  # the child's forgetting did not release the parent's
            directory.lock()
        lock.release()
        directory.lock().release()
    finally:
        os.write(go[1], b"x")
        os.waitpid(child, 0)
        for fd in (*ready, *go):
            os.close(fd)
