"""Comparing a collection with one built at once from the same documents: every number must have the same bits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import zipfian as zf
from zipfian.fields import Field
from zipfian.retrieve.scoring import Scoring

FORMULAS: tuple[Scoring, ...] = (
    zf.BM25(),
    zf.BM25(k1=1.2, b=0.4, variant="lucene"),
    zf.BM25(variant="robertson"),
    zf.BM25(k1=0.0, variant="atire"),
    zf.BM25(b=1.0, variant="bm25l"),
    zf.BM25(variant="bm25+", delta=0.7),
    zf.BM25(k1=8.0, b=0.7, phi="sqrt"),
    zf.BM25(phi=0.7),
    zf.Dot(),
    zf.Dot(phi="sqrt"),
    zf.TfIdf(),
    zf.TfIdf(phi=0.7),
)


def fresh(path: Path, fields: Mapping[str, Field], documents: Iterable[Mapping[str, Any]]) -> zf.Collection:
    """A collection built from these documents in one go."""
    collection = zf.Collection.create(path, fields=fields)
    collection.add(documents)
    collection.commit()
    return collection


def ranking(results: zf.Results) -> list[tuple[str, float]]:
    """Ids and scores in order: what must be equal."""
    return [(hit.id, hit.score) for hit in results]


def assert_same(
    one: zf.Collection,
    two: zf.Collection,
    queries: Mapping[str, Sequence[Any]],
    formulas: Sequence[Scoring | None] = (None, *FORMULAS),
) -> int:
    """Same documents in the same order, same statistics, same scores to the last bit; returns the searches compared."""
    ids = list(one.ids())
    assert ids == list(two.ids())
    assert len(one) == len(two) == len(ids)
    assert [one.get(i) for i in ids] == [two.get(i) for i in ids]
    numbers = [
        {name: (s["terms"], s["postings"], s["mean_length"]) for name, s in c.stats()["fields"].items()}
        for c in (one, two)
    ]
    assert numbers[0] == numbers[1]
    compared = 0
    for field, asked in queries.items():
        for query in asked:
            for formula in formulas:
                for k in (3, max(100, len(ids))):
                    a, b = (c.search(query, k, fields=field, scoring=formula) for c in (one, two))
                    assert ranking(a) == ranking(b), (field, query, formula, k)
                    compared += 1
                scores = [c.score(field, query, ids, scoring=formula).tolist() for c in (one, two)]
                assert scores[0] == scores[1]
                found = {i: s for i, s in zip(ids, scores[0], strict=True) if s > 0.0}
                assert found == dict(ranking(b))
                if b:
                    trees = [r.explain(r[0]).to_dict() for r in (a, b)]
                    assert trees[0] == trees[1]
                    assert sum(part["value"] for part in trees[0].get("parts", [])) == b[0].score
    return compared
