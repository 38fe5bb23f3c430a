from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput
from zipfian.evaluate.zipf import (
    coupon_collector,
    expected_operations,
    fit_power_law,
    rank_frequency,
    smoothed_idf,
    zipf_report,
    zipf_table,
)

FREQUENCIES = st.lists(st.integers(0, 50), max_size=60)


def power_law(exponent: float, terms: int = 3_000, top: float = 1e7) -> np.ndarray:
    return np.rint(top * np.arange(1, terms + 1, dtype=np.float64) ** -exponent).astype(np.int64)


# ---------------------------------------------------------------------- the fit


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.2, 1.7])
def test_an_exponent_is_recovered_from_frequencies_that_have_it(exponent: float) -> None:
    fit = fit_power_law(power_law(exponent, 1_000, 1e9))
    assert fit is not None
    assert fit.exponent == pytest.approx(exponent, abs=1e-3)
    assert fit.r_squared > 0.9999
    assert fit.at(1) == pytest.approx(1e9, rel=1e-2)


def test_an_exponent_is_recovered_from_drawn_documents() -> None:
    rng = np.random.default_rng(0)
    chance = np.minimum(1.0, 0.6 * np.arange(1, 301, dtype=np.float64) ** -0.9)
    df = (rng.random((20_000, 300)) < chance).sum(axis=0)
    fit = fit_power_law(rank_frequency(df))
    assert fit is not None
    assert fit.exponent == pytest.approx(0.9, abs=0.03)
    assert fit.r_squared > 0.99


def test_ranks_choose_the_part_that_is_fitted() -> None:
    bent = np.concatenate([np.full(100, 1e6), 1e6 * np.arange(1, 901, dtype=np.float64) ** -1.5])
    head, all_of_it = fit_power_law(bent, (1, 100)), fit_power_law(bent)
    assert head is not None and all_of_it is not None
    assert head.exponent == pytest.approx(0.0, abs=1e-9)
    assert (head.first_rank, head.last_rank, head.r_squared) == (1, 100, 1.0)
    assert all_of_it.exponent > 0.5
    assert all_of_it.last_rank == 1000


@pytest.mark.parametrize("frequencies", [[], [5], [5, 3]])
def test_too_few_ranks_have_no_fit(frequencies: list[int]) -> None:
    assert fit_power_law(frequencies) is None


@pytest.mark.parametrize("ranks", [(0, None), (5, 2)])
def test_impossible_ranks_are_refused(ranks: tuple[int, int | None]) -> None:
    with pytest.raises(InvalidInput, match="ranks"):
        fit_power_law([3, 2, 1], ranks)


# ---------------------------------------------------------------------- equations 10 and 11


def test_equation_10_with_five_operations_a_posting_gives_the_published_figures() -> None:
    # Food-101: 75,750 images, the largest active vocabulary named there (3,240) and 16 terms give its 29,920.
    assert expected_operations(75_750, 16, 3_240) == pytest.approx(29_920, rel=1e-3)
    # CUB-200: 5,994 images; its 5,120 is exactly four images per active term.
    assert expected_operations(5_994, 16, round(5_994 / 4)) == pytest.approx(5_120, rel=1e-3)
    # DTD: 1,002 operations over 1,880 training images need 2,402 active terms, inside the stated 527 to 3,240.
    assert expected_operations(1_880, 16, 2_402) == pytest.approx(1_002, rel=1e-3)
    # Another C does not.
    assert expected_operations(75_750, 16, 3_240, per_posting=4) != pytest.approx(29_920, rel=0.1)


def test_equation_10_tends_to_uniform_spreading() -> None:
    n, vocabulary = 100_000_000, 18_432
    active = round(coupon_collector(vocabulary, 16, n))
    assert active == vocabulary
    assert expected_operations(n, 16, active) == pytest.approx(5 * 16**2 * n / vocabulary)


def test_equation_10_with_shorter_queries() -> None:
    assert expected_operations(1_000, 16, 500, terms_per_query=4) == pytest.approx(
        expected_operations(1_000, 16, 500) / 4
    )
    assert expected_operations(1_000, 16, 0) == 0.0


