"""`zipfian train sae` from data to a vocabulary that can be used, on tiny models."""

from __future__ import annotations

import errno
import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub

Command = Callable[..., tuple[int, str, str]]

SMALL = ("--width", 48, "--k", 3, "--batch", 128, "--epochs", 2, "--device", "cpu")


def write_texts(path: Path, count: int = 120, seed: int = 0) -> Path:
    rng = np.random.default_rng(seed)
    records = [{"id": str(i), "text": " ".join(rng.choice(tiny.WORDS, 20))} for i in range(count)]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train") / "tiny-bert"
    tiny.bert(folder)
    return folder


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    return write_texts(tmp_path / "texts.jsonl")


def same_weights(a: Path, b: Path) -> bool:
    return (a / "sae.safetensors").read_bytes() == (b / "sae.safetensors").read_bytes()


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named(zipfian: Command, tmp_path: Path) -> None:
    code, _, error = zipfian("train", "sae", "--encoder", "text", "--data", tmp_path, "--out", tmp_path / "out")
    assert code == 1 and "zipfian[train]" in error and not (tmp_path / "out").exists()


def test_wrong_usage(zipfian: Command, tmp_path: Path) -> None:
    assert zipfian("train")[0] == 2
    assert zipfian("train", "sae", "--data", tmp_path, "--out", tmp_path)[0] == 2
    code, _, error = zipfian(
        "train", "sae", "--encoder", "text", "--data", tmp_path, "--out", tmp_path / "o", "--layers", "last"
    )
    assert code == 2 and "-2:0.5,-1" in error


@needs_hub
def test_texts_to_a_vocabulary(zipfian: Command, model: Path, texts: Path, tmp_path: Path) -> None:
    from zipfian.encode import hub
    from zipfian.vocabulary.sae import SaeVocabulary

    out = tmp_path / "mine"
    code, printed, error = zipfian(
        "train", "sae", "--encoder", model, "--data", texts, "--out", out, *SMALL, "--json", "--layers=-2:0.5,-1"
    )
    assert code == 0, error
    outcome = json.loads(printed)
    assert outcome["items"] == 120 and outcome["left_out"] == 0 and outcome["terms"] == 48
    assert outcome["tokens"] == 114 * 20  # one item in twenty is held out
    assert 0 < outcome["metrics"]["held_out"]["fvu"] < 1 and outcome["metrics"]["held_out"]["rows"] == 6 * 20
    assert {"error", "fvu", "l0", "dead"} <= set(outcome["metrics"]["train"])
    names = {"sae.safetensors", "sae.json", "history.json", "README.md"}
    assert {p.name for p in out.iterdir()} == names
    about = json.loads((out / "sae.json").read_text())["info"]
    encoder = hub.load(model, layers=((-2, 0.5), -1))
    assert about["encoder"]["fingerprint"] == encoder.fingerprint and len(about["data_sha256"]) == 64
    assert "mine" in (out / "README.md").read_text()
    assert hub.load(**about["encoder"]["settings"]).fingerprint == encoder.fingerprint
    vocabulary = SaeVocabulary.load(out)
    vocabulary.check_encoder(encoder)
    assert len(vocabulary.terms(encoder.encode_documents(["the copper mill"])[0])) > 0
    code, _, error = zipfian("train", "sae", "--encoder", model, "--data", texts, "--out", out, *SMALL)
    assert code == 1 and "finished vocabulary" in error


@needs_hub
def test_memory_and_disk_and_lines_learn_alike(zipfian: Command, model: Path, texts: Path, tmp_path: Path) -> None:
    lines = tmp_path / "texts.txt"
    lines.write_text("\n".join(json.loads(line)["text"] for line in texts.read_text().splitlines()))
    base = ("train", "sae", "--encoder", model, *SMALL)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert zipfian(*base, "--data", texts, "--out", one)[0] == 0
    code, printed, note = zipfian(*base, "--data", lines, "--lines", "--out", two)
    assert code == 0 and "in memory" in note and "variance unexplained" in printed
    assert same_weights(one, two)
    code, _, note = zipfian(*base, "--data", texts, "--out", three, "--memory", 0, "--keep", "--keep-decoder")
    assert code == 0 and "on disk" in note
    assert list((three / "activations" / "shards").glob("*.npy")) and (three / "decoder.safetensors").exists()
    fvu = [json.loads((out / "sae.json").read_text())["info"]["metrics"]["held_out"]["fvu"] for out in (one, three)]
    assert fvu[0] == pytest.approx(fvu[1], rel=0.1)


