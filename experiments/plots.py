"""Plots as data, drawn to PNG and SVG. The same data give the same SVG bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from zipfian.errors import InvalidInput, MissingExtra

COLOURS = ("#1f6f8b", "#c8553d", "#588157", "#7b5ea7", "#b08900", "#444444", "#d16ba5", "#2a9d8f")


@dataclass(frozen=True)
class Plot:
    """Lines over numbers, or bars over names."""

    title: str
    x_label: str
    y_label: str
    series: Mapping[str, Sequence[tuple[Any, float]]]
    """Name -> points; x is a number for lines and a name for bars."""
    kind: Literal["line", "bar"] = "line"
    log_x: bool = False
    log_y: bool = False
    marks: Mapping[str, float] = field(default_factory=dict)
    """Vertical lines with their labels, such as a published optimum."""
    deviations: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """Name -> one error bar per point."""
    loose: Sequence[str] = ()
    """Series whose points are not joined."""


def draw(plot: Plot, stem: Path) -> list[Path]:
    """STEM.png and STEM.svg."""
    if not any(plot.series.values()):
        raise InvalidInput(f"the plot {plot.title!r} has nothing to draw")
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtra("drawing a plot", "eval") from error
    written = []
    with matplotlib.rc_context({"svg.hashsalt": "zipfian", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(6.0, 3.6), layout="constrained")
        axis: Any = figure.subplots()
        if plot.kind == "line":
            _lines(axis, plot)
        else:
            _bars(axis, plot)
        axis.set_title(plot.title, fontsize=10)
        axis.set_xlabel(plot.x_label)
        axis.set_ylabel(plot.y_label)
        if len(plot.series) > 1:  # below: inside it would lie on the bars
            figure.legend(loc="outside lower center", ncols=min(3, len(plot.series)), frameon=False, fontsize=8)
        for side in ("top", "right"):
            axis.spines[side].set_visible(False)
        for suffix in (".png", ".svg"):
            path = stem.with_name(stem.name + suffix)
            figure.savefig(path, dpi=150, metadata={"Date": None} if suffix == ".svg" else {"Software": None})
            written.append(path)
    return written


def _lines(axis: Any, plot: Plot) -> None:
    for i, (name, points) in enumerate(plot.series.items()):
        x, y = [p[0] for p in points], [p[1] for p in points]
        style = "o" if name in plot.loose else "-" if len(points) > 60 else "o-"
        axis.errorbar(
            x, y, yerr=plot.deviations.get(name), fmt=style, markersize=3, linewidth=1.2, label=name,
            color=COLOURS[i % len(COLOURS)],
        )  # fmt: skip
    if plot.log_x:
        axis.set_xscale("log")
    if plot.log_y:
        axis.set_yscale("log")
    for label, at in plot.marks.items():
        axis.axvline(at, linewidth=0.8, linestyle="--", color="#444444")
        axis.annotate(label, (at, 1.0), xycoords=("data", "axes fraction"), fontsize=7, ha="left", va="top")


def _bars(axis: Any, plot: Plot) -> None:
    names = list(dict.fromkeys(str(p[0]) for points in plot.series.values() for p in points))
    width = 0.8 / len(plot.series)
    for i, (name, points) in enumerate(plot.series.items()):
        place = [names.index(str(p[0])) + (i - (len(plot.series) - 1) / 2) * width for p in points]
        axis.bar(
            place, [p[1] for p in points], width, yerr=plot.deviations.get(name), label=name,
            color=COLOURS[i % len(COLOURS)],
        )  # fmt: skip
    axis.set_xticks(range(len(names)), names, rotation=20 if len(names) > 4 else 0, fontsize=8)
    if plot.log_y:
        axis.set_yscale("log")
