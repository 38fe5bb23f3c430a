"""The same scores as bm25s, on the same tokens of real text; and the quality that BM25 is known to have on SciFact."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import bm25s
import numpy as np
import pytest
from bm25s.tokenization import Tokenized

import zipfian as zf
from tests.equality.texts import data_archive, paragraphs, read_collection
from zipfian.fields import Words
from zipfian.vocabulary import Words as Analyser

OTHERS = {"robertson": 2.5, "atire": 1.0, "bm25l": 1.0, "bm25+": 1.0}
"""Our other variants at k1 = 1.5, and what a score of bm25s must be multiplied by: its robertson lacks (k1 + 1)."""

COMPARED = 40
"""Queries of SciFact whose scores are compared document by document."""


class Peer:
    """bm25s over the terms that our analyser finds."""

    def __init__(self, texts: Sequence[str], method: str, k1: float, b: float, delta: float) -> None:
        self.words = Analyser()
        rows = [self.words.terms(text) for text in texts]
        self.numbers = {term: n for n, term in enumerate(sorted({t for row in rows for t in row}))}
        ids = [[self.numbers[t] for t in row] for row in rows]
        self.engine = bm25s.BM25(method=method, k1=k1, b=b, delta=delta)
        self.engine.index(Tokenized(ids=ids, vocab=self.numbers), show_progress=False)

    def scores(self, query: str) -> np.ndarray:
        """The score of every document; a term counts as often as the query names it, as with us."""
        counts = self.words.query(query)
        found = [self.numbers[t] for t, n in counts.items() for _ in range(int(n)) if t in self.numbers]
        if not found:
            return np.zeros(self.engine.scores["num_docs"], np.float32)
        return self.engine.get_scores_from_ids(found)


def build(path: Path, texts: Mapping[str, str]) -> zf.Collection:
    collection = zf.Collection.create(path, {"words": Words(passages=0)})
    collection.add({"id": i, "text": text} for i, text in texts.items())
    collection.commit()
    return collection


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> tuple[zf.Collection, dict[str, str]]:
    texts = {d["id"]: d["text"] for d in paragraphs()}
    return build(tmp_path_factory.mktemp("reference") / "c", texts), texts


def queries_from(texts: Sequence[str], n: int) -> list[str]:
    """Pieces of the texts themselves."""
    rng = np.random.default_rng(5)
    out = []
    for text in rng.choice(np.array(texts, object), n):
        words = text.split()
        start = int(rng.integers(0, max(1, len(words) - 3)))
        out.append(" ".join(words[start : start + int(rng.integers(1, 7))]))
    return out


@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (0.9, 0.4)])
def test_lucene_scores_on_real_text(reference: tuple[zf.Collection, dict[str, str]], k1: float, b: float) -> None:
    collection, texts = reference
    peer = Peer(list(texts.values()), "lucene", k1, b, 0.5)
    formula = zf.BM25(k1=k1, b=b, variant="lucene")
    for query in queries_from(list(texts.values()), 100):
        ours = collection.score("words", query, list(texts), scoring=formula)
        assert np.allclose(ours, peer.scores(query), rtol=2e-5, atol=1e-6), query


@pytest.mark.parametrize("variant", OTHERS)
def test_other_variants_word_by_word(reference: tuple[zf.Collection, dict[str, str]], variant: str) -> None:
    """bm25s gives documents without a term something too in some variants; where the term is, scores are equal."""
    collection, texts = reference
    delta = {"bm25l": 0.5, "bm25+": 1.0}.get(variant)
    peer = Peer(list(texts.values()), variant, 1.5, 0.75, delta or 0.5)
    formula = zf.BM25(variant=variant, delta=delta)
    compared = 0
    for word in "the object method exception generator asynchronous comprehension slice float numeric".split():
        ours = collection.score("words", word, list(texts), scoring=formula)
        theirs = peer.scores(word) * OTHERS[variant]
        assert np.allclose(ours[ours > 0], theirs[ours > 0], rtol=2e-5, atol=1e-6), word
        compared += int((ours > 0).sum())
    assert compared > 500


def test_the_default_is_lucene_times_k1_plus_1(reference: tuple[zf.Collection, dict[str, str]]) -> None:
    collection, texts = reference
    for query in queries_from(list(texts.values()), 60):
        plain = collection.search(query, 50, scoring=zf.BM25(k1=1.5, b=0.75, variant="lucene"))
        default = collection.search(query, 50, scoring=zf.BM25(k1=1.5, b=0.75))
        assert [h.id for h in plain] == [h.id for h in default]
        assert [h.score for h in default] == pytest.approx([2.5 * h.score for h in plain], rel=1e-12)


def ndcg(found: Sequence[str], judged: Mapping[str, int], k: int = 10) -> float:
    """Normalised discounted cumulative gain with linear gains."""
    gains = [judged.get(i, 0) for i in found[:k]]
    best = sorted(judged.values(), reverse=True)[:k]
    dcg, ideal = (sum(g / math.log2(rank + 2) for rank, g in enumerate(row)) for row in (gains, best))
    return dcg / ideal if ideal else 0.0


def test_scifact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = data_archive()
    if archive is None:
        pytest.skip("no text-collections.tar.xz in the folder that ZIPFIAN_DATA names, nor in ../shared/data")
    texts, queries, judged = read_collection(archive, "scifact")
    with build(tmp_path / "c", texts) as collection:
        ids = list(texts)
        peer = Peer(list(texts.values()), "lucene", 1.5, 0.75, 0.5)
        formula = zf.BM25(k1=1.5, b=0.75, variant="lucene")
        for query in list(queries.values())[:COMPARED]:
            theirs = peer.scores(query)
            assert np.allclose(collection.score("words", query, ids, scoring=formula), theirs, rtol=2e-5, atol=1e-6)
            default = collection.score("words", query, ids)
            assert np.allclose(default, 2.5 * theirs, rtol=2e-5, atol=1e-6)
        measured = [ndcg([h.id for h in collection.search(q, 10)], judged[i]) for i, q in queries.items()]
        plain = Words(stem=False, stop_words=False)
        collection.add_field("plain", plain)
        collection.commit()
        unstemmed = [
            ndcg([h.id for h in collection.search(q, 10, fields="plain")], judged[i]) for i, q in queries.items()
        ]
    mean, lower = sum(measured) / len(measured), sum(unstemmed) / len(unstemmed)
    with capsys.disabled():
        print(
            f"\nSciFact: nDCG@10 of words {mean:.4f} (unstemmed {lower:.4f}), {len(queries)} queries, "
            f"{len(texts)} documents; {COMPARED} queries scored as bm25s scores them"
        )
    assert round(mean, 3) == 0.694, "the figure of the README"
    assert round(lower, 3) == 0.668, "unstemmed, with function words"
