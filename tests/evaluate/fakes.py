"""A collection in memory that ranks by numbers given in advance: what the lab asks of the real one, and no more."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from zipfian.fields.query import Query


@dataclass(frozen=True)
class FakeHit:
    id: str
    score: float
    rank: int


class FakeResults(list[FakeHit]):
    timings: Mapping[str, float] = {"encode": 0.0, "total": 0.0}


class FakeCollection:
    """`answers`: field or method -> query text or picture name -> ids, best first."""

    def __init__(self, fields: Sequence[str], answers: Mapping[str, Mapping[str, Sequence[str]]]) -> None:
        self.fields = {name: SimpleNamespace(has_vectors=True) for name in fields}
        self.answers = answers
        self.asked: list[dict[str, Any]] = []

    def search(self, question: Query, k: int = 10, **options: Any) -> FakeResults:
        self.asked.append({"question": question, "k": k, **options})
        key = question.text if question.text is not None else Path(str(question.image)).name
        found = self.answers[options.get("method") or options["fields"]].get(key, ())
        return FakeResults(FakeHit(doc, 1.0 / rank, rank) for rank, doc in enumerate(found[:k], 1))

    def stats(self) -> dict[str, Any]:
        return {"fields": {name: {"bytes": 100} for name in self.fields}}
