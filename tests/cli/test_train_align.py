"""`zipfian train align` from captioned pictures to fields that find, and `--unfreeze`, on tiny models."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from zipfian.encode.cache import EncodingCache
from zipfian.fields import Aligned, Translated, Visual
from zipfian.vocabulary._sae_weights import SaeWeights, save_weights
from zipfian.vocabulary.aligned import AlignedHeads

Command = Callable[..., tuple[int, str, str]]

COLOURS = {
    "river": (20, 40, 220), "copper": (200, 90, 20), "stone": (120, 120, 120), "light": (250, 250, 180),
    "mill": (20, 160, 40), "winter": (250, 250, 250),
}  # fmt: skip
SMALL = ("--dim", 16, "--hidden", 16, "--word-rank", 8, "--epochs", 12, "--batch", 30, "--members", 2, "--lr", 0.01,
         "--dropout", 0.1, "--hidden-dropout", 0, "--device", "cpu", "--least", 2)  # fmt: skip


def write_set(folder: Path, train: int = 60, dev: int = 20) -> Path:
    """Two colours side by side; the captions name them."""
    from PIL import Image

    rng = np.random.default_rng(0)
    (folder / "pictures").mkdir(parents=True)
    rows = []
    for i in range(train + dev):
        left, right = rng.choice(list(COLOURS), 2, replace=False)
        pixels = np.zeros((32, 32, 3), np.int64)
        pixels[:, :16], pixels[:, 16:] = COLOURS[left], COLOURS[right]
        noisy = np.clip(pixels + rng.normal(0, 8, pixels.shape), 0, 255).astype(np.uint8)
        Image.fromarray(noisy).save(folder / "pictures" / f"{i}.png")
        captions = [f"the {left} past a {right}", f"{left} and {right}"]
        rows.append({"image": f"{i}.png", "split": "train" if i < train else "dev", "captions": captions})
    (folder / "captions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    tiny.bert(folder / "bert")
    tiny.clip(folder / "clip")
    matrix = np.random.default_rng(1).normal(size=(64, 40)).astype(np.float32)
    weights = SaeWeights(matrix, np.zeros(64, np.float32), np.zeros(40, np.float32), 1.0, 4)
    save_weights(weights, folder / "sae", "float32")
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The captioned pictures; encodings are kept in the test's own folder."""
    monkeypatch.setattr("zipfian.encode.cache.EncodingCache", lambda: EncodingCache(tmp_path / "encodings"))
    return write_set(tmp_path / "data")


def source(data: Path) -> tuple[object, ...]:
    return ("train", "align", "--captions", data / "captions.jsonl", "--images", data / "pictures")


def encoders(models: Path) -> tuple[object, ...]:
    return ("--text-encoder", models / "bert", "--image-encoder", models / "clip", "--vocabulary", models / "sae")


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named(zipfian: Command, tmp_path: Path) -> None:
    data = write_set(tmp_path / "data", 4, 2)
    code, _, error = zipfian(*source(data), "--out", tmp_path / "out")
    assert code == 1 and "zipfian[train]" in error and not (tmp_path / "out").exists()


