"""What kind of model a folder holds, told from its configuration alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zipfian.encode.hub.files import CONFIG, OPEN_CLIP_CONFIG, read_json
from zipfian.errors import InvalidInput

Library = Literal["transformers", "open_clip"]
Kind = Literal["text", "image"]

TEXT_TYPES = frozenset(
    "albert bert camembert deberta deberta-v2 distilbert electra ernie eurobert gte modernbert mpnet nomic_bert "
    "roberta roberta-prelayernorm xlm-roberta".split()
)
CONV_TYPES = frozenset({"resnet"})
"""Convolutional networks: their patches are the cells of the last feature map."""
IMAGE_TYPES = frozenset({"dinov2", "dinov2_with_registers"}) | CONV_TYPES
DUAL_TYPES = frozenset({"clip", "siglip", "siglip2"})


@dataclass(frozen=True, slots=True)
class Family:
    """Which library runs it, its type there, and what it can encode (the first is the default)."""

    library: Library
    model_type: str
    kinds: tuple[Kind, ...]
    config: dict[str, Any]

    @property
    def dual(self) -> bool:
        """Whether texts and pictures share one space."""
        return len(self.kinds) == 2


def family_of(folder: Path, library: Library | None = None) -> Family:
    """The family of the model in a folder.

    Some folders hold a model in both formats; transformers is taken unless `library` says otherwise.
    """
    if library not in (None, "transformers", "open_clip"):
        raise InvalidInput(f"library must be 'transformers' or 'open_clip', not {library!r}")
    config = read_json(folder, CONFIG)
    if library != "open_clip" and "model_type" in config:
        return _transformers(folder, config)
    open_clip = read_json(folder, OPEN_CLIP_CONFIG)
    if library != "transformers" and isinstance(open_clip.get("model_cfg"), dict):
        return Family("open_clip", "open_clip", ("image", "text"), open_clip["model_cfg"])
    wanted = {None: f"{CONFIG} with a model_type and no {OPEN_CLIP_CONFIG}", "transformers": CONFIG}
    raise InvalidInput(f"{folder} has no {wanted.get(library, OPEN_CLIP_CONFIG)}: it is no folder of a known model")


def _transformers(folder: Path, config: dict[str, Any]) -> Family:
    model_type = str(config["model_type"])
    if model_type in DUAL_TYPES:
        return Family("transformers", model_type, ("image", "text"), config)
    if model_type in TEXT_TYPES:
        return Family("transformers", model_type, ("text",), config)
    if model_type in IMAGE_TYPES:
        return Family("transformers", model_type, ("image",), config)
    known = ", ".join(sorted(TEXT_TYPES | IMAGE_TYPES | DUAL_TYPES))
    code = " It brings code of its own, which is never run." if "auto_map" in config else ""
    raise InvalidInput(
        f"{folder}: models of type {model_type!r} are not supported.{code} Supported: {known}, open_clip"
    )
