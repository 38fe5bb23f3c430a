"""The searcher over segments: the formulas as written down, and every way to an answer gives the same one."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.equality.compare import FORMULAS
from tests.retrieve.segments import Row, Witness, random_rows, write
from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.field import FieldWriteSpec
from zipfian.index.segment import SegmentReader
from zipfian.retrieve.layout import DENSE_SHARE, WINDOW
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.searcher import FieldSearcher
from zipfian.vocabulary import Pruning

FIXED = FieldWriteSpec("fixed", 64.0)
N_TERMS = 30


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[SegmentReader], list[Row | None]]:
    """Four segments, one without the field and one whose documents are all deleted but one; and all documents."""
    parts = [random_rows(1, 120, N_TERMS, 6.0), None, random_rows(2, 40, N_TERMS, 4.0), random_rows(3, 7, N_TERMS, 9.0)]
    deleted = [[3, 4, 100], [1], [], [0, 1, 2, 4, 5, 6]]
    readers = write(tmp_path_factory.mktemp("small") / "c", parts, FIXED, deleted)
    rows: list[Row | None] = []
    for part, gone in zip(parts, deleted, strict=True):
        rows += [None if d in gone else row for d, row in enumerate(part or [{}] * 3)]
    return readers, rows


def queries(seed: int, n: int, n_terms: int = N_TERMS) -> list[Row]:
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(n):
        terms = np.sort(rng.choice(n_terms, min(n_terms, int(rng.integers(1, 9))), replace=False))
        out.append(dict(zip(terms.tolist(), rng.uniform(0.3, 3.0, len(terms)).tolist(), strict=True)))
    return out


@pytest.mark.parametrize("formula", FORMULAS, ids=str)
@pytest.mark.parametrize("pruning", [Pruning(), Pruning(max_df_share=0.4)], ids=["all", "pruned"])
def test_the_formulas_as_written_down(
    small: tuple[list[SegmentReader], list[Row | None]], formula: Scoring, pruning: Pruning
) -> None:
    readers, rows = small
    searcher = FieldSearcher("t", readers, formula, pruning)
    dropped = searcher.statistics().dropped
    assert bool(dropped) == pruning.prunes_vocabulary
    witness = Witness(rows, formula, dropped)
    for query in queries(5, 12):
        prepared = searcher.prepare(query)
        wanted = np.array(witness.scores(query))
        np.testing.assert_allclose(searcher.score(prepared, np.arange(len(rows))), wanted, rtol=2e-5, atol=1e-12)
        docs, scores = searcher.search(prepared, 1_000)
        assert sorted(docs.tolist()) == np.flatnonzero(wanted > 0).tolist()
        np.testing.assert_allclose(scores, wanted[docs], rtol=2e-5)
        assert np.all(np.diff(scores) <= 0)
        top, best = searcher.search(prepared, 5)
        assert (top.tolist(), best.tolist()) == (docs[:5].tolist(), scores[:5].tolist())


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[SegmentReader], int]:
    """More than one window of documents, with terms in most of them: all kinds of lists."""
    rng = np.random.default_rng(9)
    parts = [random_rows(i, n, 60, 4.0) for i, n in enumerate((25_000, 9_000, 700))]
    deleted = [np.flatnonzero(rng.random(len(p)) < 0.05).tolist() for p in parts]
    return write(tmp_path_factory.mktemp("large") / "c", parts, FIXED, deleted), sum(map(len, parts))


@pytest.mark.parametrize("formula", [zf.BM25(), zf.BM25(k1=8, b=0.7, phi="sqrt"), zf.Dot(), zf.TfIdf()], ids=str)
def test_cached_uncached_and_overridden_agree_to_the_bit(
    large: tuple[list[SegmentReader], int], formula: Scoring
) -> None:
    readers, n_docs = large
    assert n_docs > WINDOW
    cached = FieldSearcher("t", readers, formula)
    uncached = FieldSearcher("t", readers, formula, cache_bytes=0)
    tight = FieldSearcher("t", readers, formula, cache_bytes=600_000)
    usual = zf.BM25(variant="lucene") if formula != zf.Dot() else zf.BM25()
    other = FieldSearcher("t", readers, usual)
    little = FieldSearcher("t", readers, usual, cache_bytes=1_200_000)  # room for the usual formula alone
    df = [cached.statistics().df(t) for t in range(60)]
    assert max(df) * DENSE_SHARE > n_docs  # some list has a dense row
    rng = np.random.default_rng(2)
    mask = rng.random(n_docs) < 0.3
    overflows = 0
    for query in queries(6, 12, 60):
        for k in (10, 300):
            for allowed in (None, mask):
                found = [
                    searcher.search(searcher.prepare(query, formula), k, allowed)
                    for searcher in (cached, uncached, tight, other, little)
                ]
                for docs, scores in found[1:]:
                    assert docs.tolist() == found[0][0].tolist()
                    assert scores.tolist() == found[0][1].tolist()
                if allowed is not None:
                    assert mask[found[0][0]].all()
        some = rng.integers(0, n_docs, 200)
        exact = [
            searcher.score(searcher.prepare(query, formula), some).tolist() for searcher in (cached, uncached, tight)
        ]
        assert exact[0] == exact[1] == exact[2]
        best = found[0][0][0]
        parts, tf = cached.contributions(cached.prepare(query), int(best))
        total = 0.0
        for part in parts.tolist():
            total += part
        assert total == cached.score(cached.prepare(query), np.array([best]))[0]
        assert (tf > 0).any() and ((parts > 0) == (tf > 0)).all()
        overflows = tight._cache.overflows if tight._cache else 0
    assert uncached.cache_nbytes == 0
    assert little._cache is not None and little._cache.nbytes > 0
    assert other._others.under(formula).nbytes > 0
    assert cached.cache_nbytes > 0
    assert tight.cache_nbytes <= 600_000
    assert overflows > 0


def test_a_query_is_made_ready(small: tuple[list[SegmentReader], list[Row | None]]) -> None:
    searcher = FieldSearcher("t", small[0], zf.BM25())
    query = searcher.prepare({5: 2.0, 999: 1.0, 2: 1.0})
    assert query.terms == (5, 2)  # in the order given, without terms that no document has
    assert query.given.tolist() == [2.0, 1.0]
    assert (query.weight == query.idf * query.given).all()
    nothing = searcher.prepare({999: 1.0})
    assert nothing.terms == ()
    assert [a.tolist() for a in searcher.search(nothing, 5)] == [[], []]
    assert searcher.score(nothing, np.array([0, 1])).tolist() == [0.0, 0.0]
    assert [a.tolist() for a in searcher.contributions(nothing, 0)] == [[], []]
    for bad in (0.0, -1.0, np.nan, np.inf, 2e6):
        with pytest.raises(InvalidInput, match="query weights must be finite, above 0"):
            searcher.prepare({1: bad})
    with pytest.raises(LimitExceeded, match="a query of 4097 terms"):
        searcher.prepare(dict.fromkeys(range(limits.MAX_QUERY_TERMS + 1), 1.0))
    with pytest.raises(InvalidInput, match="scoring must be BM25"):
        searcher.prepare({1: 1.0}, "bm25")  # type: ignore[arg-type]


def test_no_noise(tmp_path: Path) -> None:
    """A weight that counts nothing under TF-IDF makes no hit, neither in a query nor in a document."""
    readers = write(tmp_path / "c", [[{1: 1.0, 2: 0.25}, {2: 1.0}, {3: 2.0}, {4: 1.0}, {4: 1.0, 5: 1.0}]], FIXED)
    searcher = FieldSearcher("t", readers, zf.TfIdf())
    found = [searcher.search(searcher.prepare(q), 10)[0].tolist() for q in ({2: 1.0}, {3: 0.3}, {2: 0.2, 3: 1.0})]
    assert found == [[1], [], [2]]


def test_without_documents_or_without_the_field(tmp_path: Path) -> None:
    for segments in ([], write(tmp_path / "c", [None], FIXED)):
        for formula in FORMULAS:
            searcher = FieldSearcher("t", segments, formula)
            query = searcher.prepare({1: 1.0})
            assert len(searcher.search(query, 10)[0]) == 0
            assert searcher.statistics().mean_length == 0.0


def test_a_sweep_over_settings_does_not_fill_the_memory(small: tuple[list[SegmentReader], list[Row | None]]) -> None:
    searcher = FieldSearcher("t", small[0], zf.BM25())
    first = searcher.search(searcher.prepare({1: 1.0, 2: 1.0}), 10)
    for i in range(1, 60):
        formula = zf.BM25(k1=i / 10, phi=i / 60)
        searcher.search(searcher.prepare({1: 1.0, 2: 1.0}, formula), 10)
    assert len(searcher._formulas) <= 10
    assert len(searcher._stats) <= 6
    again = searcher.search(searcher.prepare({1: 1.0, 2: 1.0}), 10)
    assert [a.tolist() for a in again] == [a.tolist() for a in first]


def test_threads_that_start_together_see_one_searcher(large: tuple[list[SegmentReader], int]) -> None:
    """The first searches of a snapshot compute norms and fill the cache, all at once."""
    asked = queries(8, 16, 60)
    alone = FieldSearcher("t", large[0], zf.BM25(phi="sqrt"))
    wanted = [[a.tolist() for a in alone.search(alone.prepare(q), 20)] for q in asked]
    shared = FieldSearcher("t", large[0], zf.BM25(phi="sqrt"), cache_bytes=700_000)
    found: dict[int, object] = {}
    start = threading.Barrier(len(asked))

    def run(i: int) -> None:
        start.wait()
        found[i] = [a.tolist() for a in shared.search(shared.prepare(asked[i]), 20)]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(asked))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[i] for i in range(len(asked))] == wanted
