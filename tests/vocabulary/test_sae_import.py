"""Folders in the layouts of SAELens and sparsify."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.vocabulary.sae_folders import encoded
from zipfian.errors import InvalidInput
from zipfian.vocabulary._sae_weights import save_weights
from zipfian.vocabulary.sae import SaeVocabulary
from zipfian.vocabulary.sae_import import import_sae

D_IN, D_SAE, K = 6, 20, 3
RNG = np.random.default_rng(0)
W_ENC = RNG.standard_normal((D_IN, D_SAE)).astype(np.float32)
B_ENC = RNG.standard_normal(D_SAE).astype(np.float32)
W_DEC = RNG.standard_normal((D_SAE, D_IN)).astype(np.float32)
B_DEC = RNG.standard_normal(D_IN).astype(np.float32)
X = RNG.standard_normal((8, D_IN)).astype(np.float32)


def saelens(folder: Path, **config: Any) -> Path:
    folder.mkdir()
    cfg = {
        "architecture": "topk", "d_in": D_IN, "d_sae": D_SAE, "dtype": "float32", "device": "cpu", "k": K,
        "apply_b_dec_to_input": True, "normalize_activations": "none", "reshape_activations": "none",
        "metadata": {"model_name": "gpt2", "hook_name": "blocks.8.hook_resid_pre"},
    }  # fmt: skip
    (folder / "cfg.json").write_text(json.dumps({**cfg, **config}))
    save_file({"W_enc": W_ENC, "b_enc": B_ENC, "W_dec": W_DEC, "b_dec": B_DEC}, folder / "sae_weights.safetensors")
    return folder


def sparsify(folder: Path, **config: Any) -> Path:
    folder.mkdir()
    cfg = {
        "activation": "topk", "expansion_factor": 32, "normalize_decoder": True, "num_latents": D_SAE, "k": K,
        "multi_topk": False, "skip_connection": False, "d_in": D_IN,
    }  # fmt: skip
    (folder / "cfg.json").write_text(json.dumps({**cfg, **config}))
    tensors = {"encoder.weight": W_ENC.T.copy(), "encoder.bias": B_ENC, "W_dec": W_DEC, "b_dec": B_DEC}
    save_file(tensors, folder / "sae.safetensors")
    return folder


def topk(pre: Any) -> Any:
    """What both libraries do next: the k largest, then ReLU."""
    least = np.sort(pre, axis=1)[:, -K][:, None]
    return np.where(pre >= least, np.maximum(pre, 0.0), 0.0)


def check(folder: Path, expected: Any, tmp_path: Path) -> None:
    """Through our own format and the vocabulary: every token's activations are those of the other library."""
    weights = import_sae(folder)
    assert weights.k == K
    save_weights(weights, tmp_path / "ours", "float32")
    vocabulary = SaeVocabulary.load(tmp_path / "ours")
    assert vocabulary.k == K
    found, values = vocabulary.activations(X)
    got = np.zeros((len(X), D_SAE))
    for row, ids, strengths in zip(got, found, values, strict=True):
        row[ids[ids >= 0]] = strengths[ids >= 0]
    np.testing.assert_allclose(got, expected, atol=1e-5)
    assert len(vocabulary.terms(encoded(X))) == np.count_nonzero(expected.sum(axis=0))


def test_saelens(tmp_path: Path) -> None:
    check(saelens(tmp_path / "a"), topk((X - B_DEC) @ W_ENC + B_ENC), tmp_path)


def test_saelens_without_centring(tmp_path: Path) -> None:
    check(saelens(tmp_path / "a", apply_b_dec_to_input=False), topk(X @ W_ENC + B_ENC), tmp_path)


def test_saelens_scaled_by_the_decoder(tmp_path: Path) -> None:
    norm = np.linalg.norm(W_DEC, axis=1)
    folder = saelens(tmp_path / "a", rescale_acts_by_decoder_norm=True)
    check(folder, topk(((X - B_DEC) @ W_ENC + B_ENC) * norm), tmp_path)


def test_saelens_as_older_versions_wrote_it(tmp_path: Path) -> None:
    old = {"architecture": "standard", "activation_fn_str": "topk", "activation_fn_kwargs": {"k": K}}
    folder = saelens(tmp_path / "a", **old)
    cfg = json.loads((folder / "cfg.json").read_text())
    del cfg["k"]
    (folder / "cfg.json").write_text(json.dumps(cfg))
    check(folder, topk((X - B_DEC) @ W_ENC + B_ENC), tmp_path)


def test_sparsify(tmp_path: Path) -> None:
    check(sparsify(tmp_path / "a"), topk((X - B_DEC) @ W_ENC + B_ENC), tmp_path)


def test_sparsify_transcoder_does_not_centre(tmp_path: Path) -> None:
    check(sparsify(tmp_path / "a", transcode=True), topk(X @ W_ENC + B_ENC), tmp_path)


def test_bfloat16(tmp_path: Path) -> None:
    folder = sparsify(tmp_path / "a")
    arrays = {"encoder.weight": W_ENC.T, "encoder.bias": B_ENC, "W_dec": W_DEC, "b_dec": B_DEC}
    header, data = {}, b""
    rounded = {}
    for name, array in arrays.items():
        half = (np.ascontiguousarray(array).view(np.uint32) >> 16).astype(np.uint16)
        rounded[name] = (half.astype(np.uint32) << 16).view(np.float32)
        raw = half.tobytes()
        header[name] = {"dtype": "BF16", "shape": list(array.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    (folder / "sae.safetensors").write_bytes(struct.pack("<Q", len(head)) + head + data)
    pre = (X - rounded["b_dec"]) @ rounded["encoder.weight"].T + rounded["encoder.bias"]
    check(folder, topk(pre), tmp_path)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"architecture": "jumprelu"}, "only top-k"),
        ({"architecture": "standard"}, "only top-k"),
        ({"normalize_activations": "layer_norm"}, "normalised by 'layer_norm'"),
        ({"reshape_activations": "hook_z"}, "reshaped by 'hook_z'"),
        ({"k": None}, "whole number k"),
        ({"k": 0}, "k must be"),
        ({"k": 2.5}, "whole number k"),
    ],
)
def test_saelens_refused(tmp_path: Path, config: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        import_sae(saelens(tmp_path / "a", **config))


@pytest.mark.parametrize("config", [{"activation": "groupmax"}, {"signed": True}, {"k": "3"}])
def test_sparsify_refused(tmp_path: Path, config: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        import_sae(sparsify(tmp_path / "a", **config))


def test_folders_that_are_neither(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        import_sae(tmp_path)
    (tmp_path / "cfg.json").write_text("{}")
    with pytest.raises(InvalidInput, match="holds neither"):
        import_sae(tmp_path)
    (tmp_path / "cfg.json").write_text("[1]")
    with pytest.raises(InvalidInput, match="JSON object"):
        import_sae(tmp_path)
    folder = sparsify(tmp_path / "b")
    save_file({"W_dec": W_DEC}, folder / "sae.safetensors")
    with pytest.raises(InvalidInput, match="lack encoder"):
        import_sae(folder)
