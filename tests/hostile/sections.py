"""Data files with right checksums and hostile content: everything a collection holds, forged one thing at a time."""

from __future__ import annotations

import math
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import zipfian as zf
from tests.hostile.case import Case, WrongAnswer
from tests.hostile.forgeries import ATTACKS
from zipfian.errors import IndexCorrupt, ZipfianError
from zipfian.limits import MAX_TEXT_CHARS

FAMILY = "sections"

_WORDS = "light sun plant cat dog sleep food star stone river cloud bread night road glass ship".split()
_FIELDS = {
    "words": zf.Words(),
    "codes": zf.Sparse(500),
    "floats": zf.Sparse(100, tf="float32", scoring=zf.Dot()),
    "near": zf.Dense(vector="default"),
}


def cases(count: int, seed: int) -> Iterator[Case]:
    """Every attack, the expensive ones a few times and the others as often as `count` allows."""
    for i in range(count):
        turn, at = divmod(i, len(ATTACKS))
        attack = list(ATTACKS)[at]
        if attack in _EXPENSIVE and turn % _EXPENSIVE[attack]:
            attack = "several of these in several files"
        yield Case(FAMILY, attack, seed * 1_000_003 + i)


def forge(case: Case, folder: Path) -> None:
    """A copy of a sound collection with one attack carried out on it."""
    shutil.copytree(_larger() if case.attack in _NEEDS_MORE else _sound(), folder / "c")
    ATTACKS[case.attack](random.Random(case.seed), folder / "c")


@cache
def _sound() -> Path:
    """A small collection with everything in it, made once per process; searching it loads the kernels."""
    path = Path(tempfile.mkdtemp()) / "sound"
    rng = random.Random(1)
    with zf.Collection.create(path, _FIELDS, encodings=False) as made:
        first = 0
        for size in (100, 40, 5):
            made.add([_document(rng, i) for i in range(first, first + size)])
            first += size
            made.commit()
        made.delete([f"d{i}" for i in range(0, 120, 7)])
        made.commit()
    _use(path)
    _merge(path, path.parent / "merged")
    return path


@cache
def _larger() -> Path:
    """A collection whose streams of postings have tens of thousands of words."""
    _sound()
    path = Path(tempfile.mkdtemp()) / "larger"
    rng = random.Random(2)
    with zf.Collection.create(path, _FIELDS, encodings=False) as made:
        for i in range(2_500):
            codes = {c: rng.random() + 0.1 for c in rng.sample(range(500), 60)}
            made.add([{"id": f"d{i}", "terms": {"codes": codes}, "metadata": _metadata_of(rng, i)}])
        made.commit()
        made.delete(["d7"])
        made.commit()
    return path


def _document(rng: random.Random, i: int) -> dict[str, Any]:
    codes = sorted(rng.sample(range(500), 12))
    return {
        "id": f"d{i}",
        "text": None if i % 11 == 5 else " ".join(rng.choices(_WORDS, k=rng.randrange(1, 60))),
        "terms": {
            "codes": {c: rng.random() + 0.1 for c in codes},
            "floats": {c % 100: rng.random() + 0.1 for c in codes[:4]},
        },
        **({} if i % 9 == 4 else {"vector": [rng.random() - 0.5 for _ in range(6)]}),
        "metadata": _metadata_of(rng, i),
    }


def _metadata_of(rng: random.Random, i: int) -> dict[str, Any]:
    return {
        "lang": rng.choice(["en", "de", "fr"]),
        "year": 1990 + i % 40,
        "weight": 2**60 + i if i % 50 == 3 else i / 7,
        **({"flag": i % 2 == 0} if i % 3 else {}),
        "day": date(2024, 1, 1 + i % 28),
        "tags": rng.sample(["a", "b", "c", "d"], i % 4),
        "counts": [i, i + 1][: i % 3],
    }


# -- what a user does ----------------------------------------------------------------------------------------------


def suffer(case: Case, folder: Path) -> str:
    """Open, search, read, check, merge. One refusal does not spare the forged files the rest."""
    refused: list[ZipfianError] = []

    def attempt(step: Callable[[], Any]) -> Any:
        try:
            return step()
        except ZipfianError as e:
            refused.append(e)
            return None

    report = attempt(lambda: _check(folder / "c"))
    attempt(lambda: _use(folder / "c"))
    if refused and isinstance(refused[-1], IndexCorrupt) and report is not None and report.ok:
        raise WrongAnswer(f"check calls clean what cannot be read: {refused[-1]}")
    if case.attack in _NEVER_CLEAN and report is not None and report.ok:
        raise WrongAnswer("check calls it clean")
    if case.attack in _SOUND and (refused or not report.ok):
        raise WrongAnswer(f"a sound collection was refused: {refused} {report}")
    if case.attack == "a document of the largest size":
        with zf.Collection.open(folder / "c", encodings=False) as found:
            if len(found.get("d1").text) != MAX_TEXT_CHARS:
                raise WrongAnswer("a text came back changed")
        return "read"  # merging compresses it again, which takes the rest of the seconds
    attempt(lambda: _merge(folder / "c", folder / "m"))
    if refused:
        raise refused[0]
    return "check: " + ("ok" if report.ok else f"{len(report.problems)} problems")


