"""A made-up history of a collection: what happens before each commit, and what it holds and answers after it."""

from __future__ import annotations

import random
import shutil
from typing import Any

import zipfian as zf
from tests.equality.compare import fresh, ranking
from tests.equality.places import quick_folder
from zipfian.fields import Sparse, Words

FIELDS = {"words": Words(), "latent": Sparse(40, scoring=zf.BM25(k1=8, b=0.7, phi="sqrt"))}
WORDS = (
    "plant light food water cell energy leaf root sun air soil seed stem growth sugar green day night rain tree".split()
)
QUERIES: list[Any] = [
    "plants and light", "green leaf sugar energy", "rain", "the growth of a tree in the soil", {0: 1.0, 3: 0.5},
    ([1, 2, 5, 8, 13, 21, 34], [0.5, 1.0, 1.5, 0.3, 2.0, 0.7, 1.0]), "stem seed root sun day night air water food cell",
]  # fmt: skip
Ranking = list[tuple[str, float]]


class History:
    """The same for the same seed. Commit n (from 1) makes generation n + 1."""

    def __init__(self, seed: int, commits: int) -> None:
        rng = random.Random(seed)
        self._answers: dict[int, list[Ranking]] = {}
        self.steps: list[list[tuple[str, Any]]] = []
        self.contents: list[dict[str, dict[str, Any]]] = [{}]
        for n in range(1, commits + 1):
            docs = dict(self.contents[-1])
            step: list[tuple[str, Any]] = []
            batch = [self._document(rng, f"d{rng.randrange(300)}") for _ in range(rng.randint(5, 60))]
            step.append(("upsert", batch))
            for raw in batch:
                docs.pop(raw["id"], None)
                docs[raw["id"]] = raw
            gone = rng.sample(sorted(docs), min(len(docs) // 3, rng.randrange(12)))
            step.append(("delete", gone))
            for i in gone:
                del docs[i]
            if n % 4 == 0:
                step.append(("merge", rng.randint(1, 2)))
            self.steps.append(step)
            self.contents.append(docs)

    @staticmethod
    def _document(rng: random.Random, doc_id: str) -> dict[str, Any]:
        text = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(30)))
        terms = {t: rng.randint(1, 300) / 100 for t in rng.sample(range(40), rng.randrange(9))}
        return {"id": doc_id, "text": text, "terms": {"latent": terms}, "metadata": {"n": rng.randrange(5)}}

    def play(self, c: zf.Collection, n: int) -> None:
        """Everything up to and including commit n, on a collection at commit n - 1."""
        for verb, argument in self.steps[n - 1]:
            getattr(c, verb)(argument)
        assert c.commit() == n + 1

    def answers(self, n: int) -> list[Ranking]:
        """What a collection built at once answers, in one thread."""
        if n not in self._answers:
            folder = quick_folder()
            with fresh(folder / "c", FIELDS, self.contents[n].values()) as c:
                self._answers[n] = answers(c)
            shutil.rmtree(folder)
        return self._answers[n]


def answers(c: zf.Collection) -> list[Ranking]:
    """The rankings of all queries."""
    return [ranking(c.search(query, 10)) for query in QUERIES]
