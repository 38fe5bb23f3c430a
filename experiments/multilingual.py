"""Does an encoder of many languages earn a place beside words? By language, across languages, and what it costs.

Small collections: every score of every document is computed, so what is compared are the rankings alone and not how an
engine finds them. A weight is chosen on the even queries of all collections and reported on the odd ones.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import numpy.typing as npt

from experiments.base import Brief, Context, Made, Table
from zipfian import BM25, SparseIndex
from zipfian.encode import Encoder, MultilingualEncoder, TextEncoder
from zipfian.encode.base import groups
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.datasets.base import Dataset, half_of
from zipfian.evaluate.measures import evaluate
from zipfian.evaluate.significance import holm, paired
from zipfian.vocabulary import Words, WordSettings

MEASURE = "ndcg@10"
DEPTH = 100
"""Of each ranking, what counts in a fusion, as in `search`."""
RRF = 60
WEIGHTS = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
"""Of the vectors in the weighted sum; words have the rest."""
OTHERS = {"drcd": "zh", "piaf-fr": "fr"}
CROSS = "xquad-"
HALVES = ("even", "odd")
SAMPLE = 200
"""Texts that are timed."""

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Collected:
    """A collection with its texts in one order."""

    name: str
    language: str
    documents: dict[str, str]
    queries: dict[str, str]
    qrels: Mapping[str, Mapping[str, int]]

    def ndcg(self, scores: F64) -> dict[str, float]:
        """Of every query, when documents are ranked by `scores` (queries, documents); those at -inf are not found."""
        ids = list(self.documents)
        run = {}
        for query, row in zip(self.queries, scores, strict=True):
            best = np.argsort(-row, kind="stable")[:DEPTH]
            run[query] = [(ids[i], float(row[i])) for i in best if row[i] > -np.inf]
        return evaluate(run, self.qrels, (MEASURE,))[MEASURE]


def multilingual(context: Context) -> Made:
    """Words, the encoder and their fusions on collections of several languages."""
    sets = [collected(name, load_beir(path)) for name, path in _given(context).items()]
    found = {one.name: _measured(one) for one in sets}
    rows = [_row(one, half, found[one.name]) for half in HALVES for one in sets]
    weight = chosen([row for row in rows if row["half"] == "even"])
    odd = [{method: _half(values, "odd") for method, values in found[one.name].items()} for one in sets]
    tests = [paired(values["words"], values[named(weight)]) for values in odd]
    for row, test, p in zip(rows[len(sets) :], tests, holm([test.p for test in tests]), strict=True):
        row["over words"], row["over words Holm p"] = test.difference, p
    rows += [_mean(rows, half) for half in HALVES]
    shown = [*("collection", "queries", "words", "dense", "rrf"), *map(named, WEIGHTS)]
    brief = Brief(
        [*shown, "over words", "over words Holm p"], [r for r in rows if r["half"] == "odd"], "the odd queries"
    )
    cost = {name: costs(name, sets[0]) for name in ("MiniLM", "multilingual")}
    kept = [named(w) for w in WEIGHTS if never_below(rows[: len(sets)], w)]
    notes = (
        "nDCG@10. words: BM25 over zipfian's words in the collection's language; dense: cosine of the multilingual "
        "encoder; rrf: reciprocal rank fusion of words and dense, k = 60; sum .3: 70 % of "
        f"the words' scores and 30 % of the cosines, each as z-scores of its best {DEPTH}",
        f"never below words on the even queries of any collection: {', '.join(kept) or 'none'}; best of these in the "
        f"mean: {named(weight)}, whose difference from words on the odd queries is `over words` (paired t-test, Holm)",
        *(
            f"{name}: {c['paragraphs a second']:.0f} paragraphs and {c['queries a second']:.0f} queries of "
            f"{sets[0].name} for a second of one processor, at most {c['loaded MB']:.0f} MB resident"
            for name, c in cost.items()
        ),
    )
    title = "An encoder of many languages beside words"
    return Made("multilingual", title, list(rows[len(sets)]), rows, notes, settings={"cost": cost}, brief=brief)


def cross_language(context: Context) -> Made:
    """Queries of one language, paragraphs of another: collections that share their ids."""
    given = context.all(CROSS)
    if len(given) < 2:
        context.path(f"{CROSS}en")
        context.path(f"{CROSS}de")
    sets = {name: collected(f"{CROSS}{name}", load_beir(path)) for name, path in given.items()}
    encoder = MultilingualEncoder()
    documents = {name: _pooled(encoder, list(one.documents.values())) for name, one in sets.items()}
    queries = {name: _pooled(encoder, list(one.queries.values())) for name, one in sets.items()}
    rows = []
    for asked, one in sets.items():
        row: dict[str, Any] = {"queries": asked}
        for searched, other in sets.items():
            if list(one.documents) != list(other.documents):
                raise InvalidInput(f"{CROSS}{asked} and {CROSS}{searched} do not hold the same ids in the same order")
            row[searched] = fmean(one.ndcg(queries[asked] @ documents[searched].T).values())
        others = [row[name] for name in sets if name != asked]
        rows.append({**row, "mean of others": fmean(others)})
    notes = (
        "nDCG@10 of the multilingual encoder alone; a row is the language of the queries, a column that of the texts",
    )
    return Made("cross-language", "Queries in one language, texts in another", list(rows[0]), rows, notes)


def collected(name: str, dataset: Dataset) -> Collected:
    """A dataset in memory, and the language its name says."""
    documents = {str(item["id"]): str(item["text"]) for item in dataset.documents()}
    queries = {query.id: query.text or "" for query in dataset.queries.values()}
    return Collected(name, OTHERS.get(name, name.rpartition("-")[2]), documents, queries, dataset.qrels)


def word_scores(one: Collected) -> F64:
    """BM25 over words; a document that shares none with the query is at -inf."""
    try:
        settings = WordSettings(language=one.language)
    except InvalidInput:  # no stemmer for it
        settings = WordSettings(language="none", stem=False)
    words = Words(settings)
    terms: dict[str, int] = {}
    rows = [
        sorted((terms.setdefault(term, len(terms)), count) for term, count in Counter(words.terms(text)).items())
        for text in one.documents.values()
    ]
    flat = [pair for row in rows for pair in row]
    starts = np.cumsum([0, *map(len, rows)])
    indices, counts = [term for term, _ in flat], np.array([count for _, count in flat], dtype=np.float32)
    index = SparseIndex.from_csr(starts, indices, counts, len(terms), scoring=BM25())
    out = np.full((len(one.queries), len(rows)), -np.inf)
    for row, text in zip(out, one.queries.values(), strict=True):
        asked = sorted({terms[term] for term in words.terms(text) if term in terms})
        if asked:
            ids, scores = index.search(asked, k=len(rows))
            row[ids] = scores
    return out


def rrf(*scores: F64) -> F64:
    """Reciprocal rank fusion of the best of each."""
    out = np.full(scores[0].shape, -np.inf)
    for matrix in scores:
        for row, total in zip(matrix, out, strict=True):
            best = np.argsort(-row, kind="stable")[:DEPTH]
            best = best[row[best] > -np.inf]
            total[best] = np.where(np.isinf(total[best]), 0, total[best]) + 1 / (RRF + 1 + np.arange(len(best)))
    return out


def weighted(words: F64, dense: F64, weight: float) -> F64:
    """A weighted sum of z-scores, among what either has in its best; where no word matches, their score is 0."""
    there = np.isfinite(rrf(words, dense))
    total = (1 - weight) * _standard(np.maximum(words, 0)) + weight * _standard(dense)
    return np.where(there, total, -np.inf)


def _standard(scores: F64) -> F64:
    """How many deviations of the best above their mean."""
    best = -np.sort(-scores, axis=1)[:, :DEPTH]
    deviation = best.std(axis=1, keepdims=True)
    out: F64 = (scores - best.mean(axis=1, keepdims=True)) / np.where(deviation > 0, deviation, 1)
    return out


def chosen(even: Sequence[Mapping[str, Any]]) -> float:
    """The weight that is best in the mean among those never below words; the smallest where there is none."""
    fit = [weight for weight in WEIGHTS if never_below(even, weight)]
    return max(fit, key=lambda weight: fmean(row[named(weight)] for row in even)) if fit else WEIGHTS[0]


def never_below(rows: Sequence[Mapping[str, Any]], weight: float) -> bool:
    """Whether the weighted sum is at least as good as words on all of them."""
    return all(row[named(weight)] >= row["words"] for row in rows)


def named(weight: float) -> str:
    """The column of a weight."""
    return f"sum {weight:.2f}".replace("0.", ".").rstrip("0")


def costs(name: str, one: Collected) -> dict[str, float]:
    """Texts for a second of processor time, and the memory of a process that has loaded the encoder.

    Not by the clock on the wall: others may be at work on the machine.
    """
    encoder = _encoders()[name]
    encoder.encode_documents(["warm"])
    out = {}
    for what, texts in (("paragraphs", one.documents), ("queries", one.queries)):
        some = list(texts.values())[:SAMPLE]
        start = time.process_time()
        encoder.encode_documents(some)
        out[f"{what} a second"] = len(some) / (time.process_time() - start)
    done = subprocess.run([sys.executable, "-m", "experiments.multilingual", name], capture_output=True, check=True)
    return {**out, "loaded MB": float(done.stdout)}


def _encoders() -> dict[str, Encoder[str]]:
    return {"MiniLM": TextEncoder(threads=1), "multilingual": MultilingualEncoder(threads=1)}


def _measured(one: Collected) -> dict[str, dict[str, float]]:
    words = word_scores(one)
    texts, questions = list(one.documents.values()), list(one.queries.values())
    encoder = MultilingualEncoder()
    dense = _pooled(encoder, questions) @ _pooled(encoder, texts).T
    scores = {
        "words": words,
        "dense": dense,
        "rrf": rrf(words, dense),
        **{named(weight): weighted(words, dense, weight) for weight in WEIGHTS},
    }
    return {method: one.ndcg(matrix) for method, matrix in scores.items()}


def _pooled(encoder: Encoder[str], texts: list[str]) -> F64:
    vectors = [e.pooled for group in groups(texts) for e in encoder.encode_documents(group)]
    return np.stack(vectors).astype(np.float64)


def _half(values: Mapping[str, float], half: str) -> dict[str, float]:
    return {query: value for query, value in values.items() if half_of(query) == half}


def _row(one: Collected, half: str, found: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    values = {method: _half(per_query, half) for method, per_query in found.items()}
    sizes = {"documents": len(one.documents), "queries": len(values["words"])}
    means = {method: fmean(per_query.values()) for method, per_query in values.items()}
    return {"collection": one.name, "half": half, **sizes, **means}


def _mean(rows: Sequence[Mapping[str, Any]], half: str) -> dict[str, Any]:
    part = [row for row in rows if row["half"] == half]
    methods = [*("words", "dense", "rrf"), *map(named, WEIGHTS)]
    return {"collection": "mean", "half": half, **{method: fmean(row[method] for row in part) for method in methods}}


def _given(context: Context) -> dict[str, Path]:
    if not context.data:
        context.path(f"{CROSS}en")
    return dict(context.data)


TABLES = (
    Table("multilingual", "an encoder of 16 languages beside words", ("xquad-en", "xquad-de", "..."), multilingual),
    Table("cross-language", "queries in one language, texts in another", ("xquad-en", "xquad-de"), cross_language),
)

if __name__ == "__main__":
    _encoders()[sys.argv[1]].encode_documents(["a text"])
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
