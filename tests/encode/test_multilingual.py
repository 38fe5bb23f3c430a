"""The encoder of many languages against other implementations, and the promises of its docstrings."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zipfian.encode import Encoder, ImageEncoder, MultilingualEncoder, TextEncoder, registry
from zipfian.encode import _protobuf as pb
from zipfian.encode.base import languages_of
from zipfian.encode.registry import EncoderSpec
from zipfian.encode.sentencepiece import SentencePieceTokenizer, read_model
from zipfian.encode.tokens import Pieces
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_TEXT_CHARS
from zipfian.types import Encoded

DATA = Path(__file__).parent / "data"


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """Texts in 16 languages and some odd ones; their pieces and vectors by others (the file says by whom)."""
    found: dict[str, Any] = json.loads((DATA / "use.json").read_text(encoding="utf-8"))
    with np.load(DATA / "use.npz", allow_pickle=False) as arrays:
        found.update(arrays)
    return found


@pytest.fixture(scope="module")
def tokenizer(use: dict[str, Path]) -> SentencePieceTokenizer:
    return SentencePieceTokenizer(use["sp.model"])


def same(a: Encoded, b: Encoded) -> bool:
    pairs = [(a.vectors, b.vectors), (a.places, b.places), (a.pieces, b.pieces), (a.pooled, b.pooled)]
    return all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in pairs)


def words(count: int, seed: int = 0) -> str:
    chosen = "Fluss 石 lumière двигатель papel حديقة winter ฤดูร้อน köprü 시장".split()
    return " ".join(np.random.default_rng(seed).choice(chosen, count))


def test_pieces_are_those_of_another_implementation(known: dict[str, Any], tokenizer: SentencePieceTokenizer) -> None:
    found = tokenizer.tokenize(known["texts"])
    assert [p.ids.tolist() for p in found if isinstance(p, Pieces)] == known["pieces"]


def test_pooled_vectors_are_those_of_another_implementation(
    known: dict[str, Any], multilingual_encoder: MultilingualEncoder
) -> None:
    found = np.stack([e.pooled for e in multilingual_encoder.encode_documents(known["texts"])])
    difference = np.abs(found - known["pooled"]).max()
    print(f"largest difference of a pooled component: {difference:.1e}")
    assert difference < 1e-5


def test_the_published_graph_is_nearer_than_the_package_comes_to_it(
    known: dict[str, Any], multilingual_encoder: MultilingualEncoder
) -> None:
    published = known["published"].astype(np.float32)
    ours = (np.stack([e.pooled for e in multilingual_encoder.encode_documents(known["texts"])]) * published).sum(axis=1)
    joint = (known["joint"].astype(np.float32) * published).sum(axis=1)
    print(
        f"cosine with the published graph in int8: {ours.mean():.4f}, of one norm for all branches {joint.mean():.4f}"
    )
    assert ours.min() > 0.96
    assert ours.mean() > joint.mean() + 0.005


def test_a_translation_is_near_and_another_text_is_not(
    known: dict[str, Any], multilingual_encoder: MultilingualEncoder
) -> None:
    vectors = np.stack([e.pooled for e in multilingual_encoder.encode_queries(known["texts"][:17])])
    cosines = vectors[:16] @ vectors[:16].T
    assert cosines.min() > 0.4
    assert (vectors[:16] @ vectors[16]).max() < 0.2  # "Photosynthese"


def test_a_text_is_the_same_bits_in_any_company(
    multilingual_encoder: MultilingualEncoder, known: dict[str, Any]
) -> None:
    texts = [*known["texts"], *(words(n) for n in (1, 3, 3, 40, 40, 300)), "", *known["texts"][:6]]
    together = multilingual_encoder.encode_documents(texts)
    alone = [multilingual_encoder.encode_documents([text])[0] for text in texts]
    backwards = MultilingualEncoder(threads=1).encode_queries(texts[::-1])[::-1]
    assert all(same(a, b) for a, b in zip(together, alone, strict=True))
    assert all(same(a, b) for a, b in zip(together, backwards, strict=True))


def test_places_point_into_the_text(multilingual_encoder: MultilingualEncoder) -> None:
    text = " Café  東京: naïve\tword-pieces, ﬁn. "
    (encoded,) = multilingual_encoder.encode_documents([text])
    pieces = [text[start:end] for start, end in encoded.places]
    assert pieces[:3] == ["Café", "東京", ":"]
    assert "".join(pieces).replace(" ", "") == "".join(text.split())
    assert not any(piece != piece.lstrip() for piece in pieces if piece.strip())


def test_nothing_that_is_spelled_out_becomes_a_special_piece(tokenizer: SentencePieceTokenizer) -> None:
    found = tokenizer.tokenize(["<s> </s> <unk>", "𪛖"])
    assert isinstance(found[0], Pieces) and isinstance(found[1], Pieces)
    assert not {tokenizer.start, tokenizer.end, 0} & set(found[0].ids.tolist())
    assert 0 in found[1].ids.tolist()
    assert (tokenizer.start, tokenizer.end, tokenizer.special.tolist()) == (1, 2, [0, 1, 2])


def test_texts_without_a_piece(multilingual_encoder: MultilingualEncoder) -> None:
    empty, blank, unknown = multilingual_encoder.encode_documents(["", " \n\t ", "𪛖𪛖"])
    assert same(empty, blank)
    assert empty.vectors.shape == (0, 512)
    assert 0 not in unknown.pieces.tolist()
    for encoded in (empty, unknown):
        assert np.linalg.norm(encoded.pooled) == pytest.approx(1)
        assert encoded.pooled.dtype == encoded.vectors.dtype == np.float32


def test_broken_characters_are_replaced(multilingual_encoder: MultilingualEncoder) -> None:
    broken, replaced = multilingual_encoder.encode_documents(["half \ud83d of it\x00", "half \ufffd of it\x00"])
    assert same(broken, replaced)


def test_a_long_text_is_the_mean_of_its_windows_and_loses_no_token(use: object) -> None:
    known = "river stone light engine paper garden winter signal copper bridge".split()
    text = " ".join(["river"] * 40 + np.random.default_rng(0).choice(known, 80).tolist())  # windows of unlike lengths
    encoder = MultilingualEncoder(max_tokens=52, overlap=10, threads=2)
    (encoded,) = encoder.encode_documents([text])
    whole = MultilingualEncoder(max_tokens=1_000).encode_documents([text])[0]
    assert encoded.pieces.tolist() == whole.pieces.tolist()
    assert [text[a:b] for a, b in encoded.places] == text.split()
    # four tokens on each side are all that a state depends on, and an overlap of ten gives each token five
    assert np.abs(encoded.vectors - whole.vectors).max() < 1e-4
    tokens = text.split()
    parts = [" ".join(tokens[start : start + 50]) for start in (0, 35, 70)]
    assert len(tokens) == 120 and encoder.count_tokens([text, *parts]) == [120, 50, 50, 50]
    mean = np.mean([e.pooled for e in encoder.encode_documents(parts)], axis=0, dtype=np.float64)
    assert np.allclose(encoded.pooled, mean / np.linalg.norm(mean), atol=1e-6)
    assert not np.allclose(encoded.pooled, whole.pooled, atol=1e-3)


def test_only_the_beginning(use: object) -> None:
    text = "river stone light " * 100
    (cut,) = MultilingualEncoder(max_tokens=20, long_texts="cut").encode_documents([text])
    (beginning,) = MultilingualEncoder().encode_documents([" ".join(text.split()[:18])])
    assert same(cut, beginning)


def test_ten_megabytes_of_text(multilingual_encoder: MultilingualEncoder) -> None:
    with pytest.raises(LimitExceeded, match="long_texts='cut'"):
        multilingual_encoder.encode_documents(["the river runs past seven copper mills; " * 300_000])
    (cut,) = MultilingualEncoder(long_texts="cut").encode_documents(["長城在中國北方" * 1_000_000])
    assert len(cut.pieces) == 254


def test_bad_items_and_progress(multilingual_encoder: MultilingualEncoder) -> None:
    with pytest.raises(InvalidInput, match="item 1 is int"):
        multilingual_encoder.encode_documents(["gut", 3])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="a list of texts"):
        multilingual_encoder.encode_documents("gut")
    with pytest.raises(LimitExceeded, match="characters"):
        multilingual_encoder.encode_documents(["x" * (MAX_TEXT_CHARS + 1)])
    outcomes = multilingual_encoder.try_documents(["gut", None, "gut"])  # type: ignore[list-item]
    assert isinstance(outcomes[0], Encoded) and isinstance(outcomes[2], Encoded) and same(outcomes[0], outcomes[2])
    assert isinstance(outcomes[1], InvalidInput)
    calls: list[tuple[int, int]] = []
    multilingual_encoder.encode_documents(
        ["a", "b", words(600)], progress=lambda done, total: calls.append((done, total))
    )
    assert calls == sorted(calls) and calls[-1] == (3, 3)
    assert multilingual_encoder.encode_documents([]) == []


@pytest.mark.parametrize(
    "settings", [{"max_tokens": 7}, {"max_tokens": 8_193}, {"overlap": 200}, {"long_texts": "drop"}, {"threads": 0}]
)
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        MultilingualEncoder(**settings)


def test_the_fingerprint_covers_what_changes_vectors_and_nothing_else() -> None:
    base = MultilingualEncoder().fingerprint
    assert base.startswith("use-multilingual-v3:")
    assert MultilingualEncoder(threads=1).fingerprint == base
    changed: list[dict[str, Any]] = [{"max_tokens": 128}, {"overlap": 8}, {"long_texts": "cut"}]
    assert len({base, *(MultilingualEncoder(**settings).fingerprint for settings in changed)}) == 4


def test_a_manifest_leads_back_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = registry.register(MultilingualEncoder(max_tokens=128, overlap=16, long_texts="cut"))
    assert spec.to_json() == {
        "name": "multilingual",
        "kind": "text",
        "settings": {"max_tokens": 128, "overlap": 16, "long_texts": "cut"},
        "fingerprint": MultilingualEncoder(max_tokens=128, overlap=16, long_texts="cut").fingerprint,
        "pooled_dim": 512,
    }
    monkeypatch.setattr(registry, "_KNOWN", {})
    made = registry.find(EncoderSpec.from_json(spec.to_json()))
    assert isinstance(made, MultilingualEncoder)
    assert (made.max_tokens, made.overlap, made.long_texts) == (128, 16, "cut")


@pytest.mark.parametrize("change", [{"max_tokens": 8_193}, {"overlap": -1}, {"long_texts": "drop"}, {"more": 1}])
def test_a_manifest_that_says_something_else(change: dict[str, Any]) -> None:
    said = registry.register(MultilingualEncoder()).to_json()
    said["settings"] |= change
    with pytest.raises(InvalidInput):
        EncoderSpec.from_json(said)


def test_encoders_say_which_languages_they_read() -> None:
    class Own:
        languages = ["en", "cy"]

    class Wrong:
        languages = "en"

    codes = "ar de en es fr it ja ko nl pl pt ru th tr zh".split()
    assert languages_of(MultilingualEncoder()) == frozenset(codes)
    assert languages_of(TextEncoder()) == frozenset({"en"})
    assert languages_of(Own()) == frozenset({"en", "cy"})
    assert languages_of(ImageEncoder()) is None and languages_of(object()) is None
    assert isinstance(MultilingualEncoder(), Encoder)
    with pytest.raises(InvalidInput, match="not 'en'"):
        languages_of(Wrong())


def piece(text: str, score: float, kind: int | None = None) -> bytes:
    return pb.blob(1, pb.text(1, text) + pb.real(2, score) + (b"" if kind is None else pb.integer(3, kind)))


def test_a_model_file_is_read_by_its_field_numbers() -> None:
    pieces = [piece("<unk>", 0, 2), piece("<s>", 0, 3), piece("</s>", 0, 3), piece("mine", 0, 4), piece("a", -1.5)]
    other = pb.varint(7 << 3 | 1) + struct.pack("<d", 1.0)
    data = b"".join([*pieces, pb.blob(2, b"\xff"), pb.blob(3, pb.text(1, "nmt") + pb.blob(2, b"map")), other])
    model = read_model(data)
    assert model.pieces == ((" <unk>", 0.0), (" <s>", 0.0), (" </s>", 0.0), ("mine", 0.0), ("a", -1.5))
    assert (model.unknown, model.controls, model.charsmap) == (0, {"<s>": 1, "</s>": 2}, b"map")
    with pytest.raises(InvalidInput, match="a piece for unknown text was expected"):
        read_model(b"".join(pieces[1:]))
    with pytest.raises(InvalidInput, match="</s>"):
        read_model(b"".join([*pieces[:2], *pieces[3:]]))
    with pytest.raises(InvalidInput, match="within its field 3"):
        read_model(data[: -len(other) - 1])
    with pytest.raises(InvalidInput, match="within a number"):
        read_model(b"\x80")
    with pytest.raises(InvalidInput, match="wire type 3"):
        read_model(b"\x0b")
