"""The torch-free half of an alignment: reading, refusing, and the vectors it gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput
from zipfian.types import Terms
from zipfian.vocabulary import _aligned_file as file
from zipfian.vocabulary.aligned import HEAD_PARTS, AlignedHeads, TranslationTable, find

WORDS = ["ball", "cat", "dog"]
TERMS, OUT, HIDDEN, DENSE, RANK = 5, 4, 6, 3, 2


def tensors(members: int = 2, *, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found: dict[str, Any] = {"words.idf": np.array([1, 2, 3], np.float32), "terms.idf": np.ones(TERMS, np.float32)}
    for number in range(members):
        for side, sparse, entries in (("text", "words", len(WORDS)), ("image", "terms", TERMS)):
            name = f"{side}.{number}"
            shapes = {"linear": (OUT, DENSE + RANK), "wide": (HIDDEN, DENSE + RANK), "narrow": (OUT, HIDDEN)}
            for part, shape in (*shapes.items(), (sparse, (entries, RANK))):
                found |= file.pack(f"{name}.{part}", rng.normal(size=shape).astype(np.float32))
            found[f"{name}.wide_bias"] = rng.normal(size=HIDDEN).astype(np.float32)
            found[f"{name}.bias"] = rng.normal(size=OUT).astype(np.float32)
            found[f"{name}.mean"] = rng.normal(size=DENSE).astype(np.float32)
            found[f"{name}.spread"] = np.array([0.01, 1.0, 3.0], np.float32)
    found["table.terms"] = np.array([[0, 1], [1, 2], [4, 0]], np.uint16)
    found["table.weights"] = np.array([[2, 1], [0.5, 0], [3, 1]], np.float16)
    return found


def settings(**changes: Any) -> dict[str, Any]:
    encoders = {"text": {"fingerprint": "t:1", "also": {"cut": "t:2"}}, "image": {"fingerprint": "i:1"}}
    return {"name": "toy", "words": WORDS, "members": 2, "encoders": encoders, **changes}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    file.write(tmp_path, tensors(), settings())
    return tmp_path


POOLED = np.array([0.1, -0.2, 0.3], np.float32)


def test_vectors_have_length_one_and_the_stated_width(folder: Path) -> None:
    heads = AlignedHeads.load(folder)
    assert heads.dim == 2 * OUT
    text = heads.text_vector(POOLED, {"dog": 2, "cat": 1, "unheard-of": 1})
    picture = heads.image_vector(POOLED, Terms(np.array([1, 4], np.int32), np.array([1, 9], np.float32)))
    for vector in (text, picture):
        assert vector.shape == (8,)
        assert vector.dtype == np.float32
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-6)


def test_the_arithmetic_by_hand(folder: Path) -> None:
    heads, raw = AlignedHeads.load(folder), tensors()
    weights = np.array([2, 3], np.float32) / np.sqrt(13)  # idf of cat and dog
    parts = []
    for number in range(2):
        get = {part: file.unpack(raw, f"text.{number}.{part}") for part in ("words", *HEAD_PARTS)}
        x = np.concatenate([(POOLED - get["mean"]) / get["spread"], weights @ get["words"][[1, 2]]])
        y = get["linear"] @ x + get["narrow"] @ np.maximum(get["wide"] @ x + get["wide_bias"], 0) + get["bias"]
        parts.append(y / np.linalg.norm(y))
    expected = np.concatenate(parts) / np.sqrt(2)
    assert np.allclose(heads.text_vector(POOLED, {"cat": 1, "dog": 1}), expected, atol=1e-6)


@given(st.lists(st.sampled_from([*WORDS, "other"]), max_size=6))
def test_order_and_counts_of_words_do_not_matter(words: list[str]) -> None:
    raw = tensors()
    heads = AlignedHeads(
        **{
            side: (_head(raw, side, sparse),)
            for side, sparse in (("text", "words"), ("image", "terms"))
        },
        idf=raw["words.idf"], words={w: i for i, w in enumerate(WORDS)}, term_idf=raw["terms.idf"],
    )  # fmt: skip
    first = heads.text_vector(POOLED, dict.fromkeys(words, 1))
    again = heads.text_vector(POOLED, {word: words.count(word) for word in reversed(words)})
    assert np.array_equal(first, again)


def _head(raw: dict[str, Any], side: str, sparse: str) -> Any:
    from zipfian.vocabulary.aligned import Head

    names = (sparse, *HEAD_PARTS)
    return Head(*(file.unpack(raw, f"{side}.0.{name}") for name in names))


def test_table_sums_the_rows_of_known_words(folder: Path) -> None:
    table = TranslationTable.load(folder)
    found = table.terms({"ball": 1, "cat": 5, "nothing": 1})
    assert found.ids.tolist() == [0, 1]
    assert found.weights.tolist() == [2.0, 1.5]
    assert found.ids.dtype == np.int32
    assert len(table.row("nothing")) == len(table.terms({})) == 0
    assert table.row("dog").ids.tolist() == [0, 4]


def test_fingerprint_changes_with_content(tmp_path: Path) -> None:
    prints = set()
    for seed in (0, 1):
        file.write(tmp_path / str(seed), tensors(seed=seed), settings())
        prints.add(AlignedHeads.load(tmp_path / str(seed)).fingerprint)
    assert len(prints) == 2
    assert all(one.startswith("toy:") for one in prints)


def test_other_encoders_are_refused(folder: Path) -> None:
    heads = AlignedHeads.load(folder)
    heads.check_encoders(text="t:1", image="i:1")
    heads.check_encoders(text="t:2")
    with pytest.raises(FingerprintMismatch, match="i:9"):
        heads.check_encoders(image="i:9")


@pytest.mark.parametrize(
    "pooled", [np.zeros(4), np.zeros((1, 3)), np.array([0.0, np.nan, 1.0])], ids=["long", "matrix", "nan"]
)
def test_wrong_vectors(folder: Path, pooled: Any) -> None:
    with pytest.raises(InvalidInput):
        AlignedHeads.load(folder).text_vector(pooled, {})


def test_pictures_need_their_terms(folder: Path) -> None:
    heads = AlignedHeads.load(folder)
    with pytest.raises(InvalidInput, match="visual words"):
        heads.image_vector(POOLED)
    with pytest.raises(InvalidInput, match="visual word 7"):
        heads.image_vector(POOLED, Terms(np.array([7], np.int32), np.ones(1, np.float32)))
    assert np.isfinite(heads.image_vector(POOLED, Terms(np.zeros(0, np.int32), np.zeros(0, np.float32)))).all()


def test_damage_is_refused(folder: Path) -> None:
    path = folder / file.WEIGHTS_FILE
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InvalidInput, match="sha256"):
        AlignedHeads.load(folder)
    path.unlink()
    with pytest.raises(InvalidInput, match="holds no"):
        TranslationTable.load(folder)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"kind": "sae"}, InvalidInput),
        ({"format": 99}, FormatTooNew),
        ({"words": ["a", 3]}, InvalidInput),
        ({"words": ["a"]}, InvalidInput),
        ({"words": ["a", "a", "b"]}, InvalidInput),
        ({"members": 0}, InvalidInput),
        ({"members": 3}, InvalidInput),
    ],
)
def test_wrong_settings(folder: Path, change: dict[str, Any], error: type[Exception]) -> None:
    path = folder / file.SETTINGS_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(error):
        AlignedHeads.load(folder)


def test_unknown_names(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="neither"):
        find(tmp_path)
    with pytest.raises(InvalidInput, match="neither"):
        find("no-such-alignment")


def test_the_shipped_alignment_fits_the_shipped_encoders_and_words() -> None:
    from zipfian.encode.image import ImageEncoder
    from zipfian.encode.text import TextEncoder
    from zipfian.vocabulary.words import Words

    heads, table = AlignedHeads.load(), TranslationTable.load()
    assert heads.dim == 512
    assert not heads.uses_terms
    heads.check_encoders(text=TextEncoder().fingerprint, image=ImageEncoder().fingerprint)
    assert heads.settings["words_fingerprint"] == Words().fingerprint
    words = dict.fromkeys(Words().terms("A dog runs on the beach."), 1)
    assert {"dog", "beach"} < set(words) & set(heads.words)
    assert len(table.row("dog")) > 20
    rng = np.random.default_rng(0)
    assert np.linalg.norm(heads.text_vector(rng.normal(size=384), words)) == pytest.approx(1, abs=1e-5)
    assert np.linalg.norm(heads.image_vector(rng.normal(size=1280))) == pytest.approx(1, abs=1e-5)


def test_words_of_a_visual_word() -> None:
    """The rows of the table read the other way: which words hold a visual word, strongest first."""
    table = TranslationTable(
        {"sea": 0, "sand": 1, "dog": 2},
        np.array([[3, 5], [5, 3], [5, 9]], np.uint16),
        np.array([[2.0, 1.0], [4.0, 0.0], [1.0, 7.0]], np.float32),
    )
    assert table.words_of(5) == [("sand", 4.0), ("dog", 1.0), ("sea", 1.0)]
    assert table.words_of(3) == [("sea", 2.0)], "a weight of 0 fills a row up"
    assert table.words_of(4) == []
    assert table.words_of(70_000) == [], "no row could hold it"


@pytest.mark.parametrize("seed", range(8))
def test_a_cosine_is_a_sum_over_the_pooled_vector(tmp_path: Path, seed: int) -> None:
    """For one picture the heads are linear: what each number of its pooled vector gives, and the rest."""
    file.write(tmp_path, tensors(seed=seed), settings())
    heads, rng = AlignedHeads.load(tmp_path), np.random.default_rng(100 + seed)
    pooled = rng.normal(size=DENSE).astype(np.float32)
    terms = Terms(np.array([1, 4], np.int32), np.array([1, 9], np.float32))
    towards = rng.normal(size=heads.dim)
    towards /= np.linalg.norm(towards)
    cosine = float(towards @ heads.image_vector(pooled, terms).astype(np.float64))
    slopes, rest = heads.image_slopes(pooled, terms, towards)
    assert slopes @ pooled.astype(np.float64) + rest == pytest.approx(cosine, abs=1e-5)
    nudged = pooled + np.float32(1e-4) * rng.normal(size=DENSE).astype(np.float32)
    length = [np.linalg.norm(_before(head, one, terms)) for one in (pooled, nudged) for head in heads.image]
    parts = [
        towards[OUT * n : OUT * (n + 1)] @ _before(head, nudged, terms) / length[n]
        for n, head in enumerate(heads.image)
    ]
    expected = sum(parts) / np.sqrt(2)
    assert slopes @ nudged.astype(np.float64) + rest == pytest.approx(expected, abs=1e-5), "slopes, not a coincidence"


def _before(head: Any, pooled: Any, terms: Terms) -> Any:
    """What a head gives before it is brought to length 1."""
    weights = np.sqrt(terms.weights) / np.linalg.norm(np.sqrt(terms.weights))
    x = np.concatenate([(pooled.astype(np.float64) - head.mean) / head.spread, weights @ head.embed[terms.ids]])
    return head.linear @ x + head.narrow @ np.maximum(head.wide @ x + head.wide_bias, 0) + head.bias
