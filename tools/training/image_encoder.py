"""Pictures to patch vectors on a GPU, as `zipfian.encode.image` makes them on a CPU.

The network is written out from the same weights. Whole pictures go through the project's own decoder and Pillow's
resizing, so that only the arithmetic differs. Views for training (mirrored, cut out) are resized on the device: they
need not match anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from texts import Array
from torch.nn import functional as F

from zipfian.encode.efficientnet import CELL, CHANNELS, EPSILON, LITE2_STRIDES, MEAN, SPREAD
from zipfian.encode.images import SUFFIXES, decode
from zipfian.train._torch import matmul_precision

SIZE = 384
SMALL = 224
HOLD_EVERY = 50


class Lite2:
    """EfficientNet-Lite2 up to the map of its last convolution, or of one of its blocks; batch norms folded in."""

    def __init__(self, path: Path, device: str, block: int | None = None) -> None:
        from safetensors.numpy import load_file

        self.device = torch.device(device)
        self.w = load_file(path)
        self.block = block
        self.channels = CHANNELS if block is None else len(self.w[f"_blocks.{block}._project_conv.weight"])
        self.cell = CELL if block is None else 2 * int(np.prod(LITE2_STRIDES[: block + 1]))
        self.cells = (SIZE // self.cell) ** 2
        self.folded: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}

    def convolution(
        self, x: torch.Tensor, name: str, norm: str, *, stride: int = 1, depthwise: bool = False, activate: bool = True
    ) -> torch.Tensor:
        if name not in self.folded:
            gain, shift, mean, variance = (
                self.w[f"{norm}.{part}"].astype(np.float64)
                for part in ("weight", "bias", "running_mean", "running_var")
            )
            factor = gain / np.sqrt(variance + EPSILON)
            arrays = (self.w[f"{name}.weight"] * factor[:, None, None, None], shift - mean * factor)
            weight, bias = (torch.from_numpy(a.astype(np.float32)).to(self.device) for a in arrays)
            self.folded[name] = weight.contiguous(memory_format=torch.channels_last), bias
        weight, bias = self.folded[name]
        # "Same" padding as TensorFlow does it: the larger half at the bottom and on the right.
        pads: list[int] = []
        for side, kernel in ((x.shape[3], weight.shape[3]), (x.shape[2], weight.shape[2])):
            need = max(0, (-(-side // stride) - 1) * stride + kernel - side)
            pads += [need // 2, need - need // 2]
        x = F.conv2d(F.pad(x, pads), weight, bias, stride=stride, groups=len(weight) if depthwise else 1)
        return x.clamp_(0.0, 6.0) if activate else x

    def patches(self, pixels: torch.Tensor) -> torch.Tensor:
        """(batch, 3, height, width) of numbers 0 to 255 to (batch, cells, channels)."""
        x = ((pixels.float() - MEAN) / SPREAD).contiguous(memory_format=torch.channels_last)
        x = self.convolution(x, "_conv_stem", "_bn0", stride=2)
        for number, stride in enumerate(LITE2_STRIDES):
            name, inside = f"_blocks.{number}.", x
            if f"{name}_expand_conv.weight" in self.w:
                inside = self.convolution(inside, f"{name}_expand_conv", f"{name}_bn0")
            inside = self.convolution(inside, f"{name}_depthwise_conv", f"{name}_bn1", stride=stride, depthwise=True)
            inside = self.convolution(inside, f"{name}_project_conv", f"{name}_bn2", activate=False)
            x = inside + x if stride == 1 and inside.shape[1] == x.shape[1] else inside
            if number == self.block:
                return x.flatten(2).transpose(1, 2)
        return self.convolution(x, "_conv_head", "_bn1").flatten(2).transpose(1, 2)


class Pictures(NamedTuple):
    """Names relative to their folder, and pixels at two sizes (uint8, channels last) in ordinary memory."""

    names: list[str]
    whole: Array
    """(pictures, 384, 384, 3): what the encoder sees."""
    small: Array | None
    """(pictures, 224, 224, 3): what views are cut from."""


def read_pictures(folder: Path, *, small: bool, limit: int | None = None, threads: int = 16) -> Pictures:
    """Every picture below a folder, in the order of their names."""
    from PIL.Image import Resampling

    paths = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if limit is not None and len(paths) > limit:
        paths = paths[:: -(-len(paths) // limit)]
    whole = np.empty((len(paths), SIZE, SIZE, 3), dtype=np.uint8)
    reduced = np.empty((len(paths), SMALL, SMALL, 3), dtype=np.uint8) if small else None

    def read(place: int) -> None:
        image = decode(paths[place], reduce_to=2 * SIZE)
        whole[place] = np.asarray(image.resize((SIZE, SIZE), Resampling.BICUBIC))
        if reduced is not None:
            reduced[place] = np.asarray(image.resize((SMALL, SMALL), Resampling.BICUBIC))

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(read, range(len(paths))))
    return Pictures([str(path.relative_to(folder)) for path in paths], whole, reduced)


def whole_views(pictures: Pictures, device: Any, batch: int) -> Iterator[torch.Tensor]:
    for start in range(0, len(pictures.whole), batch):
        yield torch.from_numpy(pictures.whole[start : start + batch]).to(device).permute(0, 3, 1, 2)


def cut_views(pictures: Pictures, device: Any, batch: int, seed: int, low: float) -> Iterator[torch.Tensor]:
    """A random rectangle of every picture (share of its area from `low` to 1), half of them mirrored, at full size."""
    if pictures.small is None:
        raise ValueError("views need pixels of the small size")
    rng = np.random.default_rng(seed)
    for start in range(0, len(pictures.small), batch):
        x = torch.from_numpy(pictures.small[start : start + batch]).to(device).permute(0, 3, 1, 2).float()
        n = len(x)
        area, ratio = rng.uniform(low, 1.0, n), np.exp(rng.uniform(-0.22, 0.22, n))
        wide, high = np.minimum(1.0, np.sqrt(area * ratio)), np.minimum(1.0, np.sqrt(area / ratio))
        left, top = rng.random(n) * (1.0 - wide), rng.random(n) * (1.0 - high)
        theta = np.zeros((n, 2, 3), dtype=np.float32)
        theta[:, 0, 0] = wide * np.where(rng.random(n) < 0.5, -1.0, 1.0)
        theta[:, 0, 2] = 2.0 * left + wide - 1.0
        theta[:, 1, 1] = high
        theta[:, 1, 2] = 2.0 * top + high - 1.0
        grid = F.affine_grid(torch.from_numpy(theta).to(device), [n, 3, SIZE, SIZE], align_corners=False)
        cut = F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=False)
        yield cut.round().clamp_(0.0, 255.0)


def patch_matrix(
    net: Lite2, views: Iterator[torch.Tensor], pictures: int, store: torch.dtype
) -> tuple[torch.Tensor, torch.Tensor]:
    """(pictures, cells, channels) on the device, and the pooled vectors of length 1."""
    out = torch.empty(pictures, net.cells, net.channels, dtype=store, device=net.device)
    pooled = torch.empty(pictures, net.channels, device=net.device)
    place = 0
    for pixels in views:
        with torch.no_grad():
            found = net.patches(pixels)
        out[place : place + len(found)] = found.to(store)
        pooled[place : place + len(found)] = F.normalize(found.double().sum(dim=1), dim=1).float()
        place += len(found)
    return out, pooled


@contextmanager
def precision(setting: str, device: Any) -> Iterator[None]:
    """Products and convolutions in float32 or tf32 while inside."""
    before = torch.backends.cudnn.allow_tf32
    torch.backends.cudnn.allow_tf32 = setting != "float32"
    try:
        with matmul_precision(setting, device):
            yield
    finally:
        torch.backends.cudnn.allow_tf32 = before


def view_of(pictures: Pictures, view: int, device: Any, batch: int, low: float) -> Iterator[torch.Tensor]:
    """View 0 shows pictures whole, view 1 mirrored, the others show a random part of at least `low` of the area."""
    if view > 1:
        yield from cut_views(pictures, device, batch, view, low)
        return
    for pixels in whole_views(pictures, device, batch):
        yield pixels if view == 0 else pixels.flip(3)


def whole_patches(
    net: Lite2, pictures: Pictures, batch: int, store: torch.dtype = torch.float32
) -> tuple[torch.Tensor, torch.Tensor]:
    """Patches and pooled vectors of whole pictures, in full precision."""
    with precision("float32", net.device):
        return patch_matrix(net, whole_views(pictures, net.device, batch), len(pictures.whole), store)


def held_out(n: int, device: Any) -> torch.Tensor:
    """Which of n training pictures are kept to measure on: one of fifty, more of few."""
    return torch.arange(n, device=device) % min(HOLD_EVERY, max(2, n // 4)) == 1
