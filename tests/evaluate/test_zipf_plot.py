from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.zipf import zipf_report
from zipfian.evaluate.zipf_plot import plot_zipf, sampled

DF = np.arange(400, 0, -1, dtype=np.int64)


def distributions(count: int = 2) -> list[tuple[Any, ...]]:
    return [(zipf_report(DF, 400, name=f"field{i}"), DF) for i in range(count)]


def test_a_plot_is_written_as_png_and_svg(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    png, svg = plot_zipf(distributions(), tmp_path / "a.png"), plot_zipf(distributions(), tmp_path / "a.svg")
    assert png.read_bytes().startswith(b"\x89PNG")
    text = svg.read_text(encoding="utf-8")
    assert "field0" in text and "field1" in text
    assert svg.stat().st_size < 200_000


def test_the_same_data_give_the_same_svg(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    first, second = (plot_zipf(distributions(1), tmp_path / f"{i}.svg").read_bytes() for i in range(2))
    assert first == second


def test_an_empty_distribution_can_be_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    empty = np.empty(0, np.int64)
    assert plot_zipf([(zipf_report(empty, 0), empty)], tmp_path / "e.png").exists()


def test_another_format_and_nothing_to_draw_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"\.png or \.svg"):
        plot_zipf(distributions(), tmp_path / "a.pdf")
    with pytest.raises(InvalidInput, match="no distribution"):
        plot_zipf([], tmp_path / "a.png")


def test_without_matplotlib_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"zipfian\[eval\]"):
        plot_zipf(distributions(), tmp_path / "a.png")


def test_a_curve_keeps_both_ends() -> None:
    ranks, values = sampled(DF, 20)
    assert (ranks[0], ranks[-1]) == (1, 400)
    assert (values[0], values[-1]) == (400, 1)
    assert len(ranks) <= 20
