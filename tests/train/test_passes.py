"""When a training over captioned pictures is over, and what it keeps."""

from __future__ import annotations

import math
from typing import Any

import pytest

from zipfian.errors import InvalidInput
from zipfian.train.schedule import rate

torch = pytest.importorskip("torch")

from zipfian.train.passes import Epoch, Passes, checked_batch  # noqa: E402

GOOD, BAD = (torch.eye(3), torch.eye(3)), (torch.eye(3), torch.eye(3).flip(0))


def passes(patience: int = 2, progress: Any = None) -> Passes:
    return Passes(torch.nn.Linear(1, 1, bias=False), patience, 0.5, progress)


def one(found: Passes, number: int, vectors: Any, weight: float) -> Epoch:
    with torch.no_grad():
        found.network.weight.fill_(weight)
    return found.measured(number, 1.0, 0.1, vectors)


def test_the_best_weights_come_back() -> None:
    seen: list[int] = []
    found = passes(progress=lambda epoch: seen.append(epoch.epoch))
    for number, (vectors, weight) in enumerate([(BAD, 1.0), (GOOD, 2.0), (GOOD, 3.0), (BAD, 4.0)]):
        one(found, number, vectors, weight)
        assert found.over() == (number == 3), "two passes without a better one"
    assert found.finish().epoch == 1 and float(found.network.weight.detach()) == 2.0
    assert seen == [0, 1, 2, 3] and [epoch.epoch for epoch in found.history] == seen
    assert not found.network.training


def test_the_network_as_it_came_may_be_the_best() -> None:
    found = passes(patience=1)
    before = one(found, -1, GOOD, 7.0)
    one(found, 0, BAD, 8.0)
    assert found.over() and found.finish() is before and float(found.network.weight.detach()) == 7.0
    assert [epoch.epoch for epoch in found.history] == [0], "it is no pass of the training"


def test_a_loss_that_is_no_number_stops() -> None:
    found = passes()
    assert found.measured(-1, math.nan, 0.1, GOOD).epoch == -1
    with pytest.raises(InvalidInput, match=r"broke down in epoch 0: lower the learning rate 0\.5"):
        found.measured(0, math.inf, 0.1, GOOD)
    with pytest.raises(InvalidInput, match="no epoch was trained"):
        passes().finish()


def test_a_batch_needs_two_pictures() -> None:
    assert checked_batch(64, 10) == 10 and checked_batch(4, 10) == 4
    with pytest.raises(InvalidInput, match="at least two pictures"):
        checked_batch(64, 1)


def test_the_rate_rises_and_falls() -> None:
    found = [rate(step, 100, 2.0, 0.1) for step in range(100)]
    assert found[0] == pytest.approx(0.2) and found[9] == found[10] == 2.0
    assert found[10:] == sorted(found[10:], reverse=True) and found[-1] < 0.01
    assert rate(0, 100, 2.0, 0.0) == 2.0 and rate(50, 100, 2.0, 0.0) == pytest.approx(1.0)
