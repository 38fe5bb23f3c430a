"""The text encoder against published results, and the promises of its docstrings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from zipfian.encode import Encoder, TextEncoder
from zipfian.encode.layers import checked_layers
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_TEXT_CHARS
from zipfian.types import Encoded


def same(a: Encoded, b: Encoded) -> bool:
    pairs = [(a.vectors, b.vectors), (a.places, b.places), (a.pieces, b.pieces), (a.pooled, b.pooled)]
    return all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs)


def words(count: int, seed: int = 0) -> str:
    known = "river stone light engine paper garden winter signal copper bridge market summer".split()
    return " ".join(np.random.default_rng(seed).choice(known, count))


def test_pooled_vectors_are_those_of_sentence_transformers(reference: dict[str, Any], minilm: object) -> None:
    encoded = TextEncoder(long_texts="cut").encode_documents(reference["texts"])
    difference = np.abs(np.stack([e.pooled for e in encoded]) - reference["pooled"]).max()
    print(f"largest difference of a pooled component: {difference:.1e}")
    assert difference < 1e-5  # 1e-4 is what the project promises


@pytest.mark.parametrize("text", [2, 5])
def test_hidden_states_are_those_of_transformers(reference: dict[str, Any], minilm: object, text: int) -> None:
    layers = reference["hidden_layers"]
    encoder = TextEncoder(layers=layers, keep_special=True)
    (encoded,) = encoder.encode_documents([reference["texts"][text]])
    expected = np.concatenate(list(reference[f"hidden_{text}"]), axis=1)
    assert encoded.vectors.shape == expected.shape == (len(encoded.pieces), encoder.dim)
    assert np.abs(encoded.vectors - expected).max() < 1e-4


def test_a_text_is_the_same_bits_in_any_company(text_encoder: TextEncoder, reference: dict[str, Any]) -> None:
    texts = [*reference["texts"], *(words(n) for n in (3, 3, 3, 40, 40, 41, 200, 700)), *reference["texts"][:6]]
    together = text_encoder.encode_documents(texts)
    alone = [text_encoder.encode_documents([text])[0] for text in texts]
    backwards = TextEncoder(threads=1, batch_tokens=4_096).encode_documents(texts[::-1])[::-1]
    assert all(same(a, b) for a, b in zip(together, alone, strict=True))
    assert all(same(a, b) for a, b in zip(together, backwards, strict=True))


def test_spans_point_into_the_text(text_encoder: TextEncoder) -> None:
    text = "Café 東京: naïve\tword-pieces, e.g. electroencephalographically."
    (encoded,) = text_encoder.encode_documents([text])
    pieces = [text[start:end] for start, end in encoded.places]
    assert pieces[:4] == ["Café", "東", "京", ":"]
    assert "".join(pieces) == "".join(text.split())
    assert len(encoded.pieces) == len(encoded.vectors) == len(encoded.places)


def test_special_tokens_yield_nothing_by_default(text_encoder: TextEncoder, minilm: object) -> None:
    texts = ["", " \n\t ", "🙂 🙂", "[CLS] [SEP] [PAD] [MASK] [UNK]", "a 🙂 b"]
    found = [e.pieces.tolist() for e in text_encoder.encode_documents(texts)]
    assert [len(p) for p in found] == [0, 0, 0, 0, 2]
    for encoded in text_encoder.encode_documents(texts):
        assert np.linalg.norm(encoded.pooled) == pytest.approx(1)
        assert encoded.vectors.shape == (len(encoded.pieces), 384)
        assert encoded.vectors.dtype == np.float32
    kept = TextEncoder(keep_special=True).encode_documents(["", "a 🙂 b"])
    assert kept[0].pieces.tolist() == [101, 102]
    assert kept[1].pieces.tolist() == [101, 1037, 100, 1038, 102]
    assert kept[1].places.tolist() == [[0, 0], [0, 1], [2, 3], [4, 5], [5, 5]]


def test_long_texts_lose_no_token(text_encoder: TextEncoder, minilm: object) -> None:
    text = words(1_500)
    (encoded,) = text_encoder.encode_documents([text])
    assert [text[a:b] for a, b in encoded.places] == text.split()
    assert not np.isnan(encoded.vectors).any()
    (cut,) = TextEncoder(long_texts="cut").encode_documents([text])
    assert cut.pieces.tolist() == encoded.pieces[:510].tolist()
    # The first window speaks for its tokens up to the middle of the overlap, with the very same vectors.
    assert np.array_equal(cut.vectors[:400], encoded.vectors[:400])
    assert not np.array_equal(cut.vectors[500:], encoded.vectors[500:510])


def test_pooled_is_the_mean_over_all_tokens_of_all_windows(minilm: object) -> None:
    (encoded,) = TextEncoder(keep_special=True, max_tokens=64, overlap=16).encode_documents([words(300)])
    mean = encoded.vectors.mean(axis=0, dtype=np.float64)
    assert len(encoded.pieces) == 302
    assert np.allclose(encoded.pooled, mean / np.linalg.norm(mean), atol=1e-6)


def test_cutting_early_changes_nothing(text_encoder: TextEncoder, minilm: object) -> None:
    tokenizer = text_encoder._ready().tokenizer
    for text in (words(9_000), "x" * 50_000, "a " + "é" * 200 + words(5_000), "\t" * 20_000 + words(600), "ab" * 9_000):
        (all_of_it,), (first,) = tokenizer.tokenize([text]), tokenizer.tokenize([text], 510)
        assert first.ids.tolist() == all_of_it.ids[:510].tolist()
        assert first.spans.tolist() == all_of_it.spans[:510].tolist()


def test_layers_side_by_side_with_factors(minilm: object) -> None:
    text = ["photosynthesis in winter"]
    (both,) = TextEncoder(layers=((-2, 0.5), (-1, 1.0))).encode_documents(text)
    (earlier,) = TextEncoder(layers=(-2,)).encode_documents(text)
    (last,) = TextEncoder().encode_documents(text)
    assert np.array_equal(both.vectors, np.concatenate([earlier.vectors * np.float32(0.5), last.vectors], axis=1))
    assert np.array_equal(both.pooled, last.pooled)


def test_queries_progress_and_counts(text_encoder: TextEncoder) -> None:
    texts = [words(n % 7 + 1, n) for n in range(30)]
    expected = text_encoder.encode_documents(texts)
    assert all(same(a, b) for a, b in zip(text_encoder.encode_queries(texts), expected, strict=True))
    calls: list[tuple[int, int]] = []
    text_encoder.encode_documents(texts, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls) and calls[-1] == (30, 30)
    assert text_encoder.count_tokens(texts) == [len(e.pieces) for e in expected]
    assert text_encoder.encode_documents([]) == []
    assert isinstance(text_encoder, Encoder)


def test_broken_characters_are_replaced(text_encoder: TextEncoder) -> None:
    broken, replaced = text_encoder.encode_documents(["half \ud83d of it\x00", "half \ufffd of it\x00"])
    assert same(broken, replaced)


def test_bad_items(text_encoder: TextEncoder) -> None:
    good = "a text"
    with pytest.raises(InvalidInput, match="item 1 is int"):
        text_encoder.encode_documents([good, 3])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="a list of texts"):
        text_encoder.encode_documents(good)
    with pytest.raises(LimitExceeded, match="characters"):
        text_encoder.encode_documents(["x" * (MAX_TEXT_CHARS + 1)])
    outcomes = text_encoder.try_documents([good, None, good])  # type: ignore[list-item]
    assert isinstance(outcomes[0], Encoded) and isinstance(outcomes[2], Encoded) and same(outcomes[0], outcomes[2])
    assert isinstance(outcomes[1], InvalidInput)


def test_ten_megabytes_of_text(text_encoder: TextEncoder, minilm: object) -> None:
    text = "the river runs past seven copper mills; " * 300_000
    assert len(text) > 10_000_000
    with pytest.raises(LimitExceeded, match="long_texts='cut'"):
        text_encoder.encode_documents([text])
    (encoded,) = TextEncoder(long_texts="cut").encode_documents([text])
    assert len(encoded.pieces) == 510


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": ()},
        {"layers": (7,)},
        {"layers": ((-1, 0.0),)},
        {"layers": ((-1, float("nan")),)},
        {"layers": "-1"},
        {"layers": -1},
        {"layers": ("a",)},
        {"layers": ((1, 2, 3),)},
        {"layers": ((1, "a"),)},
        {"layers": (True,)},
        {"model": ("gte-small",)},
        {"model": ["gte-small"]},
        {"max_tokens": 513},
        {"max_tokens": 7},
        {"overlap": 256},
        {"long_texts": "drop"},
        {"threads": 0},
        {"batch_tokens": 0},
    ],
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        TextEncoder(**settings)


def test_layer_numbers() -> None:
    assert checked_layers((-1, -2, 0, (3, 0.5)), 6) == ((6, 1.0), (5, 1.0), (0, 1.0), (3, 0.5))


def test_the_fingerprint_covers_what_changes_vectors_and_nothing_else() -> None:
    base = TextEncoder().fingerprint
    assert base.startswith("all-minilm-l6-v2:")
    assert TextEncoder(threads=1, batch_tokens=9).fingerprint == base
    assert TextEncoder(layers=(6,)).fingerprint == base
    changed: list[dict[str, Any]] = [
        {"layers": (-2,)},
        {"layers": ((-1, 0.5),)},
        {"max_tokens": 256},
        {"overlap": 64},
        {"long_texts": "cut"},
        {"keep_special": True},
    ]
    assert len({base, *(TextEncoder(**settings).fingerprint for settings in changed)}) == 7
