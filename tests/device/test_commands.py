"""`--device` of `zipfian index` and `encode`: what a GPU encoded is searched without one, and nothing is lost."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.faults import TORCH_CPU, needs_torch
from tests.encode.conftest import minilm as minilm
from zipfian import Collection
from zipfian.cli import main
from zipfian.encode import TextEncoder, register, registry
from zipfian.encode.named import named_encoder
from zipfian.encode.session import in_order
from zipfian.encode.shards import Shard
from zipfian.encode.torch_bert import TorchBert

pytestmark = [needs_torch, pytest.mark.usefixtures("minilm", "own_cache")]

WORDS = "river stone light engine paper garden winter signal copper bridge market summer".split()


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An encode cache of its own, and encoders back on the processor afterwards."""
    monkeypatch.setattr("zipfian.encode.cache.root", lambda: tmp_path / "cache")
    monkeypatch.setattr(registry, "_KNOWN", {})
    yield


@pytest.fixture
def source(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    path = tmp_path / "texts.jsonl"
    lines = [{"id": f"d{i}", "text": " ".join(rng.choice(WORDS, rng.integers(3, 30)))} for i in range(40)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run(*arguments: object) -> int:
    return main([str(one) for one in arguments])


def found(path: Path) -> list[tuple[str, float]]:
    with Collection.open(path) as collection:
        return [(hit.id, round(hit.score, 3)) for hit in collection.search("copper bridge in winter", k=10)]


def test_an_index_made_on_a_device_is_searched_without_it(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = ("--fields", "words,latent,dense")
    assert run("index", source, "--into", tmp_path / "plain.zf", *fields) == 0
    monkeypatch.setattr(registry, "_KNOWN", {})
    assert (
        run("index", source, "--into", tmp_path / "gpu.zf", *fields, "--device", TORCH_CPU, "--precision", "float16")
        == 0
    )
    (encoder,) = registry._KNOWN.values()
    assert isinstance(encoder, TextEncoder) and (encoder.device, encoder.precision) == (TORCH_CPU, "float16")
    monkeypatch.setattr(registry, "_KNOWN", {})
    monkeypatch.setattr(TorchBert, "run", lambda *_: pytest.fail("a search went to the device"))
    assert [doc for doc, _ in found(tmp_path / "gpu.zf")][:3] == [doc for doc, _ in found(tmp_path / "plain.zf")][:3]


def test_shards_of_a_device_are_indexed_without_it(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zipfian.cli.encode.AT_ONCE", 1)  # 16 at a time: several batches under way at once
    fields = ("--fields", "words,latent,dense")
    half = ("--device", TORCH_CPU, "--precision", "float16")
    assert run("encode", source, "--out", tmp_path / "shard", *fields, *half) == 0
    shard = Shard(tmp_path / "shard")
    assert {form.precision for form in shard.manifest.forms} == {"float16"} and len(shard) == 80
    monkeypatch.setattr(registry, "_KNOWN", {})
    capsys.readouterr()
    assert run("index", source, "--into", tmp_path / "a.zf", "--encoded", tmp_path / "shard", *fields, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["encoded_here"] == 0 and "was encoded in float16" in told.err
    assert len(found(tmp_path / "a.zf")) == 10


def test_a_run_that_a_driver_ended_goes_on_where_it_was(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("zipfian.cli.encode.AT_ONCE", 1)
    monkeypatch.setattr("zipfian.cli.encode.AHEAD", 1)
    command = ("encode", source, "--out", tmp_path / "shard", "--fields", "dense", "--device", TORCH_CPU, "--json")
    plain, passes = TorchBert.run, []

    def broken(self: TorchBert, *args: Any) -> Any:
        passes.append(1)
        if len(passes) == 3:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return plain(self, *args)

    monkeypatch.setattr(TorchBert, "run", broken)
    assert run(*command) == 1
    assert "device-side assert triggered. What was complete before is kept" in capsys.readouterr().err
    assert len(Shard(tmp_path / "shard")) == 32, "both batches that were complete"
    assert run(*command) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["from_before"], told["encoded_now"], told["documents"]) == (32, 8, 40)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--device", "cuda:99"), "device 'cuda:99' was asked for, and torch sees"),
        (("--device", "tpu"), "device must be 'auto', 'cpu', 'cuda' or 'cuda:N', not 'tpu'"),
        (("--precision", "float16"), "--precision is for encoders on a GPU: name one with --device"),
        (("--device", "cpu", "--precision", "float16"), "these run on the processor"),
    ],
)
@pytest.mark.parametrize("command", ["index", "encode"])
def test_what_cannot_be_is_said_before_anything_is_read(
    command: str, options: tuple[str, ...], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--into" if command == "index" else "--out", tmp_path / "made")
    assert run(command, tmp_path / "missing.jsonl", *out, *options) == 1
    assert said in capsys.readouterr().err and not (tmp_path / "made").exists()


def test_a_bare_name_does_not_put_an_encoder_back_on_the_processor() -> None:
    mine = TextEncoder(device=TORCH_CPU)
    register(mine)
    assert named_encoder("text") is mine is named_encoder("all-minilm-l6-v2")
    other = named_encoder("text", max_tokens=64)
    assert isinstance(other, TextEncoder) and other.device == "cpu"


def test_results_come_in_order_few_are_under_way_and_an_error_ends_it() -> None:
    lock, under_way, most = threading.Lock(), 0, 0

    def work(job: int) -> int:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        time.sleep(0.02 if job % 3 == 0 else 0.0)
        with lock:
            under_way -= 1
        if job == 7:
            raise ValueError("seven")
        return job

    begun: list[int] = []

    def jobs() -> Iterator[int]:
        for job in range(100):
            begun.append(job)
            yield job

    done = []
    with pytest.raises(ValueError, match="seven"):
        for result in in_order(work, jobs(), 3):
            done.append(result)
            assert len(begun) <= len(done) + 3
    assert done == list(range(7)) and most <= 3 and under_way == 0 and len(begun) <= 11
