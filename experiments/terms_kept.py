"""How many latent terms are worth their postings? Of a token, of a passage, and with which formula.

More terms are more to read, and on some collections better. Even queries of four collections choose, by the hybrid,
which is what `search` does; the odd ones and collections that had no part in any choice say what the choice is worth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from experiments.base import Brief, Context, Made, Row, Table
from experiments.fresh import fresh
from experiments.quality import CHOSE
from zipfian.evaluate.compare import Options, run_all
from zipfian.evaluate.datasets import load_beir, take_half
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import Method
from zipfian.evaluate.runner import MethodResult
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.fields import Dense, Field, Latent, Words
from zipfian.retrieve.scoring import BM25

MEASURE = "ndcg@10"
DEPTH = 100
METHODS = ("latent", "hybrid")
FORMULAS = {"k1=4, power .65": None, "k1=8, roots": BM25(k1=8.0, b=0.7, phi="sqrt")}


@dataclass(frozen=True)
class Kept:
    """A setting of a latent field."""

    k: int
    """Terms of a token."""
    k_post: int | None
    """Terms of a passage; all where None."""
    formula: str

    @property
    def name(self) -> str:
        """For people."""
        return f"{self.k} of a token, {self.k_post or 'all'} of a passage, {self.formula}"

    def field(self) -> Latent:
        """The field."""
        return Latent(k=self.k, k_post=self.k_post, scoring=FORMULAS[self.formula])


SETTINGS = tuple(
    Kept(k, k_post, formula)
    for k, k_post in ((3, 250), (3, None), (5, 400), (8, 250), (8, 500), (8, None), (16, 500), (16, None))
    for formula in FORMULAS
)
DEFAULT = SETTINGS[0]


def trial(dataset: Dataset, halves: Sequence[str]) -> dict[Kept, dict[str, Any]]:
    """Each setting, alone and in the hybrid, on these halves; and what a document and a query cost."""
    fields: dict[str, Field] = {"words": Words(), "dense": Dense("text")}
    names = {kept: f"latent-{number}" for number, kept in enumerate(SETTINGS)}
    fields |= {name: kept.field() for kept, name in names.items()}
    out: dict[Kept, dict[str, Any]] = {}
    with fresh(dataset, fields) as collection:
        stats = collection.stats()["fields"]
        for kept, name in names.items():
            methods = [
                Method("latent", "", {"text": (name,)}, {"fields": name}, single=True),
                Method("hybrid", "", {"text": ("words", name, "dense")},
                       {"method": "hybrid", "fields": ["words", name, "dense"]}),
            ]  # fmt: skip
            out[kept] = {"postings": stats[name]["postings"] / dataset.n_docs}
            for half in halves:
                part = take_half(dataset, half)  # type: ignore[arg-type]
                out[kept][half] = run_all(collection, methods, part, (MEASURE,), DEPTH, Options(timed=False))
    return out


def terms_kept(context: Context) -> Made:
    """All settings on all collections; the one that the even queries choose, tested against the default elsewhere."""
    if not context.data:
        context.path("scifact")
    rows: list[dict[str, Any]] = []
    elsewhere: dict[tuple[str, Kept], dict[str, MethodResult]] = {}
    for name, path in context.data.items():
        halves = ("even", "odd") if name in CHOSE else ("all",)
        for kept, found in trial(load_beir(path), halves).items():
            row = {
                "dataset": name, "of a token": kept.k, "of a passage": kept.k_post or "all", "formula": kept.formula,
                "postings": found["postings"],
            }  # fmt: skip
            for half in halves:
                row |= {f"{method}, {half}": found[half][method].values[MEASURE] for method in METHODS}
            rows.append(row)
            elsewhere[name, kept] = found[halves[-1]]
    means = _means(rows)
    best = max(means, key=lambda row: row["hybrid, even"]) if means else None
    chosen = DEFAULT if best is None else SETTINGS[means.index(best)]
    notes = [
        "nDCG@10; postings: of a document. Even queries choose by the hybrid; odd ones, and all queries of collections "
        "that had no part in any choice, are what it is worth",
        f"chosen: {chosen.name}; the default is {DEFAULT.name}",
        *_tested(list(context.data), elsewhere, chosen),
    ]
    columns = list(dict.fromkeys(key for row in [*rows, *means] for key in row))
    what = "means over the collections that choose (even and odd queries) and over those that had no part (all queries)"
    brief = Brief(columns[1:], means, what) if means else None
    title = "How many latent terms are worth their postings"
    return Made("terms-kept", title, columns, [*rows, *means], notes, brief=brief)


def _means(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Of every setting: over the collections that choose, and over those that had no part."""
    out = []
    for at in range(len(SETTINGS)):
        mine = rows[at :: len(SETTINGS)]
        keys = [f"{method}, {half}" for half in ("even", "odd", "all") for method in METHODS]
        values = {key: [row[key] for row in mine if key in row] for key in ("postings", *keys)}
        same = {key: mine[0][key] for key in ("of a token", "of a passage", "formula")} if mine else {}
        means = {key: fmean(found) for key, found in values.items() if found}
        if "hybrid, even" in means:
            out.append({"dataset": "mean", **same, **means})
    return out


def _tested(names: Sequence[str], found: dict[tuple[str, Kept], dict[str, MethodResult]], chosen: Kept) -> list[str]:
    """What the choice gains where it was not made, in words."""
    if chosen == DEFAULT:
        return []
    tests: dict[tuple[str, str], Comparison] = {}
    for name in names:
        for method in METHODS:
            before, after = (found[name, kept][method].per_query[MEASURE] for kept in (DEFAULT, chosen))
            tests[method, name] = paired(before, after)
    corrected = dict(zip(tests, holm([test.p for test in tests.values()]), strict=True))
    out = []
    for method in METHODS:
        parts = (f"{n} {tests[method, n].difference:+.4f} (p {corrected[method, n]:.3f})" for n in names)
        out.append(f"{method}, chosen against the default where it was not chosen: {', '.join(parts)}; Holm over all")
    return out


TABLES = (
    Table(
        "terms-kept", "latent terms of a token and of a passage: what more of them bring and cost",
        ("scifact", "cisi", "cacm", "xquad-en", "nfcorpus", "..."), terms_kept,
    ),
)  # fmt: skip
