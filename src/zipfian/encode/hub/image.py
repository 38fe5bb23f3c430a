"""Image encoders of the hub: SigLIP, SigLIP2, CLIP, OpenCLIP, DINOv2 and ResNet.

Patch tokens and the pooled vector come out of one pass. Pictures of equal shape share a batch and nothing is padded, so
a picture's vectors do not depend on its neighbours beyond rounding: to 1e-5 of their length in float32. With
`batch_images=1` they are equal bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zipfian.encode import base
from zipfian.encode.hub._settings import HubEncoder, array, from_one, model_of, passed
from zipfian.encode.hub._windows import unit
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.pictures import ImageTower, Prepared, image_tower
from zipfian.encode.hub.towers import Passed
from zipfian.encode.images import ImageSource, Pixels, decoded
from zipfian.encode.layers import LayerChoice, checked_layers
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded

REVISION = 1
"""Counted up when the same picture may get other vectors."""


class HubImageEncoder(HubEncoder):
    """Patches of a picture to hidden states of a hub model, and one pooled vector of length 1.

    The pooled vector is the model's own: SigLIP's attention pooling, CLIP's projected class token (both in the space of
    their texts), DINOv2's class token, the mean of a ResNet's last feature map.

    Parameters
    ----------
    model
        A folder, a hub name (fetched now unless it is in the hub's cache) or a `HubModel` to share.
    layers
        Hidden states to use, side by side: block numbers (-1 the last), each optionally with a factor.
    final_norm
        Whether the last layer is taken after the network's closing normalisation, as its own pooling sees it (CLIP has
        none for patches); False: the sum that leaves the last block.
    batch_images
        Pictures that go through the network together.
    """

    def __init__(
        self,
        model: str | Path | HubModel,
        layers: Sequence[LayerChoice] = (-1,),
        *,
        final_norm: bool = True,
        batch_images: int | None = None,
        **where: Any,
    ) -> None:
        self.model = model_of(model, where)
        self._tower: ImageTower = image_tower(self.model)
        self.layers = checked_layers(layers, self._tower.blocks)
        self.final_norm = final_norm
        default = 4 if self.model.device == "cpu" else 64
        self.batch_images = from_one("batch_images", default if batch_images is None else batch_images)

    @property
    def kind(self) -> Literal["image"]:
        """Items are pictures."""
        return "image"

    @property
    def dim(self) -> int:
        """Components of a patch vector."""
        return self._tower.width * len(self.layers)

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        return self._tower.pooled_dim

    @property
    def fingerprint(self) -> str:
        """All files of the model and every setting that changes a vector; where the files came from does not."""
        settings = {"library": self.model.family.library, "layers": self.layers, "final_norm": self.final_norm}
        return self.model.fingerprint("image", REVISION, settings)

    @property
    def hub_settings(self) -> dict[str, Any]:
        """What `encode.hub.load` makes an equal encoder from."""
        layers = [list(pair) for pair in self.layers]
        return {**self.model.settings, "kind": "image", "layers": layers, "final_norm": self.final_norm}

    def encode_documents(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures that will be found, in order; the first bad one is an error that names it."""
        results = self._run(items, progress, fatal=True)
        return [result for result in results if isinstance(result, Encoded)]

    def try_documents(
        self, items: Sequence[ImageSource], *, progress: base.Progress | None = None
    ) -> list[base.Outcome]:
        """As `encode_documents`, but a bad picture gives its error in its place and the others go on."""
        return self._run(items, progress, fatal=False)

    def encode_queries(self, items: Sequence[ImageSource], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode pictures to search with: the same work."""
        return self.encode_documents(items, progress=progress)

    def count_tokens(self, items: Sequence[ImageSource]) -> list[int]:
        """Patches of each picture; where they depend on its shape, the pictures are read."""
        if self._tower.patches is not None:
            return [self._tower.patches] * len(items)
        return [_patches(self._tower, item) for item in items]

    def pixels(self, item: ImageSource) -> Pixels:
        """What the network sees of a picture, for showing patches."""
        return self._tower.pixels(_prepared(self._tower, item))

    def _run(self, items: Sequence[ImageSource], progress: base.Progress | None, *, fatal: bool) -> list[base.Outcome]:
        if isinstance(items, str | bytes | Path | np.ndarray):
            raise InvalidInput("a list of pictures was expected, not one")
        results: dict[int, base.Outcome] = {}
        waiting: dict[tuple[int, ...], list[tuple[int, Prepared]]] = {}
        for index, item in enumerate(items):
            try:
                prepared = _prepared(self._tower, item)
            except (ZipfianError, OSError) as error:
                if fatal:
                    raise
                results[index] = error
                continue
            same = waiting.setdefault(prepared.values.shape, [])
            same.append((index, prepared))
            if len(same) >= self.batch_images:
                self._pass(waiting.pop(prepared.values.shape), results)
                if progress is not None:
                    progress(len(results), len(items))
        for same in waiting.values():
            self._pass(same, results)
            if progress is not None:
                progress(len(results), len(items))
        return [results[index] for index in range(len(items))]

    def _pass(self, same: list[tuple[int, Prepared]], results: dict[int, base.Outcome]) -> None:
        for part, found in passed(self.model, same, self._run_tower):
            self._place(part, found, results)

    def _run_tower(self, same: list[tuple[int, Prepared]]) -> Passed:
        return self._tower.run([p for _, p in same], [layer for layer, _ in self.layers], self.final_norm)

    def _place(self, same: list[tuple[int, Prepared]], found: Passed, results: dict[int, base.Outcome]) -> None:
        factors = [np.float32(factor) for _, factor in self.layers]
        states = [array(state) * factor for state, factor in zip(found.states, factors, strict=True)]
        pooled = array(found.pooled)
        for row, (index, prepared) in enumerate(same):
            vectors = np.ascontiguousarray(np.concatenate([state[row] for state in states], axis=1))
            rows, columns = prepared.grid
            if len(vectors) != rows * columns:
                raise InvalidInput(
                    f"{self.model.name} gives {len(vectors)} patches for a grid of {rows} x {columns}: its picture "
                    "preparation and its network do not fit; preprocessor_config.json is of another model"
                )
            places = np.stack(np.divmod(np.arange(rows * columns), columns), axis=1).astype(np.int32)
            pieces = np.full(len(vectors), -1, dtype=np.int32)
            results[index] = Encoded(vectors, places, pieces, unit(pooled[row].astype(np.float64)), prepared.grid)


def _prepared(tower: ImageTower, item: ImageSource) -> Prepared:
    with decoded(item) as image:
        return tower.prepare(image)


def _patches(tower: ImageTower, item: ImageSource) -> int:
    try:
        rows, columns = _prepared(tower, item).grid
    except (ZipfianError, OSError):
        return 0
    return rows * columns
