"""Terms of tokens become terms of items."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest

from tests.tools.loading import load

torch = pytest.importorskip("torch", reason="LEFT OUT: torch not installed (extra 'train')")

VALUES = [[3.0, 1.0], [2.0, 0.5], [4.0, 0.0]]
TERMS = [[1, 2], [1, 0], [2, 3]]


@pytest.fixture(scope="module")
def codes() -> ModuleType:
    (found,) = load("training.codes")
    return found


def test_tokens_are_pooled_by_item(codes: ModuleType) -> None:
    fired = torch.tensor(VALUES), torch.tensor(TERMS, dtype=torch.int32)
    made = codes.by_item(fired, np.array([0, 2, 2, 3]))
    assert made.items == 3
    assert made.pooled(2, 4).tolist() == [[0.5, 5.0, 1.0, 0.0], [0.0] * 4, [0.0, 0.0, 4.0, 0.0]]
    assert made.pooled(1, 4).tolist() == [[0.0, 5.0, 0.0, 0.0], [0.0] * 4, [0.0, 0.0, 4.0, 0.0]]
    assert made.pooled(2, 4, "max").tolist() == [[0.5, 3.0, 1.0, 0.0], [0.0] * 4, [0.0, 0.0, 4.0, 0.0]]


def test_items_are_counted_once_for_a_term(codes: ModuleType) -> None:
    made = codes.by_item((torch.tensor(VALUES), torch.tensor(TERMS)), np.array([0, 2, 3]))
    assert made.df(2, 4).tolist() == [1, 1, 2, 0]  # term 3 has a weight of nothing


def test_terms_of_pictures_are_those_of_their_patches(codes: ModuleType) -> None:
    from zipfian.train.model import TopKSae
    from zipfian.train.sae import TrainResult
    from zipfian.train.settings import SaeSettings

    settings = SaeSettings(width=12, k=3)
    sae = TopKSae(5, settings, "cpu")
    sae.encoder.copy_(torch.randn(12, 5, generator=torch.Generator().manual_seed(0)))
    result = TrainResult(sae, torch.zeros(5), 1.0, settings)
    patches = torch.randn(4, 6, 5, generator=torch.Generator().manual_seed(1))
    found = codes.of_pictures(result, patches, 20)
    assert found.values.shape == (24, 12) and found.items == 4
    for place in range(4):
        values, terms = sae.activations(patches[place], 2)
        wanted = torch.zeros(12).scatter_reduce_(0, terms.reshape(-1), values.reshape(-1), "amax")
        assert torch.allclose(found.pooled(2, 12, "max")[place], wanted)
    before = sae.encoder.clone()
    codes.quantise_in_place(result)
    step = before.abs().amax(dim=1, keepdim=True) / 127.0
    assert float((sae.encoder - before).abs().max()) > 0 and bool(((sae.encoder - before).abs() <= step).all())
