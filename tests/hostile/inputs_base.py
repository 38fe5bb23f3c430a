"""The small good collection that hostile calls are made on, and what it must still answer afterwards."""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

import zipfian as zf
from tests.hostile.case import WrongAnswer
from zipfian.errors import ZipfianError
from zipfian.retrieve.dense import DenseSearcher

DIM, TERMS = 8, 50
COLOURS = ("red", "green", "blue", "amber")
Found = list[tuple[str, float]]


@functools.cache
def base() -> tuple[Path, dict[str, Found]]:
    """The good collection and what it answers; every kernel is compiled by the way, which takes a while once."""
    zf.SparseIndex.from_csr([0, 1], [0], [1.0], 1).search([0], [1.0], mask=np.ones(1, np.bool_))
    DenseSearcher.from_array([[1.0, 2.0]], metric="dot").search([1.0, 1.0], 1)
    rng = Random(7)
    path = Path(tempfile.mkdtemp()) / "base"
    fields = {"words": zf.Words(), "codes": zf.Sparse(TERMS), "near": zf.Dense(vector="default")}
    with zf.Collection.create(path, fields, encodings=False) as c:
        for half in range(2):
            c.add([_good(rng, half * 8 + i) for i in range(8)])
            c.commit()
        found = answers(c)
    return path, found


def _good(rng: Random, i: int) -> dict[str, Any]:
    words = " ".join(rng.choice((*COLOURS, "apple", "stone", "river", "e-mail", "naïve", "漢字")) for _ in range(12))
    ids = sorted(rng.sample(range(TERMS), 5))
    return {
        "id": f"good{i}",
        "text": words,
        "terms": {"codes": (ids, [rng.uniform(0.1, 5) for _ in ids])},
        "vector": [rng.uniform(-1, 1) for _ in range(DIM)],
        "metadata": {"lang": rng.choice(["en", "de"]), "year": 2000 + i, "tags": rng.sample(COLOURS, 2), "n": i / 2},
    }


def answers(c: zf.Collection) -> dict[str, Found]:
    """What the good documents are found by."""
    asked: dict[str, Callable[[], Any]] = {
        "words": lambda: c.search("apple river stone red", k=100, fields="words"),
        "codes": lambda: c.search(dict.fromkeys(range(0, TERMS, 3), 1.0), k=100, fields="codes"),
        "near": lambda: c.search(np.linspace(-1, 1, DIM), k=100, fields="near"),
        "filtered": lambda: c.search("apple river stone red", k=100, fields="words", where={"year": {">=": 2008}}),
    }
    return {name: [(h.id, h.score) for h in ask() if h.id.startswith("good")] for name, ask in asked.items()}


def same(now: dict[str, Found], then: dict[str, Found], when: str) -> None:
    for query, hits in then.items():
        if now[query] != hits:
            raise WrongAnswer(f"{when}, {query} gives {now[query][:2]} where it gave {hits[:2]}")


def check_message(error: ZipfianError) -> None:
    said = str(error)
    if not 10 < len(said) < 5_000:
        raise WrongAnswer(f"a message of {len(said)} characters: {said[:80]}")


def taken(c: zf.Collection, documents: list[Any]) -> str:
    """Documents that were taken must come back as they were given."""
    n = c.add(documents)
    c.commit()
    for given in documents:
        kept = c.get(given["id"])
        if kept is None or kept.text != given.get("text"):
            raise WrongAnswer(f"{given['id']!r:.60} was taken and does not come back")
    return f"{n} taken"
