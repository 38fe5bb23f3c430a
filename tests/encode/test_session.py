"""Work on several threads: what it changes for the whole process, and puts back."""

from __future__ import annotations

import sys

import pytest

from zipfian.encode import session


def test_quick_turns_end_with_the_last_who_wants_them() -> None:
    """Two that overlap, the first to begin ends first: the setting is back only after both, and is the one before."""
    before = sys.getswitchinterval()
    one, other = (session.in_order(abs, [-1, -2, -3], 1) for _ in range(2))
    assert next(one) == 1 and sys.getswitchinterval() == pytest.approx(session.TURN_S)
    assert next(other) == 1
    assert list(one) == [2, 3] and sys.getswitchinterval() == pytest.approx(session.TURN_S)
    assert list(other) == [2, 3] and sys.getswitchinterval() == pytest.approx(before)
