"""`zipfian train import-sae`: a folder of somebody else's autoencoder becomes one of ours."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.vocabulary.test_sae_import import D_IN, D_SAE, W_ENC, K, saelens, sparsify
from zipfian.vocabulary.sae import SaeVocabulary

Command = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(("layout", "origin"), [(saelens, "SAELens"), (sparsify, "sparsify")])
def test_either_layout(zipfian: Command, tmp_path: Path, layout: Callable[[Path], Path], origin: str) -> None:
    code, out, _ = zipfian("train", "import-sae", layout(tmp_path / "theirs"), "--out", tmp_path / "mine", "--json")
    assert code == 0
    assert json.loads(out) == {"out": str(tmp_path / "mine"), "from": origin, "terms": D_SAE, "dim": D_IN, "k": K}
    settings = json.loads((tmp_path / "mine" / "sae.json").read_text())
    assert (settings["info"]["name"], settings["info"]["imported_from"], settings["stored"]) == ("mine", origin, "int8")


def test_a_name_and_exact_weights(zipfian: Command, tmp_path: Path) -> None:
    code, out, _ = zipfian(
        "train", "import-sae", saelens(tmp_path / "a"), "--out", tmp_path / "b", "--name", "pets", "--stored", "float32"
    )
    assert code == 0 and f"20 terms of SAELens over token vectors of width {D_IN}, {K} a token" in out
    from zipfian.vocabulary._sae_weights import load_weights

    weights, _, settings = load_weights(tmp_path / "b")
    assert np.array_equal(weights.encoder, W_ENC.T) and settings["info"]["name"] == "pets"
    assert SaeVocabulary.load(tmp_path / "b").n_terms == D_SAE


def test_nothing_is_overwritten(zipfian: Command, tmp_path: Path) -> None:
    source = saelens(tmp_path / "a")
    assert zipfian("train", "import-sae", source, "--out", tmp_path / "b")[0] == 0
    before = (tmp_path / "b" / "sae.json").read_bytes()
    code, _, err = zipfian("train", "import-sae", sparsify(tmp_path / "c"), "--out", tmp_path / "b")
    assert code == 1 and "holds a vocabulary: choose another folder, or delete it" in err
    assert (tmp_path / "b" / "sae.json").read_bytes() == before
    code, _, err = zipfian("train", "import-sae", source, "--out", source / "cfg.json")
    assert code == 1 and "is a file" in err


def test_a_folder_of_something_else(zipfian: Command, tmp_path: Path) -> None:
    code, _, err = zipfian("train", "import-sae", tmp_path, "--out", tmp_path / "b")
    assert code == 1 and "no folder of SAELens or sparsify" in err and not (tmp_path / "b").exists()
