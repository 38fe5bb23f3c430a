"""Pictures and texts in one space: both halves of a CLIP or SigLIP model over one copy of its weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.encode.hub.image import HubImageEncoder
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.text import HubTextEncoder
from zipfian.encode.images import ImageSource
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray


class DualEncoder:
    """`image` and `text` are encoders like any other; their pooled vectors can be compared with each other."""

    def __init__(self, model: str | Path | HubModel, **where: Any) -> None:
        self.model = model if isinstance(model, HubModel) else HubModel.shared(model, **where)
        if not self.model.family.dual:
            raise InvalidInput(
                f"{self.model.name} is a model of type {self.model.family.model_type!r}: it has no shared space for "
                "pictures and texts; use a CLIP or SigLIP model"
            )
        self.image = HubImageEncoder(self.model)
        self.text = HubTextEncoder(self.model)
        if self.image.pooled_dim != self.text.pooled_dim:
            raise InvalidInput(
                f"{self.model.name}: pictures get {self.image.pooled_dim} components and texts "
                f"{self.text.pooled_dim}, which cannot be compared"
            )

    @property
    def dim(self) -> int:
        """Components of a vector in the shared space."""
        return self.image.pooled_dim

    def image_vector(self, item: ImageSource) -> FloatArray:
        """One picture in the shared space, of length 1."""
        return self.image.encode_queries([item])[0].pooled

    def text_vector(self, text: str) -> FloatArray:
        """One text in the shared space, of length 1."""
        return self.text.encode_queries([text])[0].pooled

    def image_vectors(self, items: Sequence[ImageSource]) -> FloatArray:
        """(n, dim): pictures in the shared space."""
        return _stacked([e.pooled for e in self.image.encode_documents(items)], self.dim)

    def text_vectors(self, texts: Sequence[str]) -> FloatArray:
        """(n, dim): texts in the shared space."""
        return _stacked([e.pooled for e in self.text.encode_queries(texts)], self.dim)


def _stacked(vectors: Sequence[FloatArray], dim: int) -> FloatArray:
    return np.stack(vectors) if vectors else np.empty((0, dim), dtype=np.float32)
