"""Sources larger than the memory budget, and runs that are killed and started again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.adder import documents
from tests.collection.parts import folder
from tests.equality.compare import assert_same, fresh
from zipfian.fields import Sparse, Words

ROOT = Path(__file__).resolve().parents[2]
BUDGET = 250_000


def long_documents(
    count: int, c: zf.Collection | None = None, seen: set[str] | None = None
) -> Iterator[dict[str, Any]]:
    """About 4 kB of waiting memory each; notes which segments were written when the next one is asked for."""
    rng = np.random.default_rng(1)
    for n in range(count):
        text = " ".join(f"w{i}" for i in rng.zipf(1.3, 150) % 5_000)
        terms = np.unique(rng.integers(0, 1_000, 40))
        yield {"id": f"d{n}", "text": text, "terms": {"latent": (terms, rng.uniform(0.1, 3.0, len(terms)))}}
        if c is not None and seen is not None and folder(c)._store is not None:
            seen |= {entry.id for entry in folder(c)._store.writer.entries}


FIELDS = {"words": Words(), "latent": Sparse(1_000)}


def test_a_generator_larger_than_the_budget(tmp_path: Path) -> None:
    segments: set[str] = set()
    with zf.Collection.create(tmp_path / "c", FIELDS, memory_bytes=BUDGET) as c:
        c.add(long_documents(600))
        c.rollback()  # the analyser now knows the words, so what is measured next are the documents
        tracemalloc.start()
        assert c.add(long_documents(600, c, segments)) == 600
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(segments) >= 8
        assert peak < 6 * BUDGET  # of which some is a fixed cost, small beside a real budget
        assert len(c) == 0  # nothing is seen before the commit
        assert c.add(long_documents(1_500, c, segments), existing="skip") == 900
        assert len(segments) >= 15  # and most of them are merged already
        assert len(folder(c)._store.readers) <= 12
        c.commit()
        assert c.stats()["segments"] <= 12
        with fresh(tmp_path / "fresh", FIELDS, long_documents(1_500)) as whole:
            assert_same(c, whole, {"words": ["w1 w7 w300"], "latent": [{5: 1.0, 77: 2.0}]}, formulas=(None,))


def test_open_files_stay_few_without_a_commit(quick_path: Path) -> None:
    with zf.Collection.create(quick_path / "c", memory_bytes=0) as c:
        c.add({"id": str(n), "text": f"number {n}"} for n in range(60))  # a segment each
        assert len(folder(c)._store.readers) <= 12
        c.delete(["7", "30"])
        c.upsert({"id": str(n), "text": f"again {n}"} for n in range(20, 40))
        c.commit()
        left = [n for n in range(20) if n != 7] + [*range(40, 60), *range(20, 40)]
        assert list(c.ids()) == [str(n) for n in left]
        assert [h.id for h in c.search("again", 30)] == [str(n) for n in range(20, 40)]
        assert c.check().ok


def test_killed_and_started_again(quick_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count, rng, path = 4_000, random.Random(3), quick_path / "c"
    command = [sys.executable, "-m", "tests.collection.adder", str(path), str(count)]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT / "src"), str(ROOT)]))
    kills = 0
    reached: list[Any] = []
    for _ in range(5):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment) as child:
            assert child.stdout is not None
            known = reached[-1] if reached else 0
            for line in child.stdout:
                if int(line) > known + rng.randrange(800):
                    try:
                        child.wait(rng.random() * 0.05)
                    except subprocess.TimeoutExpired:
                        child.kill()
                        kills += 1
                    break
        if path.exists():
            with zf.Collection.open(path) as c:
                ids = list(c.ids())
                assert ids == [f"doc-{n}" for n in range(len(ids))]  # whole batches, in order, none twice
                assert len(ids) >= known
                assert c.check().ok
                reached.append(len(ids))
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=True)
    assert done.stdout.split()[-1] == str(count)
    with zf.Collection.open(path) as c:
        assert list(c.ids()) == [f"doc-{n}" for n in range(count)]
        assert c.check().ok
        with fresh(quick_path / "fresh", c.fields, documents(count)) as whole:
            assert_same(c, whole, {"words": ["document 77", "word of 4000"]}, formulas=(None,))
    with capsys.disabled():
        print(f"\nresume: killed {kills} times at {reached} documents, then {count}, each once")
    assert kills >= 3
    assert reached == sorted(reached)
