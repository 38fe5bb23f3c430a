from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from zipfian.encode import base
from zipfian.encode.windows import windows


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, int, int]:
    size = draw(st.integers(6, 600))
    return draw(st.integers(0, 5_000)), size, draw(st.integers(0, size // 2))


@given(cases())
def test_every_token_is_kept_once_and_windows_fit(case: tuple[int, int, int]) -> None:
    tokens, size, overlap = case
    found = windows(tokens, size, overlap)
    assert [t for w in found for t in range(w.keep_start, w.keep_stop)] == list(range(tokens))
    assert all(w.start <= w.keep_start <= w.keep_stop <= w.stop for w in found)
    assert all(w.stop - w.start == min(size, tokens) for w in found)
    assert all(left.stop - right.start >= overlap for left, right in itertools.pairwise(found))


@given(cases())
def test_a_token_comes_from_the_window_where_it_is_most_central(case: tuple[int, int, int]) -> None:
    found = windows(*case)
    for window in found:
        for token in range(window.keep_start, window.keep_stop):
            margins = [min(token - w.start, w.stop - 1 - token) for w in found if w.start <= token < w.stop]
            mine = min(token - window.start, window.stop - 1 - token)
            assert mine >= max(margins) - 1


def test_no_more_windows_than_needed() -> None:
    assert len(windows(510, 510, 128)) == 1
    assert len(windows(511, 510, 128)) == 2
    assert len(windows(892, 510, 128)) == 2
    assert len(windows(893, 510, 128)) == 3


def test_groups_are_bounded_and_keep_the_order() -> None:
    items = ["x" * 1000] * 900 + ["y" * 500_000] * 3 + ["z"] * 600
    found = list(base.groups(iter(items)))
    assert [item for group in found for item in group] == items
    assert all(len(g) == 1 or (len(g) <= base.GROUP_ITEMS and sum(map(len, g)) <= base.GROUP_CHARS) for g in found)
    assert list(base.groups([])) == []
