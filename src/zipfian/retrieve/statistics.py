"""N, df and lengths of one field over all segments of a snapshot.

Everything is an integer sum over segments, so a collection built in any number of steps has the statistics, and hence
the scores, of one built at once. Vocabulary pruning is applied here: a dropped term takes its share out of every
document's length.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import FingerprintMismatch, IndexCorrupt
from zipfian.index.field import FieldReader
from zipfian.index.lengths import exact_sum, length_unit, posting_lengths
from zipfian.index.segment import SegmentReader
from zipfian.vocabulary.pruning import Pruning, dropped_terms

Term = str | int
Ints = npt.NDArray[np.int64]


class FieldStatistics:
    """Statistics of one field. Documents are numbered through all segments, deleted ones keep their number.

    Where the field's rows are passages of documents, passages are what is numbered and counted.
    """

    def __init__(self, name: str, segments: Sequence[SegmentReader], phi: str, pruning: Pruning) -> None:
        self.name = name
        self.phi = phi
        self.pruning = pruning
        live = [s.live_rows(name) for s in segments]
        self.bases = np.concatenate([[0], np.cumsum([len(rows) for rows in live])]).astype(np.int64)
        """Number of the first document of each segment, and of all documents."""
        self.parts: tuple[tuple[int, SegmentReader, FieldReader], ...] = tuple(
            (int(base), s, s.fields[name]) for base, s in zip(self.bases, segments, strict=False) if name in s.fields
        )
        self._live = tuple(rows for rows, s in zip(live, segments, strict=True) if name in s.fields)
        """Of each part, which documents are live."""
        self.n_docs = int(self.bases[-1])
        self.n_live = sum(int(np.count_nonzero(rows)) for rows in live)
        self.n_postings = sum(field.n_postings for _, _, field in self.parts)
        specs = {(field.spec.tf, field.spec.scale) for _, _, field in self.parts}
        if len(specs) > 1:
            raise FingerprintMismatch(
                f"segments store the weights of field {name!r} in different ways: {sorted(specs)}"
            )
        self._known: dict[Term, int] = {}  # df of terms that were asked for; no more than there are terms
        self._df: tuple[Ints, ...] = tuple(s.df_live(name) for _, s, _ in self.parts)

    def weights(self, tf: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Stored term frequencies as weights."""
        spec = self.parts[0][2].spec
        if spec.tf == "fixed":
            return (tf.astype(np.float64) / spec.scale).astype(np.float32)
        return tf.astype(np.float32)

    def df(self, term: Term) -> int:
        """Live documents that have a term; 0 for a term that pruning dropped."""
        if term in self.dropped:
            return 0
        total = self._known.get(term, 0)
        if total:
            return total
        for (_, _, field), df in zip(self.parts, self._df, strict=True):
            at = field.lookup(term)
            total += int(df[at]) if at >= 0 else 0
        if total:
            self._known[term] = total
        return total

    def postings(self, term: Term, compiled: bool = True) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Live documents of a term, ascending, and its weights in them."""
        docs: list[npt.NDArray[np.int32]] = []
        weights: list[npt.NDArray[np.float32]] = []
        for (base, segment, field), df, rows in zip(self.parts, self._df, self._live, strict=True):
            at = field.lookup(term)
            if at < 0:
                continue
            found, tf = field.postings(at, compiled)
            if segment.n_live < segment.n_docs:
                live = rows[found]
                found, tf = found[live], tf[live]
                if len(found) != int(df[at]):  # room for the list is reserved by this number
                    raise IndexCorrupt(
                        segment.entry.files["del"].name, f"what it takes away from field {self.name!r} is wrong"
                    )
            docs.append(found + np.int32(base))
            weights.append(self.weights(tf))
        if len(docs) == 1:
            return docs[0], weights[0]
        empty = np.empty(0, np.int32), np.empty(0, np.float32)
        return np.concatenate([empty[0], *docs]), np.concatenate([empty[1], *weights])

    @property
    def n_live_postings(self) -> int:
        """Postings of live documents, those of pruned terms included."""
        return sum(int(df.sum()) for df in self._df)

    @property
    def n_terms(self) -> int:
        """Terms that live documents have, pruned ones included."""
        return int(np.count_nonzero(self._df[0])) if len(self._df) == 1 else len(self.vocabulary[0])

    @property
    def unit(self) -> float:
        """What one unit of a length is worth under this phi."""
        return length_unit(*self._how()) if self.parts else 1.0

    @cached_property
    def vocabulary(self) -> tuple[list[Term], Ints]:
        """All terms with live documents, ascending, and their df; pruned ones included."""
        total: dict[Term, int] = {}
        for (_, _, field), df in zip(self.parts, self._df, strict=True):
            for at in np.flatnonzero(df).tolist():
                term = field.term(at)
                total[term] = total.get(term, 0) + int(df[at])
        terms = sorted(total)  # all of one kind; code points sort as UTF-8 does
        return terms, np.array([total[t] for t in terms], np.int64)

    @cached_property
    def dropped(self) -> frozenset[Term]:
        """Terms left out of the collection by their document frequency."""
        if not self.pruning.prunes_vocabulary:
            return frozenset()
        terms, df = self.vocabulary
        return frozenset(terms[i] for i in dropped_terms(df, self.n_live, self.pruning).tolist())

    @cached_property
    def lengths(self) -> tuple[Ints, int]:
        """Length of every document in the field's units, and the sum over live ones."""
        lengths = np.zeros(self.n_docs, np.int64)
        total = 0
        for (base, segment, field), rows in zip(self.parts, self._live, strict=True):
            if field.spec.phi == self.phi:
                lengths[base : base + field.n_docs] = field.lengths
                total += segment.total_length_live(self.name)
            else:
                own = self._scan_lengths(field)
                lengths[base : base + field.n_docs] = own
                total += exact_sum(own[rows])
        for term in self.dropped:
            docs, weights = self._stored(term)
            share = posting_lengths(weights, *self._how())
            lengths[docs] -= share
            if len(docs) and int(lengths[docs].min()) < 0:
                where = self.parts[0][2].file.name
                raise IndexCorrupt(where, f"lengths of field {self.name!r} do not follow from its postings")
            total -= exact_sum(share)
        return lengths, total

    @property
    def mean_length(self) -> float:
        """Mean length of the live documents, in the field's units."""
        return self.lengths[1] / self.n_live if self.n_live else 0.0

    def _how(self) -> tuple[Any, float, str]:
        spec = self.parts[0][2].spec
        return spec.tf, spec.scale, self.phi

    def _stored(self, term: Term) -> tuple[Ints, npt.NDArray[Any]]:
        """Live documents of a term and its stored frequencies."""
        docs: list[npt.NDArray[Any]] = [np.empty(0, np.int64)]
        stored: list[npt.NDArray[Any]] = []
        for (base, _, field), rows in zip(self.parts, self._live, strict=True):
            at = field.lookup(term)
            if at >= 0:
                found, tf = field.postings(at)
                live = rows[found]
                docs.append(found[live].astype(np.int64) + base)
                stored.append(tf[live])
        return np.concatenate(docs), np.concatenate(stored)

    def _scan_lengths(self, field: FieldReader) -> Ints:
        """Lengths under another phi than the stored one: one pass over the field's postings."""
        out = np.zeros(field.n_docs, np.int64)
        for _, _, docs, tf in field.scan():
            np.add.at(out, docs, posting_lengths(tf, *self._how()))
        return out
