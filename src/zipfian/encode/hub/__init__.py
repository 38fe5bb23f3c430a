"""Encoders of the hub (transformers, open_clip; extra `hub`): any model the user has, on a CPU or a GPU.

>>> encoder = load("open_clip:MobileCLIP-S1")                      # doctest: +SKIP
>>> encoder = load("path/to/contriever", layers=(-2,))             # doctest: +SKIP
>>> pair = dual("hf:openai/clip-vit-base-patch32", device="cuda")  # doctest: +SKIP

Importing this loads neither torch nor transformers. Code from the hub is never run (`trust_remote_code` is off) and
only safetensors weights are read.
"""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any, Literal

from zipfian.encode.hub.dual import DualEncoder
from zipfian.encode.hub.family import Kind
from zipfian.encode.hub.image import HubImageEncoder
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.splade import SpladeEncoder
from zipfian.encode.hub.text import HubTextEncoder
from zipfian.errors import InvalidInput, ModelNotFound

__all__ = [
    "DualEncoder",
    "HubImageEncoder",
    "HubModel",
    "HubTextEncoder",
    "ModelNotFound",
    "SpladeEncoder",
    "dual",
    "load",
]

_CLASSES: dict[str, type[HubTextEncoder] | type[HubImageEncoder] | type[SpladeEncoder]] = {
    "text": HubTextEncoder,
    "image": HubImageEncoder,
    "splade": SpladeEncoder,
}
_WHERE = ("revision", "device", "precision", "local_files_only", "library", "recorded")


def load(
    name_or_path: str | Path, *, kind: Kind | Literal["splade"] | None = None, **settings: Any
) -> HubTextEncoder | HubImageEncoder | SpladeEncoder:
    """The encoder of a model, chosen by its configuration.

    `kind` picks the half of a CLIP or SigLIP model (pictures by default), or the masked words of a SPLADE model. Other
    settings are those of `HubModel` (revision, device, precision, local_files_only, library) and of the encoder.
    """
    if kind not in (None, *_CLASSES):
        raise InvalidInput(f"kind must be one of {', '.join(_CLASSES)}, not {kind!r}")
    model = HubModel.shared(name_or_path, **{key: settings.pop(key) for key in _WHERE if key in settings})
    chosen = _CLASSES[kind or model.family.kinds[0]]
    unknown = set(settings) - set(inspect.signature(chosen).parameters)
    if unknown:
        raise InvalidInput(f"{chosen.__name__} has no settings {', '.join(sorted(unknown))}")
    return chosen(model, **settings)


def dual(name_or_path: str | Path, **where: Any) -> DualEncoder:
    """Both halves of a CLIP or SigLIP model, with vectors in their shared space."""
    return DualEncoder(name_or_path, **where)
