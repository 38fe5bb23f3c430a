"""The default image encoder: EfficientNet-Lite2 without torch.

A picture is resized to a square, and the map of the last convolution is read cell by cell: at 384 pixels 12 x 12
patches of 1280 channels. The pooled vector is their average, brought to length 1. Pictures run one at a time on each
thread, so nothing depends on what else is encoded.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import numpy.typing as npt

from zipfian.encode import base, converted, models
from zipfian.encode.efficientnet import CELL, CHANNELS, LITE2_CHANNELS, cell_of, efficientnet_graph
from zipfian.encode.images import ImageSource, Pixels, decoded
from zipfian.encode.session import Session, checked_threads, side_by_side
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded, FloatArray, IntArray

if TYPE_CHECKING:
    from PIL import Image

REVISION = 1
"""Counted up when the same picture may get other vectors."""

CROP_PADDING = 32
"""The reference implementation cuts out size / (size + 32) of the shorter side."""

Fit = Literal["whole", "crop"]

Tile = tuple[float, float, float, float]
WHOLE: Tile = (0.0, 0.0, 1.0, 1.0)
_CROPS = re.compile(r"([1-4])x([1-4])(?::(0?\.[0-9]{1,6}))?")


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
        Pictures encoded side by side; by default one per processor.
    source
        File, folder or archive to take the weights from when the cache has none.
    progress
        Called with (bytes done, bytes in all) while weights are fetched.

    Raises
    ------
    InvalidInput
        A size, fit, block or tiling that the model does not have.

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
        self._tiles = _tiles(crops)
        """Left, upper, width and height of each tile as shares of the picture."""
        self.threads = checked_threads(threads)
        self._source = source
        self._progress = progress
        self._lock = threading.Lock()
        self._session: Session | None = None

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
        rows, columns = self.grid
        return [(1 + len(self._tiles)) * rows * columns] * len(items)

    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""
        self._ready()

    def pixels(self, item: ImageSource) -> Pixels:
        """What the network sees of a whole picture, `item`: (size, size, 3), for showing patches."""
        with decoded(item, reduce_to=2 * self.size) as image:
            return self._resized(image, WHOLE)

    def _resized(self, image: Image.Image, tile: Tile) -> Pixels:
        """A part of what `fit` shows, as a square."""
        from PIL.Image import Resampling

        width, height = image.size
        box = (0.0, 0.0, float(width), float(height))
        if self.fit == "crop":
            side = min(width, height) * self.size / (self.size + CROP_PADDING)
            box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
        if tile != WHOLE:
            left, upper, wide, high = tile
            x, y, right, lower = box
            box = (
                x + left * (right - x),
                y + upper * (lower - y),
                min(right, x + (left + wide) * (right - x)),
                min(lower, y + (upper + high) * (lower - y)),
            )
        return np.asarray(image.resize((self.size, self.size), Resampling.BICUBIC, box=box), dtype=np.uint8)

    def _outcomes(
        self, items: Sequence[ImageSource], progress: base.Progress | None
    ) -> Iterator[tuple[int, base.Outcome]]:
        """Position and result of each picture, in the order in which they are done."""
        if isinstance(items, str | bytes | Path | np.ndarray):
            raise InvalidInput("a list of pictures was expected, not one")
        session = self._ready()

        def work(index: int) -> tuple[int, base.Outcome]:
            try:
                return index, self._encode(session, items[index])
            except (ZipfianError, OSError) as error:
                return index, error

        for done, result in enumerate(side_by_side(work, range(len(items)), self.threads), start=1):
            yield result
            if progress is not None:
                progress(done, len(items))

    def _encode(self, session: Session, item: ImageSource) -> Encoded:
        smallest = min((min(tile[2:]) for tile in self._tiles), default=1.0)
        tiles = (WHOLE, *self._tiles)
        with decoded(item, reduce_to=round(2 * self.size / smallest)) as image:
            seen = [self._resized(image, tile) for tile in tiles]
        views = [self._view(session, pixels, tile) for pixels, tile in zip(seen, tiles, strict=True)]
        vectors, places, pooled = (np.concatenate(arrays) for arrays in zip(*views, strict=True))
        if self._tiles:
            total = pooled.sum(axis=0)
            pooled = (total / np.linalg.norm(total))[None]
        pieces = np.full(len(vectors), -1, dtype=np.int32)
        return Encoded(vectors, places, pieces, pooled[0].astype(np.float32), self.grid)

    def _view(
        self, session: Session, pixels: Pixels, tile: Tile
    ) -> tuple[FloatArray, IntArray, npt.NDArray[np.float64]]:
        """Patches of one tile, where they are in the grid of the whole picture, and a row with their mean, length 1."""
        wanted = ["patches"] if self.block is None else ["patches", "early"]
        maps = session.run(wanted, {"pixels": pixels[None]})
        total = maps[0][0].sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        if not (np.isfinite(length) and length > 0):
            raise InvalidInput("the encoder's output is not finite: the weights or the processor are at fault")
        left, upper, wide, high = tile
        rows, columns = self.grid
        y, x = np.divmod(np.arange(rows * columns), columns)
        # the cell that the middle of a patch lies in
        places = np.stack([upper * rows + (y + 0.5) * high, left * columns + (x + 0.5) * wide], axis=1)
        return maps[-1][0], places.astype(np.int32), (total / length)[None]

    def _ready(self) -> Session:
        with self._lock:
            if self._session is None:
                tensors = converted.load(source=self._source, progress=self._progress)
                self._session = Session(efficientnet_graph(tensors, block=self.block), "image")
            return self._session


def _tiles(crops: str | None) -> tuple[Tile, ...]:
    """What `crops` says, row by row; nothing for the whole picture alone."""
    if crops is None:
        return ()
    found = _CROPS.fullmatch(crops) if isinstance(crops, str) else None
    rows, columns = (int(found[1]), int(found[2])) if found else (1, 1)
    side = float(found[3]) if found and found[3] else None
    if rows * columns == 1 or (side is not None and not 1 / max(rows, columns) <= side < 1):
        raise InvalidInput(
            f"crops is rows x columns of tiles from '1x2' to '4x4', with a side below 1 that leaves no gaps where they "
            f"overlap ('2x2:0.875'), or None; not {crops!r}"
        )
    across = _spread(columns, side)
    return tuple((left, upper, wide, high) for upper, high in _spread(rows, side) for left, wide in across)


def _spread(count: int, side: float | None) -> list[tuple[float, float]]:
    """Start and length of `count` parts that reach from end to end."""
    length = 1.0 / count if side is None or count == 1 else side
    return [((1.0 - length) * i / max(1, count - 1), length) for i in range(count)]
