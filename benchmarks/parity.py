"""The same documents and queries in a folder and in a real three-node cluster: how far the answers agree, and why not.

    python -m benchmarks.parity --scifact DIR --pets DIR [--out parity.json]

SciFact through `Words` and `Latent`, Pets through `Visual`, all documents and queries, each field as
it is by
default and once more with b = 0. What remains is put down to its causes: scores are computed once more by hand from the
folder's postings, first with term frequencies rounded as they are sent, then with document lengths cut to one byte as
Lucene cuts them. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.cluster.server import Cluster
from tests.cluster.smallfloat import rounded
from zipfian import BM25, Collection
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.engines import opensearch
from zipfian.engines.opensearch.verify import agreement
from zipfian.evaluate import measures
from zipfian.evaluate.datasets import Dataset, load_beir, load_class_folders
from zipfian.fields import Field, Latent, PostingField, Visual, Words
from zipfian.fields.query import Query, encode_together
from zipfian.index.phi import apply_phi

K = 10
TOGETHER = 64
"""Queries encoded at once."""
EXPLAINED = 200
"""Queries whose scores are computed by hand."""


def flat(field: PostingField) -> PostingField:
    """The field without length normalisation."""
    if not isinstance(field.scoring, BM25):
        raise ValueError("only BM25 has a b")
    return field.with_scoring(replace(field.scoring, b=0.0))


def run(
    dataset: Dataset, fields: dict[str, PostingField], measure: str, address: str, most: int | None
) -> Iterator[dict[str, Any]]:
    """One row for each field, and one for it with b = 0."""
    every = {**fields, **{f"{name}-flat": flat(field) for name, field in fields.items()}}
    folder = Path(tempfile.mkdtemp(prefix="zipfian-parity-"))
    try:
        with (
            Collection.create(folder / "c.zf", every) as own,
            opensearch.create(address, every, shards=3, replicas=1) as big,
        ):
            own.add(dataset.documents())
            own.commit()
            began = time.perf_counter()
            big.copy_from(folder / "c.zf")
            big.commit()
            copied = time.perf_counter() - began
            losses = {name: field["mean_relative_error"] for name, field in big.stats()["fields"].items()}
            asked = list(dataset.queries.items())[:most]
            answers: dict[str, list[Any]] = {name: [] for name in every}
            for query, question in questions(asked, list(fields.values())):
                out = dataset.ignore.get(query, frozenset())
                for name in every:
                    found = [side.search(question, k=K + len(out), fields=name) for side in (own, big)]
                    answers[name].append((question, [listed(hits, out) for hits in found]))
            for name, field in every.items():
                yield row(
                    dataset, name, field, measure, [q for q, _ in asked], answers[name], own, losses[name], copied
                )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Seen(NamedTuple):
    """As much of a hit as is compared; hits themselves keep their snapshot."""

    id: str
    score: float
    rank: int


def listed(hits: Iterable[Any], out: frozenset[str]) -> list[Seen]:
    kept = [h for h in hits if h.id not in out][:K]
    return [Seen(h.id, h.score, rank) for rank, h in enumerate(kept, 1)]


def questions(asked: Sequence[tuple[str, Any]], fields: Sequence[Field]) -> Iterator[tuple[str, Query]]:
    """Queries with their encoders' passes; pictures that are in the encode cache, with the terms kept there."""
    if len(fields) == 1 and isinstance(fields[0], Visual):
        vocabulary, cache = fields[0].vocabulary, EncodingCache()
        form = f"{fields[0].encoder.fingerprint}\n{vocabulary.compact_form}"
        kept = {i: cache.get(form, content_hash(q.image.path, "image")) for i, q in asked}
        if all(arrays is not None for arrays in kept.values()):
            yield from ((i, Query(vocabulary.query_compact(arrays or {}))) for i, arrays in kept.items())
            return
    for first in range(0, len(asked), TOGETHER):
        part = [
            (i, Query(q.text, None if q.image is None else q.image.path)) for i, q in asked[first : first + TOGETHER]
        ]
        encode_together([question for _, question in part], fields)
        yield from part


