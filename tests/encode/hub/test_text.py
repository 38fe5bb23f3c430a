"""Hub text encoders against a plain forward pass of the same tiny models."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.tiny import TEXT, TEXTS, needs_hub
from zipfian.encode import Encoder, hub, register, registry
from zipfian.encode.base import cache_key
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.limits import MAX_TEXT_CHARS
from zipfian.types import Encoded

pytestmark = needs_hub

CLOSE = 1e-5
"""Of a vector's length: what a text's vectors may differ by in other company."""


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of rows, as a share of their length."""
    assert a.shape == b.shape
    if not len(a):
        return 0.0
    return float((np.linalg.norm(a - b, axis=-1) / np.linalg.norm(b, axis=-1)).max())


def alike(a: Encoded, b: Encoded) -> bool:
    exact = np.array_equal(a.places, b.places) and np.array_equal(a.pieces, b.pieces)
    return exact and apart(a.vectors, b.vectors) < CLOSE and apart(a.pooled[None], b.pooled[None]) < CLOSE


def plain(model: Any, folder: Path, text: str, **more: Any) -> tuple[list[int], Any]:
    """Ids and outputs of an ordinary pass."""
    import torch
    from transformers import AutoTokenizer

    tokens = AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt", return_token_type_ids=False)
    with torch.no_grad():
        return tokens["input_ids"][0].tolist(), model(**tokens, output_hidden_states=True, **more)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    folder = tmp_path_factory.mktemp("hub") / "tiny-bert"
    return folder, tiny.bert(folder)