@needs_hub
@pytest.mark.parametrize("memory", ["2", "0"])
def test_an_interrupted_training_goes_on(
    zipfian: Command, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    from zipfian.train import sae

    arguments = ("train", "sae", "--encoder", model, "--data", texts, *SMALL, "--memory", memory)
    assert zipfian(*arguments, "--out", tmp_path / "whole")[0] == 0
    out, real = tmp_path / "parts", sae.train_sae

    def stopped(*given: Any, **settings: Any) -> Any:
        real(*given, **settings, stop_after=11)
        raise KeyboardInterrupt

    monkeypatch.setattr(sae, "train_sae", stopped)
    assert zipfian(*arguments, "--out", out)[0] == 130
    monkeypatch.setattr(sae, "train_sae", real)
    code, _, error = zipfian(*arguments, "--out", out)
    assert code == 1 and "--resume" in error
    code, _, error = zipfian(*arguments, "--out", out, "--resume", "--lr", "0.5")
    assert code == 1 and "other settings" in error
    assert zipfian(*arguments, "--out", out, "--resume")[0] == 0
    assert same_weights(out, tmp_path / "whole")
    assert not (out / "checkpoint.zpfn").exists() and not (out / "activations").exists()
    code, _, error = zipfian(*arguments, "--out", tmp_path / "new", "--resume")
    assert code == 1 and "no training to resume" in error


@needs_hub
def test_pictures_and_a_preset(zipfian: Command, tmp_path: Path) -> None:
    from PIL import Image

    from zipfian.vocabulary.sae import SaeVocabulary

    folder, data, out = tmp_path / "tiny-dinov2", tmp_path / "pictures", tmp_path / "visual"
    tiny.dinov2(folder)
    data.mkdir()
    rng = np.random.default_rng(0)
    for i in range(60):
        Image.fromarray(rng.integers(0, 256, (40, 40, 3), dtype=np.uint8)).save(data / f"{i:02}.png")
    (data / "broken.png").write_bytes(b"no picture")
    code, printed, error = zipfian(
        "train", "sae", "--encoder", folder, "--data", data, "--out", out, "--preset", "bm25-v", "--width", 64,
        "--batch", 64, "--device", "cpu", "--json",
    )  # fmt: skip
    assert code == 0, error
    outcome = json.loads(printed)
    assert outcome["left_out"] == 1 and "broken.png" in error and outcome["items"] == 60
    assert outcome["settings"]["l1"] == 1e-3 and outcome["settings"]["epochs"] == 5.0
    vocabulary = SaeVocabulary.load(out)
    assert (vocabulary.k, vocabulary.k_post, vocabulary.defaults.query) == (16, 16, "binary")


@needs_hub
def test_bad_input(zipfian: Command, model: Path, texts: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    few = write_texts(tmp_path / "few.jsonl", 3)
    base = ("train", "sae", "--encoder", model, "--out", tmp_path / "out", "--device", "cpu")
    for arguments, message in (
        (("--data", empty), "no texts were found"),
        (("--data", tmp_path / "none"), "no such file"),
        (("--data", few, "--width", "64"), "more data or a smaller width (--width)"),
        (("--data", few, "--width", "20", "--k", "2", "--batch", "32"), "too few for 20 terms"),
        (("--data", texts, "--width", "10", "--k", "11"), "k must be"),
        (("--data", texts, "--width", "0"), "width must be"),
        (("--data", texts, "--epochs", "-1"), "epochs must be"),
        (("--data", texts, "--layers", "9"), "layer 9 does not exist"),
        (("--data", texts, "--device", "tpu"), "not 'tpu'"),
        (("--data", texts, "--device", "cuda:99"), "CUDA device"),
        (("--data", texts, "--kind", "image"), "texts only"),
        (("--data", empty, "--lines"), "--lines"),
        (("--data", texts, "--encoder", tmp_path / "none"), "no such folder"),
        (("--data", texts, "--encoder", "image", "--layers", "-1"), "default image encoder"),
    ):
        code, _, error = zipfian(*base, *arguments)
        assert code == 1 and message in error, (arguments, error)
        assert len(error.strip().splitlines()) <= 2
        run = tmp_path / "out" / "run.json"
        run.unlink(missing_ok=True)


@needs_hub
def test_a_full_disk(
    zipfian: Command, model: Path, texts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil
    from collections import namedtuple

    arguments = ("train", "sae", "--encoder", model, "--data", texts, *SMALL, "--memory", 0, "--out", tmp_path / "out")
    usage = namedtuple("usage", "total used free")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 0))
        code, _, error = zipfian(*arguments)
    assert code == 1 and "GiB are free" in error

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "save", full)
        code, _, error = zipfian(*arguments, "--resume")
    assert code == 1 and "the disk is full after 2,280 tokens" in error
    assert not list((tmp_path / "out").rglob("*.part"))
    assert zipfian(*arguments, "--resume")[0] == 0


@needs_hub
def test_default_text_encoder(zipfian: Command, texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime", reason="LEFT OUT: onnxruntime is not installed (extra 'text')")
    from zipfian.encode import models, weights
    from zipfian.errors import WeightsNotFound

    try:
        weights.get(models.MINILM)
    except (WeightsNotFound, OSError) as error:
        pytest.skip(f"LEFT OUT: no weights of the default encoder ({type(error).__name__})")
    out = tmp_path / "out"
    code, _, err = zipfian("train", "sae", "--encoder", "text", "--data", texts, "--out", out, *SMALL)
    assert code == 0, err
    assert json.loads((out / "sae.json").read_text())["info"]["encoder"]["name"] == "all-minilm-l6-v2"
