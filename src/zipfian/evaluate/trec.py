"""Rankings as TREC runs.

The format separates columns with spaces, so spaces within ids (file names have them) are written as %20 and the like.
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


def token(text: str) -> str:
    """An id as one column of a TREC file."""
    if not text:
        raise InvalidInput("an id in a TREC file must not be empty")
    return "".join(quote(c) if c.isspace() else c for c in text)
