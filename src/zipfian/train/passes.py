"""Passes over captioned pictures: their batches, one step, what a pass found, and when there have been enough.

Shared by the heads on frozen encoders (`align.py`) and by fine-tuning (`align_unfreeze.py`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch

DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass: the mean loss, and on the dev pictures the share found in the first k places, both directions."""

    epoch: int
    loss: float
    temperature: float
    t2i: dict[int, float]
    i2t: dict[int, float]
    seconds: float

    @property
    def score(self) -> float:
        """The mean of all six, which is what early stopping watches."""
        return float(np.mean([*self.t2i.values(), *self.i2t.values()]))


@dataclass(slots=True, eq=False)
class Passes:
    """All passes so far and the weights of the best one; over when `patience` passes brought nothing better."""

    network: Any
    """Whose weights are kept."""
    patience: int
    lr: float
    """Of the training; what to lower when it breaks down."""
    progress: Callable[[Epoch], None] | None = None
    best: Epoch | None = None
    history: list[Epoch] = field(default_factory=list)
    _kept: dict[str, Any] = field(default_factory=dict)
    _start: float = field(default_factory=time.perf_counter)

    def measured(self, number: int, loss: float, temperature: float, vectors: tuple[Any, Any]) -> Epoch:
        """A pass from the vectors of the dev pictures and captions; -1 is the network as it came."""
        t2i, i2t = recalls(*vectors)
        epoch = Epoch(number, loss, temperature, t2i, i2t, round(time.perf_counter() - self._start, 3))
        if number >= 0:
            if not math.isfinite(loss):
                raise InvalidInput(f"the training broke down in epoch {number}: lower the learning rate {self.lr:g}")
            self.history.append(epoch)
        if self.progress is not None:
            self.progress(epoch)
        if self.best is None or epoch.score > self.best.score:
            self.best = epoch
            self._kept = {name: value.detach().cpu().clone() for name, value in self.network.state_dict().items()}
        return epoch

    def over(self) -> bool:
        """Whether the dev score has stopped rising."""
        if self.best is None or not self.history or self.best is self.history[-1]:
            return False
        return self.history[-1].epoch - self.best.epoch >= self.patience

    def finish(self) -> Epoch:
        """Give the network the weights of the best pass, which is returned."""
        if self.best is None:
            raise InvalidInput("no epoch was trained")
        self.network.load_state_dict(self._kept)
        self.network.eval()
        return self.best


def set_rate(optimizer: Any, value: float) -> None:
    """The learning rate of the next step."""
    for group in optimizer.param_groups:
        group["lr"] = value


def products(precision: str, device: Any) -> AbstractContextManager[Any]:
    """bf16 products while inside, where the setting says so; `auto`: on a GPU."""
    low = precision == "bf16" or (precision == "auto" and device.type == "cuda")
    found: AbstractContextManager[Any] = torch.autocast(device.type, torch.bfloat16) if low else nullcontext()
    return found


def update(network: Any, optimizer: Any, loss: Any) -> Any:
    """One step down the gradient, which is at most 1 long; returns the loss."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def checked_batch(batch: int, pictures: int) -> int:
    """Pictures of a step: no more than there are, and at least two."""
    found = min(batch, pictures)
    if found < 2:
        raise InvalidInput("at least two pictures are needed: each is told apart from the others of its batch")
    return found


def recalls(pictures: Any, captions: Any, block: int = 1_024) -> tuple[dict[int, float], dict[int, float]]:
    """Text to image and image to text: the share of queries with a right answer among the first 1, 5 and 10.

    A caption has one right picture; a picture has several right captions, and any of them counts. Ties count against.
    """
    return score_recalls(pictures.float() @ captions.float().T, block)


def score_recalls(scores: Any, block: int = 1_024) -> tuple[dict[int, float], dict[int, float]]:
    """The same from a matrix of scores, pictures x captions."""
    n, per = len(scores), scores.shape[1] // len(scores)
    owner = torch.arange(n, device=scores.device).repeat_interleave(per)
    right = scores[owner, torch.arange(scores.shape[1], device=scores.device)]
    ahead = torch.cat([(part >= own).sum(dim=0) for part, own in _columns(scores, right, block)]) - 1
    own = right.view(n, per)
    best = own.max(dim=1, keepdim=True).values
    above = (scores >= best).sum(dim=1) - (own >= best).sum(dim=1)
    return (
        {k: float((ahead < k).double().mean()) for k in DEPTHS},
        {k: float((above < k).double().mean()) for k in DEPTHS},
    )


def _columns(scores: Any, right: Any, block: int) -> Any:
    for start in range(0, scores.shape[1], block):
        yield scores[:, start : start + block], right[start : start + block]


def batches(n: int, per: int, batch: int, generator: Any) -> Any:
    """Every caption once, one per picture at a time, so that no batch holds a second caption of a picture."""
    choice = torch.argsort(torch.rand(n, per, generator=generator), dim=1)
    for turn in range(per):
        order = torch.randperm(n, generator=generator)
        for place in range(n // batch):
            pictures = order[place * batch : (place + 1) * batch]
            yield pictures, pictures * per + choice[pictures, turn]