def test_equation_11() -> None:
    vocabulary, terms, n = 18_432, 16, 5_994
    direct = vocabulary * (1 - (1 - terms / vocabulary) ** n)
    assert coupon_collector(vocabulary, terms, n) == pytest.approx(direct, rel=1e-9)
    assert coupon_collector(vocabulary, terms, 1) == pytest.approx(terms)
    assert coupon_collector(vocabulary, terms, 0) == 0.0
    assert coupon_collector(10, 10, 3) == 10.0
    assert coupon_collector(10, 0, 3) == 0.0


def test_equation_11_is_what_even_drawing_gives() -> None:
    rng = np.random.default_rng(1)
    seen = {term for _ in range(200) for term in rng.choice(1_000, 8, replace=False).tolist()}
    assert len(seen) == pytest.approx(coupon_collector(1_000, 8, 200), rel=0.05)


@pytest.mark.parametrize("arguments", [(0, 0, 1), (10, 11, 1), (10, -1, 1), (10, 1, -1)])
def test_equation_11_refuses_what_cannot_be(arguments: tuple[int, float, int]) -> None:
    with pytest.raises(InvalidInput):
        coupon_collector(*arguments)


# ---------------------------------------------------------------------- the report


def test_head_and_tail_and_telling_terms() -> None:
    report = zipf_report([100, 51, 50, 10, 9, 1, 0], 100, name="t", vocabulary=10)
    assert report.active == 6
    assert report.head_share == pytest.approx(2 / 6)  # more than half: 100 and 51
    assert report.tail_share == pytest.approx(2 / 6)  # less than a tenth: 9 and 1
    idf = smoothed_idf([100, 51, 50, 10, 9, 1], 100)
    assert report.telling_share == pytest.approx(np.mean(idf > 2))
    assert report.terms_per_document == pytest.approx(2.21)


def test_counted_postings_are_the_mean_over_documents_as_queries() -> None:
    rng = np.random.default_rng(2)
    has = rng.random((40, 25)) < np.linspace(0.9, 0.02, 25)
    df = has.sum(axis=0)
    report = zipf_report(df, 40)
    assert report.counted_postings == pytest.approx(np.mean(has @ df))
    assert report.expected_operations == pytest.approx(expected_operations(40, has.sum() / 40, int((df > 0).sum())))
    assert report.counted_postings > report.expected_postings  # uneven lists cost more than even ones


def test_postings_of_real_queries() -> None:
    frequency = {"a": 10, "b": 3, "c": 1}
    report = zipf_report([10, 3, 1], 10, queries=[["a", "b", "a"], {"c": 2.0}, ["unknown"]], frequency=frequency)
    assert report.query_postings == pytest.approx((13 + 1 + 0) / 3)
    assert zipf_report([1], 1).query_postings is None


@given(FREQUENCIES, st.integers(50, 80))
def test_a_report_can_be_made_of_anything(df: list[int], documents: int) -> None:
    report = zipf_report(np.array(df, np.int64), documents, vocabulary=100)
    assert report.active == sum(n > 0 for n in df)
    assert report.counted_postings >= report.expected_postings - 1e-6
    for share in (report.head_share, report.tail_share, report.telling_share):
        assert 0.0 <= share <= 1.0
    assert report.coupon_collector is not None
    assert 0.0 <= report.coupon_collector <= 100.0 + 1e-9
    json.dumps(report.to_dict())


def test_an_empty_collection() -> None:
    report = zipf_report([], 0, vocabulary=5)
    assert (report.active, report.fit, report.coupon_collector) == (0, None, 0.0)
    assert zipf_table([report])[1]


@pytest.mark.parametrize(
    ("df", "documents", "vocabulary"), [([5], 4, None), ([1, 1], 4, 1), ([-1], 4, None), ([0.5], 4, None)]
)
def test_impossible_frequencies_are_refused(df: list[int], documents: int, vocabulary: int | None) -> None:
    with pytest.raises(InvalidInput):
        zipf_report(df, documents, vocabulary=vocabulary)


def test_the_table_has_a_column_for_each_distribution() -> None:
    words = zipf_report(power_law(1.0), 10_000_000, name="words")
    latent = zipf_report(power_law(1.3), 10_000_000, name="latent", vocabulary=16_384)
    headers, rows = zipf_table([words, latent])
    assert headers == ["", "words", "latent"]
    cells = {row[0]: row[1:] for row in rows}
    assert cells["terms there are"] == ["-", "16,384"]
    assert cells["fitted exponent"][0].startswith("1.0")
    assert not any("real query" in title for title in cells)
