"""Terms of token vectors on a device against the product written out, ties and full devices included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.device.faults import TORCH_CPU, devices, failing, needs_torch, out_of_memory
from zipfian.errors import DeviceMemory
from zipfian.vocabulary._sae_device import DeviceProjection
from zipfian.vocabulary._sae_weights import SaeWeights

pytestmark = needs_torch

TERMS, DIM, TOKENS = 300, 24, 70


@pytest.fixture
def weights() -> SaeWeights:
    rng = np.random.default_rng(2)
    encoder = rng.standard_normal((TERMS, DIM)).astype(np.float32)
    encoder[200:220] = encoder[100:120]  # twins, which always tie
    bias = rng.standard_normal(TERMS).astype(np.float32) - 3.0
    bias[200:220] = bias[100:120]
    return SaeWeights(encoder, bias, rng.standard_normal(DIM).astype(np.float32), 1.7, 4)


@pytest.fixture
def vectors() -> np.ndarray:
    return np.random.default_rng(3).standard_normal((TOKENS, DIM)).astype(np.float32)


def expected(weights: SaeWeights, vectors: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """In float64: strongest first, equal ones by lower id, -1 and 0 where fewer fire."""
    x = (vectors.astype(np.float64) - weights.mu) / weights.scale
    scores = np.round(x @ weights.encoder.T.astype(np.float64) + weights.bias, 5)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    values = np.take_along_axis(scores, order, axis=1)
    return np.where(values > 0, order, -1), np.maximum(values, 0.0)


def on(device: str, array: np.ndarray) -> Any:
    import torch

    return torch.from_numpy(array).to("cpu" if device == TORCH_CPU else device)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("k", [1, 4, 32, TERMS])
@pytest.mark.parametrize("precision", ["float32", "float16", "bfloat16"])
def test_the_strongest_terms(device: str, k: int, precision: Any, weights: SaeWeights, vectors: np.ndarray) -> None:
    found, values = DeviceProjection(weights, device, precision).strongest(on(device, vectors), k)
    terms, exact = expected(weights, vectors, k)
    assert found.dtype == np.int32 and values.dtype == np.float32
    assert np.array_equal(found, terms) and np.allclose(values, exact, atol=1e-4)
    assert (terms == -1).any() == (k > 32), "some tokens fire fewer terms than all"


def test_no_tokens(weights: SaeWeights) -> None:
    found, values = DeviceProjection(weights, TORCH_CPU, "float32").strongest(
        on(TORCH_CPU, np.empty((0, DIM), "f4")), 3
    )
    assert found.shape == values.shape == (0, 3)


def test_a_block_too_large_is_halved_and_stays_so(
    weights: SaeWeights, vectors: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []

    def large(_: object, part: Any, *__: object) -> bool:
        sizes.append(len(part))
        return len(part) > 20

    monkeypatch.setattr(DeviceProjection, "_block", failing(DeviceProjection._block, large, out_of_memory))
    projection = DeviceProjection(weights, TORCH_CPU, "float32")
    for _ in range(2):
        assert np.array_equal(projection.strongest(on(TORCH_CPU, vectors), 4)[0], expected(weights, vectors, 4)[0])
    assert sizes == [70, 35, 17, 17, 17, 17, 2, 17, 17, 17, 17, 2]
    monkeypatch.setattr(DeviceProjection, "_block", out_of_memory)
    with pytest.raises(DeviceMemory, match="too little free memory for the terms of one token"):
        projection.strongest(on(TORCH_CPU, vectors), 4)
