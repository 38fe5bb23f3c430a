"""Every file is damaged in every way we can think of: an error that names a file, or exactly the right answer."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator

import pytest

from tests.conftest import SOAK
from tests.reliability.conftest import Report
from tests.reliability.states import HISTORY, files_at
from tests.reliability.store import Store, read_commit
from tests.storage.doubles import MemoryDirectory
from zipfian.errors import FormatTooNew, FormatTooOld, IndexCorrupt, IndexExists, IndexNotFound
from zipfian.index.check import check
from zipfian.index.commit import Writer
from zipfian.index.manifest import generations_in, manifest_name, read_manifest
from zipfian.index.restore import restore
from zipfian.index.snapshot import Snapshot
from zipfian.storage.layout import FOOTER, HEADER

AT = 11
FLIPS = 500 if SOAK else 40
"""Random bits flipped in each file."""

Damaged = Iterator[tuple[str, dict[str, bytes | None]]]
"""What was done, and the files it changes (None: deleted)."""


@pytest.fixture(scope="module")
def sound() -> dict[str, bytes]:
    return files_at(AT)


def newest(sound: dict[str, bytes]) -> str:
    return manifest_name(generations_in(sound)[-1])


def needed(sound: dict[str, bytes]) -> set[str]:
    """Files whose damage `check` must find: all but the lock."""
    directory = MemoryDirectory(sound)
    kept = generations_in(sound)
    return {manifest_name(g) for g in kept}.union(*(read_manifest(directory, g).files() for g in kept))


def verdict(files: dict[str, bytes], changed: dict[str, bytes | None]) -> str:
    """Open and read a damaged collection; only an error that names a file, or the right content, is acceptable."""
    merged = {name: data for name, data in {**files, **changed}.items() if data is not None}
    directory = MemoryDirectory(merged)
    try:
        n, content = read_commit(directory)
    except IndexCorrupt as e:
        assert e.file in files, e
        assert e.file in str(e)
        outcome = "error"
    except (FormatTooNew, FormatTooOld):
        outcome = "other format"
    else:
        assert n == AT and content == HISTORY.content(AT) and list(content) == list(HISTORY.content(AT))
        outcome = "right answer"
    assert {name: bytes(inode.data) for name, inode in directory.files.items()} == merged  # reading changed nothing
    return outcome


def found_by_check(files: dict[str, bytes], changed: dict[str, bytes | None]) -> bool:
    directory = MemoryDirectory({name: data for name, data in {**files, **changed}.items() if data is not None})
    try:
        return not check(directory).ok
    except (FormatTooNew, FormatTooOld):
        return True


def deletions(sound: dict[str, bytes]) -> Damaged:
    older = manifest_name(generations_in(sound)[-2])
    for name in sound:
        if name != older:  # the manifest before the newest may also have been collected: nothing is missing then
            yield f"deleted {name}", {name: None}
        yield f"emptied {name}", {name: b""}
        yield f"zeroed {name}", {name: bytes(len(sound[name]))}


def cuts(sound: dict[str, bytes]) -> Damaged:
    for name, data in sound.items():
        for length in range(0, len(data), 64):
            yield f"{name} cut to {length}", {name: data[:length]}
        yield f"{name} cut by one", {name: data[:-1]}
        for tail in (b"\0", b"\n", data[-64:], data):
            yield f"{name} extended", {name: data + tail}


def flips(sound: dict[str, bytes]) -> Damaged:
    rng = random.Random(3)
    ends_done: set[str] = set()
    current = {newest(sound)} | read_manifest(MemoryDirectory(sound), generations_in(sound)[-1]).files()
    for name, data in sorted(sound.items(), key=lambda item: (item[0] not in current, item[0])):
        bits = {rng.randrange(8 * len(data)) for _ in range(FLIPS)}
        kind = name.rpartition(".")[2]
        if kind not in ends_done:  # every bit of header and footer, for one file of each kind
            ends_done.add(kind)
            bits.update(range(8 * min(HEADER.size, len(data))))
            bits.update(range(8 * max(0, len(data) - FOOTER.size), 8 * len(data)))
        for bit in sorted(bits):
            changed = bytearray(data)
            changed[bit // 8] ^= 1 << bit % 8
            yield f"{name} bit {bit}", {name: bytes(changed)}


def swaps(sound: dict[str, bytes]) -> Damaged:
    by_kind = defaultdict(list)
    for name in sorted(sound):
        by_kind[name.rpartition(".")[2]].append(name)
    for names in by_kind.values():
        for i, a in enumerate(names):
            for b in names[i + 1 :]:
                yield f"{a} and {b} swapped", {a: sound[b], b: sound[a]}
                yield f"{b} in place of {a}", {a: sound[b]}
                yield f"{a} in place of {b}", {b: sound[a]}
    firsts = [names[0] for names in by_kind.values()]
    for a in firsts:
        for b in firsts:
            if a != b:
                yield f"{b} in place of {a}", {a: sound[b]}


@pytest.mark.parametrize("kind", [deletions, cuts, flips, swaps])
def test_damage(kind: object, sound: dict[str, bytes], report: Report) -> None:
    counts: Counter[str] = Counter()
    important = needed(sound)
    damages: Damaged = kind(sound)  # type: ignore[operator]
    rng = random.Random(5)
    for what, changed in damages:
        if all(sound.get(name) == data for name, data in changed.items()):
            continue
        outcome = verdict(sound, changed)
        counts[outcome] += 1
        if important & changed.keys() and rng.random() < (0.2 if outcome == "right answer" else 0.02):
            assert found_by_check(sound, changed), f"check did not find: {what}"
            counts["found by check"] += 1
    report(
        f"damage by {kind.__name__}: {sum(counts.values()) - counts['found by check']} cases in {len(sound)} files: "  # type: ignore[attr-defined]
        + ", ".join(f"{n} {what}" for what, n in sorted(counts.items()))
    )
    assert counts["error"] > 20


def test_an_older_manifest_in_place_of_the_newest(sound: dict[str, bytes]) -> None:
    older, last = (manifest_name(g) for g in generations_in(sound)[-2:])
    assert verdict(sound, {last: sound[older]}) == "error"
    for much_older in (files_at(3), files_at(0)):
        replay = {name: data for name, data in much_older.items() if name.startswith("manifest")}
        assert verdict(sound, {last: replay[newest(much_older)]}) == "error"
        assert verdict(sound, {last: None, older: None, **replay}) == "error"


def test_a_damaged_newest_commit_names_the_way_back(sound: dict[str, bytes]) -> None:
    older, last = generations_in(sound)[-2:]
    for damage in (None, b"", sound[manifest_name(last)][:-9]):
        files = {name: d for name, d in {**sound, manifest_name(last): damage}.items() if d is not None}
        directory = MemoryDirectory(files)
        with pytest.raises(IndexCorrupt, match=f"{manifest_name(last)}.*generation={older}"):
            Snapshot.open(directory)
        with pytest.raises(IndexCorrupt, match=f"generation={older}"):
            Writer(directory)
        with pytest.raises(IndexExists):
            Writer(directory, create=True)
        assert not directory.locked
        assert directory.list() == sorted(files)  # nobody deleted or added anything
        n, content = read_commit(directory, older)  # the user may look at it
        assert n == AT - 1 and content == HISTORY.content(AT - 1)
        aside = restore(directory, older)  # and may decide to go back to it
        assert aside == ([] if damage is None else [f"{manifest_name(last)}.aside"])
        assert read_commit(directory)[0] == AT - 1
        assert check(directory).ok
        store = Store(directory)
        store.commit(AT + 100)
        store.close()
        if damage is not None:  # a number that was seen is not used again, and what stood there is kept
            assert store.writer.generation == last + 1
            assert directory.read(aside[0], 10**6) == damage
        assert read_commit(directory) == (AT + 100, HISTORY.content(AT - 1))


def test_a_damaged_older_commit_is_left_alone_until_it_is_history(sound: dict[str, bytes]) -> None:
    older, _ = (manifest_name(g) for g in generations_in(sound)[-2:])
    directory = MemoryDirectory({**sound, older: b"damaged", "s00000099-00000000-left.doc": b"leftover"})
    assert not check(directory).ok
    store = Store(directory)
    assert directory.read(older, 100) == b"damaged"
    assert directory.exists("s00000099-00000000-left.doc")  # it cannot be told from what the damaged manifest named
    for n in (1, 2):
        store.commit(AT + 100 + n)
    store.close()
    Store(directory).close()
    assert not directory.exists(older) and not directory.exists("s00000099-00000000-left.doc")
    assert check(directory).ok


def test_losing_all_manifests_is_not_an_empty_collection(sound: dict[str, bytes]) -> None:
    directory = MemoryDirectory({name: data for name, data in sound.items() if not name.startswith("manifest")})
    with pytest.raises(IndexCorrupt, match=newest(sound)):
        Snapshot.open(directory)
    with pytest.raises(IndexCorrupt):
        Writer(directory)
    with pytest.raises(IndexExists):
        Writer(directory, create=True)
    assert not check(directory).ok
    directory.delete("write.lock")  # and when even the note is gone
    with pytest.raises(IndexNotFound, match="not a collection"):
        Snapshot.open(directory)


def test_writers_refuse_what_readers_refuse(sound: dict[str, bytes]) -> None:
    """Nothing is built on a damaged commit, and a refusing writer gives its lock back."""
    data = sorted(read_manifest(MemoryDirectory(sound), generations_in(sound)[-1]).files())
    for name in data[::5]:
        directory = MemoryDirectory({**sound, name: sound[name][:-1]})
        with pytest.raises(IndexCorrupt, match=name):
            Writer(directory)
        assert not directory.locked
        assert directory.list() == sorted(sound)
