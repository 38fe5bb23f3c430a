"""`zipfian index --encoder`: pictures and words through one model of the hub, visual words learnt from the pictures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_open_clip
from zipfian.encode import registry
from zipfian.fields import alignment, model

Command = Callable[..., tuple[int, str, str]]

COUNT = 60


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names and encodings of the test's own; compiled kernels stay where they are."""
    for place in ("zipfian.cli._allowed.root", "zipfian.encode.cache.root"):
        monkeypatch.setattr(place, lambda: tmp_path / "cache")


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("source") / "photos"
    folder.mkdir()
    rng = np.random.default_rng(0)
    for i in range(COUNT):
        small = Image.fromarray(rng.integers(0, 256, size=(6, 6, 3), dtype=np.uint8))
        small.resize((48, 48), Image.Resampling.BILINEAR).save(folder / f"{i:02}.png")
    return folder


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hub") / "tiny-open-clip"
    tiny.open_clip_model(folder, custom_text=True)
    return f"open_clip:{folder}"


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another process that has made nothing yet."""
    monkeypatch.setattr(registry, "_KNOWN", {})
    monkeypatch.setattr(model, "_VOCABULARIES", {})
    monkeypatch.setattr(alignment, "_HEADS", {})


@needs_open_clip
def test_photos_by_words_and_by_pictures(
    zipfian: Command, photos: Path, clip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into, words = tmp_path / "p.zf", tmp_path / "words"
    index = ("index", photos, "--into", into, "--encoder", clip, "--visual-words", words)
    code, printed, error = zipfian(*index, "--json")
    assert code == 0, error
    done = json.loads(printed)
    assert done["fields"] == ["visual", "dense", "aligned"] and done["total"] == COUNT
    about = json.loads((words / "sae.json").read_text())
    assert (about["terms"], about["k"]) == (32, 16)  # 960 patches, of which one in twenty is only measured
    assert (about["defaults"]["k"], about["defaults"]["k_post"]) == (32, 384)
    assert about["info"]["encoder"]["fingerprint"].startswith("tiny-open-clip:")
    assert not (words / "run.json").exists()
    forget(monkeypatch)
    code, printed, error = zipfian("search", into, "the mill", "-k", 3, "--json")
    assert code == 0, error
    assert len(json.loads(printed)["hits"]) == 3
    code, printed, error = zipfian("search", into, "--image", photos / "07.png", "-k", 1, "--json")
    assert code == 0, error
    hit = json.loads(printed)["hits"][0]
    assert hit["id"] == "07.png" and {"visual", "dense"} <= set(hit["legs"])
    weights = (words / "sae.safetensors").read_bytes()
    code, printed, error = zipfian(*index, "--json")  # again: nothing is learnt, nothing has changed
    assert code == 0, error
    assert "learning" not in error and (words / "sae.safetensors").read_bytes() == weights
    code, _, error = zipfian(
        "index", photos, "--into", tmp_path / "other.zf", "--encoder", clip, "--visual-words", words
    )
    assert code == 0 and "learning" not in error  # another collection may use the same words


@needs_open_clip
def test_without_visual_words(zipfian: Command, photos: Path, clip: str, tmp_path: Path) -> None:
    code, printed, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", clip)
    assert code == 0 and "fields: dense, aligned (" in error and f"{COUNT} added" in printed, error
    assert f'zipfian search {tmp_path / "p.zf"} "..."' in error  # photos are found by words
    other = tmp_path / "other"
    tiny.clip(other)
    code, _, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", f"hf:{other}")
    assert code == 1 and "is there already and has tiny-open-clip:" in error and "leave --encoder out" in error


@needs_open_clip
def test_a_vocabulary_of_another_model_is_refused(zipfian: Command, photos: Path, clip: str, tmp_path: Path) -> None:
    words = tmp_path / "words"
    assert zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", clip, "--visual-words", words)[0] == 0
    tiny.clip(tmp_path / "clip")
    code, _, error = zipfian(
        "index", photos, "--into", tmp_path / "q.zf", "--encoder", f"hf:{tmp_path / 'clip'}", "--visual-words", words
    )
    assert code == 1 and "it fits tiny-open-clip" in error and not (tmp_path / "q.zf").exists()


@needs_open_clip
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--fields", "visual,dense"), "--visual-words DIR"),
        (("--fields", "aligned,translated"), "'translated' goes with the visual words of the default encoder"),
        (("--fields", "aligned", "--visual-words", "w"), "--visual-words is for a field 'visual'"),
        (("--visual-words", "photos"), None),
    ],
)
def test_refused_before_anything_is_learnt(
    zipfian: Command, photos: Path, clip: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...], message: str | None,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "photos").write_text("a file")
    code, _, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", clip, *options)
    assert code == 1 and (message or "photos is a file") in error
    assert not (tmp_path / "p.zf").exists() and not (tmp_path / "w").exists()


@needs_open_clip
def test_a_hub_that_cannot_be_reached_comes_before_the_work(
    zipfian: Command, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route to the hub")

    monkeypatch.setattr("huggingface_hub.snapshot_download", unreachable)
    code, _, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", "open_clip:MobileCLIP-S1")
    assert code == 1 and "hf download apple/MobileCLIP-S1-OpenCLIP --local-dir FOLDER" in error
    assert not (tmp_path / "p.zf").exists()
