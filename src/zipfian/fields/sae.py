"""What latent terms of texts and visual words of pictures have in common: a sparse autoencoder makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from zipfian.encode.named import EncoderLike
from zipfian.fields.base import Source
from zipfian.fields.encoded import EncodedField
from zipfian.fields.model import sae_model
from zipfian.fields.reader import Reader
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.types import Encoded, Terms
from zipfian.vocabulary import Pruning

if TYPE_CHECKING:
    from zipfian.vocabulary.sae import SaeVocabulary


@dataclass(frozen=True, kw_only=True)
class SaeField(EncodedField):
    """A field of the terms of a sparse autoencoder."""

    vocabulary_kind: ClassVar[str] = "sae"

    @property
    def vocabulary(self) -> SaeVocabulary:
        return self.model.load_vocabulary()

    @property
    def tokens(self) -> bool:
        return True

    def reader(self, name: str) -> Reader:
        from zipfian.vocabulary.sae import COMPACT_K

        # the strongest activations as 16-bit ids and 32-bit values, and the place
        return replace(super().reader(name), token_bytes=6 * COMPACT_K + 8)

    def asked(self, encoded: Encoded) -> Terms:
        return self.vocabulary.query(encoded)

    def dictionary(self) -> SaeVocabulary:
        return self.vocabulary


def sae_parts(
    source: Source, vocabulary: Any, encoder: EncoderLike | None, scoring: Scoring | None, pruning: Pruning | None,
    scale: float | None, use: Mapping[str, Any],
) -> tuple[dict[str, Any], SaeVocabulary]:  # fmt: skip
    """The parts of a new field, from what a caller may write; formula and scale are the vocabulary's unless given."""
    model, loaded = sae_model(source, vocabulary, encoder, use)
    defaults = loaded.defaults
    return {
        "scoring": scoring or BM25(**defaults.bm25), "pruning": pruning or Pruning(), "tf": "fixed",
        "scale": defaults.scale if scale is None else scale, "n_terms": loaded.n_terms, "model": model,
    }, loaded  # fmt: skip
