"""Late interaction in a search: candidates encoded again, token by token, and compared with the query's tokens.

Nothing is stored for it. Texts and pictures of the first K candidates go through the encoder of a field once more; the
last ones are kept in memory by what they hold, so that related queries meet most of their candidates there.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from zipfian.collection.results import Document
from zipfian.encode.base import Encoder, groups
from zipfian.encode.cache import content_hash
from zipfian.encode.passages import Reading, Span
from zipfian.encode.picture_files import told
from zipfian.encode.registry import find
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.explain.fusion import explain_reranked
from zipfian.fields.places import Places, in_document, places_of
from zipfian.fields.query import Query
from zipfian.fuse.ranking import Ranking
from zipfian.rerank.late import rerank_late, rows
from zipfian.types import Encoded, Explanation

KEPT_BYTES = 128 * 1024 * 1024
"""Token vectors kept in memory by a process: about 180 pictures of 144 patches, or 300 texts of 270 word pieces."""

Key = tuple[str, str]
Problem = ZipfianError | OSError

NO_TOKENS = np.empty((0, 0), np.float32)


class TokenCache:
    """Encoded items by encoder and content, the most recently used ones; safe to use from several threads.

    What is found here is right for any snapshot: another text or picture has another hash.
    """

    def __init__(self, max_bytes: int = KEPT_BYTES) -> None:
        self.max_bytes = max_bytes
        self._kept: OrderedDict[Key, Encoded] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()

    def get(self, key: Key) -> Encoded | None:
        """What is kept under a key."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key]

    def put(self, key: Key, encoded: Encoded) -> None:
        """Keep an item; the ones not used for longest make room."""
        with self._lock:
            before = self._kept.pop(key, None)
            self._bytes += encoded.vectors.nbytes - (0 if before is None else before.vectors.nbytes)
            self._kept[key] = encoded
            while self._bytes > self.max_bytes and self._kept:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.vectors.nbytes


TOKENS = TokenCache()


@dataclass(frozen=True, slots=True)
class _Found:
    """Tokens of some documents, in order; what was wrong where there are none."""

    encoded: list[Encoded | None]
    problem: str | None
    """Of the first document without tokens."""


