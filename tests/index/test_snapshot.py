"""Opening commits while a writer in another process is at work."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.index.test_commit import committed, ids_of, segment
from tests.storage.doubles import FaultyDirectory, MemoryDirectory
from zipfian.errors import IndexCorrupt
from zipfian.index.commit import Writer
from zipfian.index.snapshot import Snapshot
from zipfian.storage.regular import ByteArray


class OtherProcess(FaultyDirectory):
    """The same files seen from another process: the writer does not know of its snapshots.

    `meanwhile` is called before each file is mapped, which is when a commit may come in between.
    """

    def __init__(self, inner: MemoryDirectory) -> None:
        super().__init__(inner)
        self._own_key = object()
        self.meanwhile: Callable[[str], object] = lambda name: None
        self.mapped = 0

    @property
    def key(self) -> object:  # type: ignore[override]
        return self._own_key

    def map(self, name: str) -> ByteArray:
        self.mapped += 1
        self.meanwhile(name)
        return super().map(name)


@pytest.fixture
def directory() -> MemoryDirectory:
    return MemoryDirectory()


@pytest.fixture
def writer(directory: MemoryDirectory) -> Writer:
    writer = Writer(directory, create=True)
    for name in "ab":
        writer.add_segment(segment(writer, name))
    writer.commit()
    return writer


def replace_everything(writer: Writer, name: str) -> None:
    """Two commits that leave no file of those before."""
    for entry in writer.entries:
        writer.replace([entry], None)
    writer.add_segment(segment(writer, name))
    writer.commit()
    writer.commit({"again": name})


def test_a_reader_that_is_overtaken_starts_again(directory: MemoryDirectory, writer: Writer) -> None:
    other = OtherProcess(directory)

    def overtake(_: str) -> None:
        if other.mapped == 3:
            replace_everything(writer, "new")

    other.meanwhile = overtake
    with Snapshot.open(other) as snapshot:
        assert ids_of(snapshot) == ["new"]


def test_a_reader_that_is_overtaken_again_and_again(directory: MemoryDirectory, writer: Writer) -> None:
    other = OtherProcess(directory)
    other.meanwhile = lambda name: replace_everything(writer, f"n{other.mapped}") if other.mapped < 12 else None
    with Snapshot.open(other) as snapshot:
        assert ids_of(snapshot) == [f"n{other.mapped - len(snapshot.entries[0].files)}"]


def test_a_file_that_is_gone_for_good_is_an_error(directory: MemoryDirectory, writer: Writer) -> None:
    lost = next(iter(writer.entries[0].files.values())).name
    directory.delete(lost)
    with pytest.raises(IndexCorrupt, match=f"{lost}: is missing.*Generation 1 is older"):
        Snapshot.open(directory)


def test_a_snapshot_outlives_its_files(directory: MemoryDirectory, writer: Writer) -> None:
    snapshot = Snapshot.open(OtherProcess(directory))
    replace_everything(writer, "new")
    assert not any(directory.exists(ref.name) for entry in snapshot.entries for ref in entry.files.values())
    assert ids_of(snapshot) == ["a", "b"]
    assert committed(directory) == ["new"]


def test_a_failed_open_holds_nothing(directory: MemoryDirectory, writer: Writer) -> None:
    other = OtherProcess(directory)

    def fail(_: str) -> None:
        if other.mapped == 4:
            raise OSError("no more files")

    other.meanwhile = fail
    with pytest.raises(OSError, match="no more files"):
        Snapshot.open(other)
    from zipfian.index import _held

    assert _held.held(other.key) == frozenset()
    with Snapshot.open(directory):
        assert len(_held.held(directory.key)) == 1 + sum(len(e.files) for e in writer.entries)
    assert _held.held(directory.key) == frozenset()


def test_a_commit_opens_only_what_is_new(directory: MemoryDirectory, writer: Writer) -> None:
    other = OtherProcess(directory)
    before = Snapshot.open(other)
    opened = other.mapped
    writer.add_segment(segment(writer, "c"))
    writer.commit()
    after = Snapshot.open(other, known={one.id: one for one in before.segments})
    assert other.mapped - opened == len(after.entries[-1].files)
    assert ids_of(before) == ["a", "b"] and ids_of(after) == ["a", "b", "c"]
    after.close()
    assert ids_of(before) == ["a", "b"]
