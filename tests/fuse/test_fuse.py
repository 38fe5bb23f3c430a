"""Fusion: known values, exact sums, and scores that do not depend on how many hits were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.fuse import POOL, RRF, Adaptive, Candidates, Linear, Method, Ranking, gather, method_from_json
from zipfian.fuse.normalise import constants, population

METHODS: list[Method] = [
    RRF(), RRF({"words": 2.0, "dense": 0.5}, k=10, ranks=30), Linear(), Linear(normalise="minmax"),
    Linear({"latent": 3.0}, "none"), Adaptive(), Adaptive({"dense": 2.0}),
]  # fmt: skip


WEIGHTS = {"words": 1.0, "latent": 1.0, "dense": 0.5}


class Corpus:
    """Random scores of every document in three fields; words and latent match some documents, dense scores most."""

    names = ("words", "latent", "dense")

    def __init__(self, seed: int, n: int, ties: bool = False) -> None:
        rng = np.random.default_rng(seed)
        words = np.where(rng.random(n) < rng.uniform(0, 1), rng.gamma(2.0, 2.0, n), 0.0)
        latent = np.where(rng.random(n) < 0.8, rng.gamma(3.0, 2.0, n), 0.0)
        dense = rng.uniform(-0.3, 0.9, n)
        self.scores = np.stack([words, latent, dense], axis=1)
        if ties:
            self.scores = np.rint(self.scores * 2) / 2
        self.scores[rng.random(n) < 0.1, 2] = np.nan
        self.covered = np.where(words > 0.0, rng.random(n), 0.0)
        self.n = n

    def field(self, i: int, depth: int) -> Ranking:
        column = self.scores[:, i]
        able = ~np.isnan(column) & ((column > 0) if i < 2 else True)
        docs = np.flatnonzero(able)
        docs = docs[np.lexsort((docs, -column[docs]))][:depth]
        n_scored = self.n if i < 2 else int(able.sum())
        return Ranking.of(self.names[i], docs, column[docs], n_scored, weight=WEIGHTS[self.names[i]])

    def candidates(self, depth: int) -> Candidates:
        fields = [self.field(i, depth) for i in range(3)]
        return gather(fields, lambda i, docs: self.scores[docs, i], covered=(0, lambda docs: self.covered[docs]))

    def search(self, method: Method, k: int) -> Any:
        return method.fuse(self.candidates(method.depth(k))).top(k)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 400), st.sampled_from(METHODS), st.booleans())
def test_k_changes_no_score(seed: int, n: int, method: Method, ties: bool) -> None:
    corpus = Corpus(seed, n, ties)
    deep = corpus.search(method, 2 * n + 500)
    known = dict(zip(deep.docs.tolist(), deep.scores.tolist(), strict=True))
    first = corpus.search(method, 1)
    for k in (1, 7, POOL):  # below the population's size the ranking itself is a prefix
        found = corpus.search(method, k)
        assert [known[d] for d in found.docs.tolist()] == found.scores.tolist()
        assert found.docs[:1].tolist() == first.docs.tolist()
    assert len(deep) == sum(bool(s[0] > 0 or s[1] > 0 or not np.isnan(s[2])) for s in corpus.scores)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 300), st.sampled_from(METHODS))
def test_shares_add_up_to_the_bit_and_order_is_total(seed: int, n: int, method: Method) -> None:
    corpus = Corpus(seed, n, ties=True)
    fused = corpus.search(method, 50)
    for row in range(len(fused)):
        total = 0.0
        for share in fused.shares[row]:
            total += float(share)
        assert total == fused.scores[row]
    scale = np.ones(len(fused)) if fused.fusion.scale is None else fused.fusion.scale
    shares = fused.normalised * (fused.fusion.weights * scale[:, None])
    if fused.fusion.reward is not None:
        shares[:, fused.fusion.lexical] += fused.fusion.reward
    np.testing.assert_array_equal(fused.shares, shares)
    assert np.all(np.diff(fused.scores) <= 0)
    if not isinstance(method, RRF):
        same = np.flatnonzero(np.diff(fused.scores) == 0)
        assert np.all(fused.docs[same] < fused.docs[same + 1])


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 10_000), st.integers(150, 600), st.sampled_from(METHODS))
def test_proved_hits_are_those_of_a_search_over_everything(seed: int, n: int, method: Method) -> None:
    corpus = Corpus(seed, n)
    some, every = corpus.search(method, 40), corpus.search(method, 10 * n)
    assert some.docs[: some.fusion.proved].tolist() == every.docs[: some.fusion.proved].tolist()


def test_how_many_are_proved_by_hand() -> None:
    """Whoever is in neither list scores at most 4 and 2, the lists' ends: with weights 1 and 3 that is 10. So 10.5 is
    proved; 10 is not, for a document outside may have the same and come first."""
    found = gather(
        lists(("a", [4, 5], [6.0, 4.0], 90), ("b", [6, 7], [2.5, 2.0], 90)),
        lambda i, d: np.array([[0.0] * 6 + [3.0, 3.9], [0.0] * 4 + [1.5, 2.0, 0.0, 0.0]])[i][d],
    )
    fused = Linear({"a": 1.0, "b": 3.0}, "none").fuse(found)
    assert fused.docs.tolist() == [4, 6, 5, 7] and fused.scores.tolist() == [10.5, 10.5, 10.0, 9.9]
    assert fused.fusion.proved == 2
    assert fused.top(1).fusion.proved == 1
    whole = gather(
        lists(("a", [4, 5], [6.0, 4.0], 2), ("b", [5, 4], [2.5, 2.0], 2)), lambda i, d: np.zeros(len(d))
    )  # both lists hold every document there is: outside, a field has its lowest score at best
    assert Linear({}, "none").fuse(whole).fusion.proved == 2


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.permutations([0, 1, 2]))
def test_the_order_of_fields_changes_no_ranking(seed: int, order: Sequence[int]) -> None:
    corpus = Corpus(seed, 200)
    one = Adaptive().fuse(corpus.candidates(POOL))
    fields, words = [corpus.field(i, POOL) for i in order], (order.index(0), lambda docs: corpus.covered[docs])
    two = Adaptive().fuse(gather(fields, lambda i, docs: corpus.scores[docs, order[i]], None, words))
    np.testing.assert_allclose(np.sort(one.scores), np.sort(two.scores), rtol=1e-12, atol=1e-12)
    assert one.docs[:5].tolist() == two.docs[:5].tolist()


def lists(*rows: tuple[str, list[int], list[float], int]) -> list[Ranking]:
    return [Ranking.of(n, np.array(d, np.int64), np.array(s, np.float64), size) for n, d, s, size in rows]


def test_whoever_missed_a_list_is_scored_exactly() -> None:
    asked: list[tuple[int, list[int]]] = []

    def score(i: int, docs: Any) -> Any:
        asked.append((i, docs.tolist()))
        return np.array([0.25 + 0.01 * d for d in docs.tolist()])

    found = gather(lists(("a", [5, 2], [3.0, 1.0], 9), ("b", [2, 7], [0.9, 0.8], 9)), score)
    assert asked == [(0, [7]), (1, [5])]
    assert found.docs.tolist() == [2, 5, 7]
    np.testing.assert_allclose(found.scores, [[1.0, 0.9], [3.0, 0.30], [0.32, 0.8]])
    assert found.ranks.tolist() == [[2, 1], [1, 0], [0, 2]]


def test_rrf_known_values() -> None:
    found = gather(lists(("a", [5, 2], [3.0, 1.0], 9), ("b", [2, 7], [0.9, 0.8], 9)), lambda i, d: np.zeros(len(d)))
    fused = RRF().fuse(found)
    assert fused.docs.tolist() == [2, 5, 7]
    np.testing.assert_allclose(fused.scores, [1 / 62 + 1 / 61, 1 / 61 + 1 / 1061, 1 / 1061 + 1 / 62], rtol=1e-15)
    heavy = RRF({"b": 10.0}).fuse(found)
    assert heavy.docs.tolist() == [2, 7, 5]
    np.testing.assert_allclose(heavy.scores[0], 1 / 62 + 10 / 61)


def test_rrf_breaks_ties_by_exact_scores() -> None:
    """1 and 2 have swapped ranks; the field where they differ more decides, not the document number."""
    found = gather(lists(("a", [1, 2], [3.0, 2.9], 5), ("b", [2, 1], [9.0, 1.0], 5)), lambda i, d: np.zeros(len(d)))
    fused = RRF().fuse(found)
    assert fused.scores[0] == fused.scores[1]
    assert fused.docs.tolist() == [2, 1]


def test_the_population_holds_documents_that_share_nothing() -> None:
    field = lists(("words", [3], [4.0], 1_000))[0]
    assert population(field, field.voice).tolist() == [4.0] + [0.0] * (POOL - 1)
    numbers = constants(field, field.voice, "z")
    # one match among a hundred: as decided as a field can be
    assert (4.0 - numbers["mean"]) / numbers["deviation"] == pytest.approx(np.sqrt(POOL - 1))
    few = lists(("dense", [3], [0.4], 1))[0]
    assert population(few, few.voice).tolist() == [0.4]


def test_linear_by_hand() -> None:
    found = gather(
        lists(("dense", [0, 1], [0.8, 0.4], 3), ("tfidf", [1], [0.6], 3)),
        lambda i, d: np.array([[0.8, 0.4, 0.1], [0.0, 0.6, 0.0]])[i][d],
    )
    fused = Linear.blend("dense", "tfidf", 0.8).fuse(found)
    np.testing.assert_allclose(fused.scores, [0.8 * 0.8, 0.8 * 0.4 + 0.2 * 0.6])
    scaled = Linear(normalise="minmax").fuse(found)  # low and high: dense 0 and 0.8, tfidf 0 and 0.6
    np.testing.assert_allclose(scaled.scores, [0.5 + 1.0, 1.0 + 0.0])
    assert scaled.docs.tolist() == [1, 0]


def test_a_document_without_a_vector_counts_as_the_last() -> None:
    found = gather(
        lists(("words", [0, 1], [2.0, 2.0], 4), ("dense", [1, 2, 3], [0.9, 0.5, 0.1], 3)),
        lambda i, d: np.array([[2.0, 2.0, 0.0, 0.0], [np.nan, 0.9, 0.5, 0.1]])[i][d],
    )
    for kind in ("z", "minmax"):
        fused = Linear(normalise=kind).fuse(found)  # type: ignore[arg-type]
        at = fused.docs.tolist()
        assert fused.normalised[at.index(0), 1] == fused.normalised[at.index(3), 1]
        assert np.isnan(fused.raw[at.index(0), 1])
    assert np.isfinite(Linear(normalise="none").fuse(found).scores).all()


def test_a_field_that_found_nothing_counts_for_nothing() -> None:
    def weights(words: list[float]) -> list[float]:
        rows = [
            Ranking.of("words", np.arange(len(words)), np.array(words), 50),
            Ranking.of("deep", np.arange(3), np.array([0.9, 0.8, 0.2]), 50, weight=0.5, mean_words=100.0),
            Ranking.of("latent", np.arange(2), np.array([5.0, 1.0]), 50),
        ]
        return Adaptive().fuse(gather(rows, lambda i, d: np.zeros(len(d)))).fusion.weights.tolist()

    assert weights([3.0]) == [1.0, 0.5, 1.0]
    assert weights([]) == [0.0, 0.5, 1.0]
    assert weights([1.0] * 50) == [0.0, 0.5, 1.0], "it found everything alike"


class TestRewards:
    """Ten candidates; the last in the order of vectors has words that the others lack."""

    def fused(self, covered: list[float], method: Adaptive | None = None) -> Any:
        words, dense = np.linspace(2.0, 1.0, 10)[::-1], np.linspace(0.9, 0.1, 10)
        fields = [Ranking.of("words", *_best(words), 50), Ranking.of("dense", *_best(dense), 50, 0.5)]
        share = np.array(covered)
        found = gather(fields, lambda i, d: (words, dense)[i][d], covered=(0, lambda docs: share[docs]))
        return (method or Adaptive()).fuse(found)

    def test_by_hand(self) -> None:
        covered = [0.2] * 9 + [0.9]
        fused = self.fused(covered)
        lead = (0.9 - 0.2) / np.std(covered)
        row = fused.docs.tolist().index(9)
        assert row == 0 and fused.fusion.reward[row] == pytest.approx(8.0 * lead * 0.9**4)
        assert fused.shares[row, 0] == pytest.approx(fused.normalised[row, 0] + fused.fusion.reward[row])
        assert fused.scores[row] == fused.shares[row].sum()
        assert not fused.fusion.reward[1:].any() and fused.fusion.covered[row] == 0.9

    @pytest.mark.parametrize(("others", "lead"), [(16, 17 / 4), (99, 5.0)])
    def test_a_lead_counts_up_to_five_deviations(self, others: int, lead: float) -> None:
        words = np.linspace(2.0, 1.0, others + 1)
        share = np.array([0.2] * others + [0.8])
        field = FieldList("words", *_best(words), others + 1)
        fused = Adaptive().fuse(gather([field], lambda i, d: words[d], None, (0, share.__getitem__)))
        row = fused.docs.tolist().index(others)
        assert fused.reward[row] == pytest.approx(8.0 * lead * 0.8**4)

    def test_nobody_outside_could_get_more_than_that(self) -> None:
        words, dense = np.linspace(2.0, 1.0, 100), np.concatenate([[60.0], np.linspace(2.0, 1.0, 99)])
        fields = [FieldList("words", np.arange(100), words, 200), FieldList("dense", np.arange(100), dense, 200, 10.0)]
        share = np.array([0.5] * 99 + [0.51])
        fused = Adaptive().fuse(gather(fields, lambda i, d: (words, dense)[i][d], None, (0, share.__getitem__)))
        assert fused.scores[0] > 90.0, "nearly ten deviations, ten times over"
        assert fused.proved == 1, "500 deviations of .001 would be worth 4,000"

    def test_what_half_of_the_words_are_worth(self) -> None:
        whole, half = (self.fused([0.0] * 9 + [share]).fusion.reward.max() for share in (1.0, 0.5))
        assert half == pytest.approx(whole / 16), "the same distance in deviations, the fourth power of the share"

    @pytest.mark.parametrize("covered", [[0.7] * 10, [0.0] * 10])
    def test_nobody_stands_out(self, covered: list[float]) -> None:
        assert self.fused(covered).fusion.reward is None

    def test_where_ten_documents_have_the_words_the_other_fields_decide(self) -> None:
        words = np.linspace(3.0, 1.0, 30)
        for having, rewarded in ((9, True), (10, False)):
            share = np.where(np.arange(30) < having, 1.0, 0.1)
            fields, covered = [Ranking.of("words", *_best(words), 50)], (0, share.__getitem__)
            found = gather(fields, lambda i, d: words[d], None, covered)
            assert (Adaptive().fuse(found).fusion.reward is not None) == rewarded

    def test_words_that_count_for_nothing_reward_nothing(self) -> None:
        assert self.fused([0.0] * 9 + [1.0], Adaptive({"words": 0.0, "dense": 1.0})).fusion.reward is None

    def test_a_document_outside_could_have_all_the_words(self) -> None:
        assert self.fused([0.0] * 9 + [0.5]).fusion.proved == 0, "half of them here, all of them perhaps elsewhere"
        assert self.fused([0.0] * 9 + [1.0]).fusion.proved <= 1

    def test_a_document_that_is_only_looked_at_moves_no_other(self) -> None:
        words = np.array([2.0, 1.5, 1.0, 0.0])
        field = Ranking.of("words", np.arange(3), words[:3], 50)
        share = np.array([1.0, 0.1, 0.1, 0.9])

        def fuse(also: Any) -> Any:
            return Adaptive().fuse(gather([field], lambda i, d: words[d], also, (0, lambda docs: share[docs])))

        alone, beside = fuse(None), fuse(np.array([3]))
        assert alone.scores.tolist() == [beside.scores[beside.docs.tolist().index(d)] for d in alone.docs.tolist()]


def test_a_document_is_judged_by_the_fields_that_can_read_it() -> None:
    """Documents 0 to 4 have a caption, 5 to 9 none; 7 is what the picture field likes best."""
    text = np.array([0.5, 0.4, 0.1, 0.0, -0.1, *[np.nan] * 5])
    words = np.array([3.0, 1.0, *[0.0] * 8])
    image = np.array([0.1, 0.0, 0.2, 0.1, 0.0, 0.3, 0.2, 0.9, 0.1, 0.0])
    columns = (text, words, image)
    fields = [
        Ranking.of("dense-text", np.arange(5), text[:5], 5, 0.5, mean_words=60.0, source="text"),
        Ranking.of("words", np.arange(2), words[:2], 10, source="text"),
        Ranking.of("aligned", *_best(image), 10, source="image"),
    ]
    fused = Adaptive().fuse(gather(fields, lambda i, d: columns[i][d]))
    at = fused.docs.tolist()
    assert set(at[:2]) == {0, 7}, "the best caption and the best picture; before, 7 was behind every caption"
    row = at.index(7)
    assert np.isnan(fused.raw[row, :2]).all()
    assert fused.shares[row, :2].tolist() == [0.0, 0.0], "what cannot read it has no part in it"
    assert fused.fusion.scale is not None and fused.fusion.scale[row] == pytest.approx(
        fused.fusion.weights.sum() / fused.fusion.weights[2]
    )
    assert fused.scores[row] == pytest.approx(fused.normalised[row, 2] * fused.fusion.weights.sum())
    for i in range(len(at)):  # shares still add up, from left to right
        assert float(fused.shares[i, 0]) + float(fused.shares[i, 1]) + float(fused.shares[i, 2]) == fused.scores[i]
    captioned = at.index(1)
    assert not np.isnan(fused.raw[captioned]).any()
    assert 0 <= fused.fusion.proved <= len(at)


def _best(column: Any) -> tuple[Any, Any]:
    order = np.argsort(-column, kind="stable")
    return order, column[order]


@pytest.mark.parametrize(
    ("words", "weight"), [(None, 0.5), (400.0, 0.5), (50.0, 0.5), (25.0, 1.0), (3.0, 2.0), (0.0, 2.0)]
)
def test_vectors_of_short_texts_count_for_more(words: float | None, weight: float) -> None:
    field = Ranking.of("dense", np.arange(2), np.array([0.9, 0.1]), 2, 0.5, mean_words=words)
    fused = Adaptive().fuse(gather([field], lambda i, d: np.zeros(len(d))))
    assert fused.fusion.weights.tolist() == [weight]
    assert fused.fusion.about["signals"]["dense"]["mean_words"] == words


def test_words_decide_where_one_document_has_all_of_a_rare_query() -> None:
    """The best document of the words field is last in the vectors' list, and still comes first."""
    n = 60
    words = np.zeros(n)
    words[41] = 8.0
    dense = np.linspace(0.6, 0.2, n)
    dense[41] = 0.1
    fields = [
        Ranking.of("words", np.array([41]), np.array([8.0]), n),
        Ranking.of("dense", np.argsort(-dense, kind="stable"), np.sort(dense)[::-1], n, 0.5),
    ]
    fused = Adaptive().fuse(gather(fields, lambda i, d: (words, dense)[i][d]))
    assert fused.docs[0] == 41
    assert fused.fusion.about["signals"]["words"]["peak"] > fused.fusion.about["signals"]["dense"]["peak"]


