"""Tiny autoencoders on disk for the tests of latent vocabularies."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.storage.regular import sha256_of
from zipfian.types import Encoded
from zipfian.vocabulary._sae_weights import SaeWeights, Stored, save_weights
from zipfian.vocabulary.query_table import TABLE_FILE


def weights_of(n_terms: int = 50, dim: int = 12, *, k: int = 4, seed: int = 0, **info: Any) -> SaeWeights:
    """Random weights; some terms have a positive bias, so that they fire on anything."""
    rng = np.random.default_rng(seed)
    return SaeWeights(
        encoder=rng.standard_normal((n_terms, dim)).astype(np.float32),
        bias=(rng.standard_normal(n_terms) * 0.5 - 0.5).astype(np.float32),
        mu=rng.standard_normal(dim).astype(np.float32),
        scale=0.7,
        k=k,
        info=info,
    )


def change_settings(folder: Path, **changes: Any) -> None:
    """Rewrite parts of the settings file."""
    path = folder / "sae.json"
    settings = json.loads(path.read_text())
    path.write_text(json.dumps({**settings, **changes}))


def write(folder: Path, weights: SaeWeights, stored: Stored = "int8", **settings: Any) -> Path:
    """A vocabulary's folder."""
    save_weights(weights, folder, stored)
    if settings:
        change_settings(folder, **settings)
    return folder


def add_table(folder: Path, terms: npt.NDArray[Any], weights: npt.NDArray[Any]) -> None:
    """A query table in a vocabulary's folder."""
    from safetensors.numpy import save_file

    save_file({"query_terms": terms, "query_weights": weights}, folder / TABLE_FILE)
    change_settings(folder, table={"sha256": sha256_of(folder / TABLE_FILE)})


def encoded(vectors: npt.NDArray[Any]) -> Encoded:
    """An item with these token vectors."""
    n = len(vectors)
    places = np.stack((np.arange(n) * 3, np.arange(n) * 3 + 2), axis=1).astype(np.int32)
    return Encoded(vectors.astype(np.float32), places, np.arange(n, dtype=np.int32), np.ones(3, np.float32))


def naive(
    weights: SaeWeights, vectors: npt.NDArray[Any], k: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """The definition, in float64: strongest first, equal ones by lower id; -1 and 0 where there are fewer."""
    z = (vectors.astype(np.float64) - weights.mu) / np.float32(weights.scale)
    values = np.maximum(z @ weights.encoder.astype(np.float64).T + weights.bias, 0.0)
    order = np.argsort(-values, axis=1, kind="stable")[:, :k]
    best = np.take_along_axis(values, order, axis=1)
    return np.where(best > 0, order, -1), best
