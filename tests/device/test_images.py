"""The image encoder with a GPU's code against the one on the processor, and what happens when a device misbehaves."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.faults import TORCH_CPU, devices, failing, needs_torch, out_of_memory
from tests.encode.conftest import lite2 as lite2
from tests.encode.test_image import drawing, png
from zipfian.encode import ImageEncoder, converted, device_images
from zipfian.encode.base import cache_key
from zipfian.encode.device_images import DeviceImages
from zipfian.encode.on_device import OnDevice
from zipfian.encode.torch_efficientnet import TorchEfficientNet
from zipfian.errors import DeviceFailed, DeviceMemory, ImageUnreadable, InvalidInput
from zipfian.types import Encoded
from zipfian.vocabulary.sae import SaeVocabulary

pytestmark = [needs_torch, pytest.mark.usefixtures("lite2")]

SMALL = 96
"""Pixels: half precision on a processor takes its time."""
PHOTOGRAPHS = Path(__file__).parents[2] / "docs" / "img"


def noise(height: int, width: int) -> np.ndarray:
    return np.random.default_rng(height).integers(0, 256, (height, width, 3)).astype(np.uint8)


def pictures() -> list[Any]:
    """Photographs on a page, a wide drawing, a file in memory, noise, one colour, a single pixel."""
    wide = np.concatenate([drawing(200), 255 - drawing(200)[::-1]], axis=1)
    flat = np.full((50, 70, 3), 255, dtype=np.uint8)
    return [
        PHOTOGRAPHS / "page-patches.png", wide, png(drawing(300)), str(PHOTOGRAPHS / "page-why.png"), noise(31, 90),
        flat, np.full((1, 1, 3), 7, dtype=np.uint8),
    ]  # fmt: skip


def apart(a: np.ndarray, b: np.ndarray) -> float:
    """Largest difference of rows as a share of their length; those next to nothing count as a tenth of the mean."""
    assert a.shape == b.shape and a.dtype == np.float32
    lengths = np.linalg.norm(b, axis=1)
    return float((np.linalg.norm(a - b, axis=1) / np.maximum(lengths, lengths.mean() / 10)).max())


def alike(found: list[Any], expected: list[Any], tolerance: float = 1e-4) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.array_equal(one.places, other.places) and np.array_equal(one.pieces, other.pieces)
        assert one.grid == other.grid and np.linalg.norm(one.pooled) == pytest.approx(1)
        assert apart(one.vectors, other.vectors) < tolerance
        assert apart(one.pooled[None], other.pooled[None]) < tolerance


@pytest.fixture(scope="module")
def expected(lite2: object) -> list[Encoded]:
    return ImageEncoder(SMALL).encode_documents(pictures())


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("views", [None, 1, 3])
def test_vectors_are_those_of_the_processor(
    device: str, views: int | None, expected: list[Encoded], monkeypatch: pytest.MonkeyPatch
) -> None:
    if views is not None:
        monkeypatch.setattr(device_images, "BATCH_PIXELS", views * SMALL**2)
    found = ImageEncoder(SMALL, device=device).encode_documents(pictures())
    assert all(isinstance(one, OnDevice) for one in found)
    alike(found, expected)


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"size": 224, "fit": "crop"},
        {"size": SMALL, "crops": "2x2"},
        {"size": SMALL, "crops": "1x3:0.5", "fit": "crop", "threads": 1},
        {"size": 64, "block": 0},
        {"size": 160, "block": 10, "crops": "2x1"},
        {"size": SMALL, "block": 20},
    ],
)
def test_every_setting_means_the_same(device: str, settings: dict[str, Any]) -> None:
    few = pictures()[:3]
    alike(ImageEncoder(device=device, **settings).encode_documents(few), ImageEncoder(**settings).encode_documents(few))


@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize(("precision", "tolerance"), [("float16", 0.03), ("bfloat16", 0.3)])
def test_half_precision_is_near(device: str, precision: str, tolerance: float, expected: list[Encoded]) -> None:
    encoder = ImageEncoder(SMALL, device=device, precision=precision)
    for one, other in zip(encoder.encode_documents(pictures()), expected, strict=True):
        assert np.isfinite(one.vectors).all() and one.vectors.dtype == np.float32
        assert apart(one.pooled[None], other.pooled[None]) < tolerance
    assert encoder.fell_back == 0


def test_neither_device_nor_precision_is_in_the_fingerprint_and_caches_keep_precisions_apart() -> None:
    plain, half = ImageEncoder(), ImageEncoder(device=TORCH_CPU, precision="float16")
    same = ImageEncoder(device=TORCH_CPU)
    assert plain.fingerprint == half.fingerprint == same.fingerprint
    assert cache_key(plain, "pooled") == cache_key(same, "pooled") == f"{plain.fingerprint}\npooled"
    assert cache_key(half, "pooled") == f"{plain.fingerprint}\npooled@float16"
    assert (plain.at_once, same.at_once, plain.fell_back, half.fell_back) == (1, 8, 0, 0)


def test_a_call_of_many_groups_is_in_order_and_leaves_nothing_on_the_device(
    monkeypatch: pytest.MonkeyPatch, expected: list[Encoded], tmp_path: Path
) -> None:
    monkeypatch.setattr(device_images, "GROUP_NUMBERS", 3 * 9 * 1280)
    told: list[tuple[int, int]] = []
    mixed = [*pictures()[:2], b"no picture", *pictures()[2:], tmp_path / "missing.png"]
    encoder = ImageEncoder(SMALL, device=TORCH_CPU)
    found = encoder.try_documents(mixed, progress=lambda *step: told.append(step))
    assert isinstance(found[2], ImageUnreadable) and isinstance(found[8], FileNotFoundError)
    assert not any(isinstance(one, OnDevice) for one in found)
    alike([one for one in found if isinstance(one, Encoded)], expected)
    assert told == [(n, 9) for n in range(1, 10)]
    with pytest.raises(ImageUnreadable, match="<10 bytes>"):
        encoder.encode_documents(mixed)
    assert encoder.try_documents([b"no picture"])[0].args and encoder.encode_documents([]) == []


def test_terms_are_those_of_the_processor_and_vectors_stay_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = SaeVocabulary.load("image-11k")
    few = [*pictures()[:3], b"bad"]
    expected = ImageEncoder().try_documents(few)
    found = ImageEncoder(device=TORCH_CPU).try_documents(few)
    monkeypatch.setattr("zipfian.encode.on_device.Matrix.fetch", lambda *_: pytest.fail("the vectors were copied"))
    for one, other in zip(found[:3], expected[:3], strict=True):
        assert isinstance(one, Encoded) and isinstance(other, Encoded)
        terms, again = vocabulary.terms(one), vocabulary.terms(other)
        assert np.array_equal(terms.ids, again.ids) and np.allclose(terms.weights, again.weights, rtol=1e-3, atol=1e-3)
        kept = vocabulary.compact(one)
        assert np.array_equal(vocabulary.from_compact(kept).ids, again.ids)
        assert kept["grid"].tolist() == [12, 12] and kept["terms"].shape == (144, 32)
        assert vocabulary.evidence(one).keys() == vocabulary.evidence(other).keys()


def test_pictures_are_decoded_ahead_of_the_device_but_not_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_images, "BATCH_PIXELS", 4 * SMALL**2)
    plain, look = TorchEfficientNet.run, ImageEncoder.views
    lock, passes = threading.Condition(), 0
    enough: list[bool] = []
    looked: list[int] = []

    def seen(self: ImageEncoder, item: Any) -> Any:
        out = look(self, item)
        with lock:
            looked.append(1)
            lock.notify_all()
        return out

    def run(self: TorchEfficientNet, pixels: Any, *rest: Any) -> Any:
        nonlocal passes
        passes += 1
        with lock:  # the device is busy: the pictures of the next batch come in meanwhile, and no more than these
            enough.append(all(enough) and lock.wait_for(lambda: len(looked) >= min(40, 4 * passes + 4), timeout=20))
            assert len(looked) <= 4 * passes + 2 + 4
        return plain(self, pixels, *rest)

    monkeypatch.setattr(ImageEncoder, "views", seen)
    monkeypatch.setattr(TorchEfficientNet, "run", run)
    ImageEncoder(SMALL, device=TORCH_CPU, threads=2).encode_documents([drawing(64)] * 40)
    assert enough == [True] * 10


# ---------------------------------------------------------------------- faults


def test_a_batch_too_large_is_halved_until_it_fits(monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]) -> None:
    encoder = ImageEncoder(SMALL, device=TORCH_CPU)
    monkeypatch.setattr(
        TorchEfficientNet, "run", failing(TorchEfficientNet.run, lambda _, pixels, *__: len(pixels) > 2, out_of_memory)
    )
    with pytest.warns(RuntimeWarning, match="no room for 7 pictures at a time; going on with 3"):
        alike(encoder.encode_documents(pictures()), expected)
    assert isinstance(encoder._network, DeviceImages) and encoder._network.batch_views == 1


def test_a_group_too_large_is_parted(monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]) -> None:
    large = failing(DeviceImages._passed, lambda _, __, items, *___: len(items) > 2, out_of_memory)
    monkeypatch.setattr(DeviceImages, "_passed", large)
    alike(ImageEncoder(SMALL, device=TORCH_CPU).encode_documents(pictures()), expected)


@pytest.mark.filterwarnings("ignore:device 'torch.cpu' has no room")
def test_no_room_for_one_picture_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchEfficientNet, "run", out_of_memory)
    with pytest.raises(DeviceMemory, match=r"too little free memory for one picture.*smaller size, or device='cpu'"):
        ImageEncoder(SMALL, device=TORCH_CPU).encode_documents(pictures()[:2])


def test_a_driver_error_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("CUDA error: an illegal memory access was encountered\nCompile with TORCH_USE_CUDA_DSA")

    monkeypatch.setattr(TorchEfficientNet, "run", broken)
    with pytest.raises(DeviceFailed, match=r"illegal memory access was encountered\. What was complete before is kept"):
        ImageEncoder(SMALL, device=TORCH_CPU).encode_documents(pictures())
    assert not [one for one in threading.enumerate() if one.name.startswith("zipfian")], "nobody decodes any longer"


def not_a_number(dtype: str) -> Any:
    """`TorchEfficientNet.run` that gives NaN for pictures that are white all over in one precision."""
    import torch

    plain = TorchEfficientNet.run

    def run(self: TorchEfficientNet, pixels: Any, *rest: Any) -> Any:
        found = plain(self, pixels, *rest)
        if self.dtype == getattr(torch, dtype):
            for values in found:
                values[(pixels == 255).flatten(1).all(dim=1)] = float("nan")
        return found

    return run


def test_what_half_precision_cannot_hold_is_encoded_in_float32_and_counted(
    monkeypatch: pytest.MonkeyPatch, expected: list[Encoded]
) -> None:
    encoder = ImageEncoder(SMALL, device=TORCH_CPU, precision="float16")
    monkeypatch.setattr(TorchEfficientNet, "run", not_a_number("float16"))
    found = encoder.try_documents([pictures()[5], b"bad", *pictures()[3:]])
    assert encoder.fell_back == 2 and isinstance(found[1], ImageUnreadable)
    alike([found[0], found[4]], [expected[5]] * 2)
    assert [one.matrix.precision for one in found if isinstance(one, OnDevice)] == [
        "float32", "float16", "float16", "float32", "float16",
    ]  # fmt: skip


def test_an_overflow_inside_is_not_hidden_by_what_cuts_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """One channel of an inner map beyond what float16 holds: every activation after it is cut to 0 to 6."""
    weights = dict(converted.load())
    weights["_blocks.3._bn2.bias"] = weights["_blocks.3._bn2.bias"] + np.eye(24, dtype=np.float32)[5] * 1e5
    monkeypatch.setattr(converted, "load", lambda **_: weights)
    half = ImageEncoder(SMALL, device=TORCH_CPU, precision="float16")
    alike(half.encode_documents(pictures()[:2]), ImageEncoder(SMALL).encode_documents(pictures()[:2]), 1e-3)
    assert half.fell_back == 2


def test_no_numbers_in_float32_are_an_error_of_that_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TorchEfficientNet, "run", not_a_number("float32"))
    encoder = ImageEncoder(SMALL, device=TORCH_CPU)
    good, bad = encoder.try_documents(pictures()[4:6])
    assert isinstance(good, Encoded) and isinstance(bad, InvalidInput) and "not finite" in str(bad)
    with pytest.raises(InvalidInput, match="not finite"):
        encoder.encode_documents(pictures()[4:6])


def test_convolutions_are_not_rounded_to_tf32_and_the_setting_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    found: list[str] = []
    plain = torch.nn.functional.conv2d

    def conv2d(*args: Any, **settings: Any) -> Any:
        found.append(torch.backends.cudnn.conv.fp32_precision)
        return plain(*args, **settings)

    before = torch.backends.cudnn.conv.fp32_precision
    monkeypatch.setattr(torch.nn.functional, "conv2d", conv2d)
    ImageEncoder(SMALL, device=TORCH_CPU).encode_documents([drawing(64)])
    assert set(found) == {"ieee"} and torch.backends.cudnn.conv.fp32_precision == before
