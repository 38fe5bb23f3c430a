"""Why a caption did not find its picture: failures sorted into five classes by rules that anybody can check.

For a text query whose picture is not among the first 10 (Hybrid VL, section 4.9):

- vocabulary: a content word of the query is in no text of the gallery, or in hardly any (df <= 1 without the target);
- ranking: the picture is among the first 100, so the evidence was there and the order was wrong;
- fine-grained: a hit above it matches all content words but attributes (colours, sizes, numbers, materials);
- compositional: the query relates several things (on, under, next to ...) and a hit above it has most of its words;
- ambiguous: everything else: the words fit many pictures.

Classes are tried in this order; `ranking` comes after the two that explain a wrong order better. Words are compared as
the `words` field stems them; what the pictures show is known only through their captions, so these are classes of
evidence, not of what a person would see.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from zipfian.vocabulary import Words
from zipfian.vocabulary.stopwords import stop_words

ErrorClass = Literal["vocabulary", "fine-grained", "compositional", "ranking", "ambiguous"]
CLASSES: tuple[ErrorClass, ...] = ("vocabulary", "fine-grained", "compositional", "ranking", "ambiguous")

FOUND = 10
NEAR = 100
MOST_WORDS = 0.6
"""Share of the query's content words that a hit must have to count as having most of them."""

ATTRIBUTES = frozenset(
    "black white red blue green yellow orange purple pink brown gray grey golden tan dark light bright colorful "
    "striped spotted plaid small little big large tall short long young old elderly two three four five several "
    "one many wooden metal stone brick leather wet dry dirty muddy furry fluffy".split()
)
RELATIONS = frozenset(
    "on under over above below behind beside between near next through across into onto with while holding wearing "
    "riding carrying throwing catching chasing against around inside outside front towards toward".split()
)


@dataclass(frozen=True)
class Failure:
    """One query that failed."""

    query: str
    text: str
    target: str
    rank: int | None
    """Of the target; None where it is not in the ranking."""
    kind: ErrorClass
    instead: str
    """The first hit."""
    why: str


@dataclass(frozen=True)
class Breakdown:
    """All failures of a run."""

    queries: int
    failures: tuple[Failure, ...] = dataclasses.field(repr=False)

    def counts(self) -> dict[ErrorClass, int]:
        found = Counter(failure.kind for failure in self.failures)
        return {kind: found.get(kind, 0) for kind in CLASSES}

    def examples(self, each: int = 3) -> list[Failure]:
        """The first few of each class, by query id, so that nobody chose them."""
        out: list[Failure] = []
        for kind in CLASSES:
            out += sorted((f for f in self.failures if f.kind == kind), key=lambda f: f.query)[:each]
        return out


def sort_failures(
    run: Mapping[str, Sequence[tuple[str, float]]],
    queries: Mapping[str, str],
    targets: Mapping[str, str],
    captions: Mapping[str, Sequence[str]],
) -> Breakdown:
    """Class every query whose target is not among the first 10.

    `captions` describe the gallery (all captions of each picture but the query itself, which the caller leaves out).
    """
    words = Words()
    common = {term for word in stop_words(True, "english") for term in words.terms(word)}
    stems = {picture: _stems(words, texts, common) for picture, texts in captions.items()}
    df = Counter(term for terms in stems.values() for term in terms)
    attributes = {term for word in ATTRIBUTES for term in words.terms(word)}
    failures = []
    for query, ranking in run.items():
        order = [doc for doc, _ in ranking]
        target = targets[query]
        rank = order.index(target) + 1 if target in order else None
        if rank is not None and rank <= FOUND:
            continue
        asked = _stems(words, [queries[query]], common)
        above = order[: min(FOUND, rank - 1 if rank is not None else FOUND)]
        kind, why = _classify(queries[query], asked, rank, above, stems, df, target, attributes)
        failures.append(Failure(query, queries[query], target, rank, kind, order[0] if order else "", why))
    return Breakdown(len(run), tuple(failures))


def _classify(
    text: str, asked: frozenset[str], rank: int | None, above: Sequence[str], stems: Mapping[str, frozenset[str]],
    df: Mapping[str, int], target: str, attributes: set[str],
) -> tuple[ErrorClass, str]:  # fmt: skip
    own = stems.get(target, frozenset())
    unknown = sorted(t for t in asked if df.get(t, 0) - (t in own) < 1)
    if unknown:
        return "vocabulary", f"in no other text: {', '.join(unknown)}"
    core = asked - attributes
    for doc in above:
        has = stems.get(doc, frozenset())
        if core and core <= has and not asked <= has:
            return "fine-grained", f"{doc} differs only in: {', '.join(sorted(asked - has))}"
    relations = sorted(RELATIONS & set(text.lower().split()))
    if relations and len(core) >= 3:
        for doc in above:
            if len(asked & stems.get(doc, frozenset())) >= MOST_WORDS * len(asked):
                return "compositional", f"{doc} has most words; they are related by: {', '.join(relations)}"
    if rank is not None and rank <= NEAR:
        return "ranking", f"at rank {rank}"
    return "ambiguous", f"the words fit many pictures (rarest in {min((df.get(t, 0) for t in asked), default=0)})"


def _stems(words: Words, texts: Sequence[str], common: set[str]) -> frozenset[str]:
    return frozenset(term for text in texts for term in words.terms(text)) - common
