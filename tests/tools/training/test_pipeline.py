"""One plan from names to archives, on made-up vectors: what texts and pictures share."""

from __future__ import annotations

import argparse
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.tools.loading import load

torch = pytest.importorskip("torch", reason="LEFT OUT: torch not installed (extra 'train')")
pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def tools() -> SimpleNamespace:
    names = ("train_vocabulary", "training.pipeline", "training.plan", "training.text", "training.image")
    return SimpleNamespace(**{name.split(".")[-1]: found for name, found in zip(names, load(*names), strict=True)})


def made_up(tools: SimpleNamespace) -> Any:
    """A kind whose data are random, and which writes down what it is asked."""
    from zipfian.train.source import MemorySource

    class MadeUp(tools.pipeline.Kind):  # type: ignore[misc, name-defined]
        PLAN = TINY_PLAN = ("k2-s0", "k2-s1")
        DEFAULTS = {"width": 16, "epochs": 2.0, "dead_after": 1_000}
        TINY: dict[str, Any] = {}
        HELD_OUT_KS = (4, 2, 32)
        REPORT_EVERY = 10

        def __init__(self, args: argparse.Namespace, clock: Any) -> None:
            super().__init__(args, clock)
            self.asked: list[str] = []
            self.trained: dict[str, Any] = {}

        @staticmethod
        def arguments(parser: argparse.ArgumentParser) -> None:
            parser.add_argument("--colour")

        def load(self, base: Any) -> None:
            self.rows = torch.randn(256, 6, generator=torch.Generator().manual_seed(0))

        def item(self, name: str, base: Any) -> Any:
            return tools.pipeline.Item(name, tools.plan.planned(name.split("-"), base), None)

        def data(self, item: Any) -> Any:
            return tools.pipeline.Data(MemorySource(self.rows[:200]), self.rows[200:])

        def exactly(self, result: Any, item: Any) -> Any:
            return result.sae.encoder.clone()

        def evaluate(self, result: Any, item: Any, exact: Any) -> list[dict[str, Any]]:
            self.asked.append(f"evaluate {item.name} {bool((result.sae.encoder != exact).any())}")
            return [{"name": item.name}]

        def info(self, item: Any, rows: list[dict[str, Any]]) -> dict[str, Any]:
            return {"name": item.name, "retrieval": rows}

        def keep(self, result: Any, item: Any, folder: Path) -> None:
            (folder / "more.txt").write_text(item.name)

        def write(self, item: Any, result: Any, rows: list[dict[str, Any]]) -> None:
            self.trained[item.name] = result.metrics

        def finish(self) -> None:
            self.asked.append("finish")

    return MadeUp


def start(tools: SimpleNamespace, folder: Path, *arguments: str) -> Any:
    kind = made_up(tools)
    parser = tools.pipeline.parser_of(kind, argparse.ArgumentParser())
    given = ["--work", str(folder / "work"), "--out", str(folder / "out"), "--batch", "32", "--device", "cpu"]
    args = parser.parse_args([*given, *arguments])
    return kind(args, tools.plan.Clock(args.budget))


def test_a_plan_is_trained_saved_and_measured(
    tools: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = start(tools, tmp_path)
    tools.pipeline.run(kind)
    assert kind.asked == ["evaluate k2-s0 True", "evaluate k2-s1 True", "finish"], "measured in steps of int8"
    assert {p.name for p in (tmp_path / "work").iterdir()} == {"k2-s0", "k2-s1"}
    assert (tmp_path / "work" / "k2-s0" / "sae.safetensors").is_file()
    metrics = kind.trained["k2-s0"]
    assert {"held_out_fvu_k4", "held_out_fvu_k2", "held_out_int8"} <= metrics.keys()
    assert "held_out_fvu_k32" not in metrics, "there are 16 terms"
    said = capsys.readouterr().out
    assert "k2-s0 took" in said and "k2-s1 took" in said and "fvu" in said


def test_no_training_starts_that_would_not_fit(
    tools: SimpleNamespace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kind = start(tools, tmp_path, "--budget", "1", "--reserve", "2")
    tools.pipeline.run(kind)
    assert kind.asked == ["finish"]
    assert "no time left for k2-s0" in capsys.readouterr().out


def test_a_bad_plan_is_refused_before_anything_is_read(tools: SimpleNamespace, tmp_path: Path) -> None:
    kind = start(tools, tmp_path, "--plan", "k2-s0,x9")
    with pytest.raises(SystemExit, match="no part of a plan"):
        tools.pipeline.run(kind)
    assert not hasattr(kind, "rows")


def test_archives_hold_what_is_named(tools: SimpleNamespace, tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    for name in ("a", "b"):
        (tmp_path / "v" / name).write_text(name)
    size = tools.pipeline.pack(tmp_path / "v", tmp_path / "x.tar", ["a", "none"])
    assert size == (tmp_path / "x.tar").stat().st_size
    with tarfile.open(tmp_path / "x.tar") as archive:
        assert archive.getnames() == ["v/a"]
    tools.pipeline.pack(tmp_path / "v", tmp_path / "y.tar")
    with tarfile.open(tmp_path / "y.tar") as archive:
        assert archive.getnames() == ["v/a", "v/b"]


TEXT = ["--kind", "text", "--model", "m", "--text", "t", "--work", "w", "--out", "o"]
IMAGE = ["--kind", "image", "--weights", "m", "--images", "t", "--test", "x", "--work", "w", "--out", "o"]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [(TEXT, ("Texts", 16_384, 16, 480.0)), (IMAGE, ("Images", 11_520, 3, 480.0)),
     ([*TEXT, "--tiny"], ("Texts", 512, 2, 1e9)), ([*IMAGE, "--tiny", "--plan", "k8-s0"], ("Images", 256, 1, 1e9)),
     ([*TEXT, "--width", "99"], ("Texts", 99, 16, 480.0))],
)  # fmt: skip
def test_the_kind_decides(
    tools: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, given: list[str], wanted: tuple[Any, ...]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(tools.train_vocabulary, "run", seen.append)
    tools.train_vocabulary.main(given)
    (kind,) = seen
    assert (type(kind).__name__, kind.args.width, len(kind.args.plan), kind.clock.budget) == wanted


def test_arguments_of_the_other_kind_are_refused(tools: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    for given in ([*TEXT, "--views", "2"], TEXT[2:], ["--kind", "image", "--work", "w", "--out", "o"]):
        with pytest.raises(SystemExit):
            tools.train_vocabulary.main(given)
    assert "unrecognized arguments: --views" in capsys.readouterr().err


def test_names_of_a_plan(tools: SimpleNamespace) -> None:
    from zipfian.train.settings import SaeSettings

    args = SimpleNamespace(views=1)
    text = tools.text.Texts(args, None).item("cat-k8-s2-e6", SaeSettings())
    assert (text.how, text.settings.k, text.settings.seed, text.settings.epochs) == ("cat", 8, 2, 6.0)
    image = tools.image.Images(args, None)
    assert image.item("k16-s0", SaeSettings()).how == 1
    many = image.item("k16-s1-v4-w512", SaeSettings())
    assert (many.how, many.settings.width, many.settings.seed) == (4, 512, 1)
