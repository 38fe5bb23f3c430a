"""Real text for tests: the language reference that every Python carries, and collections that a machine may have."""

from __future__ import annotations

import json
import os
import tarfile
from functools import cache
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

ARCHIVE = "text-collections.tar.xz"


@cache
def paragraphs() -> tuple[dict[str, Any], ...]:
    """The paragraphs of Python's language reference as documents, with their topic as metadata."""
    found: list[dict[str, Any]] = []
    for topic, text in sorted(topics.items()):
        for n, part in enumerate(text.split("\n\n")):
            if len(part.split()) >= 8:
                found.append({"id": f"{topic}/{n}", "text": part, "metadata": {"topic": topic, "n": n}})
    return tuple(found)


def data_archive() -> Path | None:
    """The archive of test collections, if this machine has it."""
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    for folder in (os.environ.get("ZIPFIAN_DATA"), beside):
        if folder and (Path(folder) / ARCHIVE).is_file():
            return Path(folder) / ARCHIVE
    return None


def read_collection(archive: Path, name: str) -> tuple[dict[str, str], dict[str, str], dict[str, dict[str, int]]]:
    """Documents, queries and judgements of one collection, by id."""

    def lines(file: str) -> list[str]:
        member = tar.extractfile(f"{name}/{file}")
        assert member is not None
        return member.read().decode().splitlines()

    with tarfile.open(archive) as tar:
        corpus = {d["_id"]: f"{d.get('title', '')} {d['text']}".strip() for d in map(json.loads, lines("corpus.jsonl"))}
        queries = {q["_id"]: q["text"] for q in map(json.loads, lines("queries.jsonl"))}
        judged: dict[str, dict[str, int]] = {}
        for line in lines("qrels/test.tsv")[1:]:
            query, doc, grade = line.split("\t")
            judged.setdefault(query, {})[doc] = int(grade)
    return corpus, {q: queries[q] for q in judged}, judged
