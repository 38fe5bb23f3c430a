"""Late interaction as a baseline of its own: every document compared with the query token by token, no first stage.

The tokens of all documents are encoded once per snapshot and kept in a temporary file in float16 (0.2 MB for a text of
270 word pieces); a search reads all of it, some documents at a time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode.base import groups
from zipfian.encode.registry import find
from zipfian.errors import InvalidInput
from zipfian.evaluate.ann import Found, FoundHit, once
from zipfian.fields.query import Query
from zipfian.rerank.late import rows

CHUNK_TOKENS = 65_536
"""Tokens compared at once: 100 MB at 384 numbers each, as float32."""

Progress = Callable[[int], None]


@dataclass(frozen=True, eq=False)
class TokenFile:
    """The tokens of a snapshot's documents, one after the other."""

    docs: npt.NDArray[np.int64]
    """Numbers of the documents that have tokens."""
    starts: npt.NDArray[np.int64]
    """Where each one's tokens begin, and where the last one's end."""
    vectors: Any
    """(tokens, dim) in float16, of length 1, in a file."""

    def scores(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """MaxSim of every document."""
        out = np.empty(len(self.docs), np.float64)
        for first, last in self._chunks():
            part = self.vectors[self.starts[first] : self.starts[last]].astype(np.float32)
            best = np.maximum.reduceat(part @ query.T, self.starts[first:last] - self.starts[first], axis=0)
            out[first:last] = best.sum(axis=1, dtype=np.float64)
        return out

    def _chunks(self) -> Iterator[tuple[int, int]]:
        """Consecutive documents of about `CHUNK_TOKENS` tokens together."""
        first = 0
        while first < len(self.docs):
            last = int(np.searchsorted(self.starts, self.starts[first] + CHUNK_TOKENS, side="right")) - 1
            last = min(max(last, first + 1), len(self.docs))
            yield first, last
            first = last


@dataclass(frozen=True)
class MaxSimSearch:
    """A method's `run`: exhaustive MaxSim with the encoder of one field."""

    field: str = "dense"

    def __call__(self, collection: Any, query: Query, k: int) -> Found:
        """The k best documents; equal scores in document order."""
        searcher = collection.searcher()
        tokens = self.tokens(collection)
        start = time.perf_counter()
        asked = rows(query.encoded(searcher.settings.field(self.field).encoder).vectors)
        encoded = time.perf_counter()
        scores = tokens.scores(asked)
        best = np.argsort(-scores, kind="stable")[:k]
        ids = searcher.ids_of(tokens.docs[best])
        hits = tuple(FoundHit(*pair) for pair in zip(ids, scores[best].tolist(), strict=True))
        timings = {"encode": encoded - start, "total": time.perf_counter() - start}
        return Found(hits, timings, (0.0, 1.0))

    def prepare(self, collection: Any, progress: Progress | None = None) -> None:
        """Encode all documents now instead of at the first search; `progress` gets the number done."""
        self.tokens(collection, progress)

    def tokens(self, collection: Any, progress: Progress | None = None) -> TokenFile:
        """Of the newest snapshot, made once."""
        made: TokenFile = once(
            collection, ("maxsim", self.field), lambda searcher: _encode(searcher, self.field, progress)
        )[0]
        return made

    def nbytes(self, collection: Any) -> int:
        """Of the token vectors."""
        return int(self.tokens(collection).vectors.nbytes)


def _encode(searcher: Any, name: str, progress: Progress | None) -> TokenFile:
    field = searcher.settings.field(name)
    if not field.tokens or field.encoder is None:
        raise InvalidInput(f"field {name!r} has no encoder whose tokens query and documents share")
    encoder = find(field.encoder)
    found: list[int] = []
    sizes = [0]

    def contents() -> Iterator[Any]:
        for doc_id in searcher.ids():
            number = searcher.number(doc_id)
            content = _content(searcher, searcher.document(number), encoder.kind)
            if content:
                found.append(number)
                yield content

    # needed as long as the array over it, and gone with it
    stream = tempfile.TemporaryFile()  # noqa: SIM115
    for group in groups(contents()):
        for encoded in encoder.encode_documents(group):
            if len(encoded.vectors):
                stream.write(rows(encoded.vectors).astype(np.float16).tobytes())
                sizes.append(len(encoded.vectors))
            else:
                del found[len(sizes) - 1]
        if progress is not None:
            progress(len(sizes) - 1)
    if not found:
        raise InvalidInput(f"no document has a stored {encoder.kind} whose tokens could be compared")
    starts = np.cumsum(sizes, dtype=np.int64)
    stream.flush()
    vectors = np.memmap(stream, np.float16, "r", shape=(int(starts[-1]), encoder.dim))
    return TokenFile(np.array(found, np.int64), starts, vectors)


def _content(searcher: Any, document: Any, kind: str) -> Any:
    """What the encoder reads of a stored document; empty where it is not there."""
    if kind == "text":
        return document.text if document.text and not document.text.isspace() else ""
    return searcher.settings.trust.picture(document.metadata) or ""
