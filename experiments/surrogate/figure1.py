"""Surrogate text, figure 1: mAP against the share of the database a query touches, with sets at hand.

Pets: relevant = of the same breed, from pooled vectors and from R-MAC. Pictures with captions: relevant = the ten
nearest by brute force, from pooled vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.base import Context, Made, Row, Table
from experiments.plots import Plot
from experiments.surrogate import curve
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.encode.image import ImageEncoder
from zipfian.encode.rmac import Rmac
from zipfian.evaluate.datasets import load_captions, load_class_folders
from zipfian.fields.reader import unit
from zipfian.types import Encoded, FloatArray

NEAREST = 10
TRAINING = 3_000
"""Pictures of the training split among the documents, in the order of the captions file."""
SCALE = 200.0
PARTS = 64
"""Of IVF-PQ: one byte each."""
SHOWN = (18.0, 22.0, 26.0, 30.0, 40.0, 60.0, 100.0)

Make = Callable[[Encoded], FloatArray]
POOLED: tuple[str, Make] = ("pooled", lambda encoded: encoded.pooled)
RMAC: tuple[str, Make] = ("rmac-2", Rmac())


def figure1(context: Context) -> Made:
    """The curves of every set given."""
    encoder, cache = ImageEncoder(), EncodingCache()

    def vectors(paths: Sequence[Path], form: tuple[str, Make]) -> FloatArray:
        return np.stack(list(_vectors(encoder, cache, paths, form)))

    pets = load_class_folders(context.path("pets"))
    gallery = {item["id"]: item["image"] for item in pets.documents()}
    at = {doc: i for i, doc in enumerate(gallery)}
    asked = {query: found.image.path for query, found in pets.queries.items() if found.image is not None}
    relevant = np.zeros((len(asked), len(gallery)), np.bool_)
    for row, query in zip(relevant, asked, strict=True):
        row[[at[doc] for doc in pets.qrels[query]]] = True
    ignored = tuple(frozenset(at[d] for d in pets.ignore.get(q, ())) for q in asked)
    names = [path.name for path in asked.values()]
    photos = [load_captions(context.path("captions"), context.path("images"), split) for split in ("dev", "train")]
    shown = [p.path for p in (*photos[0].pictures, *photos[1].pictures[:TRAINING])]
    tested = load_captions(context.path("captions"), context.path("images"), "test").pictures
    sets: dict[str, tuple[curve.Sets, FloatArray]] = {}
    for label, form in (("Pets, pooled", POOLED), ("Pets, R-MAC", RMAC)):
        documents, queries = (vectors(list(paths.values()), form) for paths in (gallery, asked))
        sets[label] = (curve.Sets(documents, queries, relevant, names, ignored), vectors(shown, form))
    own, other = sets["Pets, pooled"][1], sets["Pets, pooled"][0].documents
    tests = vectors([p.path for p in tested], POOLED)
    near = curve.nearest(own, tests, NEAREST)
    sets["Flickr8k, pooled"] = (curve.Sets(own, tests, near, [p.path.name for p in tested]), other)
    rows: list[Row] = []
    plots: dict[str, Plot] = {}
    for label, (one, elsewhere) in sets.items():
        points = list(_points(one, elsewhere))
        rows += [_row(label, point) for point in points if point.knob != "gamma" or point.value in SHOWN]
        plots[f"surrogate-figure1-{_slug(label)}"] = _plot(label, one, points)
    sizes = "; ".join(
        f"{label}: {len(one.documents):,} documents, {len(one.queries):,} queries" for label, (one, _) in sets.items()
    )
    return Made(
        "surrogate-figure1",
        "Surrogate text, figure 1: mAP against S_DB",
        ("data", "method", "setting", "postings", "S_DB", "mAP", "mAP even", "mAP odd", "mAP by steps"),
        rows,
        (
            sizes + ".",
            "S_DB: posting entries read / (N x D) for inverted files, vectors read / N for IVF-PQ, 1 for a scan. "
            f"s = {SCALE:g}; R a seeded rotation, mu the documents' mean, nothing else is learnt.",
            "mAP: area under the precision-recall curve, as published; by steps: average precision as `zipfian eval` "
            "has it, a little higher.",
            "CReLU is taken of the rotated vector, [w, -w] of w = R(v - mu); the paper's text has it before rotation.",
            "IVF-PQ (64 lists, 64 bytes a vector) is trained on the documents, IVF-PQ* on those of the other "
            "set; both have fewer training vectors than the 9,984 that FAISS asks for.",
            "'BM25' scores the same postings by BM25 (k1 1.5 mean frequencies, b 0.75) instead of the dot product.",
            "Pets: relevant = same breed. Flickr8k: relevant = the ten nearest by brute force.",
            "Halves by sha1 of the query's file name.",
        ),
        (
            "Holidays and Oxford, the published sets, and ResNet-101 R-MAC of 2,048 components: neither the pictures "
            "nor the weights are at hand. Here: EfficientNet-Lite2, 1,280 components.",
        ),
        plots,
        {"gammas": list(curve.GAMMAS), "nprobes": list(curve.NPROBES), "scale": SCALE, "nearest": NEAREST},
    )  # fmt: skip


def _vectors(
    encoder: ImageEncoder, cache: EncodingCache, paths: Sequence[Path], form: tuple[str, Make]
) -> Iterator[FloatArray]:
    """Descriptors of pictures, of length 1; from the encode cache where they are there."""
    name, make = form
    key = f"{encoder.fingerprint}\n{name}"
    for path in paths:
        content = content_hash(path, "image")
        found = cache.get(key, content)
        if found is None:
            found = {name: make(encoder.encode_documents([path])[0])}
            cache.put(key, content, found)
        yield unit(found[name])


def _points(sets: curve.Sets, elsewhere: FloatArray) -> Iterator[curve.Point]:
    yield curve.brute_force(sets)
    yield from curve.scalar_points(sets, scale=SCALE)
    yield from curve.scalar_points(sets, scale=SCALE, crelu=False)
    yield from curve.scalar_points(sets, scale=SCALE, scoring="bm25")
    parts = PARTS if sets.documents.shape[1] % PARTS == 0 else 1
    yield from curve.ivfpq_points(sets, sets.documents, name="IVF-PQ", parts=parts)
    yield from curve.ivfpq_points(sets, elsewhere, name="IVF-PQ*", parts=parts)


def _row(label: str, point: curve.Point) -> dict[str, Any]:
    return {
        "data": label,
        "method": point.method,
        "setting": f"{point.knob} {point.value:g}" if point.knob else "",
        "postings": point.postings or None,
        "S_DB": point.s_db,
        "mAP": point.map,
        "mAP even": point.map_even,
        "mAP odd": point.map_odd,
        "mAP by steps": point.map_steps,
    }


def _plot(label: str, sets: curve.Sets, points: Sequence[curve.Point]) -> Plot:
    series: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        series.setdefault(point.method, []).append((point.s_db, point.map))
    least = min(point.s_db for point in points if point.s_db > 0.0)
    series["brute force"] = [(least, points[0].map), *series["brute force"]]  # a level line to compare with
    title = f"{label}: {len(sets.documents):,} documents, {len(sets.queries):,} queries"
    return Plot(title, "S_DB, share of the database accessed", "mAP", series, log_x=True)


def _slug(label: str) -> str:
    return label.lower().replace(", ", "-")


TABLES = (
    Table("surrogate-figure1", "mAP against S_DB: scalar quantisation, IVF-PQ, brute force",
          ("pets", "captions", "images"), figure1),
)  # fmt: skip
