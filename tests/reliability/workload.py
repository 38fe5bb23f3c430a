"""What the reliability tests write, and what must then be there: both follow from a seed.

Commit `n` of a seed consists of the actions `actions(seed, n, ...)`, so a process can go on where a killed one was, and
their parent knows the content of every commit without having seen it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

WORDS = [a + b for a in "ba ko mi ru te sa lo ne".split() for b in "n r s t l m k d".split()]
N_IDS = 150
N_LATENT = 1_000


@dataclass(frozen=True)
class Doc:
    """A document, in plain values. `latent` maps term ids to steps of 1/100."""

    id: str
    text: str
    metadata: dict[str, Any]
    latent: dict[int, int]

    @property
    def words(self) -> dict[str, int]:
        """Its words and how often it has them."""
        return dict(Counter(self.text.split()))

    @property
    def vector(self) -> list[float]:
        """A pooled vector, so that there is one."""
        return [float(len(self.text)), float(len(self.latent)), float(self.metadata["commit"]), 1.0]


@dataclass(frozen=True)
class Action:
    """One thing to do: `put` documents (add or replace), `delete` ids, or `merge` neighbouring segments."""

    verb: str
    docs: tuple[Doc, ...] = ()
    ids: tuple[str, ...] = ()
    where: float = 0.0
    """For a merge: which neighbours, as a share of the segments there are."""


Content = dict[str, Doc]
"""The documents by id, in the order of their last `put`: what a commit must contain."""


def actions(seed: int, n: int, content: Content) -> list[Action]:
    """The actions of commit `n`, given the content of the one before."""
    rng = random.Random(f"{seed}/{n}")
    out = [_put(rng, n)]
    if content and rng.random() < 0.6:
        known = sorted(content)
        out.append(Action("delete", ids=tuple(rng.sample(known, min(len(known), rng.randint(1, 8))))))
    if rng.random() < 0.3:
        out.append(_put(rng, n))
    if rng.random() < 0.4:
        out.append(Action("merge", where=rng.random()))
    rng.shuffle(out)
    return out


def apply(content: Content, todo: list[Action]) -> Content:
    """The content after some actions."""
    after = dict(content)
    for action in todo:
        for key in (*action.ids, *(doc.id for doc in action.docs)):
            after.pop(key, None)
        after.update((doc.id, doc) for doc in action.docs)
    return after


@dataclass
class History:
    """The content of every commit of a seed; commit 0 is empty."""

    seed: int
    _at: list[Content] = field(default_factory=lambda: [{}])

    def content(self, n: int) -> Content:
        """What commit `n` contains."""
        while len(self._at) <= n:
            before = self._at[-1]
            self._at.append(apply(before, actions(self.seed, len(self._at), before)))
        return self._at[n]

    def forward(self, n: int) -> Iterator[tuple[int, list[Action]]]:
        """The commits after `n`: their numbers and their actions."""
        while True:
            n += 1
            yield n, actions(self.seed, n, self.content(n - 1))


def _put(rng: random.Random, n: int) -> Action:
    ids = rng.sample(range(N_IDS), rng.randint(1, 12))
    return Action("put", docs=tuple(_doc(rng, f"doc-{i}", n) for i in ids))


def _doc(rng: random.Random, doc_id: str, n: int) -> Doc:
    text = " ".join(rng.choices(WORDS, weights=range(len(WORDS), 0, -1), k=rng.randint(0, 30)))
    latent = {t: rng.randint(1, 300) for t in rng.sample(range(N_LATENT), rng.randint(0, 8))}
    return Doc(doc_id, text, {"commit": n, "tag": rng.choice("abc"), "even": n % 2 == 0}, dict(sorted(latent.items())))
