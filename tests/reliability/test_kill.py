"""Processes that write are killed at random moments; what they had acknowledged must be there."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.conftest import SOAK
from tests.reliability.conftest import Report
from tests.reliability.store import read_commit
from tests.reliability.workload import History
from zipfian.errors import IndexNotFound
from zipfian.index.check import check
from zipfian.storage.directory import FSDirectory

ROOT = Path(__file__).resolve().parents[2]
ROUNDS = 5_000 if SOAK else 200
LANES = 3
"""Collections that are worked on side by side: a lane waits for the disk while another computes."""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


def start(folder: Path, seed: int) -> subprocess.Popen[str]:
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    command = [sys.executable, "-m", "tests.reliability.child", str(folder), str(seed)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)


def kill_once(folder: Path, seed: int, rng: random.Random, pace: dict[str, float]) -> list[str]:
    """Start a child, kill it somewhere, and return what it said until then.

    Moments are chosen by what the child does, not by the clock, so that a slow machine tests the same things. `pace`
    holds the seconds that it recently took from each of its messages to the end of the commit.
    """
    with start(folder, seed) as child:
        assert child.stdout is not None
        said: list[str] = []
        if rng.random() < 0.2:  # while it starts, opens, or collects what the one before left
            time.sleep(rng.uniform(0.05, 0.4))
        else:
            stage, wanted = rng.choice(["begin", "commit"]), rng.randint(1, 4)
            at: dict[str, float] = {}
            while wanted and (line := child.stdout.readline()):
                said.append(line)
                verb = line.split()[0]
                at[verb] = time.monotonic()
                wanted -= verb == stage
                if verb == "done":
                    pace.update((earlier, at[verb] - at[earlier]) for earlier in ("begin", "commit"))
            time.sleep(rng.uniform(0.0, 1.2 * pace[stage]))
        child.send_signal(signal.SIGKILL)
        said += child.stdout.readlines()
        child.wait()
        assert child.returncode == -signal.SIGKILL, "a child ended by itself: see its error above"
    return [line for line in said if line.endswith("\n")]


def check_after(folder: Path, history: History, acknowledged: int, begun: int) -> tuple[int, bool]:
    """The commit that is there now: the last acknowledged one or the one in flight, complete. Also, any leftovers?"""
    directory = FSDirectory(folder)
    try:
        found, content = read_commit(directory)
    except IndexNotFound:
        assert acknowledged == 0
        return 0, False
    assert acknowledged <= found <= max(acknowledged, begun), (acknowledged, found, begun)
    assert content == history.content(found)
    assert list(content) == list(history.content(found))
    report = check(directory)
    assert report.ok, str(report)
    return found, bool(report.orphans)


def run_lane(folder: Path, seed: int, rounds: int) -> Counter[str]:
    """Kill `rounds` children in turn, each continuing the work of the one before."""
    rng = random.Random(seed)
    history = History(seed)
    counts: Counter[str] = Counter()
    last, pace = 0, {"begin": 0.02, "commit": 0.005}
    for _ in range(rounds):
        said = [line.split() for line in kill_once(folder, seed, rng, pace)]
        acknowledged = max([last, *(int(n) for verb, n in said if verb == "done")])
        begun = max([acknowledged + 1, *(int(n) for verb, n in said if verb == "begin")])
        last, leftovers = check_after(folder, history, acknowledged, begun)
        counts["rounds"] += 1
        counts["silent"] += not said
        counts["in flight found"] += last > acknowledged
        counts["leftovers"] += leftovers
    counts["commits"] = last
    return counts


def test_kill_9(tmp_path: Path, report: Report) -> None:
    began = time.monotonic()
    with ThreadPoolExecutor(LANES) as pool:
        lanes = [
            pool.submit(run_lane, tmp_path / str(lane), 1000 + lane, (ROUNDS + lane) // LANES) for lane in range(LANES)
        ]
        total = sum((lane.result() for lane in lanes), Counter())
    report(
        f"kill -9: {total['rounds']} rounds, {total['commits']} commits, none lost, none in part; "
        f"{total['silent']} kills while opening, {total['in flight found']} times the commit in flight was complete, "
        f"{total['leftovers']} times there were leftovers; {time.monotonic() - began:.0f} s"
    )
    assert total["rounds"] == ROUNDS
    assert total["commits"] >= ROUNDS  # the children got work done between the kills


def test_children_do_not_load_numba() -> None:
    code = "import sys, tests.reliability.child; sys.exit('numba' in sys.modules)"
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=environment)
