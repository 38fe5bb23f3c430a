"""The default image encoder: EfficientNet-Lite2, without torch unless a GPU is asked for.

A picture is resized to a square, and the map of the last convolution is read cell by cell: at 384 pixels 12 x 12
patches of 1280 channels. The pooled vector is their average, brought to length 1. On a processor (onnxruntime) pictures
run one at a time on each thread, so nothing depends on what else is encoded. On a GPU (torch, extra `gpu`;
`device_images.py`) many run together, and numbers are the same but for rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from zipfian.device import CPU, Precision, checked_device, checked_precision
from zipfian.encode import base, converted, models
from zipfian.encode.efficientnet import CELL, CHANNELS, LITE2_CHANNELS, Weights, cell_of, efficientnet_graph, network_of
from zipfian.encode.images import ImageSource, Pixels, decoded
from zipfian.encode.session import Session, checked_threads, side_by_side
from zipfian.encode.tiles import WHOLE, Tile, inside, places_of, pooled, tiles_of
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded

if TYPE_CHECKING:
    from PIL import Image

    from zipfian.encode.device_images import DeviceImages

REVISION = 1
"""Counted up when the same picture may get other vectors."""

CROP_PADDING = 32
"""The reference implementation cuts out size / (size + 32) of the shorter side."""

GROUPS_ON_DEVICE = 8
"""256 pictures where a command reads 32 at a time on a processor."""

Fit = Literal["whole", "crop"]


class ImageEncoder:
    """Patches of a picture to vectors of 1280 numbers, and one pooled vector of length 1.

    Weights are looked for, checked and loaded at the first use, not here.

    Parameters
    ----------
    size
        Side of the square the network sees; a multiple of 32.
    fit
        `whole`: the whole picture, stretched to a square, so that nothing at its edges is lost. `crop`: the middle, as
        the reference implementation evaluates.
    block
        Read patches after this block of the network (0 to 20) instead of the last convolution: fewer channels, smaller
        cells, less meaning. For studies of layers; the pooled vector stays that of the last convolution.
    crops
        `"2x2"`: beside the whole picture, its four quarters are looked at too, each enlarged to the full size; likewise
        `"1x2"`, `"3x3"` and so on. `"2x2:0.875"`: tiles that overlap, with sides of 7/8 of the picture's. Costs a pass
        for every tile. Their patches are reported where they are in the whole picture; the pooled vector is the mean
        over all views. None: the whole picture only, which measured better where one thing fills the picture.
    threads
        Pictures encoded side by side, or decoded side by side for a GPU; by default one per processor.
    source
        File, folder or archive to take the weights from when the cache has none.
    progress
        Called with (bytes done, bytes in all) while weights are fetched.
    device
        `cpu`; `cuda` or `cuda:N`, a GPU (extra `gpu`); `auto`, the GPU where torch sees one. It is no part of the
        fingerprint: what a GPU indexed is searched on a processor.
    precision
        Of the network on a GPU: `float32`, whose vectors differ from a processor's by less than 1e-4 of their length,
        or `float16` or `bfloat16`, which give some patches other terms. Encodings in them are cached apart.

    Raises
    ------
    InvalidInput
        A size, fit, block or tiling that the model does not have, or a device that is not there.
    MissingExtra
        A GPU, and no torch.

    Examples
    --------
    >>> ImageEncoder().dim, ImageEncoder(block=10).dim
    (1280, 88)
    """

    def __init__(
        self,
        size: int = 384,
        *,
        fit: Fit = "whole",
        block: int | None = None,
        crops: str | None = None,
        threads: int | None = None,
        source: Path | None = None,
        progress: base.Progress | None = None,
        device: str = CPU,
        precision: str = "float32",
    ) -> None:
        if size % CELL or not 2 * CELL <= size <= 32 * CELL:
            raise InvalidInput(f"size must be a multiple of {CELL} from {2 * CELL} to {32 * CELL}, not {size}")
        if fit not in ("whole", "crop"):
            raise InvalidInput(f"fit must be 'whole' or 'crop', not {fit!r}")
        if block is not None and (isinstance(block, bool) or block not in range(len(LITE2_CHANNELS))):
            raise InvalidInput(f"block must be a number from 0 to {len(LITE2_CHANNELS) - 1}, not {block!r}")
        self.size = size
        self.fit: Fit = fit
        self.block = block
        self.crops = crops
        self._tiles: tuple[Tile, ...] = (WHOLE, *tiles_of(crops))
        """The views of a picture."""
        self._places = np.concatenate([places_of(tile, self.grid) for tile in self._tiles])
        self.threads = checked_threads(threads)
        self.device = checked_device(device, "an image encoder on a GPU")
        self.precision: Precision = checked_precision(precision)
        if self.device == CPU and self.precision != "float32":
            raise InvalidInput(
                f"precision {precision!r} is for a GPU: on the processor an encoder computes in float32; leave it out"
            )
        self._source = source
        self._progress = progress
        self._lock = threading.Lock()
        self._network: Session | DeviceImages | None = None

    @property
    def kind(self) -> Literal["image"]:
        """Items are pictures."""
        return "image"

    @property
    def dim(self) -> int:
        """Components of a patch vector."""
        return CHANNELS if self.block is None else LITE2_CHANNELS[self.block]

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        return CHANNELS

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        side = self.size // cell_of(self.block)
        return side, side

    @property
    def fingerprint(self) -> str:
        """Model and every setting that changes a vector."""
        files = {file.name: file.sha256 for file in models.EFFICIENTNET_LITE2.files}
        settings = {"revision": REVISION, "files": files, "size": self.size, "fit": self.fit}
        if self.block is not None:  # only then, so that collections built before there was a choice stay valid
            settings["block"] = self.block
        if self.crops is not None:
            settings["crops"] = self.crops
        return base.fingerprint(models.EFFICIENTNET_LITE2.name, settings)

    @property
    def at_once(self) -> int:
        """Groups of pictures that are worth encoding together: on a GPU many, as each is over in a moment."""
        return 1 if self.device == CPU else GROUPS_ON_DEVICE

    @property
    def fell_back(self) -> int:
        """Pictures that half precision could not represent, and that were encoded in float32 instead."""
        network = self._network
        return 0 if network is None or isinstance(network, Session) else network.fell_back

    def encode_documents(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures, `items`, that will be found, in order; the first bad one is an error that names it.

        `progress` is called with (pictures done, pictures in all).
        """
        results: dict[int, Encoded] = {}
        for index, result in self._outcomes(items, progress):
            if not isinstance(result, Encoded):
                raise result
            results[index] = result
        return [results[index] for index in range(len(items))]

    def try_documents(
        self, items: Sequence[ImageSource], *, progress: base.Progress | None = None
    ) -> list[base.Outcome]:
        """As `encode_documents`, but a bad one of `items` gives its error and the others go on; `progress` likewise."""
        results = dict(self._outcomes(items, progress))
        return [results[index] for index in range(len(items))]

    def encode_queries(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures to search with: the same work; arguments as for `encode_documents`."""
        return self.encode_documents(items, progress=progress)

    def count_tokens(self, items: Sequence[ImageSource]) -> list[int]:
        """Patches of each picture of `items`: always the same."""
        return [len(self._places)] * len(items)

    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""
        self._ready()

    def pixels(self, item: ImageSource) -> Pixels:
        """What the network sees of a whole picture, `item`: (size, size, 3), for showing patches."""
        with decoded(item, reduce_to=2 * self.size) as image:
            return self._resized(image, WHOLE)

    def views(self, item: ImageSource) -> Pixels:
        """What the network sees of a picture, `item`, the whole and each tile: (views, size, size, 3)."""
        smallest = min(min(tile[2:]) for tile in self._tiles)
        with decoded(item, reduce_to=round(2 * self.size / smallest)) as image:
            return np.stack([self._resized(image, tile) for tile in self._tiles])

    def _resized(self, image: Image.Image, tile: Tile) -> Pixels:
        """A part of what `fit` shows, as a square."""
        from PIL.Image import Resampling

        width, height = image.size
        box = (0.0, 0.0, float(width), float(height))
        if self.fit == "crop":
            side = min(width, height) * self.size / (self.size + CROP_PADDING)
            box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
        square = image.resize((self.size, self.size), Resampling.BICUBIC, box=inside(box, tile))
        return np.asarray(square, dtype=np.uint8)

    def _outcomes(
        self, items: Sequence[ImageSource], progress: base.Progress | None
    ) -> Iterator[tuple[int, base.Outcome]]:
        """Position and result of each picture, in the order in which they are done."""
        if isinstance(items, str | bytes | Path | np.ndarray):
            raise InvalidInput("a list of pictures was expected, not one")
        network = self._ready()

        def work(session: Session, index: int) -> tuple[int, base.Outcome]:
            try:
                return index, self._encode(session, items[index])
            except (ZipfianError, OSError) as error:
                return index, error

        if isinstance(network, Session):
            made = side_by_side(partial(work, network), range(len(items)), self.threads)
        else:
            made = enumerate(network.encode(items, self.views))
        for done, result in enumerate(made, start=1):
            yield result
            if progress is not None:
                progress(done, len(items))

    def _encode(self, session: Session, item: ImageSource) -> Encoded:
        wanted = ["patches"] if self.block is None else ["patches", "early"]
        maps = [session.run(wanted, {"pixels": pixels[None]}) for pixels in self.views(item)]
        vector = pooled(found[0][0].sum(axis=0, dtype=np.float64) for found in maps)
        if vector is None:
            raise InvalidInput("the encoder's output is not finite: the weights or the processor are at fault")
        vectors = np.concatenate([found[-1][0] for found in maps])
        return Encoded(vectors, self._places, np.full(len(vectors), -1, dtype=np.int32), vector, self.grid)

    def _ready(self) -> Session | DeviceImages:
        with self._lock:
            if self._network is None:
                tensors = converted.load(source=self._source, progress=self._progress)
                if self.device == CPU:
                    self._network = Session(efficientnet_graph(tensors, block=self.block), "image")
                else:
                    self._network = self._on_device(tensors)
            return self._network

    def _on_device(self, tensors: Weights) -> DeviceImages:
        from zipfian.encode.device_images import DeviceImages, Settings
        from zipfian.encode.torch_efficientnet import TorchEfficientNet

        settings = Settings(self.block, self.size, len(self._tiles), self.grid, self._places, self.dim)
        return DeviceImages(
            partial(TorchEfficientNet, network_of(tensors)), self.device, self.precision, settings, self.threads
        )
