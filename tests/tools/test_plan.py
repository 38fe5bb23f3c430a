"""Settings of a training written as a short name."""

from __future__ import annotations

from types import ModuleType

import pytest

from tests.tools.loading import load
from zipfian.train.settings import SaeSettings


@pytest.fixture(scope="module")
def plan() -> ModuleType:
    (found,) = load("training.plan")
    return found


def test_every_part(plan: ModuleType) -> None:
    found = plan.planned("k8-s3-e1.5-w512-b64-lr5-noaux".split("-"), SaeSettings())
    assert (found.k, found.seed, found.epochs, found.width, found.batch, found.aux_k) == (8, 3, 1.5, 512, 64, 0)
    assert found.lr == pytest.approx(5e-4)
    assert plan.planned([], SaeSettings()) == SaeSettings()


@pytest.mark.parametrize("part", ["x16", "", "auxless"])
def test_what_is_no_part(plan: ModuleType, part: str) -> None:
    with pytest.raises(SystemExit, match="no part of a plan"):
        plan.planned([part], SaeSettings())


def test_the_clock(plan: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    clock = plan.Clock(budget=100.0)
    clock.say("hello")
    assert capsys.readouterr().out == "[   0.0s] hello\n"
    assert 99.0 < clock.left() <= 100.0
