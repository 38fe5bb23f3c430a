"""What lies in the folder of a latent vocabulary: weights at once, everything else when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.device import Precision
from zipfian.encode.base import Encoder
from zipfian.errors import FingerprintMismatch
from zipfian.objects import inner
from zipfian.vocabulary._sae_device import DeviceProjection
from zipfian.vocabulary._sae_project import Projection
from zipfian.vocabulary._sae_weights import (
    SETTINGS_FILE,
    check_sha256,
    from_tensors,
    load_tensors,
    read_settings,
    read_tensors,
)
from zipfian.vocabulary.labels import Labels, read_labels
from zipfian.vocabulary.models import find_model
from zipfian.vocabulary.query_table import QueryTable

Array = npt.NDArray[Any]
Made = TypeVar("Made")

STATISTICS_FILE = "statistics.safetensors"


def check_files(model: str, sha256: str, table_sha256: str | None) -> None:
    """Refuse a vocabulary whose weights or table are not these, from its settings alone: no weights are read."""
    folder, _ = find_model(model)
    settings = read_settings(folder / SETTINGS_FILE)
    table = settings.get("table")
    found = settings.get("sha256"), table.get("sha256") if isinstance(table, Mapping) else None
    if found != (sha256, table_sha256):
        raise FingerprintMismatch(
            f"the vocabulary in {folder} is not the one that was used before: its weights have the sha256 "
            f"{str(found[0])[:12]}... instead of {sha256[:12]}..., its table {str(found[1])[:12]}... instead of "
            f"{str(table_sha256)[:12]}.... Put the old files back or build the collection again"
        )


class SaeFiles:
    """One folder; safe to share between threads."""

    def __init__(self, model: str | Path) -> None:
        self.folder, shipped = find_model(model)
        self._tensors, self.settings = load_tensors(self.folder)
        self.model = shipped or str(self.folder)
        """How to find it again."""
        self.info: Mapping[str, Any] = inner(self.settings, "info")
        self.name = shipped or str(self.info.get("name") or self.folder.name)[: limits.MAX_LABEL_CHARS]
        self.n_terms, self.dim = (int(n) for n in self._tensors["encoder"].shape)
        self.sha256 = str(self.settings["sha256"])
        known = self.settings.get("table")
        self._table_settings: Mapping[str, Any] | None = known if isinstance(known, Mapping) else None
        self.table_sha256 = None if self._table_settings is None else str(self._table_settings.get("sha256"))
        self._lock = threading.Lock()
        self._made: dict[str, Any] = {}

    @property
    def projection(self) -> Projection:
        """The encoder half, ready to run."""
        return self._once("projection", self._projection)

    def on_device(self, device: str, precision: Precision) -> DeviceProjection:
        """The encoder half on a device."""
        return self._once(
            f"projection on {device} in {precision}",
            lambda: DeviceProjection(from_tensors(self._tensors, self.settings["k"], {}), device, precision),
        )

    @property
    def table(self) -> QueryTable | None:
        """From word pieces to terms."""
        known = self._table_settings
        return None if known is None else self._once("table", lambda: QueryTable.load(self.folder, known, self.n_terms))

    @property
    def labels(self) -> Labels | None:
        """Readable names of the terms."""
        return self._once("labels", lambda: read_labels(self.folder, self.n_terms))

    @property
    def statistics(self) -> Mapping[str, Array]:
        """Arrays with a number for every term."""
        return self._once("statistics", self._statistics)

    def neighbours(self, term: int) -> list[tuple[int, float]]:
        """Terms with similar decoder rows, and how similar."""
        terms, cosines = self._tensors.get("nearest_terms"), self._tensors.get("nearest_cosines")
        if terms is None or cosines is None or terms.shape != cosines.shape or len(terms) != self.n_terms:
            return []
        return list(zip(terms[term].tolist(), cosines[term].astype(float).tolist(), strict=True))

    @property
    def encoder(self) -> Mapping[str, Any]:
        """What is known of the encoder it was trained for: name, settings, fingerprint."""
        known = self.info.get("encoder")
        if isinstance(known, Mapping):
            return known
        return {"name": known} if isinstance(known, str) else {}

    @property
    def fitting(self) -> str:
        """The encoder it was trained for, in words."""
        name = self.encoder.get("name", f"an encoder with vectors of {self.dim} numbers")
        settings = self.encoder.get("settings")
        return f"{name} with {settings}" if settings else str(name)

    def check_encoder(self, encoder: Encoder[Any]) -> None:
        """Refuse an encoder whose vectors mean something else."""
        known = self.encoder
        accepted = (known.get("fingerprint"), *inner(known, "also").values())
        if encoder.dim != self.dim:
            raise FingerprintMismatch(
                f"the vocabulary {self.name} reads vectors of {self.dim} numbers, the encoder {encoder.fingerprint} "
                f"gives {encoder.dim}; it fits {self.fitting}"
            )
        if encoder.fingerprint in accepted:
            return
        wanted = known.get("name")
        if wanted is not None and encoder.fingerprint.partition(":")[0] != wanted:
            raise FingerprintMismatch(
                f"the vocabulary {self.name} was not trained for the encoder {encoder.fingerprint}; "
                f"it fits {self.fitting}"
            )
        layers, found = inner(known, "settings").get("layers"), getattr(encoder, "layers", None)
        if layers is not None and found is not None and [list(pair) for pair in found] != layers:
            raise FingerprintMismatch(
                f"the vocabulary {self.name} was trained on the layers {layers}, the encoder gives {found}; "
                f"it fits {self.fitting}"
            )

    def _projection(self) -> Projection:
        weights = from_tensors(self._tensors, self.settings["k"], {})
        stored = self._tensors["encoder"].dtype == np.int8
        return Projection(weights, (self._tensors["encoder"], self._tensors["encoder_step"]) if stored else None)

    def _statistics(self) -> Mapping[str, Array]:
        known = self.settings.get("statistics")
        tensors = dict(self._tensors)
        if isinstance(known, Mapping):
            check_sha256(self.folder / STATISTICS_FILE, known.get("sha256"))
            tensors |= read_tensors(self.folder / STATISTICS_FILE)
        return {name: a for name, a in tensors.items() if name.startswith("term_") and a.shape == (self.n_terms,)}

    def _once(self, name: str, make: Callable[[], Made]) -> Made:
        with self._lock:
            if name not in self._made:
                self._made[name] = make()
            made: Made = self._made[name]
            return made