class LateQuery:
    """A query ready to be compared with candidates, token by token, through the encoder of one field."""

    def __init__(self, searcher: Any, name: str, query: Query, passage: Callable[[int], Span | None]) -> None:
        """`passage` says which part of a long text the field finds a document by: that is what is compared."""
        field = searcher.settings.field(name)
        if not field.tokens or field.encoder is None:
            raise InvalidInput(f"field {name!r} has no encoder whose tokens query and documents share")
        self.name = name
        self._searcher = searcher
        self._query = query
        self._passage = passage
        self._spec = field.encoder
        self._encoded = query.encoded(field.encoder)
        if not len(self._encoded.vectors):
            raise InvalidInput("the query has no tokens to compare: it is made of nothing the encoder knows")

    def rerank(self, first: Ranking, depth: int) -> Ranking:
        """The first `depth` candidates by MaxSim; those without a stored text or picture stay below them."""
        documents = [self._read(doc)[0] for doc in first.docs[:depth].tolist()]
        found = self._tokens(documents)
        without = sum(one is None for one in found.encoded)
        if documents and without == len(documents):
            what = "text" if self._spec.kind == "text" else "picture"
            raise InvalidInput(
                f"late interaction encodes the stored {what}s of the candidates again, and none of the {without} here "
                f"can be: {found.problem}. Search without it (method='hybrid'), or add the documents with their {what}s"
            )
        about: dict[str, Any] = {"tokens_of": self.name}
        if without:
            about |= {"without_tokens": without, "problem": found.problem}
        tokens = [NO_TOKENS if one is None else one.vectors for one in found.encoded]
        return rerank_late(first, self._encoded.vectors, tokens, about=about)

    def explain(self, ranking: Ranking, doc: int, coarse: Explanation | None) -> Explanation:
        """One part per token of the query: what it is, and the document's token that is most like it."""
        tree, found = explain_reranked(ranking, doc, coarse), ranking.reranking
        if found is None or ranking.rows[doc] >= found.refined:
            return tree
        document, reading = self._read(doc)
        (encoded,) = self._tokens([document]).encoded
        parts = []
        for i, (part, token) in enumerate(zip(tree.parts, found.about["places"][doc], strict=True)):
            known = encoded is not None and token < len(encoded.vectors)
            where = _place(encoded, token, document.text, reading) if encoded is not None and known else ()
            parts.append(replace(part, label=self._label(i), evidence=where, field=self.name))
        return replace(tree, label=f"reranked: each token of the query with the most similar one ({self.name})",
                       parts=tuple(parts))  # fmt: skip

    def _read(self, doc: int) -> tuple[Document, Reading | None]:
        """A candidate with what is compared of its text, and where that stands; None: it is the whole text."""
        document, span = self._searcher.document(doc), self._passage(doc)
        if span is None or document.text is None:
            return document, None
        reading = Reading.of(document.text, span)
        return replace(document, text=reading.text), reading

    def _label(self, i: int) -> str:
        first, second = self._encoded.places[i].tolist()
        if self._encoded.grid is not None:
            return f"query patch in row {first + 1}, column {second + 1}"
        return (self._query.text or "")[first:second] or f"token {i + 1}"

    def _tokens(self, documents: Sequence[Document]) -> _Found:
        """Of each document: from memory, or encoded now."""
        encoder = find(self._spec)
        made: list[Encoded | None] = [None] * len(documents)
        problems: dict[int, str] = {}
        missing: list[tuple[int, Key]] = []

        def unknown() -> Iterator[Any]:
            """What the encoder has to read; no more of it is in memory than a group holds."""
            for i, document in enumerate(documents):
                try:
                    content = self._content(document, encoder)
                    if content is None:
                        problems[i] = _absent(document, encoder)
                        continue
                    key = (encoder.fingerprint, content_hash(content, encoder.kind))
                except (ZipfianError, OSError) as error:
                    problems[i] = f"{document.id!r}: {told(error)}"
                    continue
                made[i] = TOKENS.get(key)
                if made[i] is None:
                    missing.append((i, key))
                    yield content

        for group in groups(unknown()):
            chosen, missing[:] = missing[: len(group)], missing[len(group) :]
            start = time.perf_counter()
            for (i, key), outcome in zip(chosen, encoder.try_documents(group), strict=True):
                if isinstance(outcome, Encoded):
                    kept = made[i] = Encoded(
                        rows(outcome.vectors), outcome.places, outcome.pieces, outcome.pooled, outcome.grid
                    )
                    TOKENS.put(key, kept)
                else:
                    problems[i] = f"{documents[i].id!r}: {told(outcome)}"
            self._query.seconds[0] += time.perf_counter() - start
        return _Found(made, problems[min(problems)] if problems else None)

    def _content(self, document: Document, encoder: Encoder[Any]) -> Any:
        """What the encoder reads of a stored document; None: it is not there."""
        if encoder.kind == "text":
            return document.text if document.text and not document.text.isspace() else None
        return self._searcher.settings.trust.picture(document.metadata)


def _absent(document: Document, encoder: Encoder[Any]) -> str:
    if encoder.kind == "text":
        return f"{document.id!r} has no stored text"
    return f"the picture of {document.id!r} was not given as a file"


def _place(encoded: Encoded, token: int, text: str | None, reading: Reading | None) -> tuple[Any, ...]:
    found: Places = {0: places_of(encoded, [(token, 0.0)], text)}
    places = (found if reading is None else in_document(found, reading))[0]
    return tuple({k: v for k, v in place.items() if k != "strength"} for place in places)
