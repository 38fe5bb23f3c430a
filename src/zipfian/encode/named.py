"""An encoder by the word that stands for it, wherever a caller may write one: in a field, a training or a command."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Literal

from zipfian.encode.base import Encoder
from zipfian.encode.image import ImageEncoder
from zipfian.encode.registry import known, packaged, packaged_names
from zipfian.encode.text import TextEncoder
from zipfian.errors import InvalidInput, shown

EncoderLike = Encoder[Any] | str | os.PathLike[str]
"""An encoder, or what `named_encoder` makes one of."""


def named_encoder(
    given: EncoderLike, kind: Literal["text", "image"] | None = None, *, device: str = "auto", **settings: Any
) -> Encoder[Any]:
    """The encoder that was given, or the one of this name.

    Parameters
    ----------
    given
        An encoder; `text` or `image` for the default ones; another of the package, as `gte-small`; or a model of the
        hub (extra `hub`):
        `open_clip:MobileCLIP-S1`, `hf:openai/clip-vit-base-patch32`, a hub name or a folder.
    kind
        The half of a model that reads texts and pictures; its pictures by default.
    device
        Where a model of the hub runs.
    settings
        Of the encoder that is made, such as `layers`.
    """
    if not isinstance(given, str | os.PathLike):
        return given
    if given == "text":
        return _shared(TextEncoder(**settings), settings)
    if given == "image":
        return _shared(ImageEncoder(**settings), settings)
    name = os.fspath(given)
    if name in packaged_names():
        return _shared(packaged(name, **settings), settings)
    if not any(mark in name for mark in (":", "/", os.sep)) and not os.path.isdir(name):
        raise InvalidInput(
            f"no encoder of the package is called {shown(name)}; there are: {', '.join(packaged_names())}. One of the "
            "hub is hf:NAME or open_clip:NAME"
        )
    from zipfian.encode import hub

    made: Encoder[Any] = hub.load(name, kind=kind, device=device, **settings)
    return made


def _shared(made: Encoder[Any], settings: Mapping[str, Any]) -> Encoder[Any]:
    """A bare name means the encoder that this process uses already: one on a GPU is not put back by naming it."""
    return made if settings else known(made)
