"""Fields whose terms are strings counted in the text: words, or whatever else can be read off it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zipfian import limits
from zipfian.errors import LimitExceeded
from zipfian.fields.base import PostingField, Source, Takes, Weights
from zipfian.fields.item import Item, Stored
from zipfian.fields.places import Places, span
from zipfian.fuse.confidence import Evidence
from zipfian.retrieve.scoring import Scoring, TfIdf
from zipfian.retrieve.statistics import Term
from zipfian.types import FieldBatch, Terms, Token
from zipfian.vocabulary import prune_rows, prune_terms

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, kw_only=True)
class LexicalField(PostingField):
    """A field of counted strings. A kind of your own says `kind` and `counts`, and `spans` to be highlighted.

    Examples
    --------
    >>> from zipfian.fields import Words
    >>> isinstance(Words(), LexicalField), dict(Words().counts("cells and cells"))
    (True, {'cell': 2, 'and': 1})
    """

    lexical: ClassVar[bool] = True
    located: ClassVar[bool] = True

    @property
    def reads(self) -> Source:
        return "text"

    @property
    def takes(self) -> Takes:
        return "text"

    @property
    def evidence(self) -> Evidence:
        """That of words."""
        return Evidence(base=-4.5, share=4.5, lead=6.5)

    @abstractmethod
    def counts(self, text: str) -> Mapping[str, int]:
        """How often each term occurs in `text`; a term has at most `limits.MAX_TERM_BYTES` of UTF-8."""

    def spans(self, text: str, wanted: Collection[str]) -> Iterable[Token]:
        """Where each `wanted` term stands in `text`; nowhere unless a kind knows better."""
        return ()

    def spans_of(self, stored: Stored, wanted: Collection[str]) -> Iterable[Token]:
        """Where each `wanted` term stands in a `stored` document, for a kind that asks for its language."""
        return self.spans(stored.text or "", wanted)

    def counts_of(self, item: Item) -> Mapping[str, int]:
        """The counts of an `item`, for a kind that asks for its language."""
        return self.counts(item.text or "")

    def asked(self, text: str) -> Mapping[str, float]:
        """The terms of a query `text` and their weights."""
        return {term: float(count) for term, count in self.counts(text).items()}

    def terms_of(self, query: Query) -> Weights:
        return self.asked(query.text or "")

    def terms_under(self, query: Query, scoring: Scoring) -> Weights | None:
        """All terms, counted as in a document, for TF-IDF: its cosine is of two whole texts, and the length of a
        document's vector has its function words too. `query` and `scoring` as for any field."""
        return self.whole_of(query) if isinstance(scoring, TfIdf) else None

    def whole_of(self, query: Query) -> Weights:
        """The terms of a `query` as those of a document."""
        return {term: float(count) for term, count in self.counts(query.text or "").items()}

    def kept(self, item: Item) -> Mapping[str, int]:
        """What of the counts of an `item` the field's pruning leaves; ties break by the order of words."""
        counts = self.counts_of(item)
        if not self.pruning.prunes_documents:
            return counts
        words = sorted(counts)
        ids = np.arange(len(words), dtype=np.int32)
        weights = np.fromiter((counts[word] for word in words), np.float32, len(words))
        left = prune_terms(Terms(ids, weights), self.pruning)
        return {words[i]: int(tf) for i, tf in zip(left.ids.tolist(), left.weights.tolist(), strict=True)}

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        """Words of texts, or words already counted, after the field's pruning; a word that no document keeps leaves the
        dictionary. The arguments are as for `batch` of any field: `name` and `items`."""
        counted = (i.counts[name] if name in i.counts else self.counts_of(i) for i in items)
        return self.pruned(_counted_batch(list(counted)))

    def pruned(self, batch: FieldBatch) -> FieldBatch:
        """A `batch` after the field's pruning."""
        if not self.pruning.prunes_documents:
            return batch
        indptr, indices, tf = prune_rows(batch.indptr, batch.indices, batch.tf.astype(np.uint32), self.pruning)
        used, places = np.unique(indices, return_inverse=True)
        return FieldBatch(indptr, [str(batch.terms[i]) for i in used.tolist()], places.astype(np.int32), tf)

    def places(self, stored: Stored, wanted: Collection[Term], weights: Mapping[Term, float]) -> tuple[Places, str]:
        text, found = stored.text or "", Places()
        for token in self.spans_of(stored, frozenset(map(str, wanted))):
            found.setdefault(token.term, []).append(span(text, token.start, token.end, stored.language))
        return found, ""


def _counted_batch(rows: Sequence[Mapping[str, int]]) -> FieldBatch:
    """Counted terms of documents as postings by document."""
    most = max(map(len, rows), default=0)
    if most > limits.MAX_DOCUMENT_TERMS:
        raise LimitExceeded(f"a text has {most:,} distinct terms, more than {limits.MAX_DOCUMENT_TERMS:,}: split it")
    terms = sorted(set().union(*rows))  # code point order is UTF-8 byte order
    place = {term: i for i, term in enumerate(terms)}
    ordered = [sorted((place[term], count) for term, count in row.items()) for row in rows]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in ordered])]).astype(np.int64)
    flat = np.array([pair for row in ordered for pair in row], np.int64).reshape(-1, 2)
    return FieldBatch(indptr, terms, flat[:, 0].astype(np.int32), flat[:, 1].astype(np.uint32))
