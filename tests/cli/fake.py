"""A collection in memory with the methods that the command line uses: enough to test the commands without an index."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian.errors import IndexNotFound, InvalidInput
from zipfian.fields import Words
from zipfian.types import Explanation


@dataclass
class Stored:
    id: str
    text: str
    metadata: dict[str, Any]


@dataclass
class Hit:
    id: str
    score: float
    rank: int
    fields: dict[str, Any]
    metadata: dict[str, Any]
    text: str
    confidence: float = 0.5


@dataclass
class Results:
    hits: list[Hit]
    query: str
    generation: int = 1
    settings: dict[str, Any] = dataclasses.field(default_factory=dict)
    timings: dict[str, float] = dataclasses.field(default_factory=lambda: {"total": 0.001})
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def explain(self, hit: Hit, places: bool = True) -> Explanation:
        return tree(self.query, hit.text)


def tree(query: str, text: str) -> Explanation:
    """One point for each word of the query that is in the text."""
    parts = []
    for word in dict.fromkeys(query.lower().split()):
        found = re.finditer(rf"\b{re.escape(word)}\b", text, re.IGNORECASE)
        spans = tuple({"start": match.start(), "end": match.end()} for match in found)
        if spans:
            parts.append(Explanation(1.0, word, (), {}, spans, "term", "words", word))
    return Explanation(sum(p.value for p in parts), query, tuple(parts), kind="field", field="words")


@dataclass
class Report:
    ok: bool = True
    problems: tuple[tuple[str, str], ...] = ()


class Collection:
    """Committed documents live in one JSON file, so that a second command finds them."""

    def __init__(self, path: Path, mode: str) -> None:
        self.file = Path(path) / "fake.json"
        self.mode = mode
        raw = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.documents = {k: Stored(k, v[0], v[1]) for k, v in raw.items()}
        self.commits = 0
        self.closed = False

    @classmethod
    def create(cls, path: Path, fields: list[str]) -> Collection:
        assert list(fields) == ["words"]
        Path(path).mkdir(parents=True)
        return cls(path, "w")

    @classmethod
    def open(cls, path: Path, mode: str = "r") -> Collection:
        if not (Path(path) / "fake.json").exists():
            raise IndexNotFound(f"{path} holds no collection")
        return cls(path, mode)

    @property
    def fields(self) -> dict[str, Any]:
        return {"words": Words()}

    @property
    def columns(self) -> dict[str, str]:
        return {}

    def close(self) -> None:
        self.closed = True

    def add(self, documents: Iterable[dict[str, Any]], existing: str = "error", skipped: Any = None) -> None:
        assert self.mode == "w"
        for d in documents:
            if existing == "error" and d["id"] in self.documents:
                raise InvalidInput(f"there already: {d['id']!r}")
            self.documents[d["id"]] = Stored(d["id"], d["text"], d["metadata"])

    def upsert(self, documents: Iterable[dict[str, Any]]) -> None:
        self.add(documents, existing="replace")

    def delete(self, ids: Iterable[str]) -> None:
        assert self.mode == "w"
        for doc_id in ids:
            del self.documents[doc_id]

    def commit(self) -> int:
        assert self.mode == "w"
        self.file.write_text(json.dumps({k: (v.text, v.metadata) for k, v in self.documents.items()}))
        self.commits += 1
        return self.commits

    def merge(self) -> None:
        assert self.mode == "w"

    def get(self, doc_id: str) -> Stored | None:
        return self.documents.get(doc_id)

    def present(self, ids: Sequence[str]) -> list[bool]:
        return [doc_id in self.documents for doc_id in ids]

    def ids(self) -> Iterator[str]:
        return iter(list(self.documents))

    def __len__(self) -> int:
        return len(self.documents)

    def search(
        self,
        query: str,
        k: int = 10,
        where: dict[str, Any] | None = None,
        min_confidence: float = 0.0,
        exclude_self: bool = False,
    ) -> Results:
        scored = [(tree(query, d.text).value, d) for d in self.documents.values()]
        if where:
            scored = [(s, d) for s, d in scored if all(d.metadata.get(f) == v for f, v in where.items())]
        best = sorted((p for p in scored if p[0] > 0), key=lambda p: -p[0])[:k]
        hits = [
            Hit(d.id, s, i, {"words": {"rank": i, "score": s}}, d.metadata, d.text) for i, (s, d) in enumerate(best, 1)
        ]
        return Results(hits, query)

    def explain(self, query: str, doc_id: str) -> Explanation:
        if doc_id not in self.documents:
            raise InvalidInput(f"no document {doc_id!r}")
        return tree(query, self.documents[doc_id].text)

    def why(self, query: str, a: str, b: str) -> Explanation:
        return Explanation(self.explain(query, a).value - self.explain(query, b).value, f"{a} above {b}")

    def stats(self) -> dict[str, Any]:
        return {
            "documents": len(self),
            "bytes": 2048,
            "fields": {"words": {"terms": 7, "mean_length": 3.25}},
            "columns": {},
            "files": {"field:words": 2048},
        }

    def check(self) -> Report:
        return Report()
