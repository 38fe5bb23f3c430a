"""The text encoder with a GPU's code against the one on the processor, and what happens when a device misbehaves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.device.faults import TORCH_CPU, devices, failing, needs_torch, out_of_memory
from tests.encode.conftest import minilm as minilm
from zipfian.encode import TextEncoder
from zipfian.encode.base import cache_key, kept_form, plain_form, precision_of
from zipfian.encode.device_texts import DeviceTexts
from zipfian.encode.on_device import OnDevice
from zipfian.encode.torch_bert import TorchBert
from zipfian.errors import DeviceFailed, DeviceMemory, InvalidInput
from zipfian.types import Encoded
from zipfian.vocabulary.sae import SaeVocabulary

pytestmark = [needs_torch, pytest.mark.usefixtures("minilm")]

WORDS = "river stone light engine paper garden winter signal copper bridge market summer".split()
TEXTS = [
    "A cat sleeps.", "", "Plants make food from light.", "x \u2603 \U0001f4a1 [UNK] y", " ".join(WORDS * 9), "river",
    " ".join(WORDS * 90), "A dog sleeps.", "naïve Café, e.g. electroencephalographically",
]  # fmt: skip
"""Empty, equally long, of unknown characters, and longer than the network takes at once."""


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of rows as a share of their length."""
    assert a.shape == b.shape
    lengths = np.linalg.norm(b, axis=-1)
    return float((np.linalg.norm(a - b, axis=-1) / lengths).max(initial=0.0))


def alike(found: list[Encoded], expected: list[Encoded], tolerance: float = 1e-5) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.places, other.places) and np.array_equal(one.pieces, other.pieces)
        assert one.vectors.dtype == one.pooled.dtype == np.float32
        assert apart(one.vectors, other.vectors) < tolerance
        assert apart(one.pooled[None], other.pooled[None]) < tolerance


@pytest.fixture(scope="module")
def expected(minilm: object) -> list[Encoded]:
    return TextEncoder().encode_documents(TEXTS)


@pytest.fixture(scope="module")
def torch_encoder(minilm: object) -> TextEncoder:
    return TextEncoder(device=TORCH_CPU)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("batch_tokens", [None, 1, 700])
def test_vectors_are_those_of_the_processor(device: str, batch_tokens: int | None, expected: list[Encoded]) -> None:
    encoder = TextEncoder(device=device, batch_tokens=batch_tokens)
    found = encoder.encode_documents(TEXTS)
    assert all(isinstance(one, OnDevice) for one in found)
    alike(found, expected)


@pytest.mark.parametrize(
    "settings",
    [
        {"layers": ((-2, 0.5), 0, -1)},
        {"layers": (1,)},
        {"keep_special": True},
        {"max_tokens": 16, "overlap": 5},
        {"long_texts": "cut", "max_tokens": 20},
    ],
)
def test_every_setting_means_the_same(settings: dict[str, Any]) -> None:
    alike(
        TextEncoder(device=TORCH_CPU, **settings).encode_documents(TEXTS),
        TextEncoder(**settings).encode_documents(TEXTS),
    )


def test_the_larger_encoder_is_the_same_too() -> None:
    texts = TEXTS[:4]
    alike(
        TextEncoder(model="gte-small", device=TORCH_CPU).encode_documents(texts),
        TextEncoder(model="gte-small").encode_documents(texts),
    )


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize(("precision", "tolerance"), [("float16", 0.01), ("bfloat16", 0.08)])
def test_half_precision_is_near(device: str, precision: str, tolerance: float, expected: list[Encoded]) -> None:
    encoder = TextEncoder(device=device, precision=precision)
    alike(encoder.encode_documents(TEXTS), expected, tolerance)
    assert encoder.fell_back == 0


def test_neither_device_nor_precision_is_in_the_fingerprint_and_caches_keep_precisions_apart() -> None:
    plain, half = TextEncoder(), TextEncoder(device=TORCH_CPU, precision="float16")
    same = TextEncoder(device=TORCH_CPU)
    assert plain.fingerprint == half.fingerprint == same.fingerprint
    assert cache_key(plain, "pooled") == cache_key(same, "pooled") == f"{plain.fingerprint}\npooled"
    assert cache_key(half, "pooled") == f"{plain.fingerprint}\npooled@float16"
    assert precision_of(kept_form(half, "pooled")) == "float16"
    assert plain_form(cache_key(half, "pooled")) == cache_key(plain, "pooled")
    assert precision_of("team@home") == "float32" and plain_form("team@home") == "team@home"


