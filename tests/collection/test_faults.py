"""Every operation of a collection on its folder fails once, in turn: nothing is lost, and the work can go on."""

from __future__ import annotations

import errno
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.equality.compare import assert_same, fresh, ranking
from tests.storage.doubles import FaultyDirectory, fail_from, fail_once
from zipfian.collection.folder import FolderCollection
from zipfian.errors import InvalidInput
from zipfian.fields import Sparse, Words
from zipfian.index.commit import Writer
from zipfian.storage.directory import FSDirectory
from zipfian.storage.regular import ByteArray

FIELDS = {"words": Words(), "latent": Sparse(20)}
LATE = Sparse(20, tf="float32")
NO_FAULT = fail_once(0)
QUERIES: dict[str, list[Any]] = {
    "words": ["number three", "seven new words"],
    "latent": [{1: 1.0, 4: 0.5}],
    "late": [{4: 1.0, 14: 1.0}],
}


class Folder(FaultyDirectory):
    """Opening a file for reading may fail as well: too many open files, a vanished mount."""

    def map(self, name: str) -> ByteArray:
        self.step("map")
        return super().map(name)


def raw(n: int, *words: str) -> dict[str, Any]:
    names = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    text = " ".join(("number", names[n % 10], *words))
    return {
        "id": f"d{n}",
        "text": text,
        "terms": {"latent": {n % 20: 1.0 + n, 20 - n % 19 - 1: 0.5}},
        "metadata": {"n": n},
    }


def late(n: int) -> dict[int, float]:
    return {n % 20: 0.25 + n}


Step = Callable[[FolderCollection], object]

STEPS: list[Step] = [
    lambda c: c.add([raw(n) for n in range(12, 24)], existing="skip"),
    lambda c: c.upsert([raw(n, "new", "words") for n in (3, 14)]),
    lambda c: c.delete(["d0", "d1", "d2", "d15"]),
    lambda c: c.merge(2),
    lambda c: (
        c.add_field("late", LATE, {f"d{n}": late(n) for n in (4, 14, 20)})
        if "late" not in c._store.settings.fields
        else 0
    ),
    lambda c: c.delete(["d5"]),
    lambda c: c.commit(user={"step": "last"}),
]


