"""Autoencoders beside the top-k one learn to rebuild what they are given."""

from __future__ import annotations

import pytest

from tests.tools.loading import load

torch = pytest.importorskip("torch")
(variants,) = load("training.variants")

from zipfian.train.settings import SaeSettings  # noqa: E402
from zipfian.train.source import MemorySource  # noqa: E402


@pytest.mark.parametrize(("variant", "penalty"), [("l1", 0.05), ("batch", 0.0), ("jump", 8.0)])
def test_variants_learn(variant: str, penalty: float) -> None:
    torch.manual_seed(0)
    parts = torch.nn.functional.normalize(torch.randn(24, 16), dim=1) * 4
    rows = parts[torch.randint(24, (4_096,))] + parts[torch.randint(24, (4_096,))] + 0.1 * torch.randn(4_096, 16)
    base = SaeSettings(width=64, k=4, batch=128, epochs=1.0, lr=3e-3)
    short, long = (
        variants.train_variant(
            MemorySource(rows), SaeSettings(**{**base.to_json(), "epochs": epochs}), variant, penalty, "cpu"
        )
        for epochs in (0.1, 8.0)
    )
    assert long.metrics["train"]["fvu"] < 0.7 * short.metrics["train"]["fvu"]
    assert long.metrics["steps"] == 256
    if variant != "l1":
        assert long.metrics["active"] < 10
