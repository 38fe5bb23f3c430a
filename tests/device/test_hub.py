"""Encoders of the hub when a device has too little memory, or breaks down."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.faults import failing, out_of_memory
from tests.encode.hub import tiny
from tests.encode.hub.tiny import TEXT, needs_hub
from zipfian.encode import hub
from zipfian.encode.hub.image import HubImageEncoder
from zipfian.encode.hub.splade import SpladeEncoder
from zipfian.encode.hub.text import HubTextEncoder
from zipfian.errors import DeviceFailed, DeviceMemory

pytestmark = needs_hub

TEXTS = [TEXT, TEXT.replace("river", "copper"), TEXT.replace("summer", "winter"), "copper", "stone"]


def text(folder: Path) -> tuple[Any, str, list[Any]]:
    tiny.bert(folder)
    return hub.load(folder), "_pass", TEXTS


def splade(folder: Path) -> tuple[Any, str, list[Any]]:
    tiny.masked_bert(folder)
    return hub.load(folder, kind="splade"), "_pass", TEXTS


def image(folder: Path) -> tuple[Any, str, list[Any]]:
    tiny.clip(folder)
    return hub.load(folder, kind="image"), "_run_tower", tiny.pictures(4)


@pytest.mark.parametrize("make", [text, splade, image])
def test_a_batch_too_large_is_parted(make: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder, method, items = make(tmp_path / "model")
    expected = encoder.encode_documents(items)
    kind = type(encoder)
    assert kind in (HubTextEncoder, SpladeEncoder, HubImageEncoder)
    monkeypatch.setattr(kind, method, failing(getattr(kind, method), lambda _, batch: len(batch) > 1, out_of_memory))
    with pytest.warns(RuntimeWarning, match="no room for [0-9] items at a time; going on with 1"):
        found = encoder.encode_documents(items)
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one.pooled, other.pooled, atol=1e-5) and np.array_equal(one.places, other.places)
    monkeypatch.setattr(kind, method, out_of_memory)
    with pytest.raises(DeviceMemory, match="too little free memory for one item of"):
        encoder.encode_documents(items[:1])


def test_what_breaks_down_on_a_gpu_says_what_to_do(tmp_path: Path) -> None:
    encoder, _, _ = text(tmp_path / "model")
    with pytest.raises(RuntimeError, match="on the processor") as plain, encoder.model.running():
        raise RuntimeError("on the processor")
    assert not isinstance(plain.value, DeviceFailed)
    encoder.load()
    encoder.model.device = "cuda"
    with (
        pytest.raises(DeviceFailed, match="device 'cuda' failed: CUDA error: no kernel image"),
        encoder.model.running(),
    ):
        raise RuntimeError("CUDA error: no kernel image")
