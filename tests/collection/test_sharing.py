"""Threads and processes search while a writer commits and merges: every answer is that of one commit, exactly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.history import FIELDS, QUERIES, History, answers
from tests.equality.compare import ranking
from zipfian.storage.directory import FSDirectory

ROOT = Path(__file__).resolve().parents[2]
THREADS = 16
COMMITS = 12


@pytest.mark.parametrize("cache_bytes", [1 << 29, 20_000, 0])
def test_16_threads_search_during_commits_and_merges(
    quick_path: Path, cache_bytes: int, capsys: pytest.CaptureFixture[str]
) -> None:
    history = History(cache_bytes, COMMITS)
    found: list[tuple[int, int, list[tuple[str, float]]]] = []
    failures: list[BaseException] = []
    stop = threading.Event()
    with zf.Collection.create(quick_path / "c", FIELDS, cache_bytes=cache_bytes) as c:
        history.play(c, 1)

        def search(number: int) -> None:
            n = number
            try:
                while not stop.wait(0.001):  # leaves the writer some of the interpreter's time
                    n += 1
                    results = c.search(QUERIES[n % len(QUERIES)], 10)
                    found.append((results.generation, n % len(QUERIES), ranking(results)))
                    if results and n % 5 == 0:
                        hit = results[n % len(results)]
                        assert results.explain(hit).value == hit.score
                        assert hit.id == hit._found.document(hit.number).id
            except BaseException as e:  # noqa: BLE001  (anything at all, in any thread, fails the test)
                failures.append(e)

        threads = [threading.Thread(target=search, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for n in range(2, COMMITS + 1):
            history.play(c, n)
            before = len(found)
            while len(found) < before + 60 and not failures:  # let them look at it
                stop.wait(0.002)
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        generations = {generation for generation, _, _ in found}
        expected = {g: history.answers(g - 1) for g in generations}
        assert all(expected[g][query] == answer for g, query, answer in found)
        assert answers(c) == history.answers(COMMITS)
    assert len(generations) > COMMITS // 2
    with capsys.disabled():
        print(
            f"\nthreads: {len(found)} searches in {THREADS} threads over {len(generations)} generations with "
            f"{cache_bytes} bytes of cache: all as in one thread"
        )


def test_other_processes_search_during_commits_and_merges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commits = 30
    history = History(7, commits)
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    with zf.Collection.create(tmp_path / "c", FIELDS) as c:
        history.play(c, 1)
        readers = [
            subprocess.Popen(
                [sys.executable, "-m", "tests.collection.reader", str(tmp_path / "c")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT,
                env=environment,
            )
            for _ in range(2)
        ]  # fmt: skip
        for reader in readers:
            assert reader.stderr is not None
            assert reader.stderr.readline() == "ready\n", reader.communicate()
        for n in range(2, commits + 1):
            history.play(c, n)
        outputs = [reader.communicate(timeout=60) for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0], outputs
    looked, seen = 0, set()
    for output, _ in outputs:
        for line in map(json.loads, output.splitlines()):
            looked += line.get("looked", 0)
            if "generation" in line:
                n = line["generation"] - 1
                seen.add(n)
                assert [[tuple(hit) for hit in answer] for answer in line["answers"]] == history.answers(n)
    with capsys.disabled():
        print(f"\nprocesses: 2 readers looked {looked} times at {len(seen)} of {commits} commits while they were made")
    assert len(seen) > 1


def test_threads_that_write_take_turns(quick_path: Path) -> None:
    with zf.Collection.create(quick_path / "c", memory_bytes=20_000) as c:

        def write(number: int) -> None:
            for n in range(6):
                c.add({"id": f"{number}-{n}-{i}", "text": f"word{number} all"} for i in range(20))
                c.commit()
            c.delete([f"{number}-0-{i}" for i in range(20)])
            c.commit()

        threads = [threading.Thread(target=write, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(c) == 4 * 5 * 20
        for number in range(4):
            assert len(c.search(f"word{number}", 1_000)) == 100
        assert c.check().ok


def test_files_that_nobody_needs_go(quick_path: Path) -> None:
    """Old commits leave the disk although results of them were held for a while."""
    history = History(3, 16)
    path = quick_path / "c"
    with zf.Collection.create(path, FIELDS) as c:
        held = []
        for n in range(1, 17):
            history.play(c, n)
            if n < 9:
                held.append(c.search(QUERIES[0]))
        for n, results in enumerate(held, 1):
            assert ranking(results) == history.answers(n)[0]
            assert all(hit.text == history.contents[n][hit.id]["text"] for hit in results)
        del held, results
        c.upsert([{"id": "last", "text": "plant"}])
        c.commit()
        report = c.check()
        assert report.ok
        assert report.orphans == []
        assert len(list(path.iterdir())) == report.files + 1  # and the lock


def test_a_commit_opens_the_files_that_are_new_and_no_others(quick_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    really = FSDirectory.map

    def watched(self: FSDirectory, name: str) -> Any:
        opened.append(name)
        return really(self, name)

    def files() -> set[str]:
        return {p.name for p in (quick_path / "c").iterdir() if p.suffix in (".doc", ".field", ".col", ".vec", ".del")}

    with zf.Collection.create(quick_path / "c") as c:
        c.add([{"id": f"d{i}", "text": f"one word {i}", "metadata": {"n": i}} for i in range(50)])
        c.commit()
        with zf.Collection.open(quick_path / "c") as reader:
            first = reader.search("word", k=50)
            before = files()
            monkeypatch.setattr(FSDirectory, "map", watched)
            c.add([{"id": "new", "text": "one more word"}])
            c.delete(["d7"])
            c.commit()
            assert set(opened) == files() - before  # by the writer, when they were written
            written = len(opened)
            reader.refresh()
            assert sorted(opened[written:]) == sorted(files() - before)
            assert len(reader.search("word", k=60)) == 50 and reader.get("d7") is None
            gone = next(hit for hit in first if hit.id == "d7")
            assert first.explain(gone).value == gone.score  # it looks at what was there then
            opened.clear()
            c.update([{"id": "d8", "metadata": {"n": -1}}])
            c.rollback()
            assert not set(opened) & before
