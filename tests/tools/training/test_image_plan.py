"""Image vocabularies by short names, and the pictures they learn from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.tools.loading import load
from tests.toys import ToyImage

torch = pytest.importorskip("torch", reason="LEFT OUT: torch not installed (extra 'train')")

plan, tool = load("training.image_plan", "train_image_vocabularies")


def test_a_short_name_says_layer_k_width_and_seed() -> None:
    assert plan.Item.parse("head:k16:w5120:s2") == ("head-k16-w5120-s2", None, 16, 5120, 2)
    assert plan.Item.parse("block20:w64:k8") == ("block20-w64-k8", 20, 8, 64, 0)
    assert plan.described(None, 1280)["settings"].keys() == {"size", "fit"}
    assert plan.described(19, 208)["settings"]["block"] == 19
    assert plan.described(19, 208)["fingerprint"] != plan.described(None, 1280)["fingerprint"]


def test_about_so_many_pictures_of_each_folder(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name / "inner").mkdir(parents=True)
        for i in range(10):
            (tmp_path / name / "inner" / f"{i}.png").touch()
        (tmp_path / name / "notes.txt").touch()
    folders = [tmp_path / "b", tmp_path / "a"]
    assert [name for name, _ in tool.pictures(folders, 4)] == ["0.png", "3.png", "6.png", "9.png"] * 2
    assert len(list(tool.pictures(folders, None))) == 20


def test_every_vocabulary_of_the_plan_is_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    from zipfian.vocabulary.sae import SaeVocabulary

    rng = np.random.default_rng(0)
    for i in range(60):
        Image.fromarray(rng.integers(0, 255, (32, 32, 3), np.uint8)).save(tmp_path / f"{i:02d}.png")
    layers: list[Any] = []

    class Toy(ToyImage):  # type: ignore[misc]
        size, fit = 32, "whole"

        def __init__(self, block: int | None = None) -> None:
            super().__init__()
            layers.append(block)

    monkeypatch.setattr(tool, "ImageEncoder", Toy)
    monkeypatch.setattr(tool, "described", lambda block, dim: {"kind": "image", "dim": dim})
    given = SimpleNamespace(
        images=[tmp_path], out=tmp_path / "out", limit=None, patches=400.0, batch=16, precision="float32",
        plan=[plan.Item.parse(text) for text in ("block3:k1:w8", "head:k1:w8", "head:k2:w8")],
    )  # fmt: skip
    given.out.mkdir()
    tool.run(given)
    assert layers == [None, 3]  # a layer is encoded once
    for name, k in (("head-k1-w8", 1), ("head-k2-w8", 2), ("block3-k1-w8", 1)):
        made = SaeVocabulary.load(given.out / name)
        assert (made.n_terms, made.info["settings"]["k"]) == (8, k)
        assert made.info["metrics"]["tokens"] > 0
