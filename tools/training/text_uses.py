"""Every way to use a text vocabulary, measured and shown as lines of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch

from training.codes import by_item, codes_of
from training.ranking import Scoring, even, halves, impacts, ndcg, postings, ranking, recall, stored
from training.text_encoder import Collection
from training.text_statistics import Tables
from zipfian.train.sae import TrainResult
from zipfian.train.source import MemorySource

K_MAX = 16
JOINED: dict[str, tuple[tuple[int, float], ...]] = {
    "l1": ((-1, 1.0),),
    "l2": ((-2, 1.0),),
    "cat": ((-2, 0.5), (-1, 1.0)),
}
"""Layers side by side, with their factors."""
PLAIN = str(Scoring()[:3])
"""The scoring that every variant is measured with."""
POSTINGS_LIMIT = 370.0
"""Of a document of SciFact, on average."""

DOCUMENT_VARIANTS: tuple[tuple[int, int | None], ...] = (
    (16, None), (8, None), (6, None), (5, None), (4, None), (3, None), (2, None),
    (6, 370), (5, 370), (4, 370), (4, 300), (3, 250), (4, 200), (3, 200),
)  # fmt: skip
"""Terms kept of a piece, and of a document."""
GRID = tuple(
    Scoring(k1, b, power)
    for power in (0.5, 0.65, 0.8)
    for k1, b in ((2.0, 0.7), (4.0, 0.7), (8.0, 0.7), (16.0, 0.7), (4.0, 0.5), (8.0, 0.5))
)


class Test(NamedTuple):
    """A collection with its hidden states by layer."""

    collection: Collection
    documents: dict[int, torch.Tensor]
    queries: dict[int, torch.Tensor]


def joined(states: dict[int, torch.Tensor], layers: str) -> MemorySource:
    """The hidden states that a plan's layers mean."""
    chosen = JOINED[layers]
    return MemorySource(*(states[layer] for layer, _ in chosen), factors=[factor for _, factor in chosen])


def measure(queries: torch.Tensor, weights: torch.Tensor, collection: Collection, scoring: Scoring) -> dict[str, Any]:
    """nDCG@10 over all queries and over both halves."""
    ranked = ranking(scoring.asked(queries) @ weights.T)
    out: dict[str, Any] = {**halves(ndcg(ranked, collection.relevant), even(collection.query_ids))}
    if collection.name.startswith("limit"):
        out["r10"], out["r20"] = (recall(ranked, collection.relevant, depth) for depth in (10, 20))
    return out


def table_queries(table: tuple[torch.Tensor, torch.Tensor], collection: Collection, width: int) -> torch.Tensor:
    """Queries from the table of word pieces alone: rows of their pieces, summed."""
    terms, values = table
    pieces = torch.from_numpy(collection.queries.ids.astype(np.int64)).to(terms.device)
    return by_item((values[pieces], terms[pieces]), collection.queries.indptr).pooled(terms.shape[1], width)


class Uses:
    """Rows of a report: one for every way to make documents and queries, with the scores of every collection."""

    def __init__(self) -> None:
        self.found: dict[tuple[str, str, str], dict[str, Any]] = {}

    def measure(
        self, way: str, documents: torch.Tensor, asked: Mapping[str, torch.Tensor], test: Test, scoring: Scoring
    ) -> None:
        """One way to make documents with several to make queries, on one collection."""
        collection = test.collection
        weights, size, formula = impacts(documents, scoring), postings(documents), str(scoring[:3])
        for name, queries in asked.items():
            empty = {"documents": way, "queries": name, "scoring": formula, "by": {}}
            row = self.found.setdefault((way, name, formula), empty)
            row["by"][collection.name] = {**measure(queries, weights, collection, scoring), "postings": size}

    def rows(self, name: str) -> list[dict[str, Any]]:
        """Averaged over the collections."""
        for row in self.found.values():
            row["name"] = name
            for half in ("all", "even", "odd", "postings"):
                row[half] = float(np.mean([scores[half] for scores in row["by"].values()]))
            row["scifact_postings"] = row["by"].get("scifact", row)["postings"]
        return list(self.found.values())


def evaluate(
    result: TrainResult, name: str, layers: str, tests: list[Test], tables: Tables | None, *, grid: bool
) -> list[dict[str, Any]]:
    """Every variant of documents x queries, averaged over the collections."""
    width = result.settings.width
    uses = Uses()
    for test in tests:
        collection = test.collection
        documents, queries = (
            by_item(codes_of(result, joined(states, layers), min(K_MAX, width)), pieces.indptr)
            for states, pieces in ((test.documents, collection.documents), (test.queries, collection.queries))
        )
        asked = {k: queries.pooled(k, width) for k in {k for k, _ in DOCUMENT_VARIANTS}}
        by_table = {
            f"{table}r{size}": table_queries((terms[:, :size], values[:, :size]), collection, width)
            for table, (terms, values) in (tables.rows.items() if tables is not None else ())
            for size in (8, 16)
        }
        for k, k_post in DOCUMENT_VARIANTS:
            kept = stored(documents.pooled(k, width), k_post)
            usual = {f"k{q}": asked[q] for q in sorted({k, 8, 16})} | by_table
            uses.measure(variant(k, k_post), kept, usual, test, Scoring())
            if grid and k in (16, 8, 6, 5, 4, 3):
                chosen = {f"k{k}": asked[k], "k8": asked[8], "k4": asked[4]}
                chosen |= {t: q for t, q in by_table.items() if t in ("text4r8", "text4r16", "both16r16")}
                for scoring in GRID:
                    uses.measure(variant(k, k_post), kept, chosen, test, scoring)
    return uses.rows(name)


def variant(k: int, k_post: int | None) -> str:
    """How documents are made, as a name."""
    return f"k{k}" + (f"p{k_post}" if k_post else "")


def table_line(row: dict[str, Any]) -> str:
    by = " ".join(f"{name[:7]} {s['all']:.4f}" for name, s in row["by"].items())
    return (
        f"{row['name']:<16} {row['documents']:<7} {row['queries']:<10} {row['scoring']:<16} "
        f"{row['scifact_postings']:6.0f}p even {row['even']:.4f} odd {row['odd']:.4f} all {row['all']:.4f} | {by}"
    )


def show(rows: list[dict[str, Any]], say: Callable[[str], None]) -> None:
    """The lines that matter of one vocabulary: encoder queries with k as documents, and the best table."""
    usual = [row for row in rows if row["scoring"] == PLAIN]
    for k, k_post in DOCUMENT_VARIANTS:
        of = [row for row in usual if row["documents"] == variant(k, k_post)]
        for table in (False, True):
            for row in best_even([row for row in of if by_table(row) == table], 1):
                say(table_line(row))
    tuned = [row for row in rows if row["scoring"] != PLAIN]
    small = [row for row in tuned if row["scifact_postings"] <= POSTINGS_LIMIT]
    for pile in (tuned, small, [row for row in small if by_table(row)]):
        for row in best_even(pile, 2):
            say("tuned: " + table_line(row))


def by_table(row: dict[str, Any]) -> bool:
    """Whether its queries come from a table instead of the encoder."""
    return "r" in row["queries"]


def best_even(rows: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The best on the queries that choose."""
    return sorted(rows, key=lambda row: -row["even"])[:count]
