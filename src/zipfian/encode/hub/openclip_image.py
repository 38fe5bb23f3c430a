"""Image halves of open_clip models: vision transformers with their tokens, convolutional networks with their map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zipfian.encode.hub._torch import module
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.pictures import ImageTower, Prepared
from zipfian.encode.hub.towers import Passed
from zipfian.encode.images import Pixels
from zipfian.errors import InvalidInput


def open_clip_image_tower(model: HubModel) -> ImageTower:
    """The image half, whichever kind of network it is."""
    with model.running() as network:
        blocks, trunk = _blocks(network.visual), getattr(network.visual, "trunk", None)
    if blocks is not None:
        return OpenClipTokenTower(model, len(blocks))
    if hasattr(trunk, "forward_features"):
        return OpenClipMapTower(model)
    raise InvalidInput(
        f"{model.name}: its image network is neither a vision transformer nor one of timm's, so it has no patches; "
        "choose another model, such as open_clip:MobileCLIP-S1 or hf:openai/clip-vit-base-patch32"
    )


class _Pictures:
    """Preparation as the model's own configuration says; every picture gets the same size."""

    width: int
    pooled_dim: int
    patches: int | None

    def __init__(self, model: HubModel) -> None:
        self._model = model
        open_clip = module("open_clip", "an OpenCLIP model")
        with model.running() as network:
            about = open_clip.get_model_preprocess_cfg(network)
        transform = module("open_clip.transform")
        self._prepare = transform.image_transform_v2(transform.PreprocessCfg(**about), is_train=False)
        self._mean, self._std = (np.asarray(about[key], dtype=np.float64) for key in ("mean", "std"))
        self._grid = (1, 1)

    def prepare(self, image: Any) -> Prepared:
        return Prepared(self._prepare(image).numpy(), self._grid)

    def pixels(self, prepared: Prepared) -> Pixels:
        values = prepared.values.transpose(1, 2, 0) * self._std + self._mean
        return np.clip(np.rint(values * 255.0), 0, 255).astype(np.uint8)

    def _tensor(self, batch: Sequence[Prepared]) -> Any:
        return module("torch").from_numpy(np.stack([p.values for p in batch])).to(self._model.device)

    def _grey(self) -> Prepared:
        """A grey picture: a pass over it tells all sizes, whatever network it is."""
        from PIL import Image

        return self.prepare(Image.new("RGB", (64, 64), (128, 128, 128)))

    def _settle(self, passed: Passed, grid: tuple[int, int]) -> None:
        self.width = int(passed.last.shape[2])
        self.pooled_dim = int(passed.pooled.shape[1])  # type: ignore[union-attr]
        self._grid = grid
        self.patches = grid[0] * grid[1]


class OpenClipTokenTower(_Pictures):
    """A vision transformer, open_clip's own or timm's: its tokens are the patches."""

    def __init__(self, model: HubModel, blocks: int) -> None:
        super().__init__(model)
        self.blocks = blocks
        grey = self._grey()
        passed = self.run([grey], [blocks], True)
        count, (_, height, width) = int(passed.last.shape[1]), grey.values.shape
        side = round(np.sqrt(height * width / count))
        if side < 1 or (height // side) * (width // side) != count:
            raise InvalidInput(f"{model.name}: {count} patches do not tile a picture of {height} x {width} pixels")
        self._settle(passed, (height // side, width // side))

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        if 0 in layers:
            raise InvalidInput("layer 0 is not available for OpenCLIP models; choose 1 or more")
        asked = sorted({*layers, self.blocks})
        with self._model.running() as network:
            found = network.visual.forward_intermediates(
                self._tensor(batch), indices=[n - 1 for n in asked], output_fmt="NLC"
            )
            states = dict(zip(asked, found["image_intermediates"], strict=True))
            if normed:
                norm = getattr(network.visual, "ln_post", None) or getattr(network.visual.trunk, "norm", None)
                states[self.blocks] = norm(states[self.blocks]) if norm is not None else states[self.blocks]
            return Passed([states[n] for n in layers], states[self.blocks], found["image_features"])


class OpenClipMapTower(_Pictures):
    """A convolutional network of timm, as MobileCLIP has: the cells of its last map are the patches.

    There is one layer to choose, since earlier maps have other widths and grids.
    """

    blocks = 1

    def __init__(self, model: HubModel) -> None:
        super().__init__(model)
        with model.running() as network:
            shape = network.visual.trunk.forward_features(self._tensor([self._grey()])).shape
            channels = int(network.visual.trunk.num_features)
        if len(shape) != 4 or shape[1] != channels:
            raise InvalidInput(
                f"{model.name}: its image network ends in an array of {tuple(shape)}, which is no map of {channels} "
                "channels over rows and columns; choose another model, such as open_clip:MobileCLIP-S1"
            )
        self._settle(self.run([self._grey()], [1], True), (int(shape[2]), int(shape[3])))

    def run(self, batch: Sequence[Prepared], layers: Sequence[int], normed: bool) -> Passed:
        with self._model.running() as network:
            found = network.visual.trunk.forward_features(self._tensor(batch))
            pooled = network.visual.head(network.visual.trunk.forward_head(found))
            cells = found.flatten(2).transpose(1, 2)
            return Passed([cells for _ in layers], cells, pooled)


def _blocks(visual: Any) -> Any:
    """The list of blocks of a vision transformer, open_clip's own or timm's."""
    if hasattr(visual, "transformer") and hasattr(visual.transformer, "resblocks"):
        return visual.transformer.resblocks
    return getattr(getattr(visual, "trunk", None), "blocks", None)
