"""More like this photo of mine: a stored picture asked for the others, by each field, in two stages, and by both added.

The weight of visual words beside the dense vector is chosen here, on the even halves: of all weights of the grid, the
least at which no figure of any kind is below that of the better field. R@1 alone cannot choose: its differences are
within its standard error of .004 to .009. Average precision looks at every picture of a class, and can.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.base import Context, Made, Table
from experiments.kinds import F32, NOW, RERANKED, Kind, bags, load_kind, scored
from zipfian.evaluate.significance import holm, paired
from zipfian.fields import Dense, Visual

MEASURES = ("R@1", "P@10", "mAP")
HALVES = ("even", "odd")
FIELDS = ("visual", "dense")
WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0)
"""Of visual words, where the dense vector has 1."""
FIRST = 10
WORST = "of the better field, worst kind"

F64 = npt.NDArray[np.float64]


def chosen() -> float:
    """The weight that `search` gives visual words, where the dense vector has 1."""
    return Visual().weight / Dense("image").weight


def way(weight: float) -> str:
    """What a row of a weight is called."""
    return f"added, weight {weight:g}" + (" (search)" if abs(weight - chosen()) < 1e-9 else "")


def measured(kind: Kind, scores: F32) -> F64:
    """(measures, pictures): of each picture, without itself and its copies."""
    out = np.zeros((len(MEASURES), len(scores)))
    for row, (found, own) in enumerate(zip(scores, kind.own, strict=True)):
        order = np.argsort(-found, kind="stable")
        right = (kind.classes[order] == kind.classes[row])[~own[order]]
        precision = np.cumsum(right) / np.arange(1, len(right) + 1)
        out[:, row] = right[0], right[:FIRST].sum() / FIRST, precision[right].mean() if right.any() else 0.0
    return out


def ways(kind: Kind, seen: F32, cosines: F32) -> Iterator[tuple[str, F32]]:
    """Scores of all pictures for each, by way; `seen` are those of visual words."""
    yield "visual", seen
    yield "dense", cosines
    others = np.where(kind.own, -np.inf, seen)
    last = -np.partition(-others, min(RERANKED, others.shape[1]) - 1, axis=1)[:, min(RERANKED, others.shape[1]) - 1]
    yield "two-stage", np.where(others >= last[:, None], cosines, cosines - 3.0).astype(np.float32)
    visual, dense = kind.standard(seen), kind.standard(cosines)
    for weight in WEIGHTS:
        yield way(weight), weight * visual + dense


def more_like_this(context: Context) -> Made:
    """R@1, P@10 and mAP of pictures like a stored one, by kind of pictures and way."""
    sets = context.others()
    if not sets:
        context.path("pets")
    rows: list[dict[str, Any]] = []
    tests: list[tuple[dict[str, Any], str, float]] = []
    for name, folder in sets.items():
        kind = load_kind(name, folder)
        halves = {"even": kind.even, "odd": ~kind.even}
        cosines = np.asarray(kind.vectors @ kind.vectors.T)
        found = {
            label: measured(kind, scores)
            for label, scores in ways(kind, scored(bags(kind, NOW, Visual().n_terms), NOW.scoring), cosines)
        }
        for label, values in found.items():
            row: dict[str, Any] = {"kind": name, "way": label}
            for i, measure in enumerate(MEASURES):
                row |= {f"{measure} {half}": float(values[i, there].mean()) for half, there in halves.items()}
            rows.append(row)
        own = next(row for row in rows if row["kind"] == name and row["way"] == way(chosen()))
        for i, measure in enumerate(MEASURES):
            best = max(FIELDS, key=lambda field, i=i: float(found[field][i, halves["odd"]].mean()))  # type: ignore[misc]
            test = paired(found[best][i, halves["odd"]].tolist(), found[own["way"]][i, halves["odd"]].tolist())
            tests.append((own, measure, test.p))
    for (row, measure, _), p in zip(tests, holm([p for _, _, p in tests]), strict=True):
        row[f"{measure} Holm p"] = p
    rows += worst(rows)
    columns = list(dict.fromkeys(column for row in rows for column in row))
    notes = (
        "every picture asked for the others of its class; added: z-scores of visual words, with the weight said, and "
        f"of the dense vector; two-stage: the first {RERANKED} of visual words by cosine. accuracy-first and balanced, "
        "which search takes unasked, are one and the same for pictures",
        f"even halves (sha1 of the file name) chose the weight, odd ones report; rows `{WORST}` "
        "have the least share of the better of the two fields over the kinds, figure by figure",
        "Holm p: search against the better field on the odd half, paired t-test, corrected over all of the table",
    )
    return Made("more-like-this", "More like this picture", columns, rows, notes)


def worst(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """For each way and figure the least share of the better field over the kinds."""
    at = {(row["kind"], row["way"]): row for row in rows}
    kinds, labels = (list(dict.fromkeys(pair[i] for pair in at)) for i in range(2))

    def share(kind: str, label: str, figure: str) -> float:
        best: float = max(at[kind, field][figure] for field in FIELDS)
        return float(at[kind, label][figure]) / best

    figures = [f"{measure} {half}" for measure in MEASURES for half in HALVES]
    return [
        {"kind": WORST, "way": label, **{one: min(share(kind, label, one) for kind in kinds) for one in figures}}
        for label in labels
    ]


TABLES = (
    Table("more-like-this", "pictures like a stored one, by kind and way", ("pets", "textures", "..."), more_like_this),
)
