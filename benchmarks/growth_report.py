"""The growth curves as tables and as a figure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Points = Mapping[str, Mapping[str, Any]]


def _time(seconds: float) -> str:
    """Seconds, or milliseconds, with about three figures."""
    if seconds < 1.0:
        return f"{_figures(1e3 * seconds)} ms"
    return f"{_figures(seconds)} s"


def _figures(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def _pair(record: Mapping[str, Any], name: str) -> str:
    return f"{record[f'{name}_p50_ms']:.2f} / {record[f'{name}_p95_ms']:.2f}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines) + "\n"


def _having(part: str, points: Points) -> list[tuple[str, Mapping[str, Any]]]:
    """Points of which this part was measured."""
    return [(name, point) for name, point in points.items() if part in point]


def _mb(size: float) -> str:
    return f"{size / 1e6:,.0f}"


def memory_table(points: Points) -> str:
    """`SparseIndex`: a row for each point."""
    head = ["`SparseIndex`", "build", "bytes a document", "peak MB", "of it arrays given", "serving MB", "first ms"]
    rows = []
    for name, point in _having("memory", points):
        m = point["memory"]
        row = [name, _time(m["build_s"]), f"{m['bytes'] / point['documents']:,.0f}", _mb(m["build_peak"])]
        rows.append([*row, _mb(m["arrays"]), _mb(m["serving"]), f"{m['first_ms']:.2f}", _pair(m, "warm")])
    return _table([*head, "warm p50 / p95 ms"], rows)


def writing_table(points: Points) -> str:
    """A collection in a folder: what it costs to write and to change."""
    head = ["folder", "write, us a document", "peak MB", "merge to one", "peak MB", "bytes a document", "add one"]
    rows = []
    for name, point in _having("folder", points):
        f, n = point["folder"], point["documents"]
        row = [name, f"{1e6 * f['write_s'] / n:.0f}", _mb(f["write_peak"]), _time(f["merge_s"]), _mb(f["merge_peak"])]
        rows.append([*row, f"{f['disk'] / n:,.0f}", _time(f["add_one_s"]), _time(f["delete_one_s"])])
    return _table([*head, "delete one"], rows)


def reading_table(points: Points) -> str:
    """The same collection: what it costs to open and to search."""
    head = ["folder", "open", "first search", "p50 / p95 ms, lists decoded", "p50 / p95 ms, warm", "serving MB"]
    rows = []
    for name, point in _having("folder", points):
        f = point["folder"]
        row = [name, _time(f["open_s"]), _time(f["first_ms"] / 1e3), _pair(f, "cold"), _pair(f, "warm")]
        rows.append([*row, _mb(f["serving"])])
    return _table(head, rows)


def tables(points: Points) -> str:
    """All three."""
    return "\n".join(made(points) for made in (memory_table, writing_table, reading_table))


def texts_table(points: Points) -> str:
    """Real texts by set of fields: a row for each size and set."""
    head = ["texts", "fields", "index, us a text", "peak MB", "bytes a text", "add one", "delete one", "open"]
    rows = []
    for point in points.values():
        n = point["documents"]
        for fields in (name for name in point if name.startswith("words")):
            f = point[fields]
            row = [f"{n:,}", fields.replace(",", ", "), f"{1e6 * f['seconds'] / n:.0f}", _mb(f["peak"])]
            row += [f"{f['disk'] / n:,.0f}", *(_time(f[what]) for what in ("add_one_s", "delete_one_s", "open_s"))]
            rows.append([*row, _time(f["first_ms"] / 1e3), _pair(f, "cold"), _pair(f, "warm"), _mb(f["serving"])])
    return _table([*head, "first search", "p50 / p95 ms, lists decoded", "p50 / p95 ms, warm", "serving MB"], rows)


CURVES: Sequence[tuple[str, str, Any]] = (
    ("build a SparseIndex, s", "memory", lambda m, n: m["build_s"]),
    ("memory of a SparseIndex, bytes a document", "memory", lambda m, n: m["bytes"] / n),
    ("search a SparseIndex, p50 ms", "memory", lambda m, n: m["warm_p50_ms"]),
    ("write a folder, us a document", "folder", lambda f, n: 1e6 * f["write_s"] / n),
    ("peak of writing and merging, MB", "folder", lambda f, n: max(f["write_peak"], f["merge_peak"]) / 1e6),
    ("search a folder, warm, p50 ms", "folder", lambda f, n: f["warm_p50_ms"]),
    ("first search of a folder, ms", "folder", lambda f, n: f["first_ms"]),
    ("add one and commit, ms", "folder", lambda f, n: 1e3 * f["add_one_s"]),
    ("serving a folder, MB", "folder", lambda f, n: f["serving"] / 1e6),
)


def draw(points: Points, file: Path) -> None:
    """All curves over the number of documents, on logarithmic axes."""
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams["svg.hashsalt"] = "growth"  # the same records give the same file
    from matplotlib import pyplot, ticker

    figure, axes = pyplot.subplots(3, 3, figsize=(11, 9), layout="constrained")
    for axis, (title, part, value) in zip(axes.flat, CURVES, strict=True):
        for kind, marker in (("visual", "o"), ("latent", "s"), ("lexical", "^")):
            some = [point for name, point in _having(part, points) if name.startswith(kind)]
            sizes = [point["documents"] for point in some]
            axis.plot(sizes, [value(p[part], p["documents"]) for p in some], marker=marker, label=kind)
        axis.set(xscale="log", yscale="log", title=title, xlabel="documents", xlim=(7e3, 1.5e7))
        axis.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(ticker.NullFormatter())
        axis.grid(alpha=0.3)
    axes.flat[0].legend()
    figure.savefig(file, metadata={"Date": None} if file.suffix == ".svg" else None, dpi=100)
    pyplot.close(figure)