def expected() -> list[dict[str, Any]]:
    docs = {f"d{n}": raw(n) for n in range(24)}
    for n in (3, 14):
        del docs[f"d{n}"]
        docs[f"d{n}"] = raw(n, "new", "words")
    for n in (0, 1, 2, 15, 5):
        del docs[f"d{n}"]
    for n in (4, 14, 20):
        docs[f"d{n}"]["terms"] = {**docs[f"d{n}"]["terms"], "late": late(n)}
    return list(docs.values())


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where every attempt starts: four segments and a few deleted documents."""
    path = tmp_path_factory.mktemp("start") / "c"
    with zf.Collection.create(path, FIELDS) as c:
        for first in range(0, 12, 3):
            c.add([raw(n) for n in range(first, first + 3)])
            c.commit()
        c.upsert([raw(4), raw(11)])
        c.commit()
        c.delete(["d4", "d11"])
        c.add([raw(4), raw(11)])
        c.commit()
    return path


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> zf.Collection:
    """What every attempt must end with."""
    order = {d["id"]: d for d in expected()}
    for moved in ("d4", "d11"):
        order[moved] = order.pop(moved)
    first = ["d6", "d7", "d8", "d9", "d10", "d4", "d11"]
    ids = first + [i for i in order if i not in {*first, "d3", "d14"}] + ["d3", "d14"]
    return fresh(tmp_path_factory.mktemp("wanted") / "c", {**FIELDS, "late": LATE}, [order[i] for i in ids])


def open_faulty(path: Path) -> tuple[Folder, FolderCollection]:
    """A collection for writing on a folder that can fail; it writes a segment every few documents."""
    folder = Folder(FSDirectory(path))
    return folder, FolderCollection._make(folder, Writer(folder), None, None, 15_000, 1 << 20)


def operations(start: Path, path: Path) -> list[str]:
    """What the steps do to the folder when nothing fails."""
    shutil.copytree(start, path)
    folder, c = open_faulty(path)
    folder.log.clear()
    for step in STEPS:
        step(c)
    done = list(folder.log)
    c.close()
    return done


def run(c: FolderCollection, first: int = 0) -> tuple[int, OSError | None]:
    """The steps from `first` on, until one fails: its number and the error."""
    for n, step in enumerate(STEPS[first:], first):
        try:
            step(c)
        except OSError as e:
            return n, e
    return len(STEPS), None


def finish(path: Path, wanted: zf.Collection, thorough: bool) -> None:
    """The collection is whole and holds what it should."""
    with zf.Collection.open(path) as c:
        assert c.user == {"step": "last"}
        assert list(c.ids()) == list(wanted.ids())
        for field, asked in QUERIES.items():
            for query in asked:
                assert ranking(c.search(query, 50, fields=field)) == ranking(wanted.search(query, 50, fields=field))
        if thorough:
            assert_same(c, wanted, QUERIES, formulas=(None,))
            report = c.check()
            assert report.ok, str(report)


def test_each_operation_fails_once(start: Path, wanted: zf.Collection, quick_path: Path, capsys: Any) -> None:
    log = operations(start, quick_path / "whole")
    finish(quick_path / "whole", wanted, True)
    ends: Counter[str] = Counter()
    with zf.Collection.open(start) as c:
        before = [(h.id, h.score) for h in c.search("number three new", 50)]
    for n, verb in enumerate(log, 1):
        path = quick_path / str(n)
        shutil.copytree(start, path)
        folder, c = open_faulty(path)
        folder.log.clear()
        folder.fault = fail_once(n)
        failed, error = run(c)
        folder.fault = NO_FAULT
        assert failed < len(STEPS) or verb in ("delete", "note"), (n, verb)  # clean-up may fail without a word
        if error is not None and not c._store.writer.closed:
            if c.generation == 0 or c.user != {"step": "last"}:
                # searches, of this collection and of others, still see the last commit
                assert [(h.id, h.score) for h in c.search("number three new", 50)] == before
                with zf.Collection.open(path) as reader:
                    assert reader.user in ({}, {"step": "last"})
            assert run(c, failed) == (len(STEPS), None), (n, verb)
            ends["repeated the call"] += 1
        elif error is not None:
            with pytest.raises(InvalidInput, match="close this collection and open it again"):
                c.add([raw(99)])
            assert [(h.id, h.score) for h in c.search("number three new", 50)] == before
            c.close()
            folder, c = open_faulty(path)
            assert run(c) == (len(STEPS), None)
            ends["opened it again"] += 1
        else:
            ends["went on"] += 1
        c.close()
        finish(path, wanted, n % 5 == 0)
        shutil.rmtree(path)
    with capsys.disabled():
        how = ", ".join(f"{count} times {end}" for end, count in sorted(ends.items()))
        print(f"\nfaults: {len(log)} operations of a collection failed in turn ({how}); nothing was lost")
    assert ends["repeated the call"] > 50


def test_a_full_disk_is_emptied_again(start: Path, wanted: zf.Collection, quick_path: Path) -> None:
    """From some point on nothing can be written; once there is room, the same calls succeed."""
    verbs = frozenset({"create", "write", "fsync"})
    log = operations(start, quick_path / "whole")
    for n in range(1, len(log) + 1, 9):
        path = quick_path / str(n)
        shutil.copytree(start, path)
        folder, c = open_faulty(path)
        folder.log.clear()
        folder.fault = fail_from(n, errno.ENOSPC, verbs)
        failed, error = run(c)
        for _ in range(2):  # trying again on a full disk changes nothing
            if error is not None:
                assert error.errno == errno.ENOSPC
                failed, error = run(c, failed)
        folder.fault = NO_FAULT
        assert run(c, failed) == (len(STEPS), None)
        c.close()
        finish(path, wanted, True)
        shutil.rmtree(path)


def test_a_failed_commit_can_be_rolled_back(start: Path, tmp_path: Path) -> None:
    shutil.copytree(start, tmp_path / "c")
    folder, c = open_faulty(tmp_path / "c")
    before = list(c.ids())
    run(c)  # commits
    c.upsert([raw(3, "third")])
    c.delete(["d20"])
    now = list(c.ids())
    folder.fault = fail_from(1, errno.ENOSPC, frozenset({"create"}))
    with pytest.raises(OSError, match="made to fail"):
        c.commit()
    folder.fault = NO_FAULT
    c.rollback()
    assert list(c.ids()) == now != before
    c.add([raw(50)])
    c.commit()
    assert list(c.ids()) == [*now, "d50"]
    assert set(c.fields) == {"words", "latent", "late"}
    assert c.check().ok
    assert c.check().orphans == []
    c.close()


def test_the_view_is_renewed_after_a_commit_that_could_not_be_opened(start: Path, tmp_path: Path) -> None:
    """The commit is done; only looking at it failed. Repeating the call mends that."""
    shutil.copytree(start, tmp_path / "c")
    folder, c = open_faulty(tmp_path / "c")
    generation = c.generation
    c.add([{"id": "x", "text": "fresh", "metadata": {"more": 1.5}}])

    def broken(i: int, verb: str) -> BaseException | None:
        renamed = "rename" in folder.log
        return OSError(errno.EMFILE, "too many open files") if verb == "map" and renamed else None

    folder.fault = broken
    with pytest.raises(OSError, match="too many open files"):
        c.commit()
    folder.fault = NO_FAULT
    assert c.generation == generation
    c.add([{"id": "y"}])
    c.rollback()  # to what was committed, not to what is seen
    assert c.commit() == c.generation == generation + 1
    assert "x" in c
    assert "y" not in c
    assert c.columns == {"n": "integer", "more": "number"}
    c.add([{"id": "z", "metadata": {"more": 2.5}}])
    c.commit()
    assert [h.id for h in c.search("fresh", where={"more": 1.5})] == ["x"]
    c.close()
