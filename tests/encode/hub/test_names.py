"""A model in one word: which library, which place on the hub, which folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub, needs_open_clip
from zipfian.encode import hub
from zipfian.encode.hub.names import Named, named
from zipfian.errors import InvalidInput


@pytest.mark.parametrize(
    ("given", "place", "library", "name"),
    [
        ("openai/clip", "openai/clip", None, "clip"),
        ("hf:openai/clip", "openai/clip", "transformers", "clip"),
        ("open_clip:timm/ViT-B-16-SigLIP2", "timm/ViT-B-16-SigLIP2", "open_clip", "ViT-B-16-SigLIP2"),
        ("open_clip:./models/mine", "./models/mine", "open_clip", "mine"),
        ("C:/models/mine", "C:/models/mine", None, "mine"),
    ],
)
def test_prefixes(given: str, place: str, library: str | None, name: str) -> None:
    assert named(given) == Named(place, library, name)


def test_a_folder_may_have_a_colon_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:mine").mkdir()
    assert named("hf:mine") == Named("hf:mine", None, "hf:mine")
    (tmp_path / "mine").mkdir()
    assert named("open_clip:mine") == Named("mine", "open_clip", "mine")


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"no library is called 'clip'; .*open_clip:MobileCLIP-S1"):
        named("clip:ViT-B-32")
    with pytest.raises(InvalidInput, match="read by transformers, not by 'open_clip'"):
        named("hf:openai/clip", "open_clip")


@needs_open_clip
def test_names_of_open_clips_own_list() -> None:
    assert named("open_clip:MobileCLIP-S1") == Named("apple/MobileCLIP-S1-OpenCLIP", "open_clip", "MobileCLIP-S1")
    assert named("open_clip:ViT-B-16-SigLIP2").place == "timm/ViT-B-16-SigLIP2"
    chosen = named("open_clip:ViT-B-32:laion2b_s34b_b79k")
    assert chosen == Named("laion/CLIP-ViT-B-32-laion2B-s34B-b79K", "open_clip", "ViT-B-32")
    with pytest.raises(InvalidInput, match=r"sets of weights for ViT-B-32; .*open_clip:ViT-B-32:laion2b_s34b_b79k"):
        named("open_clip:ViT-B-32")
    with pytest.raises(InvalidInput, match="no weights called 'nobody' for ViT-B-32"):
        named("open_clip:ViT-B-32:nobody")
    with pytest.raises(InvalidInput, match="did you mean MobileCLIP-S1"):
        named("open_clip:MobileCLIPS1")


@needs_open_clip
def test_weights_that_are_on_no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("open_clip.get_pretrained_cfg", lambda name, tag: {"url": "https://example.org/w.pt"})
    with pytest.raises(InvalidInput, match="pickled file at a web address"):
        named("open_clip:MobileCLIP-S1")


@needs_hub
def test_the_library_decides_between_two_formats(tmp_path: Path) -> None:
    tiny.clip(tmp_path / "clip")
    assert hub.HubModel(f"hf:{tmp_path / 'clip'}").family.library == "transformers"
    with pytest.raises(InvalidInput, match=r"open_clip_config\.json"):
        hub.HubModel(f"open_clip:{tmp_path / 'clip'}")


@needs_hub
def test_a_model_is_in_memory_once_and_anew_when_its_files_change(tmp_path: Path) -> None:
    tiny.clip(tmp_path / "clip")
    image, text = (hub.load(f"hf:{tmp_path / 'clip'}", kind=kind) for kind in ("image", "text"))
    assert image.model is text.model
    assert image.hub_settings["name_or_path"] == str(tmp_path / "clip")
    assert hub.load(f"hf:{tmp_path / 'clip'}", precision="bfloat16").model is not image.model
    config = tmp_path / "clip" / "config.json"
    config.write_text(config.read_text() + " ")
    assert hub.load(f"hf:{tmp_path / 'clip'}").model is not image.model


@needs_open_clip
def test_a_name_of_the_hub_is_kept_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.mobile_clip(tmp_path / "tiny")
    asked: list[str] = []

    def fetched(name: str, **_: object) -> str:
        asked.append(name)
        return str(tmp_path / "tiny")

    monkeypatch.setattr("huggingface_hub.snapshot_download", fetched)
    encoder = hub.load("open_clip:MobileCLIP-S1")
    assert asked == ["apple/MobileCLIP-S1-OpenCLIP"]
    assert encoder.hub_settings["name_or_path"] == "open_clip:MobileCLIP-S1"
    assert encoder.fingerprint.startswith("MobileCLIP-S1:")
    assert hub.load(**encoder.hub_settings).fingerprint == encoder.fingerprint
