"""Models of open_clip against its own forward pass."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.test_text import CLOSE, apart
from tests.encode.hub.tiny import needs_open_clip, pictures
from zipfian.encode import Encoder, hub
from zipfian.errors import InvalidInput

pytestmark = needs_open_clip


@pytest.fixture(scope="module", params=[False, True], ids=["clip", "custom-text"])
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("hub") / "tiny-open-clip"
    return folder, tiny.open_clip_model(folder, custom_text=request.param)


def test_pictures(made: tuple[Path, Any]) -> None:
    import open_clip
    import torch
    from PIL import Image

    folder, model = made
    encoder = hub.load(folder)
    assert isinstance(encoder, hub.HubImageEncoder) and isinstance(encoder, Encoder)
    assert (encoder.dim, encoder.pooled_dim) == (32, 16)
    _, prepare = open_clip.create_model_from_pretrained(f"local-dir:{folder}")
    model.visual.output_tokens = True
    for picture, encoded in zip(pictures(3), encoder.encode_documents(pictures(3)), strict=True):
        with torch.no_grad():
            values = prepare(Image.fromarray(picture))[None]
            pooled, tokens = model.visual(values)
            states = model.visual.forward_intermediates(values, output_fmt="NLC")["image_intermediates"]
        assert apart(encoded.vectors, tokens[0].numpy()) < CLOSE
        assert apart(encoded.pooled[None], (pooled / pooled.norm()).numpy()) < CLOSE
        assert encoded.grid == (4, 4) and encoded.places[5].tolist() == [1, 1]
        (earlier,) = hub.load(folder, layers=(2,)).encode_documents([picture])
        assert apart(earlier.vectors, states[1][0].numpy()) < CLOSE
    model.visual.output_tokens = False
    assert encoder.count_tokens(pictures(3)) == [16, 16, 16]


def test_cells_of_a_convolutional_network(tmp_path: Path) -> None:
    import open_clip
    import torch
    from PIL import Image

    model = tiny.mobile_clip(tmp_path / "tiny-mobile-clip")
    pair = hub.dual(f"open_clip:{tmp_path / 'tiny-mobile-clip'}")
    _, prepare = open_clip.create_model_from_pretrained(f"local-dir:{tmp_path / 'tiny-mobile-clip'}")
    assert (pair.image.dim, pair.image.pooled_dim, pair.text.pooled_dim) == (model.visual.trunk.num_features, 16, 16)
    for picture, encoded in zip(pictures(3), pair.image.encode_documents(pictures(3)), strict=True):
        with torch.no_grad():
            values = prepare(Image.fromarray(picture))[None]
            cells = model.visual.trunk.forward_features(values)[0]
            pooled = model.encode_image(values, normalize=True)
        assert encoded.grid == tuple(cells.shape[1:]) == (2, 2)
        assert apart(encoded.vectors, cells.reshape(len(cells), -1).T.numpy()) < CLOSE
        assert encoded.places.tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]
        assert apart(encoded.pooled[None], pooled.numpy()) < CLOSE
    text = model.encode_text(open_clip.get_tokenizer("ViT-B-32", context_length=20)(["a mill"]), normalize=True)
    assert apart(pair.text_vector("a mill")[None], text.detach().numpy()) < CLOSE
    with pytest.raises(InvalidInput, match="layer"):
        hub.load(tmp_path / "tiny-mobile-clip", layers=(-2,))


def test_texts(made: tuple[Path, Any]) -> None:
    import open_clip
    import torch

    folder, model = made
    encoder = hub.load(folder, kind="text")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    assert isinstance(encoder, hub.HubTextEncoder) and encoder.pooled_dim == 16
    for text in ("A Café  by the river", "naïve &amp; stone", ""):
        (encoded,) = encoder.encode_queries([text])
        ids = tokenizer([text])
        with torch.no_grad():
            pooled = model.encode_text(ids, normalize=True)
        assert apart(encoded.pooled[None], pooled.numpy()) < CLOSE
        count = int((ids[0] != 0).sum()) - 2
        assert encoded.pieces.tolist() == ids[0, 1 : 1 + count].tolist()
    text = "A Café  by the river, 東京"
    (encoded,) = encoder.encode_queries([text])
    assert "".join(text[a:b] for a, b in encoded.places) == text.replace(" ", "")
    assert text[slice(*encoded.places[1])] == "Café"
    (earlier,) = hub.load(folder, kind="text", layers=(1,)).encode_queries([text])
    assert earlier.vectors.shape == encoded.vectors.shape and not np.allclose(earlier.vectors, encoded.vectors)


def test_texts_through_another_tokenizer(tmp_path: Path) -> None:
    import open_clip
    import torch

    folder = tmp_path / "tiny-siglip"
    model = tiny.open_clip_model(folder, custom_text=True, pieces=True)
    encoder = hub.load(folder, kind="text")
    tokenizer = open_clip.get_tokenizer(f"local-dir:{folder}")
    for text in ("The  Mill, by night!", "stone"):
        (encoded,) = encoder.encode_queries([text])
        ids = tokenizer([text])
        with torch.no_grad():
            pooled = model.encode_text(ids, normalize=True)
        assert apart(encoded.pooled[None], pooled.numpy()) < CLOSE
        assert encoded.pieces.tolist() == [i for i in ids[0].tolist() if i > 4]
    text = "The  Mill, by night!"
    (encoded,) = encoder.encode_queries([text])
    assert "Mill" in [text[a:b] for a, b in encoded.places] and "The" in [text[a:b] for a, b in encoded.places]


@pytest.mark.parametrize(
    ("part", "change", "message"),
    [
        ("text_cfg", {"hf_model_name": "someone/bert"}, "hf_model_name"),
        ("text_cfg", {"tokenizer_kwargs": {"trust_remote_code": True}}, "trust_remote_code"),
        ("text_cfg", {"tokenizer_mode": "clips"}, "clips"),
        ("vision_cfg", {"timm_model_name": "hf-hub:someone/vit"}, "timm_model_name"),
        ("vision_cfg", {"timm_model_name": "vit_tiny", "timm_model_pretrained": True}, "elsewhere"),
    ],
)
def test_configurations_that_reach_elsewhere(
    made: tuple[Path, Any], tmp_path: Path, part: str, change: dict[str, Any], message: str
) -> None:
    shutil.copytree(made[0], tmp_path / "model")
    path = tmp_path / "model" / "open_clip_config.json"
    config = json.loads(path.read_text())
    config["model_cfg"][part].update(change)
    path.write_text(json.dumps(config))
    for kind in ("image", "text"):
        with pytest.raises(InvalidInput, match=message):
            hub.load(tmp_path / "model", kind=kind)


def test_neighbours_shared_space_and_errors(made: tuple[Path, Any], tmp_path: Path) -> None:
    folder, _ = made
    pair = hub.dual(folder)
    assert pair.image_vector(pictures(1)[0]).shape == pair.text_vector("mill").shape == (16,)
    texts = ["mill", "copper mill", "stone " * 30]
    alone = [pair.text.encode_documents([text])[0] for text in texts]
    for a, b in zip(pair.text.encode_documents(texts), alone, strict=True):
        assert apart(a.vectors, b.vectors) < CLOSE
    with pytest.raises(InvalidInput, match="layer 0"):
        hub.load(folder, layers=(0,)).encode_documents(pictures(1))
    (tmp_path / "open_clip_config.json").write_text((folder / "open_clip_config.json").read_text())
    (tmp_path / "other.safetensors").write_bytes(b"x")
    with pytest.raises(InvalidInput, match=r"open_clip_model\.safetensors"):
        hub.load(tmp_path)
    with pytest.raises(InvalidInput, match=r"config\.json"):
        hub.load(folder, library="transformers")
