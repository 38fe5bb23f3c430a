"""From an encoder to what a manifest says about it, and back.

The default encoders and those of a hub are made again from their settings. An encoder of the user's own is known by its
fingerprint: it has to be registered in every process that opens a collection built with it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from zipfian.encode.base import Encoder
from zipfian.encode.image import ImageEncoder
from zipfian.encode.text import TextEncoder
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput

Kind = Literal["text", "image"]

_KNOWN: dict[str, Encoder[Any]] = {}
_LOCK = threading.Lock()

_TEXT_SETTINGS = ("max_tokens", "long_texts", "overlap", "keep_special")
_IMAGE_SETTINGS = ("size", "fit")
_LATER_SETTINGS = ("block", "crops")


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Which encoder: enough to make it again, and the fingerprint that proves it is the same."""

    name: str
    """`text`, `image`, `hub`, or `own` for an encoder that only its owner can make."""
    kind: Kind
    settings: str
    """JSON, so that specs compare and hash."""
    fingerprint: str
    pooled_dim: int

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "settings": json.loads(self.settings),
            "fingerprint": self.fingerprint,
            "pooled_dim": self.pooled_dim,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> EncoderSpec:
        """What `to_json` gave."""
        kind = data["kind"]
        if kind not in ("text", "image"):
            raise FormatTooNew(f"an encoder of {kind!r}, which this zipfian does not know; upgrade it")
        return cls(data["name"], kind, _canonical(data["settings"]), data["fingerprint"], int(data["pooled_dim"]))


def register(encoder: Encoder[Any]) -> EncoderSpec:
    """Make an encoder known to this process.

    One of your own has to be registered before a collection that was built with it is opened.

    Parameters
    ----------
    encoder
        Any object with the methods of `Encoder`.

    Returns
    -------
    EncoderSpec
        How a manifest describes it.

    Raises
    ------
    InvalidInput
        The object lacks a method of `Encoder`.

    Examples
    --------
    >>> register(TextEncoder(max_tokens=128)).name
    'text'
    """
    if not isinstance(encoder, Encoder):
        raise InvalidInput(f"an encoder has the methods of zipfian.encode.Encoder; {type(encoder).__name__} has not")
    name, settings = "own", {}
    if isinstance(encoder, TextEncoder):
        name = "text"
        settings = {key: getattr(encoder, key) for key in _TEXT_SETTINGS} | {"layers": encoder.layers}
    elif isinstance(encoder, ImageEncoder):
        name = "image"
        settings = {key: getattr(encoder, key) for key in _IMAGE_SETTINGS}
        # only where they are set, so that collections built before there was a choice stay as they are
        settings |= {key: value for key in _LATER_SETTINGS if (value := getattr(encoder, key)) is not None}
    elif hasattr(encoder, "hub_settings"):
        name, settings = "hub", dict(encoder.hub_settings)
    spec = EncoderSpec(name, encoder.kind, _canonical(settings), encoder.fingerprint, encoder.pooled_dim)
    with _LOCK:
        _KNOWN[spec.fingerprint] = encoder  # the newest: its owner may have given it other threads
    return spec


def find(spec: EncoderSpec) -> Encoder[Any]:
    """The encoder of a spec: the one this process knows already, or one made from the settings."""
    with _LOCK:
        known = _KNOWN.get(spec.fingerprint)
    if known is not None:
        return known
    if spec.name == "own":
        raise FingerprintMismatch(
            f"this collection was built with the encoder {spec.fingerprint}, which is not one of zipfian's own: "
            "make it and call zipfian.encode.register(encoder) before the collection is opened"
        )
    made = _make(spec)
    if made.fingerprint != spec.fingerprint:
        raise FingerprintMismatch(
            f"the collection was built with the encoder {spec.fingerprint}, this installation makes "
            f"{made.fingerprint}: "
            "install the version of zipfian (or the model files) it was built with, or build it again"
        )
    with _LOCK:
        return _KNOWN.setdefault(spec.fingerprint, made)


def _make(spec: EncoderSpec) -> Encoder[Any]:
    settings = json.loads(spec.settings)
    if spec.name == "text":
        layers = [(int(layer), float(factor)) for layer, factor in settings.pop("layers")]
        return TextEncoder(layers, **settings)
    if spec.name == "image":
        return ImageEncoder(**settings)
    if spec.name == "hub":
        from zipfian.encode import hub

        made: Encoder[Any] = hub.load(**settings)
        return made
    raise FormatTooNew(f"an encoder named {spec.name!r}, which this zipfian does not know; upgrade it")


def _canonical(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))
