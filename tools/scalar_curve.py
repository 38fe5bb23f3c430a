"""Draws mAP against S_DB for scalar quantisation, IVF-PQ and brute force from encoded pictures.

Input are arrays (.npy, float32, one row per picture) and, for labelled sets, one class per line:

    python tools/scalar_curve.py --documents gallery.npy --queries query.npy --labels gallery.txt query.txt \
        --elsewhere other.npy --name pets --out docs/img

Without labels the ten nearest documents by brute force count as relevant. `--elsewhere` trains the out-of-distribution
IVF-PQ.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.evaluate import scalar_curve as curve

NEAREST = 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--queries", type=Path, required=True)
    parser.add_argument("--labels", type=Path, nargs=2)
    parser.add_argument("--elsewhere", type=Path)
    parser.add_argument("--most", type=int, default=2_000, help="queries used, evenly spaced")
    parser.add_argument("--name", required=True)
    parser.add_argument("--scale", type=float, default=200.0)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    documents, queries = (np.load(p).astype(np.float32) for p in (args.documents, args.queries))
    chosen = np.unique(np.linspace(0, len(queries) - 1, min(args.most, len(queries))).astype(np.int64))
    queries = queries[chosen]
    if args.labels:
        of_documents, of_queries = (
            np.array(p.read_text().split("\n")[:n]) for p, n in zip(args.labels, (len(documents), None), strict=True)
        )
        relevant = of_queries[chosen][:, None] == of_documents[None, :]
    else:
        relevant = curve.nearest(documents, queries, NEAREST)
    points: list[curve.Point] = []

    def keep(found: Any) -> None:
        for point in found:
            points.append(point)
            print(
                f"{point.method:20} {point.knob} {point.value:g}  S_DB {point.s_db:.4f}  mAP {point.map:.4f}",
                flush=True,
            )

    keep([curve.brute_force(documents, queries, relevant)])
    for crelu in (True, False):
        keep(curve.scalar_points(documents, queries, relevant, crelu=crelu, scale=args.scale))
    keep(curve.scalar_points(documents, queries, relevant, scoring="bm25", scale=args.scale))
    parts = 64 if documents.shape[1] % 64 == 0 else 1
    keep(curve.ivfpq_points(documents, queries, relevant, documents, name="IVF-PQ", parts=parts))
    if args.elsewhere:
        training = np.load(args.elsewhere).astype(np.float32)
        keep(curve.ivfpq_points(documents, queries, relevant, training, name="IVF-PQ*", parts=parts))
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"scalar-{args.name}.json").write_text(json.dumps([p.to_json() for p in points], indent=1))
    (args.out / f"scalar-{args.name}.md").write_text(curve.table(points) + "\n")
    draw(points, args.name, args.out / f"scalar-{args.name}.svg")


def draw(points: list[curve.Point], name: str, path: Path) -> None:
    """The figure."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    for method in dict.fromkeys(p.method for p in points):
        own = [p for p in points if p.method == method]
        if method == "brute force":
            axes.axhline(own[0].map, color="black", linestyle=":", linewidth=1, label=method)
            continue
        axes.plot([p.s_db for p in own], [p.map for p in own], marker="o", markersize=3, label=method)
        if method == "SQ CReLU":
            for p in own:
                axes.annotate(f"{p.value:g}", (p.s_db, p.map), fontsize=7, xytext=(2, 4), textcoords="offset points")
    axes.set_xscale("log")
    axes.set_xlabel("S_DB, share of the database accessed")
    axes.set_ylabel("mAP")
    axes.set_title(name)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    main()
