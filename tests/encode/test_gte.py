"""gte-small with its own weights: what the published ONNX graph gives, whatever is encoded beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.encode.conftest import needed
from zipfian.encode import TextEncoder
from zipfian.encode.tokens import PieceTokenizer
from zipfian.errors import InvalidInput

TEXTS = ["a", "Plants make food from light.", "Cats sleep most of the day. " * 30, "word " * 480]


@pytest.fixture(scope="module")
def files() -> dict[str, Path]:
    return needed("gte-small", "onnxruntime", "tokenizers")


@pytest.fixture(scope="module")
def encoder(files: dict[str, Path]) -> TextEncoder:
    made = TextEncoder(model="gte-small", threads=2)
    made.load()
    return made


def test_as_the_published_graph(files: dict[str, Path], encoder: TextEncoder) -> None:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(files["model.onnx"]), providers=["CPUExecutionProvider"])
    tokenizer = PieceTokenizer(files["tokenizer.json"])
    for text, ours in zip(TEXTS, encoder.encode_documents(TEXTS), strict=True):
        pieces = np.array([[tokenizer.start, *tokenizer.ids(text), tokenizer.end]])
        given = {"input_ids": pieces, "attention_mask": np.ones_like(pieces), "token_type_ids": np.zeros_like(pieces)}
        (states,) = session.run(["last_hidden_state"], given)
        pooled = states[0].mean(axis=0)
        assert np.abs(states[0, 1:-1] - ours.vectors).max() < 2e-5
        assert np.abs(pooled / np.linalg.norm(pooled) - ours.pooled).max() < 1e-6


def test_a_text_is_the_same_bits_in_any_company(encoder: TextEncoder) -> None:
    together = encoder.encode_documents(TEXTS)
    backwards = encoder.encode_documents([*TEXTS[::-1], "another of the same number of words"])[:4][::-1]
    for text, one, other in zip(TEXTS, together, backwards, strict=True):
        (alone,) = encoder.encode_queries([text])
        assert np.array_equal(alone.pooled, one.pooled) and np.array_equal(one.pooled, other.pooled)
        assert np.array_equal(alone.vectors, one.vectors) and np.array_equal(one.vectors, other.vectors)


def test_settings() -> None:
    """Nothing is loaded."""
    ours = TextEncoder(model="gte-small")
    assert ours.fingerprint.startswith("gte-small:")
    assert ours.fingerprint != TextEncoder(model="gte-small", max_tokens=256).fingerprint
    assert (ours.blocks, ours.layers, ours.dim, ours.pooled_dim) == (12, ((12, 1.0),), 384, 384)
    with pytest.raises(InvalidInput, match="layer 7 does not exist"):
        TextEncoder(layers=(7,))
    assert TextEncoder("gte-small", layers=(7,)).layers == ((7, 1.0),)
    with pytest.raises(InvalidInput, match="no text encoder is called 'gte'; there are: all-minilm-l6-v2, gte-small"):
        TextEncoder(model="gte")
