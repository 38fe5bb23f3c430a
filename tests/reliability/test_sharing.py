"""Many readers and one writer at the same time; writers that compete; folders that cannot be written."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reliability.conftest import Report
from tests.reliability.reader import compare
from tests.reliability.store import Store, read_commit
from tests.reliability.workload import History
from zipfian.errors import IndexLocked, ReadOnly
from zipfian.index.check import check
from zipfian.index.commit import Writer
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import FSDirectory

ROOT = Path(__file__).resolve().parents[2]
COMMITS = 16
THREADS = 16


def child(module: str, *arguments: object) -> subprocess.Popen[str]:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    command = [sys.executable, "-m", f"tests.reliability.{module}", *map(str, arguments)]
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment
    )


def commit_some(store: Store, history: History, commits: int) -> None:
    for n, todo in history.forward(store.n):
        for action in todo:
            store.run(action)
        store.commit(n)
        if n == commits:
            return


def test_threads_read_whole_commits_while_one_writes(tmp_path: Path, report: Report) -> None:
    directory, history = FSDirectory(tmp_path / "c"), History(21)
    store = Store(directory, create=True)
    history.content(COMMITS)  # made before the threads share it
    stop, failures, reads = threading.Event(), [], []

    def read() -> None:
        kept = Snapshot.open(directory)
        last = 0
        try:
            while not stop.wait(0.005):  # leaves the writer some of the interpreter's time
                acknowledged = store.n
                with Snapshot.open(directory) as snapshot:
                    n = compare(snapshot, history)
                assert n >= max(acknowledged, last), "an older commit came back"
                last = n
                reads.append(n)
                if len(reads) % 3 == 0:
                    compare(kept, history)  # its files may be long gone
        except BaseException as e:  # noqa: BLE001  (anything at all, in any thread, fails the test)
            failures.append(e)

    threads = [threading.Thread(target=read) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    commit_some(store, history, COMMITS)
    stop.set()
    for thread in threads:
        thread.join()
    assert failures == []
    store.close()
    assert check(directory).ok and len(set(reads)) > 3
    report(f"{THREADS} threads read {len(reads)} snapshots of {len(set(reads))} commits while {COMMITS} were made")


def test_processes_read_whole_commits_while_one_writes(tmp_path: Path, report: Report) -> None:
    folder, history = tmp_path / "c", History(22)
    store = Store(FSDirectory(folder), create=True)
    readers = [child("reader", folder, 22) for _ in range(2)]
    commit_some(store, history, 2 * COMMITS)
    counts = [reader.communicate(timeout=60)[0].split() for reader in readers]
    assert [reader.returncode for reader in readers] == [0, 0]
    store.close()
    read, distinct = (sum(int(c[i]) for c in counts) for i in (0, 1))
    report(f"2 processes read {read} snapshots ({distinct} distinct) while {2 * COMMITS} commits were made")


def test_writers_compete_and_lose_nothing(tmp_path: Path, report: Report) -> None:
    folder, children, times = tmp_path / "c", 3, 15
    Writer(FSDirectory(folder), create=True).close()
    writers = [child("counter", folder, times) for _ in range(children)]
    refused = sum(int(writer.communicate(timeout=60)[0]) for writer in writers)
    assert [writer.returncode for writer in writers] == [0] * children
    with Snapshot.open(FSDirectory(folder)) as snapshot:
        assert snapshot.user == {"count": children * times}
    report(f"{children} processes made {children * times} commits in turn; the lock refused {refused} attempts")


def test_a_second_writer_is_refused_while_a_process_has_the_first(tmp_path: Path) -> None:
    with child("child", tmp_path / "c", 3) as first:
        assert first.stdout is not None and first.stdout.readline() == "ready 0\n"
        with pytest.raises(IndexLocked, match="another writer"):
            Writer(FSDirectory(tmp_path / "c"))
        first.kill()
        first.wait()
        Writer(FSDirectory(tmp_path / "c")).close()


@pytest.fixture
def read_only() -> Iterator[FSDirectory]:
    """A collection that its reader may not write to."""
    folder = Path(tempfile.mkdtemp())  # not below pytest's own folder, which other users cannot enter
    store = Store(FSDirectory(folder / "c"), create=True)
    commit_some(store, History(23), 4)
    store.close()
    (folder / "c" / "s00000099-00000000-left.doc").write_bytes(b"left over")
    for path in (folder / "c").iterdir():
        path.chmod(0o444)
    (folder / "c").chmod(0o555)
    folder.chmod(0o755)
    yield FSDirectory(folder / "c")
    (folder / "c").chmod(0o755)
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_read_only_folder(read_only: FSDirectory) -> None:
    before = read_only.list()
    pid = os.fork()  # as another user, since nothing is read-only for root
    if pid == 0:
        status = 1
        try:
            if os.geteuid() == 0:
                os.setuid(65534)
            n, content = read_commit(read_only)
            assert n == 4 and content == History(23).content(4)
            assert check(read_only).ok
            for create in (False, True):
                path = read_only if not create else FSDirectory(read_only.path / "new")
                with pytest.raises(ReadOnly, match="cannot be written to"):
                    Writer(path, create=create)
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert read_only.list() == before
