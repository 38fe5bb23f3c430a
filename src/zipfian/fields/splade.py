"""Word pieces weighted and expanded by a SPLADE model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from zipfian.fields.base import Source
from zipfian.fields.encoded import EncodedField
from zipfian.fields.model import splade_model
from zipfian.retrieve.scoring import Dot
from zipfian.types import Encoded, Terms
from zipfian.vocabulary import Pruning

if TYPE_CHECKING:
    from zipfian.vocabulary.splade import SpladeVocabulary


@dataclass(frozen=True, init=False)
class Splade(EncodedField):
    """Word pieces weighted and expanded by a SPLADE model (extra `hub`), scored by dot product.

    Parameters
    ----------
    model
        A name or path, or an encoder made with `encode.hub.load(..., kind="splade")`.
    min_weight
        Weights below it are dropped, before `pruning`.
    pruning
        Which of a document's terms are kept; all by default.

    Raises
    ------
    InvalidInput
        A model that is none of these.

    Examples
    --------
    >>> Splade(7)
    Traceback (most recent call last):
    ...
    zipfian.errors.InvalidInput: a splade field needs the name or path of a SPLADE model, or its encoder, not 7
    """

    kind: ClassVar[str] = "splade"
    vocabulary_kind: ClassVar[str] = "splade"
    encoder_kind: ClassVar[Source | None] = "text"

    @property
    def weight(self) -> float:
        return 1.0

    def __init__(self, model: Any, *, min_weight: float = 0.15, pruning: Pruning | None = None) -> None:
        made, vocabulary = splade_model(model, min_weight)
        self.settle(
            scoring=Dot(), pruning=pruning or Pruning(), tf="fixed", scale=vocabulary.scale, n_terms=vocabulary.n_terms,
            model=made,
        )  # fmt: skip

    @property
    def vocabulary(self) -> SpladeVocabulary:
        return self.model.load_splade()

    def asked(self, encoded: Encoded) -> Terms:
        return self.vocabulary.terms(encoded)