def test_nothing_found_at_all() -> None:
    empty = lists(("words", [], [], 0), ("dense", [], [], 0))
    for method in (Linear(), Adaptive(), RRF()):
        fused = method.fuse(gather(empty, lambda i, d: np.zeros(len(d))))
        assert len(fused) == 0 and fused.fusion.proved == 0


@pytest.mark.parametrize("method", METHODS)
def test_settings_travel_as_json(method: Method) -> None:
    assert method_from_json(method.to_json()) == method


def zeros(_: int, docs: Any) -> Any:
    return np.zeros(len(docs))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Linear.blend("a", "b", 1.2), "alpha must lie between 0 and 1, not 1.2"),
        (lambda: Linear.blend("a", "b", float("nan")), "alpha must lie between 0 and 1"),
        (lambda: Linear(normalise="softmax"), "unknown normalisation 'softmax'"),  # type: ignore[arg-type]
        (lambda: Linear({"words": -1.0}), "'words' must be finite and at least 0, not -1.0"),
        (lambda: Linear({"words": float("nan")}), "must be finite"),
        (lambda: Linear({"words": "much"}), "must be a number"),  # type: ignore[dict-item]
        (lambda: Linear({"words": 0.0}), "all weights are 0"),
        (lambda: RRF(k=-1), "constant k of RRF"),
        (lambda: RRF(ranks=0), "ranks must be"),
        (lambda: method_from_json("best"), "unknown fusion method 'best'; one of adaptive, linear, rrf"),
        (lambda: method_from_json({"method": "rrf", "depth": 3}), "does not have"),
        (lambda: gather([], zeros), "at least one field"),
        (lambda: gather(lists(("a", [1], [1.0], 2), ("a", [1], [1.0], 2)), zeros), "fused once"),
        (lambda: gather(lists(("a", [1], [float("nan")], 2)), zeros), "NaN"),
        (lambda: gather([Ranking.of("a", np.arange(1), np.ones(1))], zeros), "field 'a' cannot be fused.*n_scored="),
        (lambda: gather(lists(("a", [1, 2], [1.0, 2.0], 2)), zeros), "descending"),
        (lambda: gather(lists(("a", [1, 2], [2.0, 1.0], 1)), zeros), "scored 1"),
        (lambda: gather(lists(("a", [1, 2], [2.0], 3)), zeros), "scores"),
        (
            lambda: gather(lists(("a", [1], [2.0], 3), ("b", [2], [2.0], 3)), lambda i, d: np.full(len(d), np.inf)),
            "no usable scores",
        ),
        (lambda: Linear({"x": 1.0}).fuse(gather(lists(("a", [1], [2.0], 3)), zeros)), "fields are: a"),
        (
            lambda: Adaptive().fuse(
                gather([Ranking.of("dense", np.arange(1), np.ones(1), 1, mean_words=float("nan"))], zeros)
            ),
            "words per document",
        ),
        (lambda: Adaptive({"x": 1.0}).fuse(gather(lists(("a", [1], [2.0], 3)), zeros)), "fields are: a"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        make()
