"""The same documents and queries on both engines: what agrees exactly, what only nearly, and why."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.samples import codes, texts
from zipfian import BM25, Collection
from zipfian.engines import opensearch
from zipfian.engines.opensearch.verify import Report, verify
from zipfian.errors import FingerprintMismatch
from zipfian.fields import Sparse, Words
from zipfian.retrieve.scoring import Dot

EXACT = 1e-6
"""Relative: the engine's scores are 32-bit numbers."""


def both(tmp_path: Path, address: str, fields: Any, documents: Sequence[Any], **more: Any) -> tuple[Any, Any]:
    pair = Collection.create(tmp_path / "c.zf", fields), opensearch.create(address, fields, **more)
    for c in pair:
        c.add(documents)
        c.commit()
    return pair


def compare(pair: tuple[Any, Any], queries: Sequence[Any], field: str, k: int = 10) -> Report:
    return verify(*pair, queries, fields=field, k=k)


def test_words(tmp_path: Path, address: str) -> None:
    fields = {
        "words": Words(),
        "flat": Words(scoring=BM25(b=0.0)),
        "lucene": Words(scoring=BM25(k1=0.9, b=0.0, variant="lucene")),
    }
    documents = texts(800)
    pair = both(tmp_path, address, fields, documents)
    rng = np.random.default_rng(5)
    queries = [" ".join(f"w{i}" for i in rng.integers(2, 300, 4)) for _ in range(60)]
    for field in ("flat", "lucene"):
        report = compare(pair, queries, field)
        assert report.overlap == 1.0 and report.same_order == 1.0 and report.score_error_max < EXACT, (field, report)
    report = compare(pair, queries, "words")
    assert report.overlap >= 0.9 and report.score_error_mean < 0.03, report
    # the rest of the difference is the length kept in one byte: rounded as Lucene does, the scores are equal
    assert lengths_explain_it(pair, queries[:10])
    for c in pair:
        c.close()


def lengths_explain_it(pair: tuple[Any, Any], queries: Sequence[str]) -> bool:
    """Score by hand with one-byte lengths and compare with the cluster."""
    from tests.cluster.smallfloat import rounded

    embedded, cluster = pair
    for query in queries:
        for hit in cluster.search(query, fields="words", k=5):
            tree = embedded.explain(query, hit.id, fields="words")
            length, mean = rounded(round(tree.details["length"])), tree.details["mean_length"]
            norm = 1.5 * (1 - 0.75 + 0.75 * length / mean)
            by_hand = sum(p.details["idf"] * 2.5 * p.details["tf"] / (p.details["tf"] + norm) for p in tree.parts)
            if not math.isclose(by_hand, hit.score, rel_tol=1e-5):
                return False
    return True


def test_terms(tmp_path: Path, address: str) -> None:
    fields = {
        "codes": Sparse(500),
        "flat": Sparse(500, scoring=BM25(b=0.0)),
        "root": Sparse(500, scoring=BM25(k1=8.0, b=0.0, phi="sqrt")),
        "dot": Sparse(500, tf="count", scoring=Dot()),
        "real": Sparse(500, tf="float32", scoring=Dot()),
    }
    rows = codes(600)
    whole = [{t: max(1.0, round(10 * w)) for t, w in row.items()} for row in rows]
    documents = [
        {"id": f"d{i}", "terms": {"codes": r, "flat": r, "root": r, "dot": w, "real": r}}
        for i, (r, w) in enumerate(zip(rows, whole, strict=True))
    ]
    pair = both(tmp_path, address, fields, documents)
    queries: list[Any] = [dict(list(row.items())[:10]) for row in codes(50, seed=7)]
    for field in ("flat", "dot"):
        report = compare(pair, queries, field)
        assert report.same_order == 1.0 and report.score_error_max < EXACT, (field, report)
    report = compare(pair, queries, "root")  # phi leaves no whole numbers: hundredths of the square root
    assert report.overlap >= 0.97 and report.score_error_mean < 0.005, report
    report = compare(pair, queries, "real")  # nine significant bits
    assert report.overlap >= 0.97 and report.score_error_max < 0.005, report
    report = compare(pair, queries, "codes")
    assert report.overlap >= 0.9 and report.score_error_mean < 0.05, report
    assert pair[1].stats()["fields"]["root"]["mean_relative_error"] < 0.01
    for c in pair:
        c.close()


def test_repeated_tokens(tmp_path: Path, address: str) -> None:
    """For servers that cannot read frequencies: a small scale, and its loss is told."""
    fields = {"codes": Sparse(500, scoring=BM25(b=0.0)), "counts": Sparse(500, tf="count", scoring=Dot())}
    rows = codes(200)
    whole = [{t: max(1.0, round(3 * w)) for t, w in row.items()} for row in rows]
    documents = [
        {"id": f"d{i}", "terms": {"codes": r, "counts": w}} for i, (r, w) in enumerate(zip(rows, whole, strict=True))
    ]
    pair = both(tmp_path, address, fields, documents, storage={"codes": "repeated", "counts": "repeated"})
    queries: list[Any] = codes(30, seed=7, per_document=8)
    report = compare(pair, queries, "codes")
    assert report.overlap >= 0.85 and report.score_error_mean < 0.03, report
    assert 0.0 < pair[1].stats()["fields"]["codes"]["mean_relative_error"] < 0.06
    assert compare(pair, queries, "counts").same_order == 1.0
    for c in pair:
        c.close()


