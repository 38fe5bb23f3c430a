"""The vocabulary of SPLADE: terms are word pieces, weighted and expanded by a masked language model.

It reads what `encode.hub.SpladeEncoder` gives. Its weights are made for a plain product of query and document weights:
score such a field with `Dot`. BM25, which wants counts, makes it worse.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import FingerprintMismatch, InvalidInput, shown
from zipfian.objects import JsonObject, finite_number
from zipfian.types import Encoded, FieldBatch, Terms, TfKind
from zipfian.vocabulary.quantise import check_weights, to_fixed

THRESHOLD = 0.15
"""Weights under this are dropped: most of the postings and none of the quality."""

Array = npt.NDArray[Any]


class Source(Protocol):
    """What is asked of an encoder here."""

    n_terms: int

    @property
    def fingerprint(self) -> str:
        """Of the model and its settings."""

    def labels(self) -> list[str]:
        """The word piece of each term."""


class SpladeVocabulary:
    """Word-piece ids as terms, for documents and queries alike.

    Parameters
    ----------
    n_terms
        Word pieces of the model.
    encoder_fingerprint
        Of the encoder whose results are read; `check_encoder` compares.
    min_weight
        Weights under this are dropped.
    labels
        The word pieces themselves, for showing.
    """

    kind: ClassVar[str] = "splade"
    version: ClassVar[int] = 1
    term_kind: Literal["int"] = "int"
    tf_kind: TfKind = "fixed"
    scale: ClassVar[float] = 100.0
    """Steps of a stored weight of 1: hundredths."""
    scoring: ClassVar[str] = "dot"

    def __init__(
        self,
        n_terms: int,
        encoder_fingerprint: str,
        *,
        min_weight: float = THRESHOLD,
        labels: Sequence[str] | None = None,
    ) -> None:
        if isinstance(n_terms, bool) or not isinstance(n_terms, int) or not 1 <= n_terms <= limits.MAX_SAE_TERMS:
            raise InvalidInput(f"n_terms must be a whole number from 1 to {limits.MAX_SAE_TERMS:,}, not {n_terms!r}")
        if not finite_number(min_weight) or not 0.0 <= min_weight <= limits.MAX_WEIGHT:
            raise InvalidInput(f"min_weight must be a number from 0 to {limits.MAX_WEIGHT:g}, not {shown(min_weight)}")
        if not isinstance(encoder_fingerprint, str) or not encoder_fingerprint:
            raise InvalidInput("encoder_fingerprint is empty; make the vocabulary with SpladeVocabulary.of(encoder)")
        if labels is not None and len(labels) != n_terms:
            raise InvalidInput(f"{len(labels):,} labels for {n_terms:,} terms")
        self.n_terms = n_terms
        self.encoder_fingerprint = encoder_fingerprint
        self.min_weight = float(min_weight)
        self.labels = labels

    @classmethod
    def of(cls, encoder: Source, *, min_weight: float = THRESHOLD) -> SpladeVocabulary:
        """The vocabulary of an encoder, labels included."""
        return cls(encoder.n_terms, encoder.fingerprint, min_weight=min_weight, labels=encoder.labels())

    # ------------------------------------------------------------------ items to terms

    def terms(self, encoded: Encoded) -> Terms:
        """The terms of one item: ids ascending, weights of at least `min_weight`."""
        self._check(encoded)
        weights = encoded.vectors[:, 0]
        kept = (weights >= np.float32(self.min_weight)) & (weights > 0)
        return Terms(encoded.pieces[kept], weights[kept])

    def terms_many(self, items: Sequence[Encoded]) -> list[Terms]:
        """The terms of each item."""
        return [self.terms(item) for item in items]

    def query(self, item: Encoded) -> dict[int, float]:
        """The terms of a query and their weights."""
        terms = self.terms(item)
        if len(terms) > limits.MAX_QUERY_TERMS:
            heaviest = np.sort(np.argsort(-terms.weights, kind="stable")[: limits.MAX_QUERY_TERMS])
            terms = Terms(terms.ids[heaviest], terms.weights[heaviest])
        return dict(zip(terms.ids.tolist(), terms.weights.tolist(), strict=True))

    def batch(self, items: Iterable[Encoded]) -> FieldBatch:
        """The terms of many documents, weights in hundredths, ready to be written."""
        found = [self.terms(item) for item in items]
        ids = np.concatenate([t.ids for t in found]) if found else np.empty(0, dtype=np.int32)
        weights = np.concatenate([t.weights for t in found]) if found else np.empty(0, dtype=np.float32)
        steps = to_fixed(weights, self.scale).steps
        kept = steps > 0
        rows = np.repeat(np.arange(len(found)), [len(t) for t in found])[kept]
        indptr = np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=len(found))))).astype(np.int64)
        known, indices = np.unique(ids[kept], return_inverse=True)
        return FieldBatch(indptr, known.astype(np.int64), indices.astype(np.int32), steps[kept])

    def evidence(
        self, encoded: Encoded, wanted: Collection[int] | None = None, *, asked: bool = False
    ) -> dict[int, list[tuple[int, float]]]:
        """For each term the row of `encoded` that holds its weight; `encoded.places` there is the text behind it."""
        self._check(encoded)
        weights = encoded.vectors[:, 0].tolist()
        return {
            term: [(row, weights[row])]
            for row, term in enumerate(encoded.pieces.tolist())
            if weights[row] >= self.min_weight and (wanted is None or term in wanted)
        }

    # ------------------------------------------------------------------ for a cache

    @property
    def compact_form(self) -> str:
        """Names what `compact` makes."""
        return f"splade-{self.version}:{self.min_weight:g}"

    def compact(self, encoded: Encoded) -> dict[str, Array]:
        """What is worth keeping of an item: terms, weights and places above the threshold."""
        self._check(encoded)
        kept = encoded.vectors[:, 0] >= np.float32(self.min_weight)
        return {"terms": encoded.pieces[kept], "weights": encoded.vectors[kept, 0], "places": encoded.places[kept]}

    def from_compact(self, arrays: Mapping[str, Array]) -> Terms:
        """The same terms as from the item itself."""
        kept = arrays["weights"] > 0
        return Terms(arrays["terms"][kept], arrays["weights"][kept])

    # ------------------------------------------------------------------ identity

    @property
    def fingerprint(self) -> str:
        """Of the settings and of the encoder."""
        settings = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=True)
        return f"splade-{self.version}:{hashlib.blake2b(settings.encode(), digest_size=6).hexdigest()}"

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; labels come from the encoder."""
        return {
            "kind": self.kind,
            "version": self.version,
            "n_terms": self.n_terms,
            "encoder": self.encoder_fingerprint,
            "min_weight": self.min_weight,
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any], labels: Sequence[str] | None = None) -> SpladeVocabulary:
        """What `to_json` wrote; anything else is refused rather than guessed."""
        found = JsonObject(values, "a SPLADE vocabulary")
        found.choice("kind", [cls.kind])
        found.version(cls.version)
        n_terms, encoder = found.whole("n_terms", 1, limits.MAX_SAE_TERMS), found.text("encoder")
        min_weight = found.number("min_weight", 0.0, limits.MAX_WEIGHT)
        found.end()
        return cls(n_terms, encoder, min_weight=min_weight, labels=labels)

    def check_encoder(self, encoder: Source) -> None:
        """Refuse an encoder whose results mean something else."""
        if encoder.fingerprint != self.encoder_fingerprint:
            raise FingerprintMismatch(
                f"this vocabulary was made with the encoder {self.encoder_fingerprint}, not {encoder.fingerprint}: use "
                "the same model files and settings, or index again"
            )

    def label(self, term: int) -> str:
        """The word piece of a term, or its number where pieces are not known."""
        if not 0 <= term < self.n_terms:
            raise InvalidInput(f"term {term} does not exist: there are {self.n_terms:,}, from 0")
        return f"#{term}" if self.labels is None else self.labels[term]

    def _check(self, encoded: Encoded) -> None:
        if encoded.vectors.ndim != 2 or encoded.vectors.shape[1] != 1:
            raise InvalidInput(
                f"token vectors of shape {encoded.vectors.shape} are no SPLADE weights: encode with SpladeEncoder"
            )
        check_weights(encoded.vectors)
        if len(encoded.pieces) and not 0 <= int(encoded.pieces[0]) <= int(encoded.pieces[-1]) < self.n_terms:
            raise InvalidInput(f"the item has terms outside 0 .. {self.n_terms - 1}: it is of another model")
