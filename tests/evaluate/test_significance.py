from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.significance import holm, paired, student_p

stats = pytest.importorskip("scipy.stats")


@given(st.floats(-50, 50), st.integers(1, 5_000))
def test_student_against_scipy(t: float, df: int) -> None:
    assert student_p(t, df) == pytest.approx(float(2 * stats.t.sf(abs(t), df)), rel=1e-8, abs=1e-300)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=60))
def test_paired_t_against_scipy(pairs: list[tuple[float, float]]) -> None:
    a, b = np.array(pairs).T
    found = paired(a.tolist(), b.tolist())
    spread = float(np.ptp(b - a))
    if spread < 1e-9:
        return
    assert found.p == pytest.approx(float(stats.ttest_rel(b, a).pvalue), rel=1e-6, abs=1e-12)
    assert found.cohens_d == pytest.approx(float((b - a).mean() / (b - a).std(ddof=1)))


def test_the_figures_of_seed_004_agree_with_each_other() -> None:
    # d = 2.20 over five runs gives t = 2.20 sqrt(5) with 4 degrees of freedom
    assert student_p(2.20 * math.sqrt(5), 4) == pytest.approx(0.0079, abs=1e-4)


def test_all_sign_changes_by_hand() -> None:
    # differences 1, 1, 1: of 8 sign changes, +++ and --- are as extreme
    assert paired([0, 0, 0], [1, 1, 1], "randomisation").p == pytest.approx(2 / 8)
    # 3, 1: sums +-4, +-2, so two of four
    assert paired([0, 0], [3, 1], "randomisation").p == pytest.approx(2 / 4)


def test_randomisation_agrees_with_t_and_repeats_itself() -> None:
    rng = np.random.default_rng(1)
    a = rng.random(300)
    b = np.clip(a + rng.normal(0.02, 0.15, 300), 0, 1)
    exact, sampled = paired(a.tolist(), b.tolist()), paired(a.tolist(), b.tolist(), "randomisation")
    assert sampled.p == pytest.approx(exact.p, abs=0.01)
    assert sampled == paired(a.tolist(), b.tolist(), "randomisation")


def test_mappings_are_matched_by_key() -> None:
    found = paired({"x": 0.0, "y": 1.0, "z": 0.5}, {"z": 0.6, "y": 1.0, "x": 0.3})
    assert found.difference == pytest.approx(0.4 / 3)
    with pytest.raises(InvalidInput, match="same queries"):
        paired({"x": 1.0}, {"y": 1.0})
    with pytest.raises(InvalidInput, match="same queries"):
        paired({"x": 1.0}, [1.0])


def test_no_difference_and_constant_difference() -> None:
    same = paired([0.1, 0.2], [0.1, 0.2])
    assert (same.p, same.cohens_d, same.mark()) == (1.0, 0.0, "")
    always = paired([0.0, 0.0, 0.0], [0.5, 0.5, 0.5])
    assert (always.p, always.cohens_d, always.mark()) == (0.0, math.inf, "++")
    single = paired([0.0], [1.0])
    assert math.isnan(single.p) and single.mark() == ""


def test_marks_follow_sign_and_level() -> None:
    worse = paired([0.9, 0.8, 0.9, 0.8, 0.9], [0.8, 0.75, 0.7, 0.75, 0.85])
    assert 0.01 < worse.p < 0.05
    assert worse.mark() == "-"
    assert worse.mark(0.001) == ""


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    found = holm([0.5, math.nan, 0.9])
    assert found[0] == 1.0 and math.isnan(found[1]) and found[2] == 1.0
    assert holm([]) == []


def test_bad_input() -> None:
    with pytest.raises(InvalidInput, match="as many values"):
        paired([1.0], [1.0, 2.0])
    with pytest.raises(InvalidInput, match="as many values"):
        paired([], [])
    with pytest.raises(InvalidInput, match="'t' or 'randomisation'"):
        paired([0.0, 1.0], [1.0, 1.5], "z")  # type: ignore[arg-type]


def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(MissingExtra, match=r"a significance test .*pip install 'zipfian\[eval\]'"):
        paired([0.0, 1.0], [1.0, 1.5])
