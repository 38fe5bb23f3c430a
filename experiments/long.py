"""Long documents: found by their passages, or read as a whole, on the same documents and queries.

Abstracts are joined by eight at random (nothing but the right one of them answers a query), and paragraphs by the
article they are from. A third way to ask is by titles: of abstracts, which are then left out of the texts, and of
articles. What passages cost is beside what they find: rows, postings, bytes and seconds.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

from experiments.base import Brief, Context, Made, Table
from zipfian.collection import Collection, encoding
from zipfian.encode import MultilingualEncoder
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.datasets.beir import TITLE_GAP
from zipfian.evaluate.measures import evaluate
from zipfian.evaluate.significance import Comparison, holm, paired
from zipfian.fields import Dense, Field, Latent, Words

MEASURES = {"query": "ndcg@10", "title": "r@1"}
TOGETHER = 8
MOST_ABSTRACTS = 2_400
MOST_QUERIES = 600
SEED = 7


@dataclass(frozen=True)
class Source:
    """What long documents are made of."""

    name: str
    by: str
    """`eight`: abstracts at random, `title`: paragraphs of one article."""
    chose: bool
    """Whether the length of passages was chosen on queries of it; then only the others are asked."""
    english: bool = True


SOURCES = (
    Source("scifact", "eight", True),
    Source("nfcorpus", "eight", False),
    Source("drcd", "title", True, english=False),
    Source("piaf-fr", "title", True, english=False),
)


@dataclass(frozen=True)
class Long:
    """Long documents, and what is asked of them."""

    documents: Mapping[str, str]
    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, int]]
    form: str


def long(context: Context) -> Made:
    """Every field and the hybrid, whole and by passage."""
    rows: list[dict[str, Any]] = []
    costs: list[dict[str, Any]] = []
    tests: list[Comparison] = []
    for source in sources(context):
        for made in tasks(source, context.path(source.name)):
            found: dict[str, dict[str, Mapping[str, float]]] = {}
            for way in ("whole", "passages"):
                with read_whole() if way == "whole" else nullcontext():
                    found[way], cost = measured(made, fields(source, way == "whole"))
                costs.append({"documents of": source.name, "asked by": made.form, "read": way, **cost})
            for method, values in found["whole"].items():
                tests.append(paired(values, found["passages"][method]))
                rows.append(
                    {
                        "documents of": source.name, "chose": source.chose, "asked by": made.form,
                        "documents": len(made.documents), "mean words": mean_words(made.documents.values()),
                        "queries": len(made.queries), "method": method, "whole": tests[-1].mean_a,
                        "passages": tests[-1].mean_b, "difference": tests[-1].difference, "p": tests[-1].p,
                    }
                )  # fmt: skip
    for row, p in zip(rows, holm([test.p for test in tests]), strict=True):
        row["Holm p"] = p
    shown = ["documents of", "asked by", "documents", "mean words", "queries", "method", "whole", "passages",
             "difference", "Holm p"]  # fmt: skip
    notes = (
        "asked by query: nDCG@10; asked by title: R@1. Paired t-test over queries, Holm's correction over all rows",
        f"scifact and nfcorpus: {TOGETHER} abstracts to a document, at random; drcd and piaf-fr: paragraphs of an "
        "article, in their order. By title: the titles are left out of the texts of abstracts",
        "the length of passages was chosen on queries and titles of scifact, cisi, drcd and piaf-fr with an even sha1 "
        "of their text; here the odd ones are asked. nfcorpus chose nothing",
        "whole: all windows of a text together, as it was before there were passages, and words counted over the whole "
        "text",
    )
    made_of = {"costs": costs}
    brief = Brief(shown, rows, "without the uncorrected p; the JSON has what each way costs")
    return Made(
        "long", "Long documents, whole and by passage", list(rows[0]), rows, notes, settings=made_of, brief=brief
    )


def sources(context: Context) -> Iterator[Source]:
    """Those whose data were given."""
    found = [source for source in SOURCES if source.name in context.data]
    if not found:
        context.path(SOURCES[0].name)
    yield from found


def tasks(source: Source, path: Path) -> Iterator[Long]:
    """The documents asked by the queries of the collection, and by titles."""
    dataset = load_beir(path)
    texts = {item["id"]: str(item["text"]).partition(TITLE_GAP) for item in dataset.documents()}
    if source.by == "title":
        groups: dict[str, list[str]] = {}
        for key, (title, gap, _) in texts.items():
            groups.setdefault(title if gap else key, []).append(key)
        parts = list(groups.values())
    else:
        wanted = {d for q in dataset.qrels for d, grade in dataset.qrels[q].items() if grade > 0}
        rest = sorted(set(texts) - wanted)
        random.Random(SEED).shuffle(rest)
        keys = [*sorted(wanted), *rest][:MOST_ABSTRACTS]
        random.Random(SEED).shuffle(keys)
        parts = [keys[at : at + TOGETHER] for at in range(0, len(keys), TOGETHER)]
    where = {key: f"d{i}" for i, part in enumerate(parts) for key in part}
    asked = {q: query.text or "" for q, query in dataset.queries.items() if not source.chose or odd(query.text or "")}
    qrels = {
        q: {where[d]: 1 for d, grade in dataset.qrels[q].items() if grade > 0 and d in where} for q in sorted(asked)
    }
    qrels = dict([(q, found) for q, found in qrels.items() if found][:MOST_QUERIES])
    yield Long(documents(parts, texts, source, titled=True), {q: asked[q] for q in qrels}, qrels, "query")
    if source.by == "title":
        titles = {f"d{i}": texts[part[0]][0] for i, part in enumerate(parts)}
    else:
        titles = {f"t{key}": texts[key][0] for part in parts for key in part[:1] if texts[key][1]}
    if source.chose:
        titles = {key: title for key, title in titles.items() if odd(title)}
    named = {key: {key if source.by == "title" else where[key[1:]]: 1} for key in titles}
    yield Long(documents(parts, texts, source, titled=False), titles, named, "title")


def documents(
    parts: Sequence[Sequence[str]], texts: Mapping[str, tuple[str, str, str]], source: Source, titled: bool
) -> dict[str, str]:
    """The texts of each part together; with their titles, an article with its own as first line."""
    out: dict[str, str] = {}
    for i, part in enumerate(parts):
        bodies = [texts[key][2] or texts[key][0] for key in part]
        if not titled:
            out[f"d{i}"] = "\n\n".join(bodies)
        elif source.by == "title":
            out[f"d{i}"] = TITLE_GAP.join([texts[part[0]][0], "\n\n".join(bodies)])
        else:
            out[f"d{i}"] = "\n\n".join("".join(texts[key]) for key in part)
    return out


def odd(text: str) -> bool:
    """Whether a query had no part in choosing."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).digest()[-1] % 2 == 1