@pytest.fixture(scope="module")
def colbert(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    folder = tmp_path_factory.mktemp("hub") / "tiny-colbert"
    return folder, *tiny.modern_colbert(folder)


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_bert_retriever(bert: tuple[Path, Any], pooling: Any) -> None:
    folder, model = bert
    encoder = hub.load(folder, pooling=pooling)
    assert isinstance(encoder, hub.HubTextEncoder) and isinstance(encoder, Encoder)
    assert (encoder.kind, encoder.dim, encoder.pooled_dim, encoder.max_tokens) == ("text", 32, 32, 64)
    for text, encoded in zip(TEXTS, encoder.encode_documents(TEXTS), strict=True):
        ids, found = plain(model, folder, text)
        last = found.last_hidden_state[0].numpy()
        assert encoded.pieces.tolist() == ids[1:-1]
        assert apart(encoded.vectors, last[1:-1]) < CLOSE
        pooled = last.mean(axis=0) if pooling == "mean" else last[0]
        assert apart(encoded.pooled[None], pooled[None] / np.linalg.norm(pooled)) < CLOSE
        assert np.linalg.norm(encoded.pooled) == pytest.approx(1.0)
        assert encoded.vectors.dtype == np.float32 and encoded.pieces.dtype == encoded.places.dtype == np.int32


def test_layers_side_by_side(bert: tuple[Path, Any]) -> None:
    folder, model = bert
    (encoded,) = hub.load(folder, layers=(0, (-2, 0.5), -1)).encode_documents([TEXT])
    states = plain(model, folder, TEXT)[1].hidden_states
    expected = np.concatenate([states[0][0], 0.5 * states[2][0], states[3][0]], axis=1)[1:-1]
    assert apart(encoded.vectors, expected) < CLOSE
    for wrong in ((4,), (-4,), ()):
        with pytest.raises(InvalidInput, match="layer"):
            hub.load(folder, layers=wrong)


def test_a_text_does_not_depend_on_its_neighbours(bert: tuple[Path, Any]) -> None:
    texts = TEXTS + [" ".join(TEXTS[6].split()[:n]) for n in range(1, 20)] + [TEXTS[6] * 9]
    alone = [hub.load(bert[0], batch_tokens=1).encode_documents([text])[0] for text in texts]
    one_by_one = hub.load(bert[0], batch_tokens=1).encode_documents(texts)
    for a, b in zip(one_by_one, alone, strict=True):
        assert np.array_equal(a.vectors, b.vectors) and np.array_equal(a.pooled, b.pooled)
    for settings in ({}, {"batch_tokens": 4_096}, {"round_to": 16, "batch_tokens": 4_096}):
        together = hub.load(bert[0], **settings).encode_documents(texts[::-1])[::-1]
        assert all(alike(a, b) for a, b in zip(together, alone, strict=True)), settings


def test_places_are_characters_of_the_text(bert: tuple[Path, Any], colbert: tuple[Path, Any, Any]) -> None:
    text = "  The Rivers\tran past; copper  mill."
    (encoded,) = hub.load(bert[0]).encode_documents([text])
    assert [text[a:b] for a, b in encoded.places] == ["The", "Rivers", "ran", "past", ";", "copper", "mill", "."]
    (encoded,) = hub.load(colbert[0]).encode_documents(["The river ran past the copper mill"])
    pieces = ["The river ran past the copper mill"[a:b] for a, b in encoded.places]
    assert "".join(pieces) == "Theriverranpastthecoppermill" and "river" in pieces
    assert not any(piece != piece.strip() for piece in pieces)


def test_unknown_and_special_tokens_yield_nothing(bert: tuple[Path, Any]) -> None:
    found = hub.load(bert[0]).encode_documents(["", " \n", "東京 [SEP] [MASK]", "mill 東 stone"])
    assert [len(e.pieces) for e in found] == [0, 0, 0, 2]
    assert [e.vectors.shape for e in found] == [(0, 32), (0, 32), (0, 32), (2, 32)]


def test_long_texts(bert: tuple[Path, Any]) -> None:
    folder, model = bert
    text = " ".join(TEXTS[6].split() * 8)
    encoder = hub.load(folder, max_tokens=32)
    (encoded,) = encoder.encode_documents([text])
    assert [text[a:b] for a, b in encoded.places] == text.split()
    assert encoder.count_tokens([text, "mill"]) == [len(text.split()), 1]
    (cut,) = hub.load(folder, max_tokens=32, long_texts="cut").encode_documents([text])
    assert cut.pieces.tolist() == encoded.pieces[:30].tolist()
    assert apart(cut.vectors[:20], encoded.vectors[:20]) < CLOSE
    last = plain(model, folder, " ".join(text.split()[:30]))[1].last_hidden_state[0].numpy()
    assert apart(cut.vectors, last[1:-1]) < CLOSE


def test_mean_over_windows_counts_each_token_once(bert: tuple[Path, Any]) -> None:
    text = " ".join(TEXTS[6].split() * 8)
    encoder = hub.load(bert[0], max_tokens=32)
    (encoded,) = encoder.encode_documents([text])
    # All but the two special tokens are in `vectors`, so the mean is theirs up to those two of 170.
    mean = encoded.vectors.mean(axis=0)
    assert float(encoded.pooled @ mean / np.linalg.norm(mean)) > 0.999


def test_task_prefixes_yield_no_terms(tmp_path: Path) -> None:
    folder = tmp_path / "tiny-nomic"
    model = tiny.nomic(folder)
    encoder = hub.load(folder)
    assert isinstance(encoder, hub.HubTextEncoder)
    assert (encoder.document_prefix, encoder.query_prefix) == ("search_document: ", "search_query: ")
    for texts, encode, prefix in (
        (TEXTS, encoder.encode_documents, "search_document: "),
        (TEXTS, encoder.encode_queries, "search_query: "),
    ):
        for text, encoded in zip(texts, encode(texts), strict=True):
            ids, found = plain(model, folder, prefix + text)
            last = found.last_hidden_state[0].numpy()
            own = len(encoded.pieces)
            assert encoded.pieces.tolist() == ids[len(ids) - 1 - own : -1]
            assert len(ids) - own == 2 + 4  # [CLS], search _ document :, [SEP]
            assert apart(encoded.vectors, last[len(last) - 1 - own : -1]) < CLOSE
            mean = last.mean(axis=0)
            assert apart(encoded.pooled[None], mean[None] / np.linalg.norm(mean)) < CLOSE
            assert all(text[a:b].lower() != "search" for a, b in encoded.places)
    (document,), (query,) = encoder.encode_documents([TEXT]), encoder.encode_queries([TEXT])
    assert np.array_equal(document.places, query.places) and not np.allclose(document.vectors, query.vectors)
    long = " ".join(TEXTS[6].split() * 8)
    (windowed,) = hub.load(folder, max_tokens=32).encode_documents([long])
    assert [long[a:b] for a, b in windowed.places] == long.split()


def test_late_interaction_before_and_after_the_projection(colbert: tuple[Path, Any, Any]) -> None:
    folder, model, weight = colbert
    text = "the copper mill ran"
    before, after = hub.load(folder), hub.load(folder, projection=True)
    assert (before.dim, after.dim) == (32, 12)
    for prefix, verb in (("[D] ", "encode_documents"), ("[Q] ", "encode_queries")):
        ids, found = plain(model, folder, prefix + text)
        last = found.last_hidden_state[0].numpy()[2:-1]
        (a,), (b,) = getattr(before, verb)([text]), getattr(after, verb)([text])
        assert a.pieces.tolist() == b.pieces.tolist() == ids[2:-1]
        assert apart(a.vectors, last) < CLOSE
        projected = last @ weight.T
        assert apart(b.vectors, projected / np.linalg.norm(projected, axis=1, keepdims=True)) < CLOSE
        assert a.places[0].tolist() == [0, 3]
    with pytest.raises(InvalidInput, match="last layer"):
        hub.load(folder, projection=True, layers=(-2,))


def test_late_queries_are_filled_with_masks_where_the_model_looks_at_them(tmp_path: Path) -> None:
    import torch

    folder = tmp_path / "tiny-colbert"
    model, _ = tiny.modern_colbert(folder, attend=True)
    (query,) = hub.load(folder).encode_queries(["copper mill"])
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer("[Q] copper mill")["input_ids"]
    filled = ids + [tokenizer.mask_token_id] * (24 - len(ids))
    with torch.no_grad():
        last = model(input_ids=torch.tensor([filled])).last_hidden_state[0].numpy()
    assert apart(query.vectors, last[2 : len(ids) - 1]) < CLOSE


def test_middle_layers_of_modernbert(colbert: tuple[Path, Any, Any]) -> None:
    folder, model, _ = colbert
    (encoded,) = hub.load(folder, layers=(2,)).encode_documents(["the copper mill"])
    states = plain(model, folder, "[D] the copper mill")[1].hidden_states
    assert apart(encoded.vectors, states[2][0].numpy()[2:-1]) < CLOSE


@pytest.mark.parametrize("make", [tiny.clip, tiny.siglip])
def test_text_halves(tmp_path: Path, make: Callable[[Path], Any]) -> None:
    import torch
    from transformers import AutoTokenizer

    folder = tmp_path / "tiny-dual"
    model = make(folder)
    encoder = hub.load(folder, kind="text")
    assert isinstance(encoder, hub.HubTextEncoder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    clip = make is tiny.clip
    for text in ("the copper mill", "stone", ""):
        (encoded,) = encoder.encode_queries([text])
        padding = {} if clip else {"padding": "max_length", "max_length": 16}
        ids = tokenizer(text, return_tensors="pt", **padding)["input_ids"]
        with torch.no_grad():
            pooled = model.get_text_features(input_ids=ids)
            pooled = getattr(pooled, "pooler_output", pooled)[0].numpy()
            last = model.text_model(input_ids=ids).last_hidden_state[0].numpy()
        assert apart(encoded.pooled[None], pooled[None] / np.linalg.norm(pooled)) < CLOSE
        first = 1 if clip else 0
        assert apart(encoded.vectors, last[first : first + len(encoded.pieces)]) < CLOSE
        assert "".join(text[a:b] for a, b in encoded.places).replace(" ", "") == text.replace(" ", "")
    long = " ".join(["copper mill"] * 20)
    (encoded,) = encoder.encode_documents([long])
    assert "".join(long[a:b] for a, b in encoded.places).replace(" ", "") == long.replace(" ", "")
    with pytest.raises(InvalidInput, match="pooled vector of its own"):
        hub.load(folder, kind="text", pooling="mean")


def test_mixed_precision_is_close_and_searched_with_any_other(bert: tuple[Path, Any]) -> None:
    exact, mixed = hub.load(bert[0]), hub.load(bert[0], precision="bfloat16")
    (a,), (b,) = exact.encode_documents([TEXT]), mixed.encode_documents([TEXT])
    assert 1e-6 < apart(b.vectors, a.vectors) < 0.1
    assert b.vectors.dtype == np.float32 and exact.fingerprint == mixed.fingerprint
    assert register(exact) == register(mixed)
    assert (cache_key(exact, "pooled"), cache_key(mixed, "pooled")) == (
        f"{exact.fingerprint}\npooled", f"{exact.fingerprint}\npooled@bfloat16",
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="float16"):
        hub.load(bert[0], device="cpu", precision="float16")
    with pytest.raises(InvalidInput, match="precision"):
        hub.load(bert[0], precision="int8")


def test_a_collection_whose_fingerprint_names_a_precision_is_opened_without_it(bert: tuple[Path, Any]) -> None:
    """Once it was a part: an index made in float16 then asked for a GPU."""
    old = hub.load(bert[0], recorded="float16", device="cpu")
    assert old.precision == "float32" and old.fingerprint != hub.load(bert[0]).fingerprint
    spec = replace(register(old), trusted=[str(bert[0])])
    registry._KNOWN.pop(spec.fingerprint)
    again: Any = registry.find(spec)
    assert again is not old and (again.fingerprint, again.precision) == (old.fingerprint, "float32")
    assert registry.move(spec, "cpu", "bfloat16")
    moved: Any = registry.find(spec)
    assert (moved.fingerprint, moved.precision) == (old.fingerprint, "bfloat16")


@pytest.mark.cuda
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
def test_a_gpu_gives_the_same(bert: tuple[Path, Any], precision: str) -> None:
    texts = TEXTS + [" ".join(TEXTS[6].split()[:n]) for n in range(1, 20)]
    expected = hub.load(bert[0], device="cpu").encode_documents(texts)
    found = hub.load(bert[0], device="cuda", precision=precision).encode_documents(texts)
    tolerance = 1e-4 if precision == "float32" else 0.1
    for a, b in zip(found, expected, strict=True):
        assert np.array_equal(a.places, b.places) and apart(a.vectors, b.vectors) < tolerance


def test_sentence_transformers_folders_say_how_to_pool(bert: tuple[Path, Any], tmp_path: Path) -> None:
    folder = tmp_path / "st"
    shutil.copytree(bert[0], folder)
    modules = [
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = folder / "1_Pooling" / "config.json"
    pooling.write_text(json.dumps({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "query: "}}))
    encoder = hub.load(folder)
    assert isinstance(encoder, hub.HubTextEncoder)
    assert (encoder.pooling, encoder.query_prefix, encoder.document_prefix) == ("cls", "query: ", "")
    assert hub.load(folder, pooling="mean", query_prefix="").fingerprint != encoder.fingerprint
    pooling.write_text(json.dumps({"pooling_mode_max_tokens": True}))
    with pytest.raises(InvalidInput, match="mean and cls"):
        hub.load(folder)
    (folder / "modules.json").write_text('[{"type": "x", "path": "../elsewhere"}]')
    with pytest.raises(InvalidInput, match="modules"):
        hub.load(folder)


def test_fingerprints(bert: tuple[Path, Any], tmp_path: Path) -> None:
    copy = tmp_path / "tiny-bert"
    shutil.copytree(bert[0], copy)
    known = hub.load(bert[0]).fingerprint
    assert known == hub.load(copy).fingerprint == hub.load(copy, batch_tokens=7, round_to=4).fingerprint
    assert known.startswith("tiny-bert:")
    changed = {hub.load(copy, **s).fingerprint for s in ({"layers": (-2,)}, {"max_tokens": 40}, {"pooling": "cls"})}
    assert len(changed | {known}) == 4
    (copy / "LICENSE.txt").write_text("as you like")
    assert hub.load(copy).fingerprint == known
    weights = copy / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    assert hub.load(copy).fingerprint != known


def test_settings_make_an_equal_encoder(bert: tuple[Path, Any], colbert: tuple[Path, Any, Any]) -> None:
    for encoder in (hub.load(bert[0], layers=((-2, 0.5), -1), overlap=5), hub.load(colbert[0], projection=True)):
        again = hub.load(**json.loads(json.dumps(encoder.hub_settings)))
        assert again.fingerprint == encoder.fingerprint


def test_queries_and_progress(bert: tuple[Path, Any]) -> None:
    encoder = hub.load(bert[0])
    expected = encoder.encode_documents(TEXTS)
    assert all(alike(a, b) for a, b in zip(encoder.encode_queries(TEXTS), expected, strict=True))
    calls: list[tuple[int, int]] = []
    encoder.encode_documents(TEXTS, progress=lambda done, total: calls.append((done, total)))
    assert calls == sorted(calls) and calls[-1] == (len(TEXTS), len(TEXTS))
    assert encoder.encode_documents([]) == []


def test_bad_items(bert: tuple[Path, Any]) -> None:
    encoder = hub.load(bert[0])
    with pytest.raises(InvalidInput, match="item 1 is int"):
        encoder.encode_documents(["a", 3])  # type: ignore[list-item]
    with pytest.raises(InvalidInput, match="a list of texts"):
        encoder.encode_documents("mill")
    with pytest.raises(LimitExceeded, match="characters"):
        encoder.encode_documents(["x" * (MAX_TEXT_CHARS + 1)])
    good, bad, half = encoder.try_documents(["mill", None, "mill \ud83d"])  # type: ignore[list-item]
    assert isinstance(good, Encoded) and isinstance(bad, InvalidInput) and isinstance(half, Encoded)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_tokens": 65}, "max_tokens"),
        ({"max_tokens": 7}, "max_tokens"),
        ({"overlap": 40}, "overlap"),
        ({"long_texts": "drop"}, "long_texts"),
        ({"batch_tokens": 0}, "batch_tokens"),
        ({"pooling": "max"}, "pooling"),
        ({"projection": True}, "late-interaction"),
        ({"document_prefix": "stone " * 70}, "leaves"),
        ({"colour": "red"}, "colour"),
        ({"kind": "sound"}, "kind"),
        ({"kind": "image"}, "texts only"),
        ({"device": "tpu"}, "device"),
        ({"device": "cuda:99"}, "CUDA"),
    ],
)
def test_bad_settings(bert: tuple[Path, Any], settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        hub.load(bert[0], **settings)
