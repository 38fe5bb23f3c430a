"""Words of many languages: what each step of the analysis is worth, one collection of several languages, the detector.

A collection is given with the code of its language before it: `--data de:xquad-de=PATH`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from experiments.base import Context, Made, Table
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.datasets.base import Dataset, half_of
from zipfian.evaluate.measures import evaluate
from zipfian.language import detect, detector_version
from zipfian.retrieve.sparse_index import SparseIndex
from zipfian.vocabulary import Words, WordSettings

MEASURE = "ndcg@10"
K = 10
HALVES = ("even", "odd")
PLAIN = WordSettings(language="none", stem=False, stop_words=False)
AUTO = WordSettings(language="auto")

ByQuery = Mapping[str, float]


@dataclass(frozen=True)
class Texts:
    """A collection whose language is known."""

    name: str
    language: str
    dataset: Dataset

    def documents(self) -> list[str]:
        """In the order of `ids`."""
        return [item["text"] for item in self.dataset.documents()]

    def ids(self) -> list[str]:
        """Of the documents."""
        return [item["id"] for item in self.dataset.documents()]

    def queries(self) -> dict[str, str]:
        """Query id -> text."""
        return {key: query.text or "" for key, query in self.dataset.queries.items()}


def languages(context: Context) -> Made:
    """Words alone, under each analysis: nothing, stems, stop words too, the language found, runs of letters."""
    rows = []
    for texts in given(context):
        own = texts.language
        ways: dict[str, WordSettings] = {
            "plain": PLAIN,
            "stems": WordSettings(language=own, stop_words=False),
            "chosen": WordSettings(language=own),
            "auto": AUTO,
            "grams": WordSettings(language=own, grams=4),
        }
        row: dict[str, Any] = {"collection": texts.name, "language": own, "queries": len(texts.dataset.queries)}
        for way, settings in ways.items():
            found = searched(Words(settings), texts.documents(), texts.ids(), texts.queries())
            values = evaluate(found.run, texts.dataset.qrels, [MEASURE])[MEASURE]
            row |= {f"{way} {half}": mean_of(values, half) for half in HALVES}
            row[f"postings {way}"] = found.postings
        rows.append(row)
    columns = ["collection", "language", "queries"]
    columns += [f"{way} {half}" for way in ("plain", "stems", "chosen", "auto", "grams") for half in HALVES]
    columns += ["postings chosen", "postings grams"]
    notes = (
        "nDCG@10 of BM25 over words alone; queries in two halves by the sha1 of their id, and only the even one chose",
        "plain: words folded, no stems, no stop words. stems: of the collection's language. chosen: stop words are "
        "left out of queries too, which is what `language=CODE` does. auto: the language of every document and, with "
        "what the documents are as prior, of every query is found. grams: `chosen` with runs of 4 letters beside "
        "the words",
    )
    return Made("languages", "Words of many languages", columns, rows, notes)


def mixed(context: Context) -> Made:
    """All collections in one: every text in its own language, or all in one."""
    sets = given(context)
    ids = [f"{texts.name} {key}" for texts in sets for key in texts.ids()]
    documents = [text for texts in sets for text in texts.documents()]
    queries = {f"{texts.name} {key}": text for texts in sets for key, text in texts.queries().items()}
    qrels = {
        f"{texts.name} {key}": {f"{texts.name} {doc}": grade for doc, grade in grades.items()}
        for texts in sets
        for key, grades in texts.dataset.qrels.items()
    }
    ways = {"each in its own": AUTO, "none": PLAIN}
    ways |= {f"all in {texts.language}": WordSettings(language=texts.language) for texts in sets}
    rows = []
    for way, settings in ways.items():
        values = evaluate(searched(Words(settings), documents, ids, queries).run, qrels, [MEASURE])[MEASURE]
        row: dict[str, Any] = {"analysis": way}
        for half in HALVES:
            row[f"all {half}"] = mean_of(values, half)
            for texts in sets:
                part = {key: value for key, value in values.items() if key.startswith(f"{texts.name} ")}
                row[f"{texts.name} {half}"] = mean_of(part, half)
        rows.append(row)
    columns = ["analysis", *(f"{name} {half}" for name in ("all", *(t.name for t in sets)) for half in HALVES)]
    notes = ("nDCG@10 of BM25 over words alone in one collection of all these; a query has its answer in one language",)
    return Made("languages-mixed", "One collection of several languages", columns, rows, notes)


def detector(context: Context) -> Made:
    """How often the language is found, for documents and for queries, and what it takes."""
    rows = []
    sets = given(context)
    detect("loads the model")
    for texts in sets:
        prior = {texts.language: 1.0}
        others = [other for other in ("en", "de", "fr") if other != texts.language]
        cases: list[tuple[str, Sequence[str], Mapping[str, float] | None]] = [
            ("documents", texts.documents(), None),
            ("queries", list(texts.queries().values()), None),
            ("queries, own prior", list(texts.queries().values()), prior),
            *((f"queries, prior {other}", list(texts.queries().values()), {other: 1.0}) for other in others),
        ]
        for what, items, known in cases:
            began = time.perf_counter()
            answers = [detect(text, known).language for text in items]
            spent = time.perf_counter() - began
            rows.append(
                {
                    "collection": texts.name, "language": texts.language, "texts": what, "n": len(items),
                    "letters": round(float(np.mean([len(text) for text in items]))),
                    "right": answers.count(texts.language) / len(items), "none": answers.count(None) / len(items),
                    "mean_ms": 1e3 * spent / len(items),
                }
            )  # fmt: skip
    columns = ["collection", "language", "texts", "n", "letters", "right", "none", "mean_ms"]
    notes = (
        "right: the language was named; none: it was said that none can be told; the rest was named wrongly",
        "prior: what a collection of only that language gives; a tenth is kept for others",
    )
    return Made("languages-detector", "The language of a text", columns, rows, notes,
                settings={"detector": detector_version()})  # fmt: skip


@dataclass(frozen=True)
class Found:
    """What a vocabulary found."""

    run: dict[str, list[tuple[str, float]]]
    postings: int


def searched(words: Words, documents: Sequence[str], ids: Sequence[str], queries: Mapping[str, str]) -> Found:
    """The first K of every query; with `auto`, languages are found as a collection would."""
    prior: Counter[str] = Counter()
    known: list[str | None] = [None] * len(documents)
    if words.settings.language == "auto":
        known = [detect(text).language or "none" for text in documents]
        prior.update(code for code in known if code)
    batch = words.batch(documents, known)
    numbers = {term: number for number, term in enumerate(batch.terms)}
    index = SparseIndex.from_csr(batch.indptr, batch.indices, batch.tf.astype(np.float32), len(numbers))
    run = {}
    for key, text in queries.items():
        language = (detect(text, prior).language or "none") if prior else None
        asked = {numbers[t]: weight for t, weight in words.query(text, language).items() if t in numbers}
        docs, scores = index.search(list(asked), list(asked.values()), K) if asked else ((), ())
        run[key] = [(ids[doc], float(score)) for doc, score in zip(docs, scores, strict=True)]
    return Found(run, len(batch.indices))


def given(context: Context) -> list[Texts]:
    """The collections, with their languages."""
    out = []
    for name, path in context.data.items():
        code, sign, label = name.partition(":")
        if not (sign and label):
            raise InvalidInput(f"--data takes CODE:NAME=PATH here, such as de:xquad-de=data/xquad-de, not {name!r}")
        out.append(Texts(label, code, load_beir(path)))
    if not out:
        raise InvalidInput(f"the table {context.table} needs collections: give --data CODE:NAME=PATH, each once")
    return out


def mean_of(values: ByQuery, half: str) -> float:
    """Over the queries of one half, by their own id."""
    return float(np.mean([value for key, value in values.items() if half_of(key.rpartition(" ")[2]) == half]))


_DATA = ("CODE:NAME",)
TABLES = (
    Table("languages", "words of many languages under each step of the analysis", _DATA, languages),
    Table("languages-mixed", "one collection of several languages", _DATA, mixed),
    Table("languages-detector", "how often the language of a text is found", _DATA, detector),
)
