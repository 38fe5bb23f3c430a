"""The table of surrogate text: descriptors come from the cache, rows and plots from points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.catalogue import TABLES, run_table
from experiments.surrogate import curve, figure1
from tests.collection.models.conftest import picture
from tests.toys import ToyImage
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput


def test_descriptors_are_encoded_once(tmp_path: Path) -> None:
    encoder, cache = ToyImage("surrogate"), EncodingCache(tmp_path / "cache")
    paths = [picture(tmp_path / f"{i}.png", (i * 40, 255 - i * 40, 90), (0, 0, 250)) for i in range(4)]
    made = {}
    for form in (figure1.POOLED, figure1.RMAC):
        first, again = (np.stack(list(figure1._vectors(encoder, cache, paths, form))) for _ in range(2))  # type: ignore[arg-type]
        assert (first == again).all() and np.allclose(np.linalg.norm(first, axis=1), 1.0)
        made[form[0]] = first
    assert len(encoder.seen) == 8, "once for each form"
    assert not np.allclose(made["pooled"], made["rmac-2"])


def test_rows_and_plots() -> None:
    eye = np.eye(4, dtype=np.float32)
    sets = curve.Sets(eye, eye[:2], np.eye(2, 4, dtype=bool))
    points = [curve.brute_force(sets), *curve.scalar_points(sets, gammas=(5.0, 50.0))]
    rows = [figure1._row("Pets, pooled", p) for p in points]
    assert rows[0]["setting"] == "" and rows[0]["postings"] is None and rows[2]["setting"] == "gamma 50"
    plot = figure1._plot("Pets, pooled", sets, points)
    assert plot.log_x and plot.series["brute force"][0][1] == plot.series["brute force"][1][1] == 1.0
    assert figure1._slug("Pets, R-MAC") == "pets-r-mac"


def test_it_says_what_it_needs() -> None:
    assert TABLES["surrogate-figure1"].data == ("pets", "captions", "images")
    with pytest.raises(InvalidInput, match="needs pets: give --data pets=PATH"):
        run_table("surrogate-figure1", {})
