"""Word pieces without the network: the same as those of an encoded text."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from zipfian.encode import TextEncoder
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_TEXT_CHARS

TEXTS = (
    "", " ", "hello", "Café 東京: naïve\tword-pieces, e.g. electroencephalographically.", "\ud800 half", "\U0001f9ff",
    "[SEP] and [MASK]", "a \u0e4f unknown \u2603 \ue000 mix", "river stone " * 400, "x" * 300,
)  # fmt: skip


@pytest.mark.parametrize(
    "encoder",
    [
        TextEncoder(threads=1), TextEncoder(threads=1, long_texts="cut", max_tokens=64),
        TextEncoder(threads=1, keep_special=True),
    ],
    ids=["windows", "cut", "special"],
)  # fmt: skip
def test_as_encoded(encoder: TextEncoder, minilm: object) -> None:
    for text, encoded in zip(TEXTS, encoder.encode_queries(TEXTS), strict=True):
        pieces = encoder.pieces(text)
        assert pieces.dtype == np.int32
        assert pieces.tolist() == encoded.pieces.tolist(), text


def test_a_long_query_is_cut_too(minilm: object) -> None:
    text = "river stone light " * 3_000
    encoder = TextEncoder(long_texts="cut")
    assert len(encoder.pieces(text)) == 510
    assert len(TextEncoder().pieces(text)) == 9_000


def test_what_is_no_query(minilm: object) -> None:
    with pytest.raises(InvalidInput, match="not a text"):
        TextEncoder().pieces(None)  # type: ignore[arg-type]
    with pytest.raises(LimitExceeded):
        TextEncoder().pieces("a" * (MAX_TEXT_CHARS + 1))


def test_the_network_is_not_loaded(minilm: object) -> None:
    code = (
        "import sys; from zipfian.encode import TextEncoder; e = TextEncoder(); "
        "assert len(e.pieces('two words')) == 2; assert e.count_tokens(['two words']) == [2]; "
        "assert 'onnxruntime' not in sys.modules; assert e._loaded is None"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
