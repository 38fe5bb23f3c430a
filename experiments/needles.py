"""One sentence hidden in one document of many, asked for in three ways: is that document the first hit?

A needle is a sentence of an XQuAD paragraph that answers a question nearly in the question's words. It is put between
two sentences of a document that has nothing to do with it, and asked for as it stands, by its rarest words, and by the
question. Everything follows from fixed seeds: the same data give the same needles.
"""

from __future__ import annotations

import lzma
import math
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from experiments.base import Context, Made, Table
from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.datasets.base import Dataset
from zipfian.fields import Dense, Field, Latent, Words
from zipfian.vocabulary import Words as WordVocabulary
from zipfian.vocabulary import WordSettings

FIELDS = ("words", "latent", "dense")
METHODS = (*FIELDS, "rrf", "hybrid")
FORMS = ("sentence", "keywords", "question")
ABSTRACTS = ("scifact", "cisi", "cacm")

SHARED = 0.6
"""Share of a question's idf that its sentence must have: below that, the sentence is not what the question asks for."""

KEYWORDS = (3, 4)
"""Rarest words of a sentence: at least, and at most."""

SENTENCE_WORDS = (6, 40)
PARAGRAPH_WORDS = 20
"""Shorter paragraphs are headings and scraps."""

CUT_BELOW = 150
"""Documents asked to be shorter than this are cut to the word; others end with a paragraph."""

_BETWEEN = re.compile(r"(?<=[.!?])\s+")
_KEYWORD = re.compile(r"[A-Za-z][a-z]{3,}")


@dataclass(frozen=True)
class Needle:
    """A sentence and what asks for it."""

    sentence: str
    keywords: str
    question: str

    def asked(self, form: str) -> str:
        """The query in one of FORMS."""
        return {"sentence": self.sentence, "keywords": self.keywords, "question": self.question}[form]


@dataclass(frozen=True)
class Haystack:
    """What needles are hidden in: `documents` of `words` words from Wikipedia, or every abstract at hand."""

    name: str
    needles: int
    seed: int
    documents: int = 0
    words: int = 0
    start: int = 0
    """Paragraphs of Wikipedia before this are left to other haystacks."""
    chose: bool = False
    """Whether a constant of the fusion was chosen on it."""


HAYSTACKS = (
    Haystack("n50x100", 50, 1, 50, 100, chose=True),
    Haystack("n50x1000", 50, 2, 50, 1_000, chose=True),
    Haystack("n50x5000", 50, 3, 50, 5_000, chose=True),
    Haystack("n1000x200", 150, 4, 1_000, 200, start=6_000),
    Haystack("n9800xabs", 150, 5),
    Haystack("n20x20000", 20, 6, 20, 20_000, start=6_000),
)


@dataclass(frozen=True)
class Hidden:
    """A collection with its needles: queries by form, in the order of `places`, the documents that have them."""

    documents: Mapping[str, str]
    queries: Mapping[str, Sequence[str]]
    places: Sequence[str]


def needles(context: Context) -> Made:
    """R@1 of every field, plain fusion and the hybrid, by haystack and form."""
    asked = load_beir(context.path("xquad-en"))
    rows: list[dict[str, Any]] = []
    for haystack, texts in haystacks(context):
        hidden = hide(haystack, texts, asked)
        found = firsts(hidden)
        length = round(sum(len(text.split()) for text in hidden.documents.values()) / len(hidden.documents))
        for form in FORMS:
            values = {method: found[method, form] / len(hidden.places) for method in METHODS}
            best = max(FIELDS, key=values.__getitem__)
            rows.append(
                {
                    "haystack": haystack.name, "chose": haystack.chose, "documents": len(hidden.documents),
                    "mean words": length, "form": form, "needles": len(hidden.places), **values, "best field": best,
                    "over field": values["hybrid"] - values[best],
                }
            )  # fmt: skip
    columns = list(rows[0])
    notes = (
        "share of needles whose document is the first hit (R@1); best field: of words, latent and dense, on these very "
        "queries; over field: the hybrid's difference from it",
        "chose: constants of the hybrid were chosen on these needles; the other haystacks had no part in any choice, "
        "though some of the same sentences are hidden in them",
        f"{sum(row['needles'] for row in rows)} queries, {len(FORMS)} for each needle",
    )
    return Made("needles", "One sentence in one document of many", columns, rows, notes)


def haystacks(context: Context) -> Iterator[tuple[Haystack, list[str]]]:
    """Those asked for (`--data sets=n50x100,n50x1000`; all unless told), with their texts.

    A haystack begins where the one before it stopped, so that no two share a paragraph.
    """
    known = [haystack.name for haystack in HAYSTACKS]
    wanted = context.text("sets", ",".join(known)).split(",")
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InvalidInput(f"there is no haystack {unknown[0]!r}; sets= takes: {', '.join(known)}")
    source = paragraphs(context.path("wiki"))
    read = 0
    for haystack in HAYSTACKS:
        if not haystack.words:
            if haystack.name in wanted:
                yield haystack, [d["text"] for name in ABSTRACTS for d in load_beir(context.path(name)).documents()]
            continue
        for _ in islice(source, max(0, haystack.start - read)):
            read += 1
        texts, used = joined(source, haystack.documents, haystack.words)
        read += used
        if haystack.name in wanted:
            yield haystack, texts


