"""Which places in a text a reader is shown."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import zipfian as zf
from zipfian.fields.places import shows, span, spread_over, tokens
from zipfian.types import Encoded, Token


@pytest.mark.parametrize(
    ("word", "language", "shown"),
    [
        ("plants", None, True),
        (".", None, False),
        ("--", "de", False),
        ("The", None, False),
        ("THE", "en", False),
        ("the", "de", True),
        ("die", "de", False),
        ("die", "en", True),
        ("42", None, True),
        ("the", "xx", True),
    ],
)
def test_punctuation_and_function_words_show_nothing(word: str, language: str | None, shown: bool) -> None:
    assert shows(word, language) is shown
    place = span(f" {word} ", 1, 1 + len(word), language)
    assert (place["start"], place["end"], place["text"], place.get("mark", True)) == (1, 1 + len(word), word, shown)
    assert tokens({"t": [place]}) == ([Token("t", 1, 1 + len(word))] if shown else [])


def test_faint_places_are_no_tokens() -> None:
    rows = [{"start": 0, "end": 3, "strength": 1.0}, {"start": 4, "end": 7, "strength": 0.59}]
    assert tokens({7: rows}) == [Token("7", 0, 3)]


def test_a_query_of_function_words_marks_none_of_them(tmp_path: Path) -> None:
    with zf.Collection.create(tmp_path / "t.zf", fields=["words"]) as texts:
        texts.add([{"id": "a", "text": "To be, or not to be: that is the question."}])
        texts.commit()
        found = texts.search("to be or not to be")
        assert found.highlight(found[0])[0].marks == ()
        found = texts.search("that question")
        assert found.highlight(found[0])[0].render() == "To be, or not to be: that is the **question**."


class TestSpread:
    def test_over_every_view_of_a_picture(self) -> None:
        """Patches of several views count by the length of their view's average; what they give sums to the product."""
        rng = np.random.default_rng(0)
        for views in (1, 3):
            vectors = rng.random((views * 6, 5)).astype(np.float32)
            totals = vectors.reshape(views, 6, 5).sum(axis=1)
            pooled = (totals / np.linalg.norm(totals, axis=1, keepdims=True)).sum(axis=0)
            pooled /= np.linalg.norm(pooled)
            cells = np.array([(n % 6 // 3, n % 3) for n in range(views * 6)], np.int32)
            encoded = Encoded(vectors, cells, np.full(len(cells), -1, np.int32), pooled, (2, 3))
            slopes = rng.normal(size=5)
            found = spread_over(encoded, slopes, 0.25)
            assert found is not None and found.rest == 0.25
            assert len(found.places) == 6, "one place for each cell"
            assert sum(place["strength"] for place in found.places) == pytest.approx(slopes @ pooled, abs=1e-6)
            cell = {(place["row"], place["column"]): place["strength"] for place in found.places}[1, 2]
            lengths = np.linalg.norm(totals, axis=1) * np.linalg.norm(
                (totals.T / np.linalg.norm(totals, axis=1)).sum(1)
            )
            expected = sum(slopes @ vectors[6 * view + 5] / lengths[view] for view in range(views))
            assert cell == pytest.approx(expected, abs=1e-6)

    def test_where_the_pooled_vector_is_something_else_nothing_is_said(self) -> None:
        vectors, cells = np.eye(4, dtype=np.float32), np.array([(0, n) for n in range(4)], np.int32)
        pieces, slopes = np.full(4, -1, np.int32), np.ones(4)
        half = np.full(4, 0.5, np.float32)
        assert spread_over(Encoded(vectors, cells, pieces, half, (1, 4)), slopes, 0.0) is not None
        other = np.array([1, 0, 0, 0], np.float32)
        assert spread_over(Encoded(vectors, cells, pieces, other, (1, 4)), slopes, 0.0) is None, "of a token of its own"
        assert spread_over(Encoded(vectors, cells, pieces, half[:3], (1, 4)), slopes[:3], 0.0) is None, (
            "of another layer"
        )
        assert spread_over(Encoded(vectors, cells, pieces, half), slopes, 0.0) is None, "a text"
        assert spread_over(Encoded(0 * vectors, cells, pieces, half, (1, 4)), slopes, 0.0) is None