def test_a_call_of_many_groups_is_in_order_and_leaves_nothing_on_the_device(
    monkeypatch: pytest.MonkeyPatch, torch_encoder: TextEncoder, expected: list[Encoded]
) -> None:
    monkeypatch.setattr("zipfian.encode.device_texts.GROUP_TOKENS", 40)
    told: list[tuple[int, int]] = []
    mixed: list[Any] = [TEXTS[0], 7, *TEXTS[1:], None]
    found = torch_encoder.try_documents(mixed, progress=lambda *step: told.append(step))
    assert [isinstance(one, InvalidInput) for one in found] == [i in (1, 10) for i in range(11)]
    assert not any(isinstance(one, OnDevice) for one in found)
    alike([one for one in found if isinstance(one, Encoded)], expected)
    assert told[-1] == (11, 11) and len(told) > 3 and told == sorted(told)


def test_terms_are_those_of_the_processor_and_vectors_stay_where_they_are(
    monkeypatch: pytest.MonkeyPatch, torch_encoder: TextEncoder, expected: list[Encoded]
) -> None:
    vocabulary = SaeVocabulary.load("text-16k")
    found = torch_encoder.encode_documents(TEXTS)
    monkeypatch.setattr("zipfian.encode.on_device.Matrix.fetch", lambda *_: pytest.fail("the vectors were copied"))
    for one, other in zip(found, expected, strict=True):
        terms, again = vocabulary.terms(one), vocabulary.terms(other)
        assert np.array_equal(terms.ids, again.ids) and np.allclose(terms.weights, again.weights, rtol=1e-4)
        kept = vocabulary.compact(one)
        assert np.array_equal(vocabulary.from_compact(kept).ids, again.ids)
        assert kept["terms"].shape == (len(other.pieces), 32) and kept["terms"].dtype == np.uint16
        assert vocabulary.evidence(one).keys() == vocabulary.evidence(other).keys()


# ---------------------------------------------------------------------- faults


def test_a_batch_too_large_is_halved_until_it_fits(monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]) -> None:
    encoder = TextEncoder(device=TORCH_CPU, batch_tokens=4_096)
    whole = failing(TorchBert.run, lambda _, pieces, *__: pieces.numel() > 1_100, out_of_memory)
    monkeypatch.setattr(TorchBert, "run", whole)
    with pytest.warns(RuntimeWarning, match=r"no room for [0-9,]+ tokens at a time; going on with"):
        alike(encoder.encode_documents(TEXTS), expected)


def test_a_group_too_large_is_parted(monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]) -> None:
    encoder = TextEncoder(device=TORCH_CPU)
    large = failing(DeviceTexts._passed, lambda _, __, windows, *___: windows.n_rows > 1_100, out_of_memory)
    monkeypatch.setattr(DeviceTexts, "_passed", large)
    alike(encoder.encode_documents(TEXTS), expected)


@pytest.mark.filterwarnings("ignore:device 'torch.cpu' has no room")
def test_no_room_for_one_text_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchBert, "run", out_of_memory)
    with pytest.raises(DeviceMemory, match=r"too little free memory for a text of 3 tokens.*device='cpu'"):
        TextEncoder(device=TORCH_CPU).encode_documents(["river stone light", "river"])


def test_a_driver_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch, torch_encoder: TextEncoder) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(TorchBert, "run", broken)
    with pytest.raises(DeviceFailed, match=r"illegal memory access was encountered\. What was complete before is kept"):
        torch_encoder.encode_documents(["river"])


def not_a_number(dtype: str) -> Any:
    """`TorchBert.run` that gives NaN for rows with the piece 2314 ("river") in one precision."""
    import torch

    plain = TorchBert.run

    def run(self: TorchBert, pieces: Any, *rest: Any) -> Any:
        states = plain(self, pieces, *rest)
        if self.dtype == getattr(torch, dtype):
            for state in states.values():
                state[(pieces == 2314).any(dim=1)] = float("nan")
        return states

    return run


def test_what_half_precision_cannot_hold_is_encoded_in_float32_and_counted(
    monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]
) -> None:
    encoder = TextEncoder(device=TORCH_CPU, precision="float16")
    monkeypatch.setattr(TorchBert, "run", not_a_number("float16"))
    found = encoder.encode_documents(TEXTS)
    with_river = [number for number, text in enumerate(TEXTS) if "river" in text]
    assert encoder.fell_back == len(with_river) == 3
    alike([found[i] for i in with_river], [expected[i] for i in with_river])
    alike(found, expected, 0.01)


def test_no_numbers_in_float32_are_an_error_of_that_text(
    monkeypatch: pytest.MonkeyPatch, torch_encoder: TextEncoder
) -> None:
    monkeypatch.setattr(TorchBert, "run", not_a_number("float32"))
    good, bad = torch_encoder.try_documents(["stone", "river"])
    assert isinstance(good, Encoded) and isinstance(bad, InvalidInput) and "not finite" in str(bad)
    with pytest.raises(InvalidInput, match="not finite"):
        torch_encoder.encode_documents(["stone", "river"])
