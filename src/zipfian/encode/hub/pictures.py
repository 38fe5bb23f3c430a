"""Image networks behind one small interface: prepared pictures in, states of the patches and a pooled vector out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from zipfian.encode.hub._torch import module
from zipfian.encode.hub.family import CONV_TYPES
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.towers import Passed, chosen_states
from zipfian.encode.images import Pixels
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """A picture as the network wants it."""

    values: FloatArray
    """(3, height, width), or (patches, numbers) for networks that take any shape."""
    grid: tuple[int, int]


class ImageTower(Protocol):
    """An image network. `run` gives the states of the patches alone, row by row of the grid."""

    width: int
    blocks: int
    pooled_dim: int
    patches: int | None
    """Patches of every picture; None: it depends on the picture."""

    def prepare(self, image: Any) -> Prepared:
        """A decoded picture resized, cut and scaled as the model was trained."""

    def pixels(self, prepared: Prepared) -> Pixels:
        """What the network sees, as a picture again."""

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        """One pass over pictures of equal shape."""


class _Processed:
    """Preparation by the model's own image processor."""

    def __init__(self, model: HubModel, vision: Any) -> None:
        self._prepare_with(model)
        self.width = int(vision.hidden_size)
        self.blocks = int(vision.num_hidden_layers)
        patch = vision.patch_size
        self._patch = int(patch[0] if isinstance(patch, list | tuple) else patch)

    def _prepare_with(self, model: HubModel) -> None:
        self._model = model
        self._processor = model.image_processor()
        self._mean = np.asarray(self._processor.image_mean, dtype=np.float64)
        self._std = np.asarray(self._processor.image_std, dtype=np.float64)
        self.patches: int | None = None

    def prepare(self, image: Any) -> Prepared:
        values = np.asarray(self._processor(images=image, return_tensors="np")["pixel_values"][0], dtype=np.float32)
        _, height, width = values.shape
        return Prepared(values, self._grid(height, width))

    def _grid(self, height: int, width: int) -> tuple[int, int]:
        return height // self._patch, width // self._patch

    def pixels(self, prepared: Prepared) -> Pixels:
        return _shown(prepared.values.transpose(1, 2, 0), self._mean, self._std)

    def _tensor(self, batch: Sequence[Prepared]) -> Any:
        return module("torch").from_numpy(np.stack([p.values for p in batch])).to(self._model.device)

    def _count(self) -> None:
        """How many patches every picture has, by preparing a grey one; None where the shape makes a difference."""
        from PIL import Image

        shapes = {self.prepare(Image.new("RGB", size, (128, 128, 128))).grid for size in ((96, 64), (64, 96))}
        self.patches = int(np.prod(next(iter(shapes)))) if len(shapes) == 1 else None


class DualImageTower(_Processed):
    """The image half of CLIP and SigLIP: its pooled vector is in the space of the texts."""

    def __init__(self, model: HubModel) -> None:
        whole = model.config()
        super().__init__(model, whole.vision_config)
        self._clip = model.family.model_type == "clip"
        self.pooled_dim = int(whole.projection_dim) if self._clip else self.width
        self._count()

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        every = not normed or any(layer < self.blocks for layer in layers)
        with self._model.running() as network:
            found = network.vision_model(pixel_values=self._tensor(batch), output_hidden_states=every)
            states = chosen_states(found, layers, self.blocks, normed=normed)
            if not self._clip:
                return Passed(states, found.last_hidden_state, found.pooler_output)
            pooled = network.visual_projection(found.pooler_output)
            return Passed([state[:, 1:] for state in states], found.last_hidden_state[:, 1:], pooled)