def paragraphs(path: Path) -> Iterator[str]:
    """Lines of an xz file."""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield line.strip()


def joined(source: Iterator[str], documents: int, words: int) -> tuple[list[str], int]:
    """So many documents of about so many words, and how many paragraphs were read for them."""
    out: list[str] = []
    read = 0
    for _ in range(documents):
        parts: list[str] = []
        length = 0
        while length < words:
            paragraph = next(source, None)
            if paragraph is None:
                raise InvalidInput(f"paragraphs ran out after {read}: {documents} documents of {words} words need more")
            read += 1
            if len(paragraph.split()) >= PARAGRAPH_WORDS:
                parts.append(paragraph)
                length += len(paragraph.split())
        out.append(" ".join(" ".join(parts).split()[:words]) if words < CUT_BELOW else "\n\n".join(parts))
    return out, read


def hide(haystack: Haystack, texts: Sequence[str], asked: Dataset) -> Hidden:
    """Each needle in a document of its own, between two of its sentences."""
    rng = random.Random(haystack.seed)
    chosen = pick(asked, haystack.needles, rng)
    documents = {f"h{i}": text for i, text in enumerate(texts)}
    if len(chosen) > len(documents):
        raise InvalidInput(f"{haystack.name}: {len(chosen)} needles need as many documents, not {len(documents)}")
    places = rng.sample(sorted(documents), len(chosen))
    for needle, place in zip(chosen, places, strict=True):
        sentences = _BETWEEN.split(documents[place])
        sentences.insert(rng.randrange(len(sentences) + 1), needle.sentence)
        documents[place] = " ".join(sentences)
    return Hidden(documents, {form: [needle.asked(form) for needle in chosen] for form in FORMS}, places)


def pick(asked: Dataset, most: int, rng: random.Random) -> list[Needle]:
    """Sentences that have SHARED of what a question's words weigh, each once, in the order of shuffled questions."""
    words = WordVocabulary(WordSettings(language="english"))
    texts = {item["id"]: item["text"] for item in asked.documents()}
    df: Counter[str] = Counter()
    for text in texts.values():
        df.update(set(words.counts(text)))

    def weight(terms: set[str]) -> float:
        return sum(math.log(len(texts) / (df[term] or 1) + 1) for term in sorted(terms))

    keys = sorted(asked.queries)
    rng.shuffle(keys)
    out: list[Needle] = []
    used: set[str] = set()
    for key in keys:
        question = asked.queries[key].text or ""
        terms = set(words.query(question))
        sentences = sentences_of(texts[next(iter(asked.qrels[key]))])
        shares = [weight(terms & set(words.counts(s))) / max(1e-9, weight(terms)) for s in sentences]
        best = max(range(len(sentences)), key=shares.__getitem__, default=None)
        if best is None or shares[best] < SHARED or sentences[best] in used:
            continue
        used.add(sentences[best])
        keywords = rarest(sentences[best], words, df)
        if len(keywords) < KEYWORDS[0]:
            continue
        rng.shuffle(keywords)
        out.append(Needle(sentences[best], " ".join(keywords), question))
        if len(out) == most:
            break
    return out


def firsts(hidden: Hidden) -> dict[tuple[str, str], int]:
    """How many needles are the first hit, by method and form."""
    out: dict[tuple[str, str], int] = {}
    with (
        TemporaryDirectory(prefix="zipfian-needles-") as folder,
        Collection.create(Path(folder) / "needles.zf", fields()) as collection,
    ):
        collection.add({"id": key, "text": text} for key, text in hidden.documents.items())
        collection.commit()
        for method in METHODS:
            how: dict[str, Any] = {"fields": method} if method in FIELDS else {"method": method}
            for form, queries in hidden.queries.items():
                results = collection.search_many(queries, k=1, **how)
                first = [next((hit.id for hit in found), None) for found in results]
                out[method, form] = sum(hit == place for hit, place in zip(first, hidden.places, strict=True))
    return out


def fields() -> dict[str, Field]:
    """What a collection of English texts has."""
    return {"words": Words(), "latent": Latent(), "dense": Dense("text")}


def sentences_of(text: str) -> list[str]:
    least, most = SENTENCE_WORDS
    return [s.strip() for s in _BETWEEN.split(text) if least <= len(s.split()) <= most]


def rarest(sentence: str, words: WordVocabulary, df: Mapping[str, int]) -> list[str]:
    """Words of a sentence that few documents have, rarest first."""
    found = {word.lower(): words.query(word) for word in _KEYWORD.findall(sentence)}
    counts = {word: df[next(iter(terms))] for word, terms in found.items() if terms}
    return sorted(counts, key=counts.__getitem__)[: KEYWORDS[1]]


_DATA = ("xquad-en", "wiki", *ABSTRACTS)
TABLES = (Table("needles", "one sentence in one document of many, asked for in three ways", _DATA, needles),)
