"""The engine's account of a score, read back into terms, frequencies and statistics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zipfian.engines.opensearch.codes import term_of
from zipfian.fields.base import PostingField
from zipfian.retrieve.statistics import Term

_TERM = re.compile(r"weight\((?P<field>field_[a-z0-9_-]+):(?P<token>.+) in \d+\)", re.DOTALL)
_FEATURE = re.compile(
    r"Linear function on the (?P<field>field_[a-z0-9_-]+) field for the (?P<token>.+) feature", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Matched:
    """One term of the query in one document."""

    term: Term
    value: float
    """Its part of the score."""
    frequency: float
    df: int
    documents: int
    idf: float
    length: float
    mean_length: float


def parse(explanation: Mapping[str, Any], index_field: str, field: PostingField) -> list[Matched]:
    """Every term of a field that contributed."""
    out: list[Matched] = []
    for node, found in _terms(explanation):
        if found["field"] != index_field:
            continue
        seen = dict(_numbers(node))
        frequency = seen.get("freq", seen.get("doc.freq", seen.get("S", 0.0)))
        out.append(
            Matched(
                term_of(field, found["token"]),
                float(node["value"]),
                frequency,
                int(seen.get("n", seen.get("term.docFreq", 0))),
                int(seen.get("N", seen.get("field.docCount", 0))),
                seen.get("idf", 1.0),
                seen.get("dl", 0.0),
                seen.get("avgdl", 0.0),
            )
        )
    return out


def _terms(node: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], re.Match[str]]]:
    text = str(node.get("description", ""))
    found = _TERM.match(text) or _FEATURE.match(text)
    if found:
        yield node, found
        return
    for part in node.get("details", ()):
        yield from _terms(part)


def _numbers(node: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Named numbers of a tree: the name is what stands before the first comma."""
    for part in node.get("details", ()):
        name = str(part.get("description", "")).partition(",")[0].strip()
        yield name, float(part["value"])
        yield from _numbers(part)
