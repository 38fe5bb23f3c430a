"""What a reader judges terms by, and how far the rule agrees with the reader.

The reader sees firings in context and nothing that the rule computed.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from labelling.terms import Firings, Reader

TRAINING, JUDGED = 60, 200
SEED = 20_261_115
SHOWN = (0, 1, 2, 5, 9, 15, 24, 35, 48, 62, 77, 90)
"""Ranks of the firings that are read: the strongest, and a walk through the rest."""
NEAR = 7


def draw(n_terms: int) -> tuple[list[int], list[int]]:
    """Terms to set thresholds on, and other ones to judge."""
    order = np.random.default_rng(SEED).permutation(n_terms)
    return sorted(order[:TRAINING].tolist()), sorted(order[TRAINING : TRAINING + JUDGED].tolist())


def sheet(reader: Reader, term: int, found: Firings) -> Iterable[str]:
    """Lines to judge one term by: all firing words, and some firings in context."""
    corpus = reader.corpus
    words, counts = np.unique(reader.normal[found.words], return_counts=True)
    order = np.lexsort((words, -counts))
    yield f"#{term}  " + ", ".join(f"{corpus.normals[words[i]]} {counts[i]}" for i in order[:14])
    for rank in SHOWN:
        if rank >= len(found.words):
            break
        at = int(found.words[rank])
        paragraph = int(reader.paragraph_of(np.array([at]))[0])
        low, high = int(corpus.paragraph[paragraph]), int(corpus.paragraph[paragraph + 1])
        before = [corpus.surfaces[corpus.surface[i]] for i in range(max(low, at - NEAR), at)]
        after = [corpus.surfaces[corpus.surface[i]] for i in range(at + 1, min(high, at + NEAR + 1))]
        yield "   " + " ".join([*before, f"[{corpus.surfaces[corpus.surface[at]]}]", *after])


def read_judgements(path: Path) -> dict[int, tuple[str, str, str]]:
    """Term -> (sample, kind, why) of a table with a header."""
    with path.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    return {int(row["term"]): (row["sample"], row["kind"], row["why"]) for row in rows}


def agreement(rule: Sequence[str], reader: Sequence[str], kinds: Sequence[str]) -> dict[str, object]:
    """Share of equal answers, Cohen's kappa and the table of both."""
    n = len(rule)
    table = {p: {r: sum(a == p and b == r for a, b in zip(reader, rule, strict=True)) for r in kinds} for p in kinds}
    observed = sum(table[k][k] for k in kinds) / n
    by_chance = sum(sum(table[k].values()) * sum(table[p][k] for p in kinds) for k in kinds) / n**2
    kappa = (observed - by_chance) / (1 - by_chance) if by_chance < 1 else 1.0
    return {"terms": n, "agreement": observed, "kappa": kappa, "reader_then_rule": table}
