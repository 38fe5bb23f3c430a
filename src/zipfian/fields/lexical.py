"""Fields whose terms are strings counted in the text: words, or whatever else can be read off it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from zipfian.fields.base import PostingField, Source, Takes, Weights
from zipfian.fields.item import Item, Stored
from zipfian.fields.places import Places, span
from zipfian.retrieve.statistics import Term
from zipfian.types import FieldBatch, Terms, Token
from zipfian.vocabulary import prune_rows, prune_terms
from zipfian.vocabulary._batch import count_batch

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, kw_only=True)
class LexicalField(PostingField):
    """A field of counted strings. A kind of your own says `kind` and `counts`, and `spans` to be highlighted.

    Examples
    --------
    >>> from zipfian.fields import Words
    >>> isinstance(Words(), LexicalField), Words().counts("cells and cells")
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

    @abstractmethod
    def counts(self, text: str) -> Mapping[str, int]:
        """How often each term occurs in `text`; a term has at most `limits.MAX_TERM_BYTES` of UTF-8."""

    def spans(self, text: str, wanted: Collection[str]) -> Iterable[Token]:
        """Where each `wanted` term stands in `text`; nowhere unless a kind knows better."""
        return ()

    def spans_of(self, stored: Stored, wanted: Collection[str]) -> Iterable[Token]:
        """The same of a `stored` document, for a kind that asks for its language."""
        return self.spans(stored.text or "", wanted)

    def counts_of(self, item: Item) -> Mapping[str, int]:
        """The counts of an `item`, for a kind that asks for its language."""
        return self.counts(item.text or "")

    def asked(self, text: str) -> Mapping[str, float]:
        """The terms of a query `text` and their weights."""
        return {term: float(count) for term, count in self.counts(text).items()}

    def terms_of(self, query: Query) -> Weights:
        return self.asked(query.text or "")

    def kept(self, text: str) -> Mapping[str, int]:
        """What of the counts of `text` the field's pruning leaves; ties break by the order of words."""
        counts = self.counts(text)
        if not self.pruning.prunes_documents:
            return counts
        words = sorted(counts)
        ids = np.arange(len(words), dtype=np.int32)
        weights = np.fromiter((counts[word] for word in words), np.float32, len(words))
        left = prune_terms(Terms(ids, weights), self.pruning)
        return {words[i]: int(tf) for i, tf in zip(left.ids.tolist(), left.weights.tolist(), strict=True)}

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        """Words of texts, or words already counted, after the field's pruning; a word that no document keeps leaves the
        dictionary. Arguments as for `PostingField`."""
        counted = (i.counts[name] if name in i.counts else self.counts_of(i) for i in items)
        return self.pruned(count_batch(counted, lambda counts: counts, lambda term: (term,)))

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
            found.setdefault(token.term, []).append(span(text, token.start, token.end))
        return found, ""
