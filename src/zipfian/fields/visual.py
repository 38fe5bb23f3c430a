"""Visual words: what a sparse autoencoder finds in the patches of a picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from zipfian.encode.named import EncoderLike
from zipfian.fields.base import Source
from zipfian.fields.naming import visual_label
from zipfian.fields.sae import SaeField, sae_parts
from zipfian.fuse.confidence import Evidence
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.statistics import Term
from zipfian.vocabulary import Pruning


@dataclass(frozen=True, init=False)
class Visual(SaeField):
    """Visual words of the picture.

    Parameters
    ----------
    vocabulary
        A shipped name, a folder or a `SaeVocabulary`.
    encoder
        The one the vocabulary was trained on, or its name (`open_clip:MobileCLIP-S1`); by default the default image
        encoder.
    scoring, scale
        Formula, and steps of a weight of 1; those that the vocabulary recommends unless given.
    pruning
        Which of a document's terms are kept; all by default.
    use
        Settings of the vocabulary: `k`, `k_least`, `pooling`, `k_post`, `preset`.

    Raises
    ------
    InvalidInput
        An encoder that the vocabulary was not trained on, or a setting that it does not have.

    Examples
    --------
    >>> Visual().reads
    'image'
    """

    kind: ClassVar[str] = "visual"
    encoder_kind: ClassVar[Source | None] = "image"

    @property
    def weight(self) -> float:
        """Twice that of the picture's dense vector: of weights from a tenth of it to three times, the least at which
        R@1, P@10 and mAP were those of the better field at least, on the even halves of textures, objects and pets
        (table `more-like-this`)."""
        return 2.0 / 3.0

    @property
    def evidence(self) -> Evidence:
        return Evidence(base=-5.0, share=18.3, lead=0.0)

    def __init__(
        self, vocabulary: Any = "image-11k", *, encoder: EncoderLike | None = None, scoring: Scoring | None = None,
        pruning: Pruning | None = None, scale: float | None = None, **use: Any,
    ) -> None:  # fmt: skip
        self.settle(**sae_parts("image", vocabulary, encoder, scoring, pruning, scale, use)[0])

    def label(self, term: Term) -> str:
        return visual_label(self.vocabulary, int(term))
