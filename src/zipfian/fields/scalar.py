"""Surrogate text: the components of pooled vectors as integer terms."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zipfian.encode.named import EncoderLike
from zipfian.fields.base import Source
from zipfian.fields.encoded import EncodedField
from zipfian.fields.model import FindScalar, scalar_model
from zipfian.retrieve.scoring import Dot, Scoring
from zipfian.types import Encoded, Terms
from zipfian.vocabulary import Pruning

if TYPE_CHECKING:
    from zipfian.vocabulary.scalar import ScalarVocabulary


@dataclass(frozen=True, init=False)
class Scalar(EncodedField):
    """Surrogate text: the components of pooled vectors as integer terms, scored by dot product.

    A collection with this field carries a copy of the fitted transform and does not need its folder again.

    Parameters
    ----------
    folder
        Where `ScalarVocabulary.save` wrote the fitted transform.
    source
        Chooses the default text or image encoder.
    encoder
        Or another one; it must be the one whose vectors the transform was fitted on.
    scoring
        The formula of its scores, the dot product by default.
    pruning
        Which of a document's terms are kept; all by default.

    Raises
    ------
    InvalidInput
        No folder of a transform, neither source nor encoder, or vectors of another size.

    Examples
    --------
    >>> Scalar("missing", source="text")
    Traceback (most recent call last):
    ...
    zipfian.errors.InvalidInput: missing: no scalar vocabulary is saved here (scalar.json is missing)
    """

    kind: ClassVar[str] = "scalar"
    vocabulary_kind: ClassVar[str] = "scalar"
    located: ClassVar[bool] = False  # a component is of the whole item
    in_presets: ClassVar[bool] = False  # it says what the pooled vector says

    @property
    def weight(self) -> float:
        return 0.5

    def __init__(
        self, folder: Any, *, source: Source | None = None, encoder: EncoderLike | None = None,
        scoring: Scoring | None = None, pruning: Pruning | None = None,
    ) -> None:  # fmt: skip
        made, vocabulary = scalar_model(folder, source, encoder)
        self.settle(
            scoring=scoring or Dot(), pruning=pruning or Pruning(), tf="count", n_terms=vocabulary.n_terms, model=made
        )

    @property
    def vocabulary(self) -> ScalarVocabulary:
        return self.model.load_scalar()

    @property
    def tokens(self) -> bool:
        return True

    def asked(self, encoded: Encoded) -> Terms:
        return self.vocabulary.query_terms(encoded)

    @property
    def transform(self) -> str:
        return str(self.model.fingerprint)

    def transform_files(self) -> tuple[bytes, bytes]:
        return self.vocabulary.to_bytes()

    def finding(self, find: FindScalar) -> Self:
        return self.changed(model=replace(self.model, find=find))
