"""BEIR folders: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv (Thakur et al. 2021)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, check_folder, judged

TITLE_GAP = "\n\n"
"""Between title and text, as `zipfian index` does it."""


def load_beir(folder: str | Path, split: str = "test") -> Dataset:
    """A BEIR folder as a dataset; only queries judged in `split` with a relevant document are kept."""
    root = check_folder(Path(folder), "a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/")
    corpus, queries_file = root / "corpus.jsonl", root / "queries.jsonl"
    for file in (corpus, queries_file):
        if not file.is_file():
            raise InvalidInput(f"{file}: no such file; a BEIR folder holds corpus.jsonl, queries.jsonl and qrels/")
    texts = dict(_records(corpus))
    if not texts:
        raise InvalidInput(f"{corpus}: holds no documents")
    queries = {q: JudgedQuery(q, text=text) for q, text in _records(queries_file) if text.strip()}
    source = root / "qrels" / f"{split}.tsv"
    kept, qrels, notes = judged(root.name, queries, read_qrels_tsv(source), texts.keys(), str(source))

    def documents() -> Iterator[dict[str, Any]]:
        for doc, text in texts.items():
            yield {"id": doc, "text": text}

    return Dataset(root.name, "text", documents, frozenset(texts), kept, qrels, notes=notes)


def read_qrels_tsv(path: Path) -> dict[str, dict[str, int]]:
    """query, document, grade separated by tabs under a header line; grades are whole numbers."""
    if not path.is_file():
        there = sorted(p.stem for p in path.parent.glob("*.tsv")) if path.parent.is_dir() else []
        raise InvalidInput(f"{path}: no such split; there are: {', '.join(there) or 'none'}")
    out: dict[str, dict[str, int]] = {}
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        cells = line.split("\t")
        if not line.strip() or (number == 1 and len(cells) == 3 and not _is_grade(cells[2])):
            continue
        if len(cells) != 3 or not _is_grade(cells[2]):
            raise InvalidInput(f"{path}:{number}: query, document and a whole number were expected, not {line[:80]!r}")
        out.setdefault(cells[0], {})[cells[1]] = int(cells[2])
    if not out:
        raise InvalidInput(f"{path}: the split is empty")
    return out


def _is_grade(text: str) -> bool:
    return text.strip().removeprefix("-").isdigit()


def _records(path: Path) -> Iterator[tuple[str, str]]:
    """(id, title and text) of each line."""
    seen: set[str] = set()
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                record = json.loads(line)
                key = str(record["_id"] if "_id" in record else record["id"])
                text = record["text"]
            except (ValueError, KeyError, TypeError) as error:
                raise InvalidInput(f"{path}:{number}: not an object with '_id' and 'text' ({error!r})") from None
            if not isinstance(text, str):
                raise InvalidInput(f"{path}:{number}: 'text' must be a string, not {type(text).__name__}")
            if key in seen:
                raise InvalidInput(f"{path}:{number}: the id {key!r} was there before")
            seen.add(key)
            title = record.get("title")
            yield key, f"{title}{TITLE_GAP}{text}" if isinstance(title, str) and title.strip() else text
