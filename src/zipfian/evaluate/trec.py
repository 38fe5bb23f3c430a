"""TREC runs and qrels, in and out.

The formats separate columns with spaces, so spaces within ids (file names have them) are written as %20 and the like.
Reading takes ids as they stand in the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from zipfian.errors import InvalidInput

Ranking = Sequence[tuple[str, float]]
"""Document ids and scores, best first."""
Run = Mapping[str, Ranking]
"""Query id -> ranking."""


def write_run(path: str | Path, run: Run, tag: str) -> None:
    """`query Q0 document rank score tag` per line, in ranking order."""
    lines = []
    for query, ranking in run.items():
        for rank, (doc, score) in enumerate(ranking, 1):
            lines.append(f"{token(query)} Q0 {token(doc)} {rank} {score!r} {token(tag)}\n")
    Path(path).write_text("".join(lines), encoding="utf-8")


def read_run(path: str | Path) -> dict[str, list[tuple[str, float]]]:
    """A run as written by anybody: order is that of the ranks, not of the lines."""
    rows: dict[str, list[tuple[int, str, float]]] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8-sig").splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        try:
            query, _, doc, rank, score, _ = cells
            rows.setdefault(query, []).append((int(rank), doc, float(score)))
        except ValueError:
            raise InvalidInput(f"{path}:{number}: 'query Q0 document rank score tag' was expected") from None
    if not rows:
        raise InvalidInput(f"{path}: holds no run")
    return {q: [(doc, score) for _, doc, score in sorted(found)] for q, found in rows.items()}


def write_qrels(path: str | Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """`query 0 document grade` per line."""
    lines = []
    for query, grades in qrels.items():
        for doc, grade in grades.items():
            lines.append(f"{token(query)} 0 {token(doc)} {grade}\n")
    Path(path).write_text("".join(lines), encoding="utf-8")


def read_qrels(path: str | Path) -> dict[str, dict[str, int]]:
    """TREC qrels."""
    out: dict[str, dict[str, int]] = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8-sig").splitlines(), 1):
        cells = line.split()
        if not cells:
            continue
        try:
            query, _, doc, grade = cells
            out.setdefault(query, {})[doc] = int(grade)
        except ValueError:
            raise InvalidInput(f"{path}:{number}: 'query 0 document grade' was expected, not {line[:80]!r}") from None
    if not out:
        raise InvalidInput(f"{path}: holds no judgements")
    return out


def token(text: str) -> str:
    """An id as one column of a TREC file."""
    if not text:
        raise InvalidInput("an id in a TREC file must not be empty")
    return "".join(quote(c) if c.isspace() else c for c in text)
