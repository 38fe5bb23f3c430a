"""How likely a document is a right answer: worked out by hand from shares and leads."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from tests.retrieve.segments import write
from zipfian.errors import InvalidInput
from zipfian.fuse import Evidence, Ranking, confidences
from zipfian.fuse.signals import whole, whole_of
from zipfian.index.field import FieldWriteSpec
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.searcher import FieldSearcher

READ = Evidence(base=-4.0, share=5.0, lead=6.0)


def probability(odds: float) -> float:
    return 1.0 / (1.0 + math.exp(-odds))


def fused(raw: list[list[float]], ranks: list[list[int]], best: list[list[float]]) -> Ranking:
    """Documents 0, 1 ... in this order; `best` of each field."""
    values, n = np.array(raw, np.float64), len(raw)
    fields = tuple("abc"[: values.shape[1]])
    return Ranking(np.arange(n), np.zeros(n), fields, values, np.array(ranks), values, best=tuple(map(np.array, best)))


class TestOneField:
    def test_by_hand(self) -> None:
        found = Ranking.of("words", np.array([7, 3, 5]), np.array([8.0, 6.0, 2.0]))
        shares, leads = (0.8, 0.6, 0.2), (0.2, -0.2, -0.6)
        wanted = [probability(-4.0 + 5.0 * share + 6.0 * lead) for share, lead in zip(shares, leads, strict=True)]
        assert confidences(found, [10.0], [READ]).tolist() == pytest.approx(wanted)

    def test_of_two_equal_documents_neither_leads(self) -> None:
        found = Ranking.of("words", np.array([7, 3]), np.array([8.0, 8.0]))
        assert confidences(found, [10.0], [READ]).tolist() == pytest.approx([probability(0.0)] * 2)

    def test_the_only_document_leads_by_all_it_has(self) -> None:
        found = Ranking.of("words", np.array([7]), np.array([8.0]))
        assert confidences(found, [10.0], [READ]).tolist() == pytest.approx([probability(4.8)])

    def test_the_first_k_are_as_likely_as_all_of_them(self) -> None:
        found = Ranking.of("words", np.array([7, 3, 5]), np.array([8.0, 6.0, 2.0]))
        for k in (1, 2):
            assert confidences(found.top(k), [10.0], [READ]).tolist() == confidences(found, [10.0], [READ])[:k].tolist()

    @pytest.mark.parametrize("asked", [0.0, -1.0])
    def test_a_field_that_was_asked_for_nothing_says_nothing(self, asked: float) -> None:
        found = Ranking.of("words", np.array([7, 3]), np.array([8.0, 6.0]))
        assert confidences(found, [asked], [READ]).tolist() == [0.0, 0.0]

    def test_nothing_found(self) -> None:
        assert confidences(Ranking.of("words", np.empty(0, np.int64), np.empty(0)), [10.0], [READ]).tolist() == []

    def test_scores_out_of_all_proportion_are_certain_and_finite(self) -> None:
        found = Ranking.of("words", np.array([7, 3]), np.array([1e300, 1.0]))
        with np.errstate(all="raise"):
            high, low = confidences(found, [1e-3], [READ]).tolist()
        assert 1.0 - 1e-12 < high <= 1.0 and 0.0 < low < 1e-12

    def test_a_ranking_that_does_not_know_what_is_best(self) -> None:
        found = Ranking.of("words", np.array([7]), np.array([8.0]))
        later = found.reordered(np.array([0]), np.array([9.0]), {})
        with pytest.raises(InvalidInput, match="best of each field"):
            confidences(later, [10.0], [READ])


class TestSeveralFields:
    def test_the_mean_of_what_they_say_stretched_and_a_fifth_of_the_most_certain(self) -> None:
        found = fused([[8.0, 0.9], [6.0, 0.4]], [[1, 1], [2, 0]], [[8.0, 6.0], [0.9, 0.7]])
        other = Evidence(base=-3.0, share=4.0, lead=2.0)
        first = (-4.0 + 5.0 * 0.8 + 6.0 * 0.2, -3.0 + 4.0 * 0.9 + 2.0 * 0.2)
        second = (-4.0 + 5.0 * 0.6 - 6.0 * 0.2, -3.0 + 4.0 * 0.4 - 2.0 * 0.5)
        wanted = [0.8 * probability(0.6 * (a + b) + 1.4) + 0.2 * probability(max(a, b)) for a, b in (first, second)]
        assert confidences(found, [10.0, 1.0], [READ, other]).tolist() == pytest.approx(wanted)

    def test_a_field_that_has_no_score_is_left_out_and_one_speaks_for_itself(self) -> None:
        found = fused([[8.0, math.nan], [6.0, 0.9]], [[1, 0], [2, 1]], [[8.0, 6.0], [0.9]])
        alone = probability(-4.0 + 5.0 * 0.8 + 6.0 * 0.2)
        got = confidences(found, [10.0, 1.0], [READ, READ]).tolist()
        assert got[0] == pytest.approx(alone)
        words, other = -4.0 + 5.0 * 0.6 - 6.0 * 0.2, -4.0 + 5.0 * 0.9 + 6.0 * 0.9
        assert got[1] == pytest.approx(0.8 * probability(1.4 + 0.6 * (words + other)) + 0.2 * probability(other))

    def test_of_three_fields_the_mean_of_the_two_that_have_a_score(self) -> None:
        found = fused([[8.0, math.nan, 0.4]], [[1, 0, 1]], [[8.0, 6.0], [0.9], [0.4, 0.1]])
        a, b = -4.0 + 5.0 * 0.8 + 6.0 * 0.2, -4.0 + 5.0 * 0.4 + 6.0 * 0.3
        wanted = 0.8 * probability(1.4 + 0.6 * (a + b)) + 0.2 * probability(a)
        assert confidences(found, [10.0, 1.0, 1.0], [READ] * 3).tolist() == pytest.approx([wanted])

    def test_whoever_is_in_no_list_is_behind_the_best(self) -> None:
        for rank, lead in ((1, 0.2), (0, 0.0), (3, 0.0)):
            found = fused([[8.0]], [[rank]], [[8.0, 6.0]])
            assert confidences(found, [10.0], [READ])[0] == pytest.approx(probability(5.0 * 0.8 - 4.0 + 6.0 * lead))


class TestWhole:
    """What the query would score as a document of average length."""

    @pytest.mark.parametrize(
        "formula",
        [
            *(zf.BM25(variant=v) for v in ("zipfian", "lucene", "robertson", "atire", "bm25l", "bm25+")),  # type: ignore[arg-type]
            zf.BM25(k1=4.0, b=0.0, phi="power:0.65"),  # under this phi lengths differ
            zf.Dot(),
            zf.Dot(phi="sqrt"),
        ],
        ids=str,
    )
    def test_it_is_the_score_of_such_a_document(self, tmp_path: Path, formula: Scoring) -> None:
        query = {"rare": 2.0, "odd": 1.0, "grey": 3.0}
        rows: list[dict[str, float]] = [{"other": 3.0, f"a{i}": 3.0} for i in range(19)]
        rows.append(query)  # six words, as all the others have: of average length
        segments = write(tmp_path / "c", [rows], FieldWriteSpec("count", 1.0, str(formula.phi)))
        searcher = FieldSearcher("t", segments, formula)
        _, scores = searcher.search(searcher.prepare(query), 1)
        assert whole(searcher, query, formula) == pytest.approx(float(scores[0]))

    def test_vectors_of_average_length(self, tmp_path: Path) -> None:
        rows = [{f"a{i}": 2.0, f"b{i}": 1.0, f"c{i}": 3.0} for i in range(20)]
        searcher = FieldSearcher("t", write(tmp_path / "c", [rows], FieldWriteSpec("count", 1.0)), zf.BM25())
        query = {"a7": 1.0, "b7": 1.0, "c7": 1.0}
        length = math.hypot(1.0 + math.log(2.0), 1.0, 1.0 + math.log(3.0))
        assert whole(searcher, query, zf.TfIdf()) == pytest.approx(math.sqrt(3) / length), "each of its words once"

    def test_words_that_no_document_has_are_asked_for_all_the_same(self) -> None:
        df, n = np.array([1.0, 0.0]), 10
        known, unknown = (float(zf.BM25().idf(np.array([d]), n)[0]) for d in (1.0, 0.0))
        assert whole_of(zf.BM25(), np.ones(2), df, n) == pytest.approx(known + unknown)
        rare, absent = math.log(10 / 2), math.log(10 / 1)
        assert whole_of(zf.TfIdf(), np.ones(2), df, n, 4.0) == pytest.approx((rare**2 + absent**2) / rare / 4.0)

    def test_a_word_that_every_document_has_is_worth_as_little_as_it_says(self) -> None:
        formula, n = zf.BM25(k1=4.0), 1_000
        tenth = float(formula.idf(np.array([100.0]), n)[0])
        assert whole_of(formula, np.array([2.0, 1.0]), np.array([1000.0, 900.0]), n) == pytest.approx(
            2.0 * (5.0 * 2.0 / 6.0) * tenth
        )
        once = whole_of(formula, np.ones(1), np.array([101.0]), n), whole_of(formula, np.ones(1), np.array([99.0]), n)
        assert once[0] == pytest.approx(tenth) and once[1] > tenth
        known, tenth = math.log(1000 / 901), math.log(1000 / 101)
        assert whole_of(zf.TfIdf(), np.ones(1), np.array([900.0]), n, 4.0) == pytest.approx(tenth**2 / known / 4.0)

    def test_nothing_is_asked(self) -> None:
        for formula in (zf.BM25(), zf.Dot(), zf.TfIdf()):
            assert whole_of(formula, np.empty(0), np.empty(0), 10) == 0.0
        assert whole_of(zf.TfIdf(), np.ones(1), np.zeros(1), 10) == 0.0
