"""The guide to fields of one's own shows the class that the tests use, word for word."""

from __future__ import annotations

import inspect
from pathlib import Path

from tests.fields.test_own_kind import Grams


def test_the_guide_shows_this_very_class() -> None:
    source = inspect.getsource(Grams)
    assert source.count("\n") < 60
    guide = Path(__file__).parents[2] / "docs" / "own-field.md"
    assert source in guide.read_text(encoding="utf-8")
