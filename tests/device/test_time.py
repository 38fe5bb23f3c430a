"""How long a device had work: spans of several threads count once."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

import pytest

from tests.device.faults import TORCH_CPU, devices, needs_torch
from tests.encode.conftest import minilm as minilm
from zipfian.encode import TextEncoder, device_time
from zipfian.encode.device_time import DeviceTime
from zipfian.vocabulary.sae import SaeVocabulary

PROCESSOR = SimpleNamespace(type="cpu")


class Clock:
    """A clock that says what it is told."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(device_time, "time", made)
    return made


def span(spans: DeviceTime, clock: Clock, begin: float, end: float) -> None:
    clock.now = begin
    with spans.working():
        clock.now = end


def test_overlapping_spans_count_once_and_gaps_not_at_all(clock: Clock) -> None:
    found = DeviceTime(None, PROCESSOR)
    for begin, end in [(1.0, 3.0), (2.0, 2.5), (2.5, 4.0), (10.0, 11.0)]:
        span(found, clock, begin, end)
    assert found.seconds() == found.seconds() == 4.0
    span(found, clock, 10.5, 12.0)
    assert found.seconds() == 5.0, "what was summed up before is not counted again"


def test_a_long_run_remembers_no_more_than_some_spans(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_time, "SPANS", 4)
    found = DeviceTime(None, PROCESSOR)
    for i in range(50):
        span(found, clock, i, i + 0.5)
        assert len(found._spans) <= 4
    assert found.seconds() == 25.0


def test_what_fails_is_work_too(clock: Clock) -> None:
    found = DeviceTime(None, PROCESSOR)
    with pytest.raises(ValueError, match="no"), found.working():
        clock.now = 2.0
        raise ValueError("no")
    assert found.seconds() == 2.0


@needs_torch
@pytest.mark.usefixtures("minilm")
@pytest.mark.parametrize("device", devices())
def test_passes_and_projections_of_an_encoder_are_counted(device: str) -> None:
    encoder, vocabulary = TextEncoder(device=device), SaeVocabulary.load("text-16k")
    vocabulary.terms(encoder.encode_documents(["river"])[0])
    counted = device_time.device_time(device)
    start, before = time.perf_counter(), counted.seconds()
    encoded = encoder.encode_documents(["river stone light", "paper"])
    passed = counted.seconds()
    vocabulary.terms(encoded[0])
    projected = counted.seconds()
    assert before < passed < projected and projected - before <= time.perf_counter() - start
    worker = threading.Thread(target=encoder.encode_documents, args=(["copper"],))
    worker.start()
    worker.join()
    assert counted.seconds() > projected, f"threads share the time of {TORCH_CPU} or a GPU"
