"""Does a stated confidence hold? The best ten hits of answered and of off-topic queries, by what was said of each.

A query of another collection has no right answer here: every hit of it is wrong. Collections in which each query has
one right document are judged completely; elsewhere a hit that nobody judged counts as wrong, though it may be right.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.base import Brief, Context, Made, Table
from zipfian.collection import Collection
from zipfian.collection.results import POOR, Results
from zipfian.errors import InvalidInput
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import load_beir, load_class_folders
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, take_half

ENGLISH = ("words", "latent", "dense")
OTHERS = ("words", "multilingual")
PICTURES = ("visual", "dense")

HITS = 10
QUERIES = 300
"""Queries of a collection at most; those whose id has the least sha1."""

OFF_TOPIC = 120
"""Queries taken from each of the other collections."""

BINS = 10


@dataclass(frozen=True)
class Asked:
    """A collection, the fields that search it, and where its off-topic queries come from."""

    name: str
    fields: tuple[str, ...]
    others: tuple[str, ...]
    chose: bool = False
    """Its even queries chose constants: only the odd ones are measured."""
    complete: bool = True
    """Each query has one right document, as good as always."""


COLLECTIONS = (
    Asked("scifact", ENGLISH, ("xquad-en", "cacm"), chose=True),
    Asked("cisi", ENGLISH, ("scifact", "xquad-en"), chose=True, complete=False),
    Asked("cacm", ENGLISH, ("scifact", "xquad-en"), chose=True, complete=False),
    Asked("xquad-en", ENGLISH, ("scifact", "liveqa-med"), chose=True),
    Asked("xquad-de", OTHERS, ("piaf-fr",), chose=True),
    Asked("xquad-zh", OTHERS, ("drcd",), chose=True),
    Asked("limit-small", ENGLISH, ("xquad-en",), chose=True, complete=False),
    Asked("caltech101", PICTURES, ("textures", "pets"), chose=True, complete=False),
    Asked("checkthat2020", ENGLISH, ("scifact", "cisi")),
    Asked("drcd", OTHERS, ("xquad-zh",)),
    Asked("piaf-fr", OTHERS, ("xquad-es",)),
    Asked("xquad-ar", OTHERS, ("piaf-fr",)),
    Asked("xquad-es", OTHERS, ("piaf-fr",)),
    Asked("xquad-th", OTHERS, ("piaf-fr",)),
    Asked("liveqa-med", ENGLISH, ("xquad-en", "cacm"), complete=False),
    Asked("nfcorpus", ENGLISH, ("xquad-en", "cacm"), complete=False),
    Asked("pets", PICTURES, ("caltech101", "textures"), complete=False),
    Asked("textures", PICTURES, ("caltech101", "pets"), complete=False),
)
"""Those that chose first. Where one is not complete, queries have several right answers."""

HELD_OUT = "held out, one right document each"


@dataclass(frozen=True)
class Seen:
    """Hits with what was said of them and what they were; and of each query the best that was said."""

    said: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]
    answered: npt.NDArray[np.float64]
    """Of queries with a right document among their hits: the best confidence."""
    off_topic: npt.NDArray[np.float64]

    def measured(self) -> dict[str, Any]:
        """How far what was said is off, how well answered and off-topic queries are told apart, and the curve."""
        at = np.minimum((self.said * BINS).astype(np.int64), BINS - 1)
        counts = np.bincount(at, minlength=BINS)
        filled = np.maximum(counts, 1)
        stated = np.bincount(at, self.said, BINS) / filled
        precision = np.bincount(at, self.right, BINS) / filled
        out: dict[str, Any] = {
            "answered": len(self.answered), "off-topic": len(self.off_topic), "hits": len(self.said),
            "right": float(self.right.mean()), "stated": float(self.said.mean()),
            "Brier": float(np.square(self.said - self.right).mean()),
            "ECE": float((counts * np.abs(stated - precision)).sum() / max(len(self.said), 1)),
            "AUC": above(self.answered, self.off_topic),
            "answered silent": float((self.answered < POOR).mean()) if len(self.answered) else None,
            "off-topic silent": float((self.off_topic < POOR).mean()) if len(self.off_topic) else None,
        }  # fmt: skip
        for i in range(BINS):
            there = bool(counts[i])
            out |= {
                f"n {i}": int(counts[i]),
                f"stated {i}": float(stated[i]) if there else None,
                f"right {i}": float(precision[i]) if there else None,
            }
        return out


def confidence(context: Context) -> Made:
    """Every collection that was given, by each field alone and by the hybrid."""
    given = [asked for asked in COLLECTIONS if asked.name in context.data]
    unknown = [name for name in context.data if name not in {asked.name for asked in COLLECTIONS}]
    if unknown:
        known = ", ".join(asked.name for asked in COLLECTIONS)
        raise InvalidInput(f"confidence is measured on collections it knows ({known}), not {', '.join(unknown)}")
    if not given:
        context.path(COLLECTIONS[0].name)
    loaded = {asked.name: load(asked, context.path(asked.name)) for asked in given}
    rows: list[dict[str, Any]] = []
    together: dict[str, list[Seen]] = {}
    for asked in given:
        own = few(take_half(loaded[asked.name], "odd" if asked.chose else "all").queries, QUERIES)
        foreign = [few(loaded[name].queries, OFF_TOPIC) for name in asked.others if name in loaded]
        with built(loaded[asked.name], asked.fields, context.work) as there:
            for method in (*asked.fields, "hybrid"):
                seen = look(there, asked, method, loaded[asked.name], own, list(chain(*foreign)))
                about = {"collection": asked.name, "chose": asked.chose, "complete": asked.complete, "method": method}
                rows.append({**about, **seen.measured()})
                if asked.complete and not asked.chose:
                    together.setdefault(method, []).append(seen)
    for method, parts in together.items():
        about = {"collection": HELD_OUT, "chose": False, "complete": True, "method": method}
        rows.append({**about, **joined(parts).measured()})
    shown = list(rows[0])[: list(rows[0]).index("n 0")]
    brief = Brief(shown, rows, "without the curves")
    notes = (
        f"the best {HITS} hits of each query; right: the share of them that is; stated: their mean confidence; Brier: "
        f"mean squared difference; ECE: mean difference of stated and right in {BINS} bins of equal width; AUC: how "
        "often an answered query's best hit is above an off-topic query's",
        f"silent: queries whose best hit is below {POOR:g}, so that nothing good was found",
        "chose: constants come from the even queries of these, and only the odd ones are measured. complete: each "
        "query has one right document; elsewhere hits that nobody judged count as wrong",
    )
    return Made("confidence", "Stated confidence and measured precision", list(rows[0]), rows, notes, brief=brief)


def load(asked: Asked, path: Path) -> Dataset:
    """Texts in the format of BEIR, pictures in folders of classes."""
    return load_class_folders(path) if asked.fields == PICTURES else load_beir(path)


def few(queries: Mapping[str, JudgedQuery], most: int) -> list[JudgedQuery]:
    """Some of the queries, always the same ones."""
    order = sorted(queries, key=lambda key: hashlib.sha1(key.encode(), usedforsecurity=False).digest())
    return [queries[key] for key in order[:most]]


def look(
    there: Collection, asked: Asked, method: str, dataset: Dataset, own: Sequence[JudgedQuery],
    foreign: Sequence[JudgedQuery],
) -> Seen:  # fmt: skip
    """What is said of the hits of answered and off-topic queries."""
    how: dict[str, Any] = {"fields": method} if method in asked.fields else {}
    said: list[float] = []
    right: list[bool] = []
    best: dict[bool, list[float]] = {True: [], False: []}
    for queries, on_topic in ((own, True), (foreign, False)):
        for query, found in zip(queries, answers(there, queries, how), strict=True):
            judged = dataset.qrels[query.id] if on_topic else {}
            ignored = dataset.ignore.get(query.id, frozenset()) if on_topic else frozenset()
            hits = [hit for hit in found if hit.id not in ignored]
            good = [judged.get(hit.id, 0) > 0 for hit in hits]
            said += [hit.confidence for hit in hits]
            right += good
            if any(good) or not on_topic:
                best[on_topic].append(max((hit.confidence for hit in hits), default=0.0))
    return Seen(np.array(said), np.array(right, np.bool_), np.array(best[True]), np.array(best[False]))


def answers(there: Collection, queries: Sequence[JudgedQuery], how: Mapping[str, Any]) -> list[Results]:
    """One search for each query."""
    if not queries:
        return []
    pictures = [os.fspath(query.image.path) for query in queries if query.image is not None]
    if pictures:
        return there.search_many(images=pictures, k=HITS, **how)
    return there.search_many([query.text for query in queries], k=HITS, **how)


def above(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float | None:
    """How often a number of the first is above one of the second; a tie counts half."""
    if not len(first) or not len(second):
        return None
    difference = first[:, None] - second[None, :]
    return float((difference > 0).mean() + (difference == 0).mean() / 2)


def joined(parts: Sequence[Seen]) -> Seen:
    """Several collections as one: every hit counts the same."""
    names = ("said", "right", "answered", "off_topic")
    return Seen(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def page(rows: Sequence[Mapping[str, Any]]) -> str:
    """The tables of docs/confidence.md: the curve where nothing was chosen, and a line for each search."""
    held = {row["method"]: row for row in rows if row["collection"] == HELD_OUT}
    out = ["| stated | hits, words | stated | right | hits, hybrid | stated | right |", "|---|" + "---:|" * 6]
    for i in range(BINS):
        cells = [f"{i / BINS:.1f} to {(i + 1) / BINS:.1f}"]
        for method in ("words", "hybrid"):
            row = held[method]
            cells += [f"{row[f'n {i}']:,}", shown(row[f"stated {i}"]), shown(row[f"right {i}"])]
        out.append(f"| {' | '.join(cells)} |")
    measures = ("right", "stated", "Brier", "ECE", "AUC", "answered silent", "off-topic silent")
    out += ["", f"| collection | method | queries | off-topic | {' | '.join(measures)} |", "|---|---|" + "---:|" * 9]
    for row in rows:
        name = row["collection"] + " (chose)" * row["chose"]
        cells = [name, row["method"], str(row["answered"]), str(row["off-topic"]), *(shown(row[m]) for m in measures)]
        out.append(f"| {' | '.join(cells)} |")
    return "\n".join(out)


def shown(value: float | None) -> str:
    """Three digits; nothing where nothing was measured."""
    return "" if value is None else f"{value:.3f}".removeprefix("0")


_DATA = tuple(asked.name for asked in COLLECTIONS)
TABLES = (Table("confidence", "stated confidence against measured precision, off-topic queries", _DATA, confidence),)
