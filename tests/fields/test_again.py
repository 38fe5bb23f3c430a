"""Documents read again to show places."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tests.toys import ToyImage
from zipfian.encode.picture_files import told
from zipfian.encode.registry import register
from zipfian.errors import InvalidInput
from zipfian.fields.again import KEPT, NO_PICTURE, read_again
from zipfian.fields.item import Stored


def square(shade: int) -> np.ndarray:
    return np.full((4, 4, 3), shade, np.uint8)


def test_several_fields_share_a_pass() -> None:
    image = ToyImage("again")
    spec = register(image)
    for shade in (1, 1, 2, 1, *range(10, 10 + KEPT), 1):
        encoded, note = read_again(spec, Stored(None, partial(square, shade)))
        assert note == "" and encoded is not None
        assert encoded.vectors[0, 1] == pytest.approx(3 * shade / 255)
    assert len(image.seen) == 2 + KEPT + 1, "once each; after others, the first is read again"


def test_what_cannot_be_read_is_a_note() -> None:
    spec = register(ToyImage("again"))
    assert read_again(spec, Stored("a text", lambda: None)) == (None, NO_PICTURE)

    moved = InvalidInput("the picture has moved")

    def gone() -> None:
        raise moved

    assert read_again(spec, Stored(None, gone)) == (None, f"places cannot be shown: {told(moved)}")
