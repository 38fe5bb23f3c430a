"""Rank-frequency plots as PNG or SVG, one panel per distribution on common axes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.zipf import Floats, Ints, ZipfReport, rank_frequency

SUFFIXES = (".png", ".svg")
POINTS = 300
"""Points of a curve: enough for any screen, and an SVG stays small."""
_INK, _CURVE, _FIT = "#222222", "#1f6f8b", "#c8553d"


def plot_zipf(reports: Sequence[tuple[ZipfReport, Ints]], path: str | Path) -> Path:
    """Draw share of documents over rank, log-log, with the fitted line, to a .png or .svg file.

    The same data give the same SVG bytes.
    """
    path = checked(path)
    if not reports:
        raise InvalidInput("there is no distribution to draw")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing a plot", "eval") from error
    svg = path.suffix.lower() == ".svg"
    with matplotlib.rc_context({"svg.hashsalt": "zipfian", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(3.4 * len(reports) + 0.6, 3.3), layout="constrained")
        axes: Any = figure.subplots(1, len(reports), sharex=True, sharey=True, squeeze=False)[0]
        for axis, (report, df) in zip(axes, reports, strict=True):
            _panel(axis, report, df)
        axes[0].set_ylabel("share of documents")
        figure.savefig(path, dpi=150, metadata={"Date": None} if svg else {"Software": None})
    return path


def checked(path: str | Path) -> Path:
    """A file name that tells PNG from SVG."""
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidInput(f"a plot is written as {' or '.join(SUFFIXES)}, not as {path.name!r}")
    return path


def sampled(frequencies: Ints, points: int = POINTS) -> tuple[Ints, Ints]:
    """Ranks evenly spread over the logarithm, the first and the last among them, and their frequencies."""
    if not len(frequencies):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    ranks = np.unique(np.rint(np.geomspace(1, len(frequencies), points)).astype(np.int64))
    return ranks, frequencies[ranks - 1]


def _panel(axis: Any, report: ZipfReport, df: Ints) -> None:
    ranks, values = sampled(rank_frequency(df))
    share: Floats = values / max(report.documents, 1)
    axis.loglog(ranks, share, linewidth=2, color=_CURVE)
    title = report.name or "terms"
    if report.fit is not None:
        ends = np.array([report.fit.first_rank, report.fit.last_rank])
        line = report.fit.at(ends) / max(report.documents, 1)
        axis.loglog(ends, line, "--", linewidth=1.2, color=_FIT)
        title += f"\nexponent {report.fit.exponent:.2f}, R² {report.fit.r_squared:.3f}"
    axis.axhline(0.5, linewidth=0.5, color=_INK, alpha=0.4)
    axis.axhline(0.1, linewidth=0.5, color=_INK, alpha=0.4)
    axis.set_ylim(top=2.0)  # a fit over all ranks starts far above the share that the first term can have
    axis.set_title(title, fontsize=9)
    axis.set_xlabel("rank")
    axis.minorticks_off()  # nine small ticks a decade make most of an SVG
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