@needs_hub
def test_heads_and_table_of_any_encoders(zipfian: Command, models: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine"
    given = (*source(data), *encoders(models), *SMALL)
    code, printed, error = zipfian(*given, "--out", out, "--json", "--test", "dev")
    assert code == 0, error
    assert len(list((tmp_path / "encodings").glob("*/*"))) > 80  # nothing is encoded twice
    outcome = json.loads(printed)
    assert outcome["data"]["train"] == {"pictures": 60, "captions": 120}
    assert len(outcome["members"]) == 2 and "member 2 of 2" in error
    for member in outcome["members"]:
        history = member["history"]
        assert history[-1]["loss"] < history[0]["loss"]
        assert set(history[0]["t2i"]) == {"1", "5", "10"}
    measured = outcome["measured"]
    assert measured["dev"] == measured["test"]
    chance = 5 / 20
    assert measured["dev"]["heads"]["t2i_r@5"] > 2 * chance and measured["dev"]["heads"]["i2t_r@5"] > 2 * chance
    assert measured["dev"]["table"]["t2i_r@5"] > chance

    fields = {
        "visual": Visual(models / "sae", encoder=_image(models)),
        "aligned": Aligned(model=str(out)),
        "translated": Translated(model=str(out)),
    }
    with zf.Collection.create(tmp_path / "c.zf", fields, encodings=False) as c:
        c.add({"id": str(i), "image": str(data / "pictures" / f"{i}.png")} for i in range(60, 80))
        c.commit()
        rows = [json.loads(line) for line in (data / "captions.jsonl").read_text().splitlines()][60:]
        found = [c.search(row["captions"][0], k=5, fields="aligned") for row in rows]
        share = np.mean([row["image"][:-4] in {h.id for h in hits} for row, hits in zip(rows, found, strict=True)])
        assert share > 2 * chance
        assert c.search("the river", k=3, fields="translated")
    again = tmp_path / "again"
    assert zipfian(*given, "--out", again)[0] == 0
    assert (again / "align.safetensors").read_bytes() == (out / "align.safetensors").read_bytes()
    code, _, error = zipfian(*given, "--out", out)
    assert code == 1 and "finished model" in error


def _image(models: Path) -> Any:
    from zipfian.encode import hub

    return hub.load(models / "clip", kind="image")


@needs_hub
def test_heads_that_read_visual_words(zipfian: Command, models: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "terms"
    code, printed, error = zipfian(
        *source(data), *encoders(models), *SMALL, "--term-rank", 8, "--out", out, "--members", 1, "--no-table"
    )
    assert code == 0, error
    assert "t2i_r@10" in printed and "Aligned(model=" in printed
    assert AlignedHeads.load(out).uses_terms
    assert Aligned(model=str(out)).align is not None


@needs_hub
def test_without_a_vocabulary_there_is_no_table(zipfian: Command, models: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "plain"
    plain = ("--text-encoder", models / "bert", "--image-encoder", models / "clip")
    code, _, error = zipfian(*source(data), *plain, *SMALL, "--out", out, "--members", 1)
    assert code == 0, error
    with zf.Collection.create(tmp_path / "p.zf", {"aligned": Aligned(model=str(out))}, encodings=False) as c:
        c.add([{"id": "0", "image": str(data / "pictures" / "0.png")}])
        c.commit()
        assert c.search("river", k=1)[0].id == "0"
    code, _, error = zipfian(*source(data), *plain, *SMALL, "--term-rank", 4, "--out", tmp_path / "x")
    assert code == 1 and "--vocabulary" in error


@needs_hub
@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--dev", "val"), "the split 'val' is empty; there are: dev, train"),
        (("--train", "tiny"), "the split 'tiny' is empty"),
        (("--train", "train,dev"), "would be trained on"),
        (("--train", "all"), "would be trained on"),
        (("--train", ","), "names no split"),
        (("--least", "1000"), "no word stands in 1000"),
        (("--memory", "0.000001"), "allow more (--memory)"),
        (("--dropout", "2"), "dropout must be"),
        (("--images", "."), "no such file"),
        (("--device", "cuda:9"), "CUDA device"),
    ],
)
def test_bad_requests(
    zipfian: Command, models: Path, data: Path, tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    code, _, error = zipfian(*source(data), *encoders(models), *SMALL, "--out", tmp_path / "x", *options)
    assert code == 1 and problem in error
    assert not (tmp_path / "x").exists()


@needs_hub
def test_a_damaged_picture_is_left_out_and_a_missing_one_is_an_error(
    zipfian: Command, models: Path, data: Path, tmp_path: Path
) -> None:
    (data / "pictures" / "3.png").write_bytes(b"not a picture")
    given = (*source(data), *encoders(models), *SMALL, "--members", 1)
    code, printed, error = zipfian(*given, "--out", tmp_path / "x", "--json")
    assert code == 0 and json.loads(printed)["left_out"] == 1 and "left out" in error and "3.png" in error
    (data / "pictures" / "3.png").unlink()
    code, _, error = zipfian(*given, "--out", tmp_path / "y")
    assert code == 1 and "3.png: no such file" in error


@needs_hub
def test_a_model_is_fine_tuned_and_found_again(zipfian: Command, models: Path, data: Path, tmp_path: Path) -> None:
    from zipfian.encode import hub

    out = tmp_path / "tuned"
    given = (
        *source(data), "--unfreeze", models / "clip", "--epochs", 6, "--patience", 6, "--batch", 20, "--lr", 0.003,
        "--device", "cpu",
    )  # fmt: skip
    code, printed, error = zipfian(*given, "--out", out, "--json", "--test", "dev")
    assert code == 0, error
    outcome = json.loads(printed)
    losses = [epoch["loss"] for epoch in outcome["history"]]
    assert losses[-1] < 0.8 * losses[0]
    dev = outcome["measured"]["dev"]
    assert dev["after"]["t2i_r@5"] > dev["before"]["t2i_r@5"]
    assert outcome["measured"]["test"]["after"] == dev["after"]  # the same pictures
    pair = hub.dual(out)
    rows = [json.loads(line) for line in (data / "captions.jsonl").read_text().splitlines()][60:]
    images = pair.image_vectors([data / "pictures" / row["image"] for row in rows])
    texts = pair.text_vectors([text for row in rows for text in row["captions"]])
    ranks = (-(texts @ images.T)).argsort(axis=1)
    owner = np.repeat(np.arange(20), 2)
    assert (ranks[:, :5] == owner[:, None]).any(axis=1).mean() == pytest.approx(dev["after"]["t2i_r@5"])
    again = tmp_path / "again"
    assert zipfian(*given, "--out", again)[0] == 0
    assert (again / "model.safetensors").read_bytes() == (out / "model.safetensors").read_bytes()
    code, _, error = zipfian(*source(data), "--unfreeze", models / "bert", "--out", tmp_path / "b")
    assert code == 1 and "CLIP models of transformers" in error
    code, _, error = zipfian(*given, "--dim", 8, "--out", tmp_path / "c")
    assert code == 1 and "--dim is for heads" in error