def _check(path: Path) -> Any:
    from zipfian.index.check import check
    from zipfian.storage.directory import FSDirectory

    return check(FSDirectory(path))


def _use(path: Path, questions: int = 8) -> None:
    """Search every field, with and without filters, read the hits, explain the first."""
    with zf.Collection.open(path, encodings=False) as found:
        vector = np.array([0.1, -0.2, 0.3, 0.1, 0.0, 0.4], np.float32)
        where = {"year": {">=": 2000}, "tags": ["a", "b"], "lang": {"!=": "de"}, "weight": {"<": 10**18}}
        asked: list[tuple[Any, dict[str, Any]]] = [
            ("light of the sun", {"fields": "words"}),
            ("cat dog", {"fields": "words", "k": 100_000}),
            ("stone river", {"fields": "words", "where": where}),
            ({3: 1.0, 17: 2.0, 250: 0.5}, {"fields": "codes"}),
            (dict.fromkeys(range(0, 500, 5), 1.0), {"fields": "codes", "k": 1_000, "where": {"flag": True}}),
            ({3: 1.0, 17: 2.0}, {"fields": "floats", "where": {"day": {">=": "2024-01-10"}, "counts": {">": 5}}}),
            (vector, {"fields": "near"}),
            (vector, {"fields": "near", "k": 500, "where": {"not": {"lang": "en"}}}),
        ]
        for query, options in asked[-questions:]:
            results = found.search(query, **options)
            _require_sane(results, options.get("k", 10))
            for hit in results[:3]:
                if not isinstance(hit.text, str | None) or not isinstance(hit.metadata, dict):
                    raise WrongAnswer(f"{hit.id!r} has a text or metadata of the wrong type")
            if results:
                tree = results.explain(results[0])
                if not math.isclose(tree.value, results[0].score, rel_tol=1e-9, abs_tol=1e-12):
                    raise WrongAnswer(f"an explanation of {tree.value} for a score of {results[0].score}")
        ids = list(found.ids())
        if len(ids) != len(found):
            raise WrongAnswer(f"{len(found)} documents and {len(ids)} ids")
        for doc_id in ids[:2] + ids[-2:]:
            found.get(doc_id)
        found.stats()


def _require_sane(results: Any, k: int) -> None:
    scores = [hit.score for hit in results]
    if len(scores) > k or not all(math.isfinite(s) for s in scores) or scores != sorted(scores, reverse=True):
        raise WrongAnswer(f"{len(scores)} scores for k={k}: {scores[:5]}")
    if not all(isinstance(hit.id, str) for hit in results):
        raise WrongAnswer("an id is not text")


def _merge(path: Path, copy: Path) -> None:
    """Add to a copy, merge it, and read what came of it. What a power cut would do is no question here: no syncs."""
    shutil.copytree(path, copy)
    try:
        with patch("os.fsync"), zf.Collection.open(copy, "w", encodings=False) as found:
            found.upsert([{"id": "new", "text": "a new light", "metadata": {"lang": "en"}}])
            found.merge()
            found.commit()
        _use(copy, 4)
    finally:
        shutil.rmtree(copy)


_NEEDS_MORE = frozenset({"long posting lists of shape n x 1"})
"""Attacks on a collection of thousands of documents."""

_EXPENSIVE = {
    "a text block that unpacks to gigabytes": 5,
    "a document of the largest size": 20,
    "long posting lists of shape n x 1": 4,
}
"""Attacks that take seconds are made every so many turns only."""

_SOUND = frozenset({"the previous manifest is gone", "a document of the largest size"})
"""No attacks at all, though they may look so: everything must work."""

_NEVER_CLEAN = frozenset(
    {
        "millions of documents that are not there, all files agreeing",
        "a document file that is nothing but a claim",
        "billions of postings that are not there",
        "metadata nested 100,000 deep, or none at all",
        "ids, texts and metadata over the limits",
        "long posting lists of shape n x 1",
        "a text block that unpacks to gigabytes",
    }
)
"""Attacks after which a check must have something to say, whatever else happens."""
