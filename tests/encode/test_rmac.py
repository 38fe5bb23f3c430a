"""Regional max-activations: regions, the order of operations, and whitening."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.encode.rmac import Rmac, Whitening, regions
from zipfian.errors import InvalidInput
from zipfian.types import Encoded


def picture(rows: int, columns: int, dim: int = 6, seed: int = 0) -> Encoded:
    field = np.random.default_rng(seed).gamma(1.0, size=(rows * columns, dim)).astype(np.float32)
    places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(np.int32)
    return Encoded(field, places, np.full(len(field), -1, np.int32), field.mean(axis=0), (rows, columns))


def unit(row: np.ndarray) -> np.ndarray:
    return row / np.linalg.norm(row)


@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 4))
def test_regions_cover_the_grid_and_stay_inside(rows: int, columns: int, scales: int) -> None:
    seen = np.zeros((rows, columns), np.int64)
    for a, b, c, d in regions((rows, columns), scales):
        assert 0 <= a < b <= rows and 0 <= c < d <= columns
        assert b - a == d - c
        seen[a:b, c:d] += 1
    if max(rows, columns) <= 4 * min(rows, columns):
        assert seen.min() >= 1


def test_a_long_picture_has_more_regions_along_its_length() -> None:
    wide = regions((8, 16), 2)
    assert len(wide) > len(regions((8, 8), 2))
    assert {(a, b) for a, b, _, _ in wide if b - a == 8} == {(0, 8)}


def test_descriptor_by_hand() -> None:
    encoded = picture(6, 6)
    field = encoded.vectors.reshape(6, 6, -1)
    boxes = [(0, 6, 0, 6), (0, 4, 0, 4), (0, 4, 2, 6), (2, 6, 0, 4), (2, 6, 2, 6)]
    total = sum(unit(field[a:b, c:d].max(axis=(0, 1))) for a, b, c, d in boxes)
    assert np.allclose(Rmac()(encoded), unit(total), atol=1e-6)
    assert np.linalg.norm(Rmac()(encoded)) == pytest.approx(1.0, abs=1e-6)


def test_the_order_of_patches_does_not_matter() -> None:
    encoded = picture(5, 7)
    order = np.random.default_rng(1).permutation(35)
    mixed = Encoded(encoded.vectors[order], encoded.places[order], encoded.pieces, encoded.pooled, encoded.grid)
    assert np.array_equal(Rmac()(encoded), Rmac()(mixed))


def test_whitening_makes_regions_uncorrelated(tmp_path: Path) -> None:
    plain = Rmac()
    rows = [plain.regions(picture(6, 6, seed=i)) for i in range(400)]
    whitening = Whitening.fit(iter(rows))
    white = whitening(np.concatenate(rows))
    assert np.allclose(np.cov(white.T, bias=True), np.eye(6), atol=0.02)
    whitening.save(tmp_path / "w.safetensors")
    again = Whitening.load(tmp_path / "w.safetensors")
    encoded = picture(6, 6, seed=999)
    found = Rmac(whitening=again)(encoded)
    assert np.array_equal(found, Rmac(whitening=whitening)(encoded))
    assert not np.allclose(found, plain(encoded))
    short = Rmac(whitening=Whitening.fit(rows, keep=3))(encoded)
    assert short.shape == (3,) and np.linalg.norm(short) == pytest.approx(1.0, abs=1e-5)


def test_texts_and_bad_grids_are_refused() -> None:
    text = Encoded(*(getattr(picture(1, 3), n) for n in ("vectors", "places", "pieces", "pooled")), None)
    with pytest.raises(InvalidInput, match="grid"):
        Rmac()(text)
    whole = picture(3, 3)
    with pytest.raises(InvalidInput, match="do not fill"):
        Rmac()(Encoded(whole.vectors[:5], whole.places[:5], whole.pieces[:5], whole.pooled, (3, 3)))
    with pytest.raises(InvalidInput, match="scales"):
        Rmac(scales=0)
    with pytest.raises(InvalidInput, match="at least two"):
        Whitening.fit([])