def read_whole() -> Any:
    """As it was before there were passages: a long text is one row, all its windows together."""
    return mock.patch.object(encoding, "passages", lambda encoder, text: [(0, len(text))])


def fields(source: Source, whole: bool) -> dict[str, Field]:
    """What a collection of such texts has."""
    words = Words(passages=0) if whole else Words()
    if not source.english:
        return {"words": words, "multilingual": Dense(encoder=MultilingualEncoder())}
    return {"words": words, "latent": Latent(), "dense": Dense("text")}


def measured(made: Long, kinds: Mapping[str, Field]) -> tuple[dict[str, Mapping[str, float]], dict[str, Any]]:
    """The measure of each query by method, and what the collection costs."""
    measure = MEASURES[made.form]
    out: dict[str, Mapping[str, float]] = {}
    with TemporaryDirectory(prefix="zipfian-long-") as folder:
        start = time.process_time()
        with Collection.create(Path(folder) / "long.zf", kinds, encodings=False) as collection:
            collection.add({"id": key, "text": text} for key, text in made.documents.items())
            collection.commit()
            spent = time.process_time() - start
            for method in (*kinds, "hybrid"):
                how: dict[str, Any] = {"fields": method} if method in kinds else {"method": method}
                start = time.perf_counter()
                results = collection.search_many(list(made.queries.values()), k=10, **how)
                seconds = time.perf_counter() - start
                run = {
                    q: [(hit.id, hit.score) for hit in found] for q, found in zip(made.queries, results, strict=True)
                }
                out[method] = evaluate(run, made.qrels, [measure])[measure]
            stats = collection.stats()
    kept = stats["fields"].values()
    counted = {name: each.get("passages") for name, each in stats["fields"].items()}
    return out, {
        "documents": len(made.documents),
        "passages of words": counted.pop("words", None),
        "passages": next(iter(counted.values()), None),
        "postings": sum(each.get("postings", 0) for each in kept),
        "bytes": sum(each["bytes"] for each in kept),
        "index processor seconds": spent,
        "hybrid ms a query": 1e3 * seconds / max(1, len(made.queries)),
    }


def mean_words(texts: Any) -> int:
    lengths = [len(text.split()) for text in texts]
    return round(sum(lengths) / len(lengths))


def page(data: Mapping[str, Any]) -> list[str]:
    """The lines of the two tables that docs/passages.md shows, from what was written of this one."""
    out: list[str] = []
    found: dict[tuple[str, str, int], dict[str, Any]] = {}
    for row in data["rows"]:
        found.setdefault((row["documents of"], row["asked by"], row["queries"]), {})[row["method"]] = row
    for key, methods in found.items():
        meaning = "dense" if "dense" in methods else "multilingual"
        for way in ("whole", "passages"):
            cells = (_cell(methods.get(name), way) for name in ("words", "latent", meaning, "hybrid"))
            out.append(f"| {' | '.join([*map(str, key), way, *cells])} |")
    for cost in data["settings"]["costs"]:
        if cost["asked by"] == "query":
            rows = [cost["passages of words"], cost["passages"]]
            passages = " |".join("" if n is None else f" {n:,}" for n in rows)
            numbers = f"{cost['postings']:,} | {cost['bytes']:,}"
            times = f"{cost['index processor seconds']:.0f} | {cost['hybrid ms a query']:.1f}"
            out.append(f"| {cost['documents of']} | query | {cost['read']} |{passages} | {numbers} | {times} |")
    return out


def _cell(row: Mapping[str, Any] | None, way: str) -> str:
    if row is None:
        return ""
    mark = "*" if way == "passages" and row["Holm p"] <= 0.05 else ""
    return f"{row[way]:.3f}".removeprefix("0") + mark


TABLES = (Table("long", "long documents, whole and by passage", tuple(source.name for source in SOURCES), long),)
