"""Folders, names and what is refused; spans that are found again. Most of it needs no torch."""

from __future__ import annotations

import importlib.util
import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from zipfian import limits
from zipfian.encode import hub
from zipfian.encode.hub import files
from zipfian.encode.hub.family import family_of
from zipfian.encode.hub.openclip import _characters
from zipfian.encode.hub.tokenizing import Frame, align
from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra, WeightsNotFound


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingExtra, match=r"zipfian\[hub\]"):
        hub.load(tmp_path)


@pytest.mark.parametrize("name", ["./none", "/none/here", "~/none", "a/b/c", ""])
def test_a_missing_folder_is_no_hub_name(name: str) -> None:
    with pytest.raises(WeightsNotFound, match=r"no such folder.*local folder.*hf download NAME --local-dir"):
        files.locate(name)


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(InvalidInput, match="is a file"):
        files.locate(tmp_path / "model.safetensors")


@needs_hub
def test_a_name_that_is_not_here_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(hub.ModelNotFound, match=r"hf download some/model --local-dir"):
        hub.load("some/model", local_files_only=True)
    import huggingface_hub

    def unreachable(*_: object, **__: object) -> None:
        raise ConnectionError("no route to the hub")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", unreachable)
    with pytest.raises(hub.ModelNotFound, match="could not be reached"):
        hub.load("some/model")


@needs_hub
def test_a_name_in_the_hub_cache_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    folder = tmp_path / "snapshots" / "abc"
    tiny.bert(folder)
    asked: dict[str, object] = {}

    def cached(name: str, **settings: object) -> str:
        asked.update(settings, name=name)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", cached)
    encoder = hub.load("someone/tiny-bert", revision="v2")
    assert asked["name"] == "someone/tiny-bert" and asked["revision"] == "v2"
    assert "*.bin" not in asked["allow_patterns"]  # type: ignore[operator]
    assert encoder.fingerprint.startswith("tiny-bert:")
    assert encoder.hub_settings["name_or_path"] == "someone/tiny-bert"


@needs_hub
def test_pickled_weights_are_never_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "old"
    tiny.bert(folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match=r"pickled weights \(pytorch_model.bin\)"):
        hub.load(folder)
    (folder / "pytorch_model.bin").unlink()
    with pytest.raises(InvalidInput, match="no weights"):
        hub.load(folder)


@needs_hub
def test_code_of_a_model_is_never_run(tmp_path: Path) -> None:
    folder = tmp_path / "remote"
    tiny.bert(folder)
    ran = tmp_path / "ran"
    (folder / "modeling.py").write_text(f"open({str(ran)!r}, 'w')\nclass M: pass\n")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "modeling.M"}}))
    hub.load(folder).encode_documents(["mill"])
    assert not ran.exists()
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "new", "auto_map": {}}))
    with pytest.raises(InvalidInput, match=r"'new' are not supported\. It brings code of its own"):
        hub.load(folder)
    assert not ran.exists()


@needs_hub
def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "less"
    tiny.bert(folder)
    tensors = load_file(folder / "model.safetensors")
    gone = next(name for name in tensors if "layer.1.attention" in name)
    save_file({k: v for k, v in tensors.items() if k != gone}, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InvalidInput, match="random numbers"):
        hub.load(folder).encode_documents(["mill"])
    (folder / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(InvalidInput, match="cannot be loaded"):
        hub.load(folder).encode_documents(["mill"])
    (folder / "tokenizer.json").write_text("{")
    with pytest.raises(InvalidInput, match="tokenizer"):
        hub.load(folder)


@needs_hub
def test_numbers_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = tmp_path / "nan"
    tiny.bert(folder)
    tensors = load_file(folder / "model.safetensors")
    broken = next(name for name in tensors if name.endswith("layer.2.output.LayerNorm.bias"))
    tensors[broken] = tensors[broken] * np.nan
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InvalidInput, match="not finite"):
        hub.load(folder).encode_documents(["mill"])


@pytest.mark.parametrize(
    ("config", "message"),
    [("{", "not JSON"), ("[]", "not an object"), ("{}", "no folder of a known model"), (None, "no folder of a known")],
)
def test_bad_configurations(tmp_path: Path, config: str | None, message: str) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(config)
    with pytest.raises(InvalidInput, match=message):
        family_of(tmp_path)
    with pytest.raises(InvalidInput, match="library"):
        family_of(tmp_path, "jax")  # type: ignore[arg-type]


def test_a_huge_configuration_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(" " * (limits.MAX_CONFIG_BYTES + 1))
    with pytest.raises(LimitExceeded, match="bytes"):
        family_of(tmp_path)


def test_both_formats_in_one_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "clip"}')
    (tmp_path / "open_clip_config.json").write_text('{"model_cfg": {}}')
    assert family_of(tmp_path).library == "transformers"
    assert family_of(tmp_path, "open_clip").library == "open_clip" and family_of(tmp_path).dual


def test_pieces_of_a_cleaned_text_are_found_again() -> None:
    text = "Don't  STOP, Müller: İx &amp; send end"
    spans = align(text, ["dont", "stop", "mül", "ler", "gone", "&", "end", "gone"])
    assert [text[a:b] for a, b in spans] == ["Don't", "STOP", "Mül", "ler", "", "&", "end", ""]
    assert spans[4].tolist() == [19, 19] and spans[6].tolist() == [len(text) - 3, len(text)] == [
        spans[7, 0] - 3,
        len(text),
    ]


@given(
    st.lists(st.text(alphabet="abcdeé東 ", min_size=1, max_size=6), max_size=8), st.sampled_from(["", " ", ", ", "-"])
)
def test_alignment_gives_back_what_was_cut(words: list[str], between: str) -> None:
    surfaces = ["".join(word.split()) for word in words if word.split()]
    text = between.join(surfaces).upper() if between else "".join(surfaces)
    spans = align(text, surfaces)
    assert [text[a:b].lower() for a, b in spans] == surfaces
    assert (np.diff(spans.ravel()) >= 0).all()


@given(st.text(max_size=20), st.data())
def test_bytes_in_pieces_are_characters_again(text: str, data: st.DataObject) -> None:
    raw = text.encode(errors="replace")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw)), max_size=5)))
    edges = [0, *cuts, len(raw)]
    parts = [raw[a:b] for a, b in itertools.pairwise(edges)]
    assert "".join(_characters(parts)) == raw.decode()


@given(st.lists(st.lists(st.integers(10, 99), max_size=6), min_size=1, max_size=5), st.booleans())
def test_frames(contents: list[list[int]], left: bool) -> None:
    frame = Frame((1, 2), (3,), 0, 12, left)
    rows, starts = frame.rows([np.array(c, dtype=np.int32) for c in contents])
    assert rows.shape == (len(contents), 12)
    for row, start, content in zip(rows.tolist(), starts.tolist(), contents, strict=True):
        whole = [1, 2, *content, 3]
        assert row[start : start + len(whole)] == whole
        assert sum(row) == sum(whole) and start == (12 - len(whole) if left else 0)
