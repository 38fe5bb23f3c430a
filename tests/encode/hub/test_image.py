"""Hub image encoders against a plain forward pass of the same tiny models."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.test_text import CLOSE, apart
from tests.encode.hub.tiny import needs_hub, pictures
from zipfian.encode import Encoder, hub
from zipfian.errors import ImageUnreadable, InvalidInput
from zipfian.types import Encoded

pytestmark = needs_hub

MAKERS = {
    "clip": tiny.clip,
    "siglip": tiny.siglip,
    "siglip2": lambda folder: tiny.siglip(folder, two=True),
    "dinov2": tiny.dinov2,
    "dinov2-registers": lambda folder: tiny.dinov2(folder, registers=True),
}


@pytest.fixture(scope="module", params=list(MAKERS))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Any]:
    folder = tmp_path_factory.mktemp("hub") / request.param
    make: Any = MAKERS[request.param]
    return request.param, folder, make(folder)


def plain(name: str, folder: Path, model: Any, picture: np.ndarray) -> tuple[Any, np.ndarray, tuple[int, int]]:
    """Outputs of an ordinary pass, the pooled vector, and the grid; padded as the processor does it."""
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    inputs = processor(images=Image.fromarray(picture), return_tensors="pt")
    with torch.no_grad():
        if name == "siglip2":
            values, mask, shapes = (inputs[key] for key in ("pixel_values", "pixel_attention_mask", "spatial_shapes"))
            found = model.vision_model(values, mask, shapes, output_hidden_states=True)
            return found, found.pooler_output[0].numpy(), tuple(shapes[0].tolist())
        network = model if name.startswith("dinov2") else model.vision_model
        found = network(pixel_values=inputs["pixel_values"], output_hidden_states=True)
        pooled = found.pooler_output
        if name == "clip":
            features = model.get_image_features(pixel_values=inputs["pixel_values"])
            pooled = getattr(features, "pooler_output", features)
    return found, pooled[0].numpy(), (4, 4)


FIRST = {"clip": 1, "siglip": 0, "siglip2": 0, "dinov2": 1, "dinov2-registers": 4}


def test_patches_pooled_and_places(made: tuple[str, Path, Any]) -> None:
    name, folder, model = made
    encoder = hub.load(folder)
    assert isinstance(encoder, hub.HubImageEncoder) and isinstance(encoder, Encoder)
    found = encoder.encode_documents(pictures(4))
    assert encoder.count_tokens(pictures(4)) == [len(e.vectors) for e in found]
    for picture, encoded in zip(pictures(4), found, strict=True):
        expected, pooled, (rows, columns) = plain(name, folder, model, picture)
        first = FIRST[name]
        last = expected.last_hidden_state[0, first : first + rows * columns].numpy()
        assert encoded.vectors.shape == (rows * columns, encoder.dim) and encoded.vectors.dtype == np.float32
        assert apart(encoded.vectors, last) < CLOSE
        assert apart(encoded.pooled[None], pooled[None] / np.linalg.norm(pooled)) < CLOSE
        assert encoded.pooled.shape == (encoder.pooled_dim,)
        assert encoded.grid == (rows, columns)
        assert encoded.places.tolist() == [[r, c] for r in range(rows) for c in range(columns)]
        assert (encoded.pieces == -1).all()


def test_a_patch_is_where_it_says(made: tuple[str, Path, Any]) -> None:
    """What changes most at the input of the network when one cell of the picture changes is that cell's vector."""
    _, folder, _ = made
    encoder = hub.load(folder, layers=(0,))
    (before,) = encoder.encode_documents([np.full((56, 56, 3), 90, np.uint8)])
    rows, columns = before.grid or (0, 0)
    side = 56 // rows
    changed = np.full((56, 56, 3), 90, np.uint8)
    changed[side * 1 : side * 2, side * 2 : side * 3] = 250
    (after,) = encoder.encode_documents([changed])
    moved = np.linalg.norm(after.vectors - before.vectors, axis=1)
    assert after.places[moved.argmax()].tolist() == [1, 2] and columns == rows == 4
    shown = encoder.pixels(changed)
    cell = shown.shape[0] // rows
    brightness = shown.reshape(rows, cell, columns, cell, 3).mean(axis=(1, 3, 4))
    assert np.unravel_index(brightness.argmax(), brightness.shape) == (1, 2)


def test_a_rest_at_the_edge_is_no_patch(tmp_path: Path) -> None:
    """27 x 27 patches of 14 pixels are in 384, as in SigLIP2 so400m; here 3 x 3 of 8 in 30."""
    folder = tmp_path / "siglip"
    tiny.siglip(folder, size=30)
    (encoded,) = hub.load(folder).encode_documents(pictures(1))
    assert encoded.grid == (3, 3) and encoded.places[-1].tolist() == [2, 2]


