"""Part of train_text_vocabulary.py: every way to use a vocabulary, measured and shown as lines of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from train_text_codes import Item, Tables, Test, codes_of, joined
from train_text_eval import K_MAX, Codes, Scoring, impacts, item_of, measure, pool, stored, table_queries

from zipfian.train.sae import TrainResult

DOCUMENT_VARIANTS: tuple[tuple[int, int | None], ...] = (
    (16, None), (8, None), (6, None), (5, None), (4, None), (3, None), (2, None),
    (6, 370), (5, 370), (4, 370), (4, 300), (3, 250), (4, 200), (3, 200),
)  # fmt: skip


def evaluate(
    result: TrainResult, item: Item, tests: list[Test], tables: Tables | None, *, grid: bool
) -> list[dict[str, Any]]:
    """Every variant of documents x queries, averaged over the collections."""
    width = item.settings.width
    found: dict[tuple[str, ...], dict[str, Any]] = {}

    def note(key: tuple[str, ...], name: str, postings: float, scores: dict[str, Any]) -> None:
        row = found.setdefault(key, {"documents": key[0], "queries": key[1], "scoring": key[2], "by": {}})
        row["by"][name] = {**scores, "postings": postings}

    for test in tests:
        collection, device = test.collection, result.sae.device
        sides = []
        for states, pieces in ((test.documents, collection.documents), (test.queries, collection.queries)):
            values, terms = codes_of(result, joined(states, item.layers), min(K_MAX, width))
            sides.append(Codes(values, terms.long(), item_of(pieces.indptr, device), len(pieces.indptr) - 1))
        asked = {k: pool(sides[1], k, width) for k in {k for k, _ in DOCUMENT_VARIANTS}}
        by_table = {}
        if tables is not None:
            for name, (terms, values) in tables.rows.items():
                for size in (8, 16):
                    row = (terms[:, :size], values[:, :size])
                    by_table[f"{name}r{size}"] = table_queries(row, collection, width)
        for k, k_post in DOCUMENT_VARIANTS:
            documents = stored(pool(sides[0], k, width), k_post)
            postings = float((documents > 0).sum()) / len(documents)
            weights = impacts(documents, Scoring())
            name = f"k{k}" + (f"p{k_post}" if k_post else "")
            plain = str(tuple(Scoring()))
            for k_query in sorted({k, 8, 16}):
                note((name, f"k{k_query}", plain), collection.name, postings,
                     measure(asked[k_query], weights, collection, Scoring()))  # fmt: skip
            for table, queries in by_table.items():
                note((name, table, plain), collection.name, postings,
                     measure(queries, weights, collection, Scoring()))  # fmt: skip
            if grid and k in (16, 8, 6, 5, 4, 3):
                for power in (0.5, 0.65, 0.8):
                    for k1, b in ((2.0, 0.7), (4.0, 0.7), (8.0, 0.7), (16.0, 0.7), (4.0, 0.5), (8.0, 0.5)):
                        scoring = Scoring(k1, b, power)
                        weights = impacts(documents, scoring)
                        chosen = {f"k{k}": asked[k], "k8": asked[8], "k4": asked[4]}
                        chosen |= {t: q for t, q in by_table.items() if t in ("text4r8", "text4r16", "both16r16")}
                        for asking, queries in chosen.items():
                            note((name, asking, str(tuple(scoring))), collection.name, postings,
                                 measure(queries, weights, collection, scoring))  # fmt: skip
    for row in found.values():
        row["name"] = item.name
        for half in ("all", "even", "odd", "postings"):
            row[half] = float(np.mean([scores[half] for scores in row["by"].values()]))
        most = row["by"].get("scifact", {"postings": row["postings"]})
        row["scifact_postings"] = most["postings"]
    return list(found.values())


def table_line(row: dict[str, Any]) -> str:
    by = " ".join(f"{name[:7]} {s['all']:.4f}" for name, s in row["by"].items())
    return (
        f"{row['name']:<16} {row['documents']:<7} {row['queries']:<10} {row['scoring']:<16} "
        f"{row['scifact_postings']:6.0f}p even {row['even']:.4f} odd {row['odd']:.4f} all {row['all']:.4f} | {by}"
    )


def show(rows: list[dict[str, Any]], say: Callable[[str], None]) -> None:
    """The lines that matter of one vocabulary: encoder queries with k as documents, and the best table."""
    plain = str(tuple(Scoring()))
    usual = [row for row in rows if row["scoring"] == plain]
    for k, k_post in DOCUMENT_VARIANTS:
        name = f"k{k}" + (f"p{k_post}" if k_post else "")
        of = [row for row in usual if row["documents"] == name]
        best = [max((r for r in of if ("r" in r["queries"]) == table), key=lambda r: r["even"], default=None)
                for table in (False, True)]  # fmt: skip
        for row in best:
            if row is not None:
                say(table_line(row))
    tuned = [row for row in rows if row["scoring"] != plain]
    small = [row for row in tuned if row["scifact_postings"] <= 370]
    for pile in (tuned, small, [row for row in small if "r" in row["queries"]]):
        for row in sorted(pile, key=lambda r: -r["even"])[:2]:
            say("tuned: " + table_line(row))
