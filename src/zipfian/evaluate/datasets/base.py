"""The one shape of a test collection, and the halves that keep choosing apart from reporting."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from zipfian.errors import InvalidInput

Half = Literal["all", "even", "odd"]
Qrels = Mapping[str, Mapping[str, int]]
"""JudgedQuery id -> document id -> grade; only what was judged."""

IMAGE_SUFFIXES = frozenset({".jpg", ".jpeg", ".png", ".webp"})


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture file; `box` (left, upper, right, lower) is the part that counts, where a benchmark says so."""

    path: Path
    box: tuple[float, float, float, float] | None = None


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """What is looked for: a text, a picture, or both."""

    id: str
    text: str | None = None
    image: Picture | None = None


@dataclass(frozen=True)
class Dataset:
    """Documents, queries and judgements.

    `documents` gives a fresh iterator of items as `Collection.add` takes them. `ignore` names, per query, documents
    that are taken out of its rankings before anything is measured: junk, and the query's own picture.
    """

    name: str
    kind: Literal["text", "image", "caption"]
    documents: Callable[[], Iterator[dict[str, Any]]]
    document_ids: frozenset[str]
    queries: Mapping[str, JudgedQuery]
    qrels: Qrels
    ignore: Mapping[str, frozenset[str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader of the figures must know: queries left out, how files were read."""

    def __post_init__(self) -> None:
        if not self.document_ids:
            raise InvalidInput(f"{self.name}: no documents")
        if not self.queries:
            raise InvalidInput(f"{self.name}: no query has a relevant document; nothing can be measured")

    @property
    def n_docs(self) -> int:
        return len(self.document_ids)


def half_of(query_id: str) -> Literal["even", "odd"]:
    """Constants are chosen on the even half and reported on the odd one: by sha1, so it never depends on order."""
    return "even" if hashlib.sha1(query_id.encode(), usedforsecurity=False).digest()[-1] % 2 == 0 else "odd"


def take_half(dataset: Dataset, half: Half) -> Dataset:
    """The dataset with the queries of one half; the documents stay."""
    if half not in ("all", "even", "odd"):
        raise InvalidInput(f"a half is 'all', 'even' or 'odd', not {half!r}")
    if half == "all":
        return dataset
    kept = {q: query for q, query in dataset.queries.items() if half_of(_name(query)) == half}
    if not kept:
        raise InvalidInput(f"{dataset.name}: the {half} half has no queries (there are {len(dataset.queries)} in all)")
    return replace(dataset, queries=kept, qrels={q: dataset.qrels[q] for q in kept})


def _name(query: JudgedQuery) -> str:
    """What a query's half goes by: its id, or the file name of a query picture, whatever folder it lies in."""
    return query.image.path.name if query.text is None and query.image is not None else query.id


def judged(
    name: str, queries: Mapping[str, JudgedQuery], qrels: Qrels, documents: Collection[str], source: str
) -> tuple[dict[str, JudgedQuery], dict[str, dict[str, int]], tuple[str, ...]]:
    """Queries with at least one relevant document, their judgements, and notes on what was left out.

    Judgements about documents or queries that are not there would silently lower every figure: they are an error.
    """
    unknown = sorted({d for grades in qrels.values() for d in grades if d not in documents})
    if unknown:
        shown = ", ".join(repr(d) for d in unknown[:3])
        raise InvalidInput(
            f"{source}: {len(unknown)} judged document{'s are' if len(unknown) > 1 else ' is'} not in the collection "
            f"({shown}{', ...' if len(unknown) > 3 else ''}); the qrels belong to another version of {name}"
        )
    strangers = sorted(q for q in qrels if q not in queries)
    if strangers:
        raise InvalidInput(f"{source}: judgements for query {strangers[0]!r}, which is not among the queries of {name}")
    kept_qrels = {q: dict(grades) for q, grades in qrels.items() if any(g > 0 for g in grades.values())}
    kept = {q: query for q, query in queries.items() if q in kept_qrels}
    left = sum(1 for q in qrels if q not in kept_qrels)
    notes = (f"{left} judged queries without a relevant document were left out",) if left else ()
    return kept, kept_qrels, notes


def check_folder(path: Path, what: str) -> Path:
    """A folder that must be there."""
    if not path.is_dir():
        raise InvalidInput(f"{path}: no such folder ({what})")
    return path


def picture_files(folder: Path) -> list[Path]:
    """Picture files under a folder in a stable order; hidden entries are left out."""
    found = (p for p in folder.rglob("*") if p.suffix.lower() in IMAGE_SUFFIXES and p.is_file())
    return sorted(p for p in found if not any(part.startswith(".") for part in p.relative_to(folder).parts))
