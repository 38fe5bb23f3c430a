"""Encoders with real weights, shared by all tests here; without weights and without a source their suites are left out.

The weights are in the user's cache, so only the first run on a machine fetches them.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian.encode import ImageEncoder, MultilingualEncoder, TextEncoder, models, weights
from zipfian.errors import WeightsNotFound

DATA = Path(__file__).parent / "data"


@functools.cache
def weights_of(name: str) -> dict[str, Path] | str:
    """The files of a model, or why there are none."""
    try:
        return dict(weights.get(models.find(name)))
    except (WeightsNotFound, OSError) as error:
        return f"no weights of {name}; run `zipfian weights get` with a network ({type(error).__name__})"


def needed(name: str, *modules: str) -> dict[str, Path]:
    """The files of a model; leaves the test out where they or a package are missing."""
    for module in modules:
        pytest.importorskip(module, reason=f"{module} is not installed: pip install 'zipfian[text,image]'")
    found = weights_of(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.fixture(scope="session")
def minilm() -> dict[str, Path]:
    return needed("all-minilm-l6-v2", "onnxruntime", "tokenizers", "safetensors")


@pytest.fixture(scope="session")
def lite2() -> dict[str, Path]:
    return needed("efficientnet-lite2", "onnxruntime", "PIL", "safetensors")


@pytest.fixture(scope="session")
def text_encoder(minilm: dict[str, Path]) -> TextEncoder:
    encoder = TextEncoder(threads=2)
    encoder.load()
    return encoder


@pytest.fixture(scope="session")
def use() -> dict[str, Path]:
    return needed("use-multilingual-v3", "onnxruntime", "tokenizers")


@pytest.fixture(scope="session")
def multilingual_encoder(use: dict[str, Path]) -> MultilingualEncoder:
    encoder = MultilingualEncoder(threads=2)
    encoder.load()
    return encoder


@pytest.fixture(scope="session")
def image_encoder(lite2: dict[str, Path]) -> ImageEncoder:
    encoder = ImageEncoder(threads=2)
    encoder.load()
    return encoder


@pytest.fixture(scope="session")
def reference() -> dict[str, Any]:
    """Texts, and what sentence-transformers and transformers make of them."""
    known: dict[str, Any] = json.loads((DATA / "minilm.json").read_text(encoding="utf-8"))
    with np.load(DATA / "minilm.npz", allow_pickle=False) as arrays:
        known.update(arrays)
    return known
