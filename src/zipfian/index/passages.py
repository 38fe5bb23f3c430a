"""Rows that are passages: a field or vectors whose file says which part of which document each of its rows is.

    passage_counts    passages of each document, at least one
    passage_starts    first character of each passage in the text of its document
    passage_ends      the character after its last; 0 and 0 stand for the whole text

Statistics of such a field count passages: N, document frequencies and lengths are theirs. A file without these sections
has a row for each document.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Bools, Ints, offsets, smallest_uint
from zipfian.limits import MAX_TEXT_CHARS
from zipfian.storage.container import SectionFile, SectionWriter
from zipfian.storage.sections import UINT32, require
from zipfian.types import Passages

COUNTS, STARTS, ENDS = "passage_counts", "passage_starts", "passage_ends"


def check_passages(passages: Passages, n_docs: int, n_rows: int) -> Passages:
    """The passages of so many documents for so many rows, or `InvalidInput`."""
    counts = np.diff(passages.first)
    if len(counts) != n_docs or (n_docs and (int(counts.min()) < 1 or int(passages.first[0]) != 0)):
        raise InvalidInput(f"passages of {len(counts)} documents, each of which must have one, where {n_docs} are")
    if not n_rows == int(passages.first[-1]) == len(passages.starts) == len(passages.ends):
        raise InvalidInput(f"{n_rows} rows for {int(passages.first[-1])} passages")
    if n_rows and not (passages.starts <= passages.ends).all():
        raise InvalidInput("a passage ends before it starts")
    return passages


def write_passages(file: SectionWriter, passages: Passages) -> None:
    """Add them to a file whose rows they are."""
    file.add(COUNTS, smallest_uint(np.diff(passages.first)))
    file.add(STARTS, smallest_uint(passages.starts))
    file.add(ENDS, smallest_uint(passages.ends))


def documents_in(file: SectionFile, n_rows: int) -> int:
    """How many documents so many rows of a file belong to; reads nothing of them yet."""
    if COUNTS not in file.names:
        return n_rows
    n_docs = file.length(COUNTS)
    require(file, {COUNTS: (UINT32, n_docs), STARTS: (UINT32, n_rows), ENDS: (UINT32, n_rows)})
    return n_docs


def read_passages(file: SectionFile, n_rows: int) -> Passages | None:
    """The passages that the rows of a file are, as `documents_in` found them; None where they are documents."""
    if COUNTS not in file.names:
        return None
    counts, starts, ends = (file.array(name).astype(np.int64) for name in (COUNTS, STARTS, ENDS))
    if (len(counts) and int(counts.min()) < 1) or int(counts.sum()) != n_rows:
        raise IndexCorrupt(file.name, f"does not divide its {n_rows} rows among its documents")
    if n_rows and (bool((ends < starts).any()) or int(ends.max()) > MAX_TEXT_CHARS):
        raise IndexCorrupt(file.name, "a passage does not lie in a text")
    return Passages(offsets(counts), starts, ends)


def rows_of(passages: Passages | None, docs: npt.NDArray[Any]) -> Ints:
    """The rows of some documents, document by document; the documents themselves where rows are documents."""
    if passages is None:
        return docs.astype(np.int64)
    first, counts = passages.first[docs], passages.first[docs + 1] - passages.first[docs]
    before = offsets(counts)
    out: Ints = np.repeat(first - before[:-1], counts) + np.arange(before[-1])
    return out


def flags_of(passages: Passages | None, docs: Bools) -> Bools:
    """One flag for each row, from one for each document."""
    return docs if passages is None else np.repeat(docs, np.diff(passages.first))


def join_passages(parts: Sequence[tuple[Passages | None, Bools]]) -> Passages | None:
    """Those of neighbouring segments, without the documents whose flag is False; None where each is a document."""
    if all(passages is None for passages, _ in parts):
        return None
    counts: list[npt.NDArray[Any]] = [np.empty(0, np.int64)]
    starts, ends = list(counts), list(counts)
    for passages, keep in parts:
        rows = flags_of(passages, keep)
        n = int(np.count_nonzero(keep))
        counts.append(np.ones(n, np.int64) if passages is None else np.diff(passages.first)[keep])
        starts.append(np.zeros(n, np.int64) if passages is None else passages.starts[rows])
        ends.append(np.zeros(n, np.int64) if passages is None else passages.ends[rows])
    joined = np.concatenate(counts)
    if int(joined.sum()) == len(joined):
        return None
    return Passages(offsets(joined), np.concatenate(starts), np.concatenate(ends))