def test_layers_and_the_closing_norm(made: tuple[str, Path, Any]) -> None:
    name, folder, model = made
    picture = pictures(1)[0]
    found, _, (rows, columns) = plain(name, folder, model, picture)
    cut = slice(FIRST[name], FIRST[name] + rows * columns)
    (two,) = hub.load(folder, layers=((1, 0.5), -1)).encode_documents([picture])
    expected = np.concatenate([0.5 * found.hidden_states[1][0, cut], found.last_hidden_state[0, cut]], axis=1)
    assert apart(two.vectors, expected) < CLOSE
    (raw,) = hub.load(folder, final_norm=False).encode_documents([picture])
    assert apart(raw.vectors, found.hidden_states[3][0, cut].numpy()) < CLOSE
    with pytest.raises(InvalidInput, match="layer 4 does not exist"):
        hub.load(folder, layers=(4,))


def test_a_picture_does_not_depend_on_its_neighbours(made: tuple[str, Path, Any]) -> None:
    _, folder, _ = made
    one = hub.load(folder, batch_images=1)
    alone = [one.encode_documents([p])[0] for p in pictures(4)]
    for a, b in zip(one.encode_documents(pictures(4)), alone, strict=True):
        assert np.array_equal(a.vectors, b.vectors) and np.array_equal(a.pooled, b.pooled)
    together = hub.load(folder, batch_images=8).encode_documents(pictures(4)[::-1] + pictures(2))[:4][::-1]
    for a, b in zip(together, alone, strict=True):
        assert apart(a.vectors, b.vectors) < CLOSE and apart(a.pooled[None], b.pooled[None]) < CLOSE


def test_sources_streams_and_bad_pictures(made: tuple[str, Path, Any], tmp_path: Path) -> None:
    from PIL import Image

    encoder = hub.load(made[1])
    picture = pictures(1)[0]
    Image.fromarray(picture).save(tmp_path / "a.png")
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, format="PNG")
    broken = tmp_path / "b.png"
    broken.write_bytes(buffer.getvalue()[:100])
    (expected,) = encoder.encode_queries([picture])
    calls: list[tuple[int, int]] = []
    results = encoder.try_documents(
        [tmp_path / "a.png", broken, buffer.getvalue(), tmp_path / "none.png", picture],
        progress=lambda done, total: calls.append((done, total)),
    )
    assert [type(r).__name__ for r in results] == [
        "Encoded",
        "ImageUnreadable",
        "Encoded",
        "FileNotFoundError",
        "Encoded",
    ]
    assert all(apart(r.vectors, expected.vectors) < CLOSE for r in results if isinstance(r, Encoded))
    assert calls[-1] == (5, 5)
    with pytest.raises(ImageUnreadable, match=r"b\.png"):
        encoder.encode_documents([picture, broken])
    with pytest.raises(InvalidInput, match="a list of pictures"):
        encoder.encode_documents(picture)
    assert encoder.encode_documents([]) == []


def test_settings_make_an_equal_encoder(made: tuple[str, Path, Any]) -> None:
    encoder = hub.load(made[1], layers=(-2,), final_norm=False)
    assert hub.load(**json.loads(json.dumps(encoder.hub_settings))).fingerprint == encoder.fingerprint
    assert hub.load(made[1]).fingerprint != encoder.fingerprint


def test_pictures_and_texts_share_a_space(made: tuple[str, Path, Any]) -> None:
    name, folder, model = made
    if name.startswith("dinov2"):
        with pytest.raises(InvalidInput, match="no shared space"):
            hub.dual(folder)
        with pytest.raises(InvalidInput, match="pictures only"):
            hub.load(folder, kind="text")
        return
    pair = hub.dual(folder)
    image, text = pair.image_vector(pictures(1)[0]), pair.text_vector("copper mill")
    assert image.shape == text.shape == (pair.dim,)
    assert apart(image[None], plain(name, folder, model, pictures(1)[0])[1][None] / np.linalg.norm(
        plain(name, folder, model, pictures(1)[0])[1])) < CLOSE  # fmt: skip
    assert pair.image_vectors(pictures(2)).shape == pair.text_vectors(["a", "b"]).shape == (2, pair.dim)
    assert pair.image_vectors([]).shape == (0, pair.dim)
    assert np.linalg.norm(text) == pytest.approx(1.0) and pair.image.model is pair.text.model
    assert pair.image.fingerprint != pair.text.fingerprint
