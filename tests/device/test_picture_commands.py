"""`--device` of `zipfian index` and `encode` with pictures: what a GPU looked at is searched without one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.device.faults import TORCH_CPU, needs_torch
from tests.device.test_commands import own_cache as own_cache
from tests.device.test_commands import run
from tests.encode.conftest import lite2 as lite2
from tests.encode.conftest import minilm as minilm
from tests.encode.test_image import drawing, png
from zipfian import Collection, Visual
from zipfian.encode import ImageEncoder, TextEncoder, register, registry
from zipfian.encode.shards import Shard
from zipfian.encode.torch_efficientnet import TorchEfficientNet

pytestmark = [needs_torch, pytest.mark.usefixtures("lite2", "minilm", "own_cache")]

FIELDS = ("--fields", "visual,dense,aligned,translated")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Eight pictures: a disc on waves in other colours and places, and one file that is none."""
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(8):
        turned = np.roll(np.rot90(drawing(120 + 10 * number), number), 15 * number, axis=number % 2)
        (folder / f"p{number}.png").write_bytes(png(np.ascontiguousarray(np.roll(turned, number, axis=2))))
    return folder


def found(path: Path, query: str | None = None, image: Path | None = None) -> dict[str, float]:
    with Collection.open(path) as collection:
        return {hit.id: hit.score for hit in collection.search(query, image=image, k=8)}


@pytest.fixture
def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many pictures went to the device together, pass by pass."""
    plain, made = TorchEfficientNet.run, []

    def run(self: TorchEfficientNet, pixels: Any, *rest: Any) -> Any:
        made.append(len(pixels))
        return plain(self, pixels, *rest)

    monkeypatch.setattr(TorchEfficientNet, "run", run)
    return made


def test_pictures_indexed_on_a_device_are_found_without_it(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], passes: list[int]
) -> None:
    assert run("index", photos, "--into", tmp_path / "plain.zf", *FIELDS) == 0
    monkeypatch.setattr(registry, "_KNOWN", {})
    monkeypatch.setattr("zipfian.encode.cache.root", lambda: tmp_path / "another cache")
    monkeypatch.setattr("zipfian.ingest.follow.ADD_PICTURES", 1)  # 8 on a device
    capsys.readouterr()
    assert run("index", photos, "--into", tmp_path / "gpu.zf", *FIELDS, "--device", TORCH_CPU) == 0
    assert passes == [8] and "processor" not in capsys.readouterr().err
    moved = [one for one in registry._KNOWN.values() if isinstance(one, ImageEncoder)]
    assert [one.device for one in moved] == [TORCH_CPU]

    monkeypatch.setattr(registry, "_KNOWN", {})
    monkeypatch.setattr(TorchEfficientNet, "run", lambda *_: pytest.fail("a search went to the device"))
    for asked in ({"image": photos / "p3.png"}, {"query": "a ball on the water"}):
        ours, theirs = found(tmp_path / "gpu.zf", **asked), found(tmp_path / "plain.zf", **asked)
        assert list(ours) == list(theirs) and np.allclose(list(ours.values()), list(theirs.values()), atol=1e-3)
    assert next(iter(found(tmp_path / "gpu.zf", image=photos / "p3.png"))) == "p3.png"


def test_shards_of_pictures_in_half_precision_are_indexed_without_a_device(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], passes: list[int]
) -> None:
    (photos / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n and nothing more")
    monkeypatch.setattr("zipfian.cli.encode.PICTURES_AT_ONCE", 1)  # 8 on a device: two batches
    fields = ("--fields", "visual,dense", "--on-bad", "skip")
    half = ("--device", TORCH_CPU, "--precision", "bfloat16")
    assert run("encode", photos, "--out", tmp_path / "shard", *fields, *half, "--json") == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["documents"] == 9 and "processor" not in told.err and sorted(passes) == [1, 7]
    assert {form.precision for form in Shard(tmp_path / "shard").manifest.forms} == {"bfloat16"}
    monkeypatch.setattr(registry, "_KNOWN", {})
    assert run("index", photos, "--into", tmp_path / "a.zf", "--encoded", tmp_path / "shard", *fields, "--json") == 0
    assert json.loads(capsys.readouterr().out)["encoded_here"] == 0
    assert next(iter(found(tmp_path / "a.zf", image=photos / "p5.png"))) == "p5.png"


def test_a_run_that_a_driver_ended_goes_on_where_it_was(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], passes: list[int]
) -> None:
    monkeypatch.setattr("zipfian.encode.image.GROUPS_ON_DEVICE", 3)
    monkeypatch.setattr("zipfian.cli.encode.PICTURES_AT_ONCE", 1)
    monkeypatch.setattr("zipfian.cli.encode.AHEAD", 1)
    command = ("encode", photos, "--out", tmp_path / "shard", "--fields", "visual,dense", "--device", TORCH_CPU)
    counted = TorchEfficientNet.run

    def broken(*args: Any) -> Any:
        if len(passes) == 2:
            raise RuntimeError("CUDA error: device-side assert triggered")
        return counted(*args)

    monkeypatch.setattr(TorchEfficientNet, "run", broken)
    assert run(*command) == 1
    assert "device-side assert triggered. What was complete before is kept" in capsys.readouterr().err
    monkeypatch.setattr(TorchEfficientNet, "run", counted)
    assert run(*command, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["from_before"], told["encoded_now"], told["documents"], passes) == (12, 4, 8, [3, 3, 2])


def test_what_has_no_code_for_a_gpu_is_still_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text('{"id": "a", "text": "Der Fluss fließt unter der Brücke hindurch."}\n')
    command = ("index", source, "--into", tmp_path / "a.zf", "--fields", "words,multilingual", "--device", TORCH_CPU)
    assert run(*command) == 0
    assert "use-multilingual-v3 runs on the processor: it has no code for a GPU" in capsys.readouterr().err


def test_a_new_field_does_not_put_the_encoder_of_pictures_back_on_the_processor() -> None:
    mine = ImageEncoder(device=TORCH_CPU)
    spec = register(mine)
    assert Visual().encoder == spec and registry.find(spec) is mine


def test_late_reranking_takes_token_vectors_from_a_device(tmp_path: Path) -> None:
    register(TextEncoder(device=TORCH_CPU))
    texts = ["Plants make food from light.", "Cats sleep most of the day.", "A bridge of copper over the river."]
    with Collection.create(tmp_path / "a.zf", fields=["words", "latent"]) as notes:
        notes.add([{"id": str(i), "text": text} for i, text in enumerate(texts)])
        notes.commit()
        hits: Any = notes.search("how plants make food", k=3, method="late")
    assert hits[0].id == "0" and "late" in str(hits.settings)
