"""R-MAC over the feature map of a convolutional network of the hub, as of ResNet-101."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub, pictures
from zipfian.encode import hub
from zipfian.encode.rmac import Rmac, Whitening, regions
from zipfian.errors import InvalidInput
from zipfian.vocabulary.scalar import ScalarVocabulary

pytestmark = needs_hub


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("hub") / "resnet"
    return folder, tiny.resnet(folder)


def plain(folder: Path, model: Any, picture: np.ndarray) -> np.ndarray:
    """The feature map (channels, rows, columns) of an ordinary pass."""
    import torch
    from PIL import Image
    from transformers import AutoImageProcessor

    processor = AutoImageProcessor.from_pretrained(folder, backend="pil")
    with torch.no_grad():
        found = model(**processor(images=Image.fromarray(picture), return_tensors="pt"))
    return np.asarray(found.last_hidden_state[0].numpy())


def test_the_cells_of_the_map_are_the_patches(made: tuple[Path, Any]) -> None:
    folder, model = made
    encoder = hub.load(folder)
    assert encoder.kind == "image" and encoder.dim == encoder.pooled_dim == 48
    for picture, found in zip(pictures(), encoder.encode_documents(pictures()), strict=True):
        field = plain(folder, model, picture)
        assert found.grid == field.shape[1:] and len(found.vectors) == field.shape[1] * field.shape[2]
        rebuilt = np.zeros_like(field)
        rebuilt[:, found.places[:, 0], found.places[:, 1]] = found.vectors.T
        assert np.allclose(rebuilt, field, atol=1e-4)
        mean = field.mean(axis=(1, 2))
        assert np.allclose(found.pooled, mean / np.linalg.norm(mean), atol=1e-5)
    assert encoder.count_tokens(pictures(2)) == [len(e.vectors) for e in encoder.encode_documents(pictures(2))]
    with pytest.raises(InvalidInput):
        hub.load(folder, layers=(-2,))


def test_rmac_is_that_of_the_map(made: tuple[Path, Any]) -> None:
    folder, model = made
    encoded = hub.load(folder).encode_documents(pictures())
    for picture, found in zip(pictures(), encoded, strict=True):
        field = plain(folder, model, picture)
        total = np.zeros(48)
        for a, b, c, d in regions(field.shape[1:], 2):
            strongest = field[:, a:b, c:d].max(axis=(1, 2))
            total += strongest / np.linalg.norm(strongest)
        assert np.allclose(Rmac()(found), total / np.linalg.norm(total), atol=1e-5)
    white = Whitening.fit([Rmac().regions(e) for e in encoded], keep=8)
    assert Rmac(whitening=white)(encoded[0]).shape == (8,)


def test_from_a_hub_network_to_surrogate_text(made: tuple[Path, Any], tmp_path: Path) -> None:
    """Descriptors of a convolutional network, as terms in a collection: what the paper does with ResNet-101."""
    encoded = hub.load(made[0]).encode_documents(pictures(4))
    vectors = [Rmac()(e) for e in encoded]
    codes = ScalarVocabulary.fit(vectors, gamma=100.0, scale=1000.0)
    field = zf.Sparse(codes.n_terms, tf="count", scoring=zf.Dot())
    with zf.Collection.create(tmp_path / "c.zf", {"scalar": field}) as c:
        c.add({"id": str(i), "terms": {"scalar": codes.terms(v)}} for i, v in enumerate(vectors))
        c.commit()
        centred = [codes.rotation.T @ (codes.rotation @ (v - codes.mean)) for v in vectors]
        for i, vector in enumerate(centred):
            assert c.search(codes.query_terms(vector.astype(np.float32)), k=1)[0].id == str(i)
