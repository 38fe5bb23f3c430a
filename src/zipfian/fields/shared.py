"""The space in which one model puts both texts and pictures, as CLIP and SigLIP do: nothing has to lead from one to the
other, so there are no heads."""

from __future__ import annotations

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from zipfian.encode.base import Encoder
from zipfian.encode.named import EncoderLike
from zipfian.encode.registry import EncoderSpec, register
from zipfian.errors import FingerprintMismatch, InvalidInput, shown
from zipfian.fields.places import F64
from zipfian.fields.reader import unit
from zipfian.fuse.confidence import Evidence
from zipfian.objects import JsonObject
from zipfian.types import FloatArray, Terms

_SAME = ("name_or_path", "revision", "precision", "library")
"""Settings that say which model of the hub an encoder runs."""


class Pair(Protocol):
    """Both halves of a model, such as `zipfian.encode.hub.dual` makes."""

    @property
    def text(self) -> Encoder[Any]:
        """Reads texts."""

    @property
    def image(self) -> Encoder[Any]:
        """Reads pictures."""


@dataclass(frozen=True, slots=True)
class SharedSpace:
    """Two encoders whose pooled vectors can be compared as they are."""

    text: EncoderSpec
    image: EncoderSpec

    def __post_init__(self) -> None:
        if (self.text.kind, self.image.kind) != ("text", "image"):
            raise InvalidInput("a shared space has an encoder of texts and one of pictures")
        if self.text.pooled_dim != self.image.pooled_dim:
            raise InvalidInput(
                f"texts have vectors of {self.text.pooled_dim} numbers and pictures of {self.image.pooled_dim}, which "
                "cannot be compared: both must come from one model"
            )
        text, image = (_model(spec) for spec in (self.text, self.image))
        if text != image:
            raise FingerprintMismatch(
                f"texts are read by {shown(text)} and pictures by {shown(image)}, which have no space in common: both "
                "must come from one model"
            )

    @property
    def evidence(self) -> Evidence:
        """One in four, whatever the cosine: models differ in what a cosine of theirs means, and none was measured."""
        return Evidence(base=-1.0, share=0.0, lead=0.0)

    def visual_words(self) -> None:
        """None: pictures are read by their vectors alone."""

    def unknown(self, text: str) -> tuple[tuple[str, ...], bool]:
        """No word of a text: the model reads word pieces, and has met all of them."""
        return (), True

    def text_vector(self, pooled: FloatArray, text: str) -> FloatArray:
        """A text in the space."""
        return unit(pooled)

    def image_vector(self, pooled: FloatArray, terms: Terms | None) -> FloatArray:
        """A picture in the space."""
        return unit(pooled)

    def image_slopes(self, pooled: FloatArray, terms: Terms | None, towards: FloatArray) -> tuple[F64, float]:
        """The cosine of a picture and `towards` as a sum over the picture's pooled vector, and nothing beside."""
        return np.asarray(towards, dtype=np.float64), 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"text": self.text.to_json(), "image": self.image.to_json()}

    @classmethod
    def from_json(cls, data: Any, trusted: Container[str] = ()) -> SharedSpace:
        """What `to_json` gave; `trusted` names models that may be loaded beside those of the package."""
        found = JsonObject(data, "a shared space")
        text, image = (EncoderSpec.from_json(found.value(half), trusted) for half in ("text", "image"))
        found.end()
        return cls(text, image)


def shared_space(given: EncoderLike | Pair) -> SharedSpace:
    """From what a caller may write: the name or folder of a model with both halves, or the halves as `hub.dual` has
    them."""
    if isinstance(given, Encoder):
        raise InvalidInput(
            f"the encoder {given.fingerprint} reads {given.kind}s only: name its model (encoder='open_clip:...'), or "
            "give both halves, zipfian.encode.hub.dual(...)"
        )
    pair: Any = given
    if not hasattr(given, "text"):
        from zipfian.encode import hub

        pair = hub.dual(given)  # type: ignore[arg-type]
    return SharedSpace(register(pair.text), register(pair.image))


def _model(spec: EncoderSpec) -> Any:
    """Which model of the hub; an encoder of the user's own does not say."""
    settings = json.loads(spec.settings)
    return {key: settings.get(key) for key in _SAME} if spec.name == "hub" else spec.name
