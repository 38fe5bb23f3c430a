"""Training on a CPU, on a planted dictionary small enough for seconds."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian.errors import FormatTooOld, InvalidInput
from zipfian.train.settings import PRESETS, SaeSettings

HAS_TORCH = importlib.util.find_spec("torch") is not None and importlib.util.find_spec("safetensors") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="LEFT OUT: torch is not installed (extra 'train')")

DIM, TERMS = 24, 96
SETTINGS = SaeSettings(width=TERMS, k=3, epochs=8.0, batch=256, lr=5e-3, dead_after=8_000, seed=3)
MARGIN = 0.5
"""A trained dictionary leaves at most this share of the variance that a random one leaves."""


def planted(rows: int, seed: int) -> np.ndarray:
    """Sums of three directions each, off centre, with a little noise."""
    directions = np.random.default_rng(0).normal(size=(TERMS, DIM))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rng = np.random.default_rng(seed)
    chance = 1.0 / np.arange(1, TERMS + 1) ** 0.7
    picks = rng.choice(TERMS, size=(rows, 3), p=chance / chance.sum())
    strength = rng.uniform(0.5, 1.5, size=(rows, 3))
    return ((strength[:, :, None] * directions[picks]).sum(1) + 2.0 + 0.01 * rng.normal(size=(rows, DIM))).astype("f4")


@pytest.fixture(scope="module")
def trained() -> Any:
    if not HAS_TORCH:
        pytest.skip("NO TRAINING TESTS: torch is not installed: pip install 'zipfian[train]'")
    import torch

    from zipfian.train.sae import train_sae
    from zipfian.train.source import MemorySource

    torch.set_num_threads(1)
    return train_sae(MemorySource(planted(20_000, 1)), SETTINGS, held_out=torch.from_numpy(planted(2_000, 2)))


def test_settings_round_trip_and_schedule() -> None:
    assert SaeSettings.from_json(json.loads(json.dumps(SETTINGS.to_json()))) == SETTINGS
    rates = [SaeSettings().lr_at(step, 1_000) for step in range(1_000)]
    assert max(rates) == pytest.approx(1e-3) and rates.index(max(rates)) == 49
    assert rates[0] == pytest.approx(1e-3 / 50) and rates[-1] < 1e-8


def test_presets_are_the_papers() -> None:
    bm25v, latent, _ = (SaeSettings.preset(name, 384) for name in PRESETS)
    assert (bm25v.width, bm25v.k, bm25v.batch, bm25v.epochs, bm25v.l1) == (16 * 384, 16, 4_096, 5.0, 1e-3)
    assert (latent.width, latent.k, latent.optimizer, latent.batch, latent.l1) == (32_768, 16, "adamw", 4_096, 0.0)
    assert not (bm25v.centre or bm25v.scale or latent.centre or latent.scale)
    with pytest.raises(InvalidInput, match="no preset"):
        SaeSettings.preset("other", 384)


@pytest.mark.parametrize(
    ("tokens", "width", "batch", "epochs"),
    [
        (10, 32, 32, 18.0),
        (640, 32, 32, 18.0),
        (64_000, 512, 512, 18.0),
        (500_000, 4_096, 4_096, 8.0),
        (9_999_999, 8_192, 8_192, 3.0),
        (None, 8_192, 8_192, 3.0),
    ],
)
def test_photos_have_as_many_terms_as_they_can_teach(tokens: int | None, width: int, batch: int, epochs: float) -> None:
    found = SaeSettings.preset("photos", 1_024, tokens)
    assert (found.width, found.batch, found.epochs, found.k) == (width, batch, epochs, 16)


@pytest.mark.parametrize(
    "change", [{"width": 0}, {"k": 97}, {"epochs": 0.0}, {"lr": float("nan")}, {"optimizer": "sgd"}, {"l1": -1.0}]
)
def test_bad_settings_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(change))):
        replace(SETTINGS, **change)


@needs_torch
def test_training_beats_a_random_dictionary(trained: Any) -> None:
    import torch

    from zipfian.train.model import TopKSae
    from zipfian.train.sae import TrainResult, reconstruction

    random = TrainResult(TopKSae(DIM, SETTINGS, "cpu"), trained.mu, trained.scale, SETTINGS)
    before = reconstruction(random, torch.from_numpy(planted(2_000, 2)))["fvu"]
    after = trained.metrics["held_out"]["fvu"]
    assert after < MARGIN * before, (after, before)
    assert trained.metrics["train"]["dead"] < 0.05
    assert torch.allclose(trained.sae.decoder.norm(dim=1), torch.ones(TERMS), atol=1e-5)


@needs_torch
def test_training_is_repeatable_and_resumes_exactly(trained: Any, tmp_path: Path) -> None:
    import torch

    from zipfian.train.sae import train_sae
    from zipfian.train.source import MemorySource

    source = MemorySource(planted(20_000, 1))
    path = tmp_path / "Run 1.zpfn"
    for stop in (101, 200, None):
        result = train_sae(source, SETTINGS, checkpoint=path, checkpoint_every=10_000, stop_after=stop)
    for name in ("encoder", "bias", "decoder", "silent"):
        assert torch.equal(getattr(result.sae, name), getattr(trained.sae, name)), name
    with pytest.raises(InvalidInput, match="other settings"):
        train_sae(source, replace(SETTINGS, lr=2e-3), checkpoint=path)
    assert [p.name for p in tmp_path.iterdir()] == ["Run 1.zpfn"]
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged, problem in (
        (whole[:100], "not a checkpoint"),
        (bytes(flipped), "fail their checksum"),
        (b"", "too short"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(InvalidInput, match=problem):
            train_sae(source, SETTINGS, checkpoint=path)


@needs_torch
def test_a_checkpoint_that_lacks_something_or_is_of_an_older_release(tmp_path: Path) -> None:
    from safetensors.numpy import save_file

    from zipfian.storage.replace import replacing_sections
    from zipfian.train.checkpoint import KIND
    from zipfian.train.sae import train_sae
    from zipfian.train.source import MemorySource

    source = MemorySource(planted(20_000, 1))
    path = tmp_path / "run.zpfn"
    for scalars, problem in (([], "it has no bias"), (["mu"], "its 'mu' is not one number")):
        about = {"step": 1, "scale": 1.0, "settings": SETTINGS.to_json(), "scalars": scalars}
        with replacing_sections(path, KIND, about) as writer:
            writer.add("mu", np.zeros(3, np.float32))
        with pytest.raises(InvalidInput, match=problem):
            train_sae(source, SETTINGS, checkpoint=path)
    save_file({"encoder": np.zeros((2, 2), np.float32)}, path, metadata={"zipfian": "{}"})
    with pytest.raises(FormatTooOld, match=r"run\.zpfn is a checkpoint of an older zipfian.*delete it to start over"):
        train_sae(source, SETTINGS, checkpoint=path)


@needs_torch
def test_gradients_are_those_of_autograd() -> None:
    import torch

    from zipfian.train.model import TopKSae

    settings = replace(SETTINGS, l1=0.01, unit_norm=False, decoder="kaiming")
    sae = TopKSae(DIM, settings, "cpu")
    sae.bias += 0.1
    x = torch.from_numpy(planted(64, 5)) - 2.0
    with torch.no_grad():
        sae.gradients(x)
    encoder, bias, decoder = (p.clone().requires_grad_() for p in sae.parameters())
    values, terms = torch.relu(x @ encoder.T + bias).topk(3)
    rebuilt = (values[:, None] @ decoder[terms])[:, 0]
    ((rebuilt - x).square().sum(1).mean() + 0.01 * values.sum(1).mean()).backward()
    for ours, theirs in zip(sae.parameters(), (encoder, bias, decoder), strict=True):
        torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


@needs_torch
def test_the_paths_for_a_gpu_compute_the_same() -> None:
    import torch

    from zipfian.train.model import TopKSae
    from zipfian.vocabulary.topk import grouped_top_k

    rows = torch.randn(50, 4_096, generator=torch.Generator().manual_seed(0))
    for k in (1, 16, 32):
        values, columns = grouped_top_k(rows, k)
        best = torch.topk(rows, k)
        assert torch.equal(values, best.values) and torch.equal(columns, best.indices)
    plain, dense = TopKSae(DIM, SETTINGS, "cpu"), TopKSae(DIM, SETTINGS, "cpu")
    dense._accumulate = dense._accumulate_dense  # type: ignore[method-assign]
    for seed in range(3):
        x = torch.from_numpy(planted(64, seed)) - 2.0
        with torch.no_grad():
            plain.gradients(x)
            dense.gradients(x)
        for one, other in zip(plain.parameters(), dense.parameters(), strict=True):
            torch.testing.assert_close(one.grad, other.grad, rtol=1e-4, atol=1e-6)


@needs_torch
def test_bf16_on_a_processor_learns_as_well(trained: Any) -> None:
    """Products are rounded, values of the chosen terms are not: what is learnt differs little."""
    import torch

    from zipfian.train.sae import train_sae
    from zipfian.train.source import MemorySource

    rounded = train_sae(
        MemorySource(planted(20_000, 1)),
        replace(SETTINGS, precision="bf16"),
        held_out=torch.from_numpy(planted(2_000, 2)),
    )
    one, other = rounded.metrics["held_out"]["fvu"], trained.metrics["held_out"]["fvu"]
    assert one != other  # it was rounded
    assert one < 1.3 * other
    assert rounded.sae.encoder.dtype == rounded.sae.decoder.dtype == torch.float32


@needs_torch
def test_auxk_revives_silent_terms() -> None:
    import torch

    from zipfian.train.model import TopKSae

    sae = TopKSae(DIM, SETTINGS, "cpu")
    sae.silent[:10] = SETTINGS.dead_after
    assert sae.refresh_dead() == 10
    x = torch.from_numpy(planted(64, 5)) - 2.0
    with torch.no_grad():
        sae.bias[:10] = -5.0
        sae.encoder[:10] *= 20.0
        sae.silent[:10] = SETTINGS.dead_after
        sae.gradients(x)
    assert (sae.decoder.grad[:10].abs().sum(1) > 0).all()


@needs_torch
def test_mean_and_scale_are_taken_some_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    from zipfian.train import sae
    from zipfian.train.source import MemorySource

    rows = np.random.default_rng(5).standard_normal((50, 3)).astype(np.float32) * [1.0, 10.0, 0.1] + [0.0, 5.0, -1.0]
    mu, scale = rows.mean(axis=0), float(np.sqrt(((rows - rows.mean(axis=0)) ** 2).mean()))
    monkeypatch.setattr(sae, "_STATISTICS_BLOCK", 7)
    found = sae.input_statistics(MemorySource(rows.astype(np.float32)), SETTINGS, "cpu")
    assert torch.allclose(found[0], torch.tensor(mu, dtype=torch.float32)) and found[1] == pytest.approx(scale)
    plain = replace(SETTINGS, centre=False)
    assert sae.input_statistics(MemorySource(rows), plain, "cpu")[1] == pytest.approx(float(np.sqrt((rows**2).mean())))
    rows[33, 1] = np.inf
    with pytest.raises(InvalidInput, match="row 33 of the sample"):
        sae.input_statistics(MemorySource(rows), SETTINGS, "cpu")
    monkeypatch.setattr(sae, "_STATISTICS_BYTES", 12 * 20)  # what 20 rows take
    taken: list[int] = []

    def sample(self: Any, rows: int, seed: int, device: str) -> Any:
        taken.append(rows)
        return torch.ones(rows, 3)

    monkeypatch.setattr(MemorySource, "sample", sample)
    with pytest.raises(InvalidInput, match="all activations are equal"):
        sae.input_statistics(MemorySource(rows), SETTINGS, "cpu")
    assert taken == [20]


@needs_torch
def test_bad_activations_are_refused() -> None:
    import torch

    from zipfian.train.sae import train_sae
    from zipfian.train.source import BlockSource, MemorySource

    rows = planted(20_000, 1)
    rows[17, 3] = np.nan
    with pytest.raises(InvalidInput, match="not finite"):
        train_sae(MemorySource(rows), SETTINGS)
    with pytest.raises(InvalidInput, match="too few"):
        train_sae(MemorySource(planted(300, 1)), SETTINGS)
    with pytest.raises(InvalidInput, match="less than one batch"):
        train_sae(MemorySource(planted(200, 1)), SETTINGS)
    with pytest.raises(InvalidInput, match="all activations are equal"):
        train_sae(MemorySource(np.ones((1_000, DIM), np.float32)), SETTINGS)
    with pytest.raises(InvalidInput, match="tokens x dimensions"):
        MemorySource(np.ones(5, np.float32))
    with pytest.raises(InvalidInput, match="dimensions, the source"):
        train_sae(BlockSource(lambda epoch: [torch.zeros(500, DIM), torch.ones(500, 7)], 1_000, DIM), SETTINGS)


@needs_torch
def test_sources_give_every_row_once_and_skip_exactly(tmp_path: Path) -> None:
    import torch

    from zipfian.train.source import BlockSource, MemorySource, shard_source

    rows = np.arange(1_000, dtype=np.float32)[:, None].repeat(2, axis=1)
    for place in range(10):
        np.save(tmp_path / f"{place}.npy", rows[place * 100 : place * 100 + 100].astype(np.float16).reshape(25, 4, 2))
    blocks = BlockSource(lambda epoch: np.array_split(rows, 7), 1_000, 2, buffer_rows=300)
    for source in (MemorySource(rows), blocks, shard_source(tmp_path, buffer_rows=250)):
        assert (source.rows, source.dim) == (1_000, 2)
        first = list(source.batches(0, 100, 5, 0, "cpu"))
        assert sorted(torch.cat(first)[:, 0].tolist()) == list(range(1_000))
        later = list(source.batches(0, 100, 5, 4, "cpu"))
        assert torch.equal(torch.cat(first[4:]), torch.cat(later))
        assert not torch.equal(first[0], next(iter(source.batches(1, 100, 5, 0, "cpu"))))
    joined = MemorySource(rows, rows, factors=[0.5, 1.0])
    assert joined.take(torch.tensor([4]), "cpu").tolist() == [[2.0, 2.0, 4.0, 4.0]]


@needs_torch
def test_a_vocabulary_folder_round_trips(trained: Any, tmp_path: Path) -> None:
    from zipfian.train.export import save_vocabulary
    from zipfian.vocabulary._sae_weights import load_weights

    for stored, tolerance in (("int8", 2e-2), ("float16", 1e-3), ("float32", 0.0)):
        folder = tmp_path / stored
        save_vocabulary(trained, folder, info={"name": "planted"}, stored=stored)  # type: ignore[arg-type]
        weights, tensors, settings = load_weights(folder)
        exact = trained.sae.encoder.numpy()
        assert np.abs(weights.encoder - exact).max() <= tolerance * np.abs(exact).max()
        assert settings["info"]["settings"]["width"] == TERMS and tensors["nearest_terms"].shape == (TERMS, 16)
        assert "planted" in (folder / "README.md").read_text()
        matrix, offset = weights.folded()
        z = planted(5, 9)
        want = (z - weights.mu) / weights.scale @ weights.encoder.T + weights.bias
        np.testing.assert_allclose(z @ matrix.T + offset, want, atol=1e-4)
    (tmp_path / "int8" / "sae.safetensors").write_bytes(b"damaged")
    with pytest.raises(InvalidInput, match="sha256"):
        load_weights(tmp_path / "int8")


@needs_torch
def test_training_needs_no_numba() -> None:
    code = "import sys, zipfian.train.sae, zipfian.train.export; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(HAS_TORCH, reason="torch is installed")
def test_without_torch_the_extra_is_named() -> None:
    from zipfian.errors import MissingExtra

    with pytest.raises(MissingExtra, match="train"):
        importlib.import_module("zipfian.train.sae")