def test_long_queries_are_cut_and_say_so(tmp_path: Path, address: str) -> None:
    fields = {"codes": Sparse(3000, tf="count", scoring=BM25(b=0.0))}
    documents = [{"id": f"d{i}", "terms": {"codes": r}} for i, r in enumerate(codes(300, 3000, 100, seed=3))]
    documents = [
        {"id": d["id"], "terms": {"codes": {t: max(1.0, round(w)) for t, w in d["terms"]["codes"].items()}}}
        for d in documents
    ]
    pair = both(tmp_path, address, fields, documents)
    long = {t: 1.0 + t % 7 for t in range(2000)}
    found = pair[1].search(long, fields="codes")
    cut = found.settings["cut"]
    assert cut["terms"] == 2000 and cut["kept"] <= 1024 and 0.0 < cut["loss"] < 0.5
    exact = pair[0].search(long, fields="codes")
    assert len({h.id for h in found} & {h.id for h in exact}) >= 7
    short = dict.fromkeys(range(1000), 1.0)
    assert "cut" not in pair[1].search(short, fields="codes").settings
    for c in pair:
        c.close()


def test_growing_out_of_one_machine(tmp_path: Path, address: str) -> None:
    """A folder copied into a cluster: nothing is encoded again, and a second run has nothing left to do."""
    fields = {"words": Words(scoring=BM25(b=0.0)), "codes": Sparse(500, scoring=BM25(b=0.0))}
    documents = [
        {**d, "terms": {"codes": row}, "metadata": {"n": i}, "vector": [float(i), 1.0]}
        for i, (d, row) in enumerate(zip(texts(700), codes(700), strict=True))
    ]
    with Collection.create(tmp_path / "c.zf", fields) as own:
        own.add(documents)
        own.delete(["d7"])
        own.commit()
        with opensearch.create(address, own.fields) as grown:
            assert grown.copy_from(tmp_path / "c.zf") == 699
            assert grown.copy_from(tmp_path / "c.zf", existing="skip") == 0
            grown.commit()
            assert list(grown.ids()) == list(own.ids())
            queries: list[Any] = ["w1 w50", "w3 w4"]
            assert compare((own, grown), queries, "words").same_order == 1.0
            assert compare((own, grown), codes(10, seed=9), "codes").same_order == 1.0
            assert grown.get("d3") == own.get("d3") and grown.vector("d3").tolist() == [3.0, 1.0]
            assert [h.id for h in grown.search("w1", where={"n": {"<": 9}}, fields="words")] == [
                h.id for h in own.search("w1", where={"n": {"<": 9}}, fields="words")
            ]
    other = opensearch.create(f"{address}-other", ["words"])
    with other, pytest.raises(FingerprintMismatch, match="fields="):
        other.copy_from(tmp_path / "c.zf")


def test_large_k(tmp_path: Path, address: str) -> None:
    fields = {"words": Words(scoring=BM25(b=0.0))}
    documents = [{"id": f"d{i}", "text": "same " + "more " * (i % 5)} for i in range(10_500)]
    pair = both(tmp_path, address, fields, documents)
    a, b = (c.search("same more", k=10_400) for c in pair)
    assert [h.id for h in a] == [h.id for h in b] and len(b) == 10_400
    assert b[10_399].text == a[10_399].text
    for c in pair:
        c.close()


def test_scifact(tmp_path: Path, address: str) -> None:
    """Overlap at least 0.95 and nDCG@10 within half a point; equality without length normalisation."""
    folder = Path(os.environ.get("ZIPFIAN_BEIR", "")) / "scifact"
    if not os.environ.get("ZIPFIAN_BEIR") or not folder.is_dir():
        pytest.skip("ZIPFIAN_BEIR names no folder with scifact: parity on real texts was not measured")
    rows = map(json.loads, (folder / "corpus.jsonl").read_text().splitlines())
    documents = [{"id": r["_id"], "text": f"{r.get('title', '')} {r['text']}"} for r in rows]
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, doc, grade = line.split("\t")
        relevant.setdefault(query, {})[doc] = int(grade)
    asked = {r["_id"]: r["text"] for r in map(json.loads, (folder / "queries.jsonl").read_text().splitlines())}
    fields = {"words": Words(), "flat": Words(scoring=BM25(b=0.0))}
    pair = both(tmp_path, address, fields, documents)
    gains: list[list[float]] = [[], []]
    overlap = []
    for query, grades in relevant.items():
        lists = [[h.id for h in c.search(asked[query], fields="words")] for c in pair]
        overlap.append(len(set(lists[0]) & set(lists[1])) / 10)
        for found, gain in zip(lists, gains, strict=True):
            gain.append(ndcg(found, grades))
    embedded, cluster = (float(np.mean(g)) for g in gains)
    print(f"\nSciFact words: overlap {np.mean(overlap):.4f}, nDCG@10 {embedded:.4f} embedded, {cluster:.4f} cluster")
    assert np.mean(overlap) >= 0.95 and abs(embedded - cluster) <= 0.005
    flat = compare(pair, [asked[q] for q in list(relevant)[:100]], "flat")
    assert flat.same_order == 1.0 and flat.score_error_max < EXACT
    for c in pair:
        c.close()


def ndcg(ids: Sequence[str], relevant: dict[str, int]) -> float:
    best = sorted(relevant.values(), reverse=True)[:10]
    ideal = sum(g / math.log2(i + 2) for i, g in enumerate(best))
    return sum(relevant.get(d, 0) / math.log2(i + 2) for i, d in enumerate(ids[:10])) / ideal
