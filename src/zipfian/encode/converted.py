"""EfficientNet's weights as safetensors: read once from the published checkpoint, then from the cache.

The copy is checked by a hash over its tensors, pinned like that of the checkpoint itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from zipfian.compiled import folder
from zipfian.encode import weights
from zipfian.encode.base import Progress
from zipfian.encode.models import EFFICIENTNET_LITE2
from zipfian.encode.torchfile import read_checkpoint
from zipfian.errors import MissingExtra, WeightsCorrupt
from zipfian.storage.replace import replacing
from zipfian.types import FloatArray

TENSORS_SHA256 = "4ea2198aa1786509a4d84e84b09dc70fea5662370092733a39308835feb39e2a"
"""Of `tensors_sha256` over all float tensors of the checkpoint."""


def path() -> Path:
    """Where the copy is kept."""
    model = EFFICIENTNET_LITE2
    return folder.root() / "weights" / model.name / f"{model.files[0].sha256[:12]}-model.safetensors"


def tensors_sha256(tensors: Mapping[str, FloatArray]) -> str:
    """A hash of names, shapes and numbers, whatever file they are in."""
    known = hashlib.sha256()
    for name in sorted(tensors):
        array = tensors[name]
        known.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        known.update(np.ascontiguousarray(array).data)
    return known.hexdigest()


def load(*, source: Path | None = None, progress: Progress | None = None) -> dict[str, FloatArray]:
    """The verified tensors."""
    try:
        import safetensors
        from safetensors.numpy import load_file, save
    except ImportError as error:
        raise MissingExtra("encoding pictures", "image") from error
    copy = path()
    if copy.is_file():
        try:
            tensors: dict[str, FloatArray] = load_file(copy)
        except (safetensors.SafetensorError, OSError):
            tensors = {}
        if tensors_sha256(tensors) == TENSORS_SHA256:
            return tensors
    (checkpoint,) = weights.get(EFFICIENTNET_LITE2, source=source, progress=progress).values()
    tensors = {name: array for name, array in read_checkpoint(checkpoint).items() if array.dtype == np.float32}
    if tensors_sha256(tensors) != TENSORS_SHA256:
        raise WeightsCorrupt(checkpoint, EFFICIENTNET_LITE2.files[0].sha256)
    with replacing(copy) as file:
        file.write(save(tensors))
    return tensors