def row(
    dataset: Dataset, name: str, field: PostingField, measure: str, ids: Sequence[str], answers: Sequence[Any],
    own: Any, loss: float, copied: float,
) -> dict[str, Any]:  # fmt: skip
    report = agreement((found for _, found in answers), K)
    qrels = {i: dataset.qrels[i] for i in ids}
    values = []
    for side in (0, 1):
        ranked = {i: [(h.id, h.score) for h in found[side]] for i, (_, found) in zip(ids, answers, strict=True)}
        values.append(measures.means(measures.evaluate(ranked, qrels, (measure,)))[measure])
    return {
        "data": dataset.name, "field": name, "scoring": field.scoring.to_json(), "documents": dataset.n_docs,
        "queries": len(ids), "overlap": report.overlap, "same_order": report.same_order,
        "rank_agreement": report.rank_agreement, "shared": report.shared, "rank_correlation": report.rank_correlation,
        "measure": measure, "folder": values[0], "cluster": values[1],
        "score_error_mean": report.score_error_mean, "score_error_max": report.score_error_max,
        "frequency_error": loss, "copied_s": copied, **causes(own, name, field, answers[:EXPLAINED]),
    }  # fmt: skip


def causes(own: Any, name: str, field: PostingField, answers: Iterable[Any]) -> dict[str, float]:
    """Mean relative difference between the cluster's score and one by hand: as it is, with rounded frequencies, and
    with one-byte lengths as well."""
    whole_collection = own.searcher()
    searcher = whole_collection.field_searcher(name)
    scoring: Any = field.scoring
    phi = str(scoring.phi)
    stats = searcher.statistics(phi)
    whole = field.tf != "float32" and phi == "identity"
    steps = field.scale if whole else 100.0
    lengths, mean = stats.lengths[0], stats.mean_length * stats.unit
    errors: dict[str, list[float]] = {"as_is": [], "rounded": [], "one_byte": []}
    for question, (_, hits) in answers:
        prepared = searcher.prepare(field.terms_of(question), scoring)
        for hit, doc in zip(hits, whole_collection.find([h.id for h in hits]).tolist(), strict=True):
            _, tf = searcher.contributions(prepared, doc)
            there = tf > 0.0
            weights = apply_phi(tf[there].astype(np.float64), phi)
            asked = prepared.weight[there]
            length = float(lengths[doc]) * stats.unit
            sent = np.maximum(np.rint(weights * steps), 1.0) / steps
            byte = rounded(round(length * steps)) / steps
            for key, w, dl in (("as_is", weights, length), ("rounded", sent, length), ("one_byte", sent, byte)):
                norm = scoring.k1 * (1.0 - scoring.b + scoring.b * dl / mean)
                score = float(np.sum(asked * (scoring.k1 + 1.0) * w / (w + norm)))
                errors[key].append(abs(score - hit.score) / hit.score)
    return {f"error_{key}": float(np.mean(found)) for key, found in errors.items()}


def table(rows: Sequence[dict[str, Any]]) -> str:
    """Markdown."""
    lines = [
        "| data, field | overlap | same list | measure, folder / cluster | score error, mean | after rounding "
        "frequencies by hand | and one-byte lengths |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r['data']}, {r['field']} ({r['documents']:,} documents, {r['queries']:,} queries) "
            f"| {r['overlap']:.4f} "
            f"| {r['same_order']:.4f} | {r['measure']} {r['folder']:.4f} / {r['cluster']:.4f} "
            f"| {r['score_error_mean']:.1e} | {r['error_rounded']:.1e} | {r['error_one_byte']:.1e} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scifact", type=Path, help="a BEIR folder")
    parser.add_argument("--pets", type=Path, help="a folder with gallery/CLASS/* and query/CLASS/*")
    parser.add_argument("--queries", type=int, help="only the first so many")
    parser.add_argument("--heap", default="1g", help="of each node")
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with Cluster(3, args.heap, quick=False) as cluster:
        base = f"opensearch://{cluster.hosts}"
        if args.scifact:
            fields = {"words": Words(), "latent": Latent()}
            rows += run(load_beir(args.scifact), fields, "ndcg@10", f"{base}/parity-scifact", args.queries)
            print(table(rows), flush=True)
        if args.pets:
            pets = load_class_folders(args.pets)
            rows += run(pets, {"visual": Visual()}, "r@1", f"{base}/parity-pets", args.queries)
    print(table(rows))
    if args.out:
        args.out.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