class FlexibleImageTower(_Processed):
    """SigLIP2 for any shape (NaFlex): as many patches as fit, in the picture's own proportions, none of it padding."""

    def __init__(self, model: HubModel) -> None:
        super().__init__(model, model.config().vision_config)
        self.pooled_dim = self.width

    def prepare(self, image: Any) -> Prepared:
        found = self._processor(images=image, return_tensors="np")
        rows, columns = (int(n) for n in np.asarray(found["spatial_shapes"])[0])
        values = np.asarray(found["pixel_values"][0], dtype=np.float32)[: rows * columns]
        return Prepared(values, (rows, columns))

    def pixels(self, prepared: Prepared) -> Pixels:
        (rows, columns), side = prepared.grid, self._patch
        cells = prepared.values.reshape(rows, columns, side, side, 3)
        return _shown(cells.transpose(0, 2, 1, 3, 4).reshape(rows * side, columns * side, 3), self._mean, self._std)

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        torch = module("torch")
        every = not normed or any(layer < self.blocks for layer in layers)
        with self._model.running() as network:
            device = self._model.device
            values = self._tensor(batch)
            full = torch.ones(values.shape[:2], dtype=torch.int64, device=device)
            shapes = torch.tensor([p.grid for p in batch], dtype=torch.int64, device=device)
            found = network.vision_model(values, full, shapes, output_hidden_states=every)
            states = chosen_states(found, layers, self.blocks, normed=normed)
            return Passed(states, found.last_hidden_state, found.pooler_output)


class PatchTower(_Processed):
    """DINOv2: patches after a class token and perhaps registers; the class token is the pooled vector."""

    def __init__(self, model: HubModel) -> None:
        config = model.config()
        super().__init__(model, config)
        self.pooled_dim = self.width
        self._first = 1 + int(getattr(config, "num_register_tokens", 0))
        self._count()

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        every = not normed or any(layer < self.blocks for layer in layers)
        with self._model.running() as network:
            found = network(pixel_values=self._tensor(batch), output_hidden_states=every)
            states = chosen_states(found, layers, self.blocks, normed=normed)
            first = self._first
            pooled = found.last_hidden_state[:, 0]
            return Passed([state[:, first:] for state in states], found.last_hidden_state[:, first:], pooled)


class ConvTower(_Processed):
    """ResNet: the cells of the last feature map are the patches (what R-MAC reads), their mean the pooled vector.

    There is one layer to choose, since earlier maps have other widths and grids.
    """

    def __init__(self, model: HubModel) -> None:
        config = model.config()
        self._prepare_with(model)
        self.width = self.pooled_dim = int(config.hidden_sizes[-1])
        self.blocks = 1
        # the stem halves a picture twice, every stage but the first once more
        self._halvings = len(config.hidden_sizes) + 1 + bool(getattr(config, "downsample_in_first_stage", False))
        self._count()

    def _grid(self, height: int, width: int) -> tuple[int, int]:
        for _ in range(self._halvings):
            height, width = (height + 1) // 2, (width + 1) // 2
        return height, width

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        with self._model.running() as network:
            found = network(pixel_values=self._tensor(batch))
            cells = found.last_hidden_state.flatten(2).transpose(1, 2)
            return Passed([cells for _ in layers], cells, found.pooler_output.flatten(1))


def image_tower(model: HubModel) -> ImageTower:
    """The image network of a model."""
    if "image" not in model.family.kinds:
        raise InvalidInput(f"{model.name} is a model of type {model.family.model_type!r}: it encodes texts only")
    if model.family.library == "open_clip":
        from zipfian.encode.hub.openclip_image import open_clip_image_tower

        return open_clip_image_tower(model)
    if model.family.model_type == "siglip2":
        return FlexibleImageTower(model)
    if model.family.model_type in CONV_TYPES:
        return ConvTower(model)
    return DualImageTower(model) if model.family.dual else PatchTower(model)


def _shown(values: npt.NDArray[Any], mean: npt.NDArray[Any], std: npt.NDArray[Any]) -> Pixels:
    """(height, width, 3) with mean and spread put back."""
    shown: Pixels = np.clip(np.rint((values * std + mean) * 255.0), 0, 255).astype(np.uint8)
    return shown
