"""The writer: what a commit contains, what it deletes, and how it refuses."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from tests.storage.doubles import FaultyDirectory, MemoryDirectory
from zipfian.errors import IndexExists, IndexLocked, IndexNotFound, InvalidInput
from zipfian.index.check import check
from zipfian.index.commit import Writer
from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import list_generations, manifest_name, read_note
from zipfian.index.merge import merge_segments
from zipfian.index.segment import FieldWriteSpec, SegmentReader, delete_documents, write_segment
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import FSDirectory
from zipfian.types import FieldBatch, SegmentBatch


def segment(writer: Writer, *ids: str) -> SegmentEntry:
    """A segment of documents whose only word is their id."""
    words = sorted(set(ids))
    indices = np.array([words.index(i) for i in ids], np.int32)
    field = FieldBatch(np.arange(len(ids) + 1), words, indices, np.ones(len(ids), np.uint32))
    batch = SegmentBatch(ids, [f"text of {i}" for i in ids], [{}] * len(ids), {"words": field})
    return write_segment(writer.directory, writer.new_segment_id(), batch, {"words": FieldWriteSpec("count")}, {})


def ids_of(snapshot: Snapshot) -> list[str]:
    return [s.docs.id(d) for s in snapshot.segments for d in np.flatnonzero(s.live).tolist()]


def committed(directory: MemoryDirectory | FSDirectory | FaultyDirectory, generation: int | None = None) -> list[str]:
    with Snapshot.open(directory, generation) as snapshot:
        return ids_of(snapshot)


@pytest.fixture
def directory() -> MemoryDirectory:
    return MemoryDirectory()


@pytest.fixture
def writer(directory: MemoryDirectory) -> Writer:
    return Writer(directory, create=True, settings={"fields": ["words"]})


def test_create_open_commit(directory: MemoryDirectory, writer: Writer) -> None:
    assert writer.generation == 1 and committed(directory) == []
    writer.add_segment(segment(writer, "a", "b"))
    assert committed(directory) == []  # not before the commit
    assert writer.commit({"source": 3}) == 2
    writer.add_segment(segment(writer, "c"))
    writer.settings["more"] = [1, 2]
    assert writer.commit() == 3
    writer.close()
    with Snapshot.open(directory) as snapshot:
        assert ids_of(snapshot) == ["a", "b", "c"]
        assert snapshot.settings == {"fields": ["words"], "more": [1, 2]}
        assert snapshot.user == {"source": 3}  # kept when a commit gives none
        assert snapshot.generation == 3 and len(snapshot.entries) == 2
    with Writer(directory) as again:
        assert again.generation == 3 and again.settings == {"fields": ["words"], "more": [1, 2]}
        assert again.new_segment_id().startswith("s00000003-")
    with Writer(directory, settings={"new": True}) as again:
        assert again.commit() == 4
    with Snapshot.open(directory) as snapshot:
        assert snapshot.settings == {"new": True}


def test_a_commit_without_changes_does_nothing(directory: MemoryDirectory, writer: Writer) -> None:
    files = directory.list()
    assert not writer.changed
    assert writer.commit() == writer.commit({}) == 1
    writer.new_segment_id()
    assert writer.commit() == 1 and directory.list() == files
    writer.counters["documents"] = 7
    assert writer.changed and writer.commit() == 2
    assert writer.manifest.counters["documents"] == 7


def test_changing_settings_in_place_is_seen_and_does_not_leak(writer: Writer) -> None:
    writer.settings["fields"].append("latent")
    assert writer.manifest.settings == {"fields": ["words"]}
    assert writer.commit() == 2
    assert writer.manifest.settings == {"fields": ["words", "latent"]}


def test_rollback_forgets_and_deletes(directory: MemoryDirectory, writer: Writer) -> None:
    before = directory.list()
    writer.add_segment(segment(writer, "a"))
    writer.settings["x"] = 1
    writer.counters["documents"] = 1
    writer.rollback()
    assert directory.list() == before and not writer.changed and writer.entries == ()
    assert writer.new_segment_id().startswith("s00000002")  # an id is used once


def test_close_forgets_and_deletes(directory: MemoryDirectory, writer: Writer) -> None:
    before = directory.list()
    writer.add_segment(segment(writer, "a"))
    writer.close()
    writer.close()
    assert directory.list() == before and not directory.locked and writer.closed
    for use in (writer.commit, writer.rollback, writer.new_segment_id):
        with pytest.raises(InvalidInput, match="it was closed"):
            use()


def test_discard_deletes_what_was_not_added(directory: MemoryDirectory, writer: Writer) -> None:
    before = directory.list()
    writer.discard(segment(writer, "a"))
    assert directory.list() == before


def test_deletes_and_merges(directory: MemoryDirectory, writer: Writer) -> None:
    for name in "abcd":
        writer.add_segment(segment(writer, name, name + name))
    writer.commit()
    a, b, c, d = writer.entries
    deleted = delete_documents(directory, SegmentReader(directory, b), np.array([0]))
    writer.update(deleted)
    assert writer.entries[1] == deleted
    with pytest.raises(InvalidInput, match="have changed"):
        writer.replace([b, c], None)  # a merge of `b` as it was would bring the deleted document back
    merged = merge_segments(
        directory, writer.new_segment_id(), [SegmentReader(directory, e) for e in writer.entries[1:3]]
    )
    for wrong in ([deleted], [a, c], [c, deleted], [d, a]):
        with pytest.raises(InvalidInput, match="not neighbours"):
            writer.replace([*wrong, entry_of_nothing()], merged)
    with pytest.raises(InvalidInput, match="nothing"):
        writer.replace([], merged)
    writer.replace([deleted, c], merged)
    assert [e.id for e in writer.entries] == [a.id, merged.id, d.id]
    writer.commit()
    assert committed(directory) == ["a", "aa", "bb", "c", "cc", "d", "dd"]
    writer.replace([d], None)
    writer.commit()
    assert committed(directory) == ["a", "aa", "bb", "c", "cc"]
    with pytest.raises(InvalidInput, match="no segment"):
        writer.update(b)


def entry_of_nothing() -> SegmentEntry:
    return SegmentEntry("s99999999-00000000", 0, {})


def test_entries_that_cannot_be_committed(directory: MemoryDirectory, writer: Writer) -> None:
    entry = segment(writer, "a")
    writer.add_segment(entry)
    with pytest.raises(InvalidInput, match="twice"):
        writer.add_segment(entry)
    foreign = SegmentEntry("mine", 1, {"doc": entry.files["doc"]})
    with pytest.raises(InvalidInput, match="file is named twice"):
        writer.add_segment(foreign)
    writer.settings["bad"] = object()
    with pytest.raises(InvalidInput, match="JSON"):
        writer.commit()
    del writer.settings["bad"]
    assert writer.commit() == 2


def test_the_last_two_commits_are_kept(directory: MemoryDirectory, writer: Writer) -> None:
    entries = []
    for name in "abcd":
        for entry in writer.entries:
            writer.replace([entry], None)
        writer.add_segment(segment(writer, name))
        entries.append(writer.entries[0])
        writer.commit()
        assert read_note(directory) == writer.generation
    assert list_generations(directory) == [4, 5]
    assert committed(directory, 4) == ["c"] and committed(directory) == ["d"]
    gone = {ref.name for entry in entries[:2] for ref in entry.files.values()}
    assert not gone & set(directory.list())
    with pytest.raises(IndexNotFound, match=r"no generation 3; those kept are \[4, 5\]"):
        Snapshot.open(directory, 3)


def test_a_previous_manifest_that_is_missing(directory: MemoryDirectory, writer: Writer) -> None:
    """No damage: the newest commit is whole. What only the lost one named is collected by the next writer."""
    for name in "ab":
        for entry in writer.entries:
            writer.replace([entry], None)
        writer.add_segment(segment(writer, name))
        writer.commit()
    writer.close()
    only_there = Snapshot.open(directory, 2).manifest.files()
    directory.delete(manifest_name(2))
    assert committed(directory) == ["b"] and check(directory).ok
    with pytest.raises(IndexNotFound, match=r"no generation 2; those kept are \[3\]"):
        Snapshot.open(directory, 2)
    assert only_there <= set(directory.list())
    with Writer(directory) as again:
        assert not only_there & set(directory.list())
        again.add_segment(segment(again, "c"))
        assert again.commit() == 4
    assert list_generations(directory) == [3, 4] and committed(directory, 3) == ["b"]


def test_files_of_open_snapshots_stay(directory: MemoryDirectory, writer: Writer) -> None:
    writer.add_segment(segment(writer, "a"))
    writer.commit()
    snapshot = Snapshot.open(directory)
    also = Snapshot.open(directory)
    files = {manifest_name(2)} | {ref.name for entry in snapshot.entries for ref in entry.files.values()}
    writer.replace(writer.entries, None)
    for n in range(4):
        writer.commit({"n": n})
        assert files <= set(directory.list())
        assert ids_of(snapshot) == ["a"]
    snapshot.close()
    snapshot.close()
    writer.commit({"n": "x"})
    assert files <= set(directory.list())  # the other one still needs them
    del also  # forgotten instead of closed
    writer.commit({"n": "y"})
    assert not files & set(directory.list())
    with pytest.raises(InvalidInput, match="closed"):
        ids_of(snapshot)


def test_a_new_writer_spares_snapshots_and_strangers(directory: MemoryDirectory, writer: Writer) -> None:
    writer.add_segment(segment(writer, "a"))
    writer.commit()
    snapshot = Snapshot.open(directory)
    writer.replace(writer.entries, None)
    writer.commit({"n": 1})
    writer.commit({"n": 2})
    writer.close()
    leftovers = ["s00000077-01234567-x.doc", "manifest-000000000099-01234567.tmp"]
    for name in ["notes.txt", "s1.doc", *leftovers]:
        directory.create(name).write(b"?")
    Snapshot.open(directory).close()
    assert set(leftovers) <= set(directory.list())  # readers collect nothing
    with Writer(directory):
        pass
    assert ids_of(snapshot) == ["a"] and directory.exists(manifest_name(2))
    assert directory.exists("notes.txt") and directory.exists("s1.doc")
    assert not set(leftovers) & set(directory.list())


def test_a_merge_in_the_background_survives_commits(directory: MemoryDirectory, writer: Writer) -> None:
    for name in "abc":
        writer.add_segment(segment(writer, name))
    writer.commit()
    old = writer.entries[:2]
    merged = merge_segments(directory, writer.new_segment_id(), [SegmentReader(directory, e) for e in old])
    for name in "def":  # commits go on while the merged segment is not yet part of anything
        writer.add_segment(segment(writer, name))
        writer.commit()
    writer.replace(old, merged)
    writer.commit()
    assert committed(directory) == list("abcdef")


def test_where_to_create(tmp_path: Path) -> None:
    path = tmp_path / "new" / "collection"
    with pytest.raises(IndexNotFound, match="no such folder"):
        Writer(FSDirectory(path))
    Writer(FSDirectory(path), create=True).close()
    with pytest.raises(IndexExists, match="holds a collection"):
        Writer(FSDirectory(path), create=True)
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(IndexNotFound, match="empty folder"):
        Writer(FSDirectory(empty))
    with pytest.raises(IndexNotFound, match="empty folder"):
        Snapshot.open(FSDirectory(empty))
    assert list(empty.iterdir()) == []  # asking leaves nothing behind
    Writer(FSDirectory(empty), create=True).close()
    other = tmp_path / "documents"
    other.mkdir()
    (other / "letter.txt").write_text("x")
    with pytest.raises(IndexExists, match="no collection"):
        Writer(FSDirectory(other), create=True)
    with pytest.raises(IndexNotFound, match="not a collection"):
        Writer(FSDirectory(other))
    with pytest.raises(IndexNotFound, match="not a collection"):
        Snapshot.open(FSDirectory(other))
    assert [p.name for p in other.iterdir()] == ["letter.txt"]
    with pytest.raises(IndexExists, match="is a file"):
        Writer(FSDirectory(other / "letter.txt"), create=True)
    with pytest.raises(IndexNotFound, match="is a file"):
        Snapshot.open(FSDirectory(other / "letter.txt"))


def test_one_writer(tmp_path: Path) -> None:
    directory = FSDirectory(tmp_path / "c")
    first = Writer(directory, create=True)
    for create in (True, False):
        with pytest.raises((IndexLocked, IndexExists)):
            Writer(FSDirectory(tmp_path / "c"), create=create)
    first.add_segment(segment(first, "a"))
    assert first.commit() == 2  # the attempts did it no harm
    first.close()
    with Writer(directory) as second:
        assert second.generation == 2


def test_a_writer_that_is_forgotten_gives_the_lock_back(tmp_path: Path) -> None:
    directory = FSDirectory(tmp_path / "c")
    writer = Writer(directory, create=True)
    del writer
    Writer(directory).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_cannot_use_its_parents_writer(tmp_path: Path) -> None:
    directory = FSDirectory(tmp_path / "c")
    writer = Writer(directory, create=True)
    writer.add_segment(segment(writer, "a"))
    child = os.fork()
    if child == 0:
        try:
            writer.commit()
        except InvalidInput:
            writer.close()  # harmless: the parent's uncommitted files stay
            os._exit(0)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert writer.commit() == 2 and committed(directory) == ["a"]


def test_a_failed_sync_of_the_folder_closes_the_writer(directory: MemoryDirectory) -> None:
    faulty = FaultyDirectory(directory)
    writer = Writer(faulty, create=True)
    writer.add_segment(segment(writer, "a"))
    faulty.fault = lambda i, verb: OSError(errno.EIO, "broken") if verb == "sync" else None
    with pytest.raises(OSError, match="broken") as caught:
        writer.commit()
    assert any("did not happen" in note for note in caught.value.__notes__)
    assert writer.closed and not directory.locked
    faulty.fault = lambda i, verb: None
    with pytest.raises(InvalidInput, match="open a new one"):
        writer.commit()
    assert committed(directory) == []


def test_a_failed_write_leaves_the_writer_usable(directory: MemoryDirectory) -> None:
    faulty = FaultyDirectory(directory)
    writer = Writer(faulty, create=True)
    writer.add_segment(segment(writer, "a"))
    faulty.fault = lambda i, verb: OSError(errno.ENOSPC, "full") if verb == "write" else None
    with pytest.raises(OSError, match="full"):
        writer.commit()
    assert committed(directory) == [] and not any(name.endswith(".tmp") for name in directory.list())
    faulty.fault = lambda i, verb: None
    assert writer.commit() == 3  # a number is used once, also by a commit that failed
    assert committed(directory) == ["a"]


def test_an_interrupted_commit_is_withdrawn(directory: MemoryDirectory) -> None:
    faulty = FaultyDirectory(directory)
    writer = Writer(faulty, create=True)
    writer.add_segment(segment(writer, "a"))
    syncs = []

    def interrupt(i: int, verb: str) -> BaseException | None:
        syncs.append(verb == "sync")
        return KeyboardInterrupt() if verb == "sync" and sum(syncs) == 2 else None

    faulty.fault = interrupt
    with pytest.raises(KeyboardInterrupt):
        writer.commit()
    assert committed(directory) == [] and list_generations(directory) == [1]


def test_somebody_elses_manifest_is_not_touched(directory: MemoryDirectory, writer: Writer) -> None:
    stranger = directory.create(manifest_name(2))
    stranger.write(b"written without the lock")
    writer.add_segment(segment(writer, "a"))
    with pytest.raises(FileExistsError):
        writer.commit()
    assert directory.read(manifest_name(2), 100) == b"written without the lock"
    assert writer.closed


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="needs /proc")
def test_syncs_happen_in_the_right_order_on_a_real_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = FSDirectory(tmp_path / "c")
    writer = Writer(directory, create=True)
    events: list[str] = []
    fsync, rename = os.fsync, os.rename

    def logged_fsync(fd: int) -> None:
        path = os.readlink(f"/proc/self/fd/{fd}")
        events.append("sync " + ("folder" if path == str(tmp_path / "c") else Path(path).name))
        fsync(fd)

    def logged_rename(old: object, new: object) -> None:
        events.append(f"rename {Path(str(old)).name} {Path(str(new)).name}")
        rename(old, new)  # type: ignore[call-overload]

    monkeypatch.setattr(os, "fsync", logged_fsync)
    monkeypatch.setattr(os, "rename", logged_rename)
    writer.add_segment(segment(writer, "a"))
    writer.commit()
    data = sorted(ref.name for ref in writer.entries[0].files.values())
    assert sorted(events[: len(data)]) == [f"sync {name}" for name in data]
    folder, manifest, renamed, last = events[len(data) :]
    temporary = manifest.removeprefix("sync ")
    assert (folder, last) == ("sync folder", "sync folder") and temporary.endswith(".tmp")
    assert renamed == f"rename {temporary} {manifest_name(2)}"
