"""Train a top-k sparse autoencoder: the loop, its progress, and how it is stopped and resumed.

>>> result = train_sae(MemorySource(activations), SaeSettings(width=16_384, k=16))   # doctest: +SKIP
>>> save_vocabulary(result, "my-vocabulary")                                         # doctest: +SKIP
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.train._torch import matmul_precision, torch
from zipfian.train.checkpoint import read_checkpoint, write_checkpoint
from zipfian.train.model import TopKSae
from zipfian.train.settings import SaeSettings
from zipfian.train.source import Source

_MIN_TOKENS_PER_TERM = 4
_STATISTICS_ROWS, _STATISTICS_BYTES = 1_000_000, 2**30
"""Rows that mean and scale are taken from: so many, or what so many bytes hold in float32."""
_STATISTICS_BLOCK = 8_192
"""Of those, how many are made double precision at a time."""
_REFRESH = 16


@dataclass(frozen=True, slots=True)
class Progress:
    """What is known after some steps; error, fvu and l0 are means since the last report."""

    step: int
    steps: int
    tokens: int
    lr: float
    error: float
    """Mean squared error per component of the scaled input."""
    fvu: float
    """Fraction of variance unexplained."""
    l0: float
    """Active terms per token."""
    dead: float
    """Share of terms that were silent for `dead_after` tokens."""
    seconds: float


@dataclass(slots=True, eq=False)
class TrainResult:
    """A trained autoencoder and how the training went."""

    sae: TopKSae
    mu: Any
    scale: float
    settings: SaeSettings
    history: list[Progress] = field(default_factory=list)
    metrics: dict[str, Any] = field(default_factory=dict)

    def normalise(self, vectors: Any) -> Any:
        """Token vectors as the autoencoder wants them."""
        return (vectors.to(self.mu.device).float() - self.mu) / self.scale


def train_sae(
    source: Source,
    settings: SaeSettings,
    *,
    device: str = "cpu",
    progress: Callable[[Progress], None] | None = None,
    report_every: int = 100,
    held_out: Any = None,
    checkpoint: str | Path | None = None,
    checkpoint_every: int = 1_000,
    stop_after: int | None = None,
) -> TrainResult:
    """Train on a source of activations.

    Parameters
    ----------
    progress, report_every
        Called with a `Progress` every so many steps; reading the numbers makes a GPU wait, so not at every one.
    held_out
        Rows that are not in the source; their reconstruction goes into `metrics`.
    checkpoint, checkpoint_every
        A file that is written every so many steps. If it exists, training goes on from it, with exactly the numbers
        it would have had without the interruption (same device, same settings).
    stop_after
        Stop at this step, after a checkpoint: for trainings in several sittings.
    """
    per_epoch = source.rows // settings.batch
    steps = int(per_epoch * settings.epochs)
    _check_enough(source, settings, steps)
    mu, scale = input_statistics(source, settings, device)
    with torch.no_grad(), matmul_precision(settings.precision, device):
        sae = TopKSae(source.dim, settings, device)
        optimizer = _optimizer(sae, settings)
        first = 0
        if checkpoint is not None and Path(checkpoint).exists():
            first, mu, scale = read_checkpoint(checkpoint, sae, optimizer, settings, device)
        result = TrainResult(sae, mu, scale, settings)
        meter = _Meter(sae, source.dim, steps, settings, first)
        step = first
        last = steps if stop_after is None else min(steps, stop_after)
        while step < last:
            epoch, skip = divmod(step, per_epoch)
            for rows in source.batches(epoch, settings.batch, settings.seed, skip, device):
                if step % _REFRESH == 0:
                    sae.refresh_dead()
                meter.add(sae.gradients((rows - mu) / scale))
                rate = settings.lr_at(step, steps)
                for group in optimizer.param_groups:
                    group["lr"] = rate
                optimizer.step()
                sae.after_step()
                step += 1
                if step % report_every == 0 or step == last:
                    result.history.append(meter.report(step, rate))
                    if progress is not None:
                        progress(result.history[-1])
                if checkpoint is not None and (step % checkpoint_every == 0 or step == last):
                    write_checkpoint(checkpoint, step, sae, optimizer, settings, mu, scale)
                if step == last:
                    break
        result.metrics = {
            "steps": step, "tokens": step * settings.batch, "seconds": round(meter.elapsed(), 3), "device": str(device),
            **({"train": asdict(result.history[-1])} if result.history else {}),
            **({"held_out": reconstruction(result, held_out)} if held_out is not None else {}),
        }  # fmt: skip
    return result


def input_statistics(source: Source, settings: SaeSettings, device: str) -> tuple[Any, float]:
    """mu and s of some rows, in double precision; activations that are not finite are refused here."""
    rows = min(_STATISTICS_ROWS, _STATISTICS_BYTES // (4 * source.dim))
    sample = source.sample(rows, settings.seed, device)
    mu = torch.zeros(sample.shape[1], dtype=torch.float64, device=sample.device)
    for start, block in _blocks(sample):
        finite = torch.isfinite(block).all(dim=1)
        if not bool(finite.all()):
            bad = start + int(torch.nonzero(~finite)[0, 0])
            raise InvalidInput(
                f"the activations hold values that are not finite (row {bad} of the sample): encode again"
            )
        if settings.centre:
            mu += block.sum(dim=0) / len(sample)
    spread = math.sqrt(sum(float((block - mu).square().sum()) for _, block in _blocks(sample)) / sample.numel())
    if settings.scale and spread == 0.0:
        raise InvalidInput("all activations are equal: there is nothing to learn from them")
    return mu.float(), spread if settings.scale else 1.0


def _blocks(sample: Any) -> Iterator[tuple[int, Any]]:
    """Some rows at a time in double precision, each block after the number of its first: all at once would take three
    times the room of the sample."""
    for start in range(0, len(sample), _STATISTICS_BLOCK):
        yield start, sample[start : start + _STATISTICS_BLOCK].double()


def reconstruction(result: TrainResult, vectors: Any, k: int | None = None, batch: int = 8_192) -> dict[str, float]:
    """Fraction of variance unexplained, active terms and error on rows given as the encoder made them."""
    error = total = active = 0.0
    with torch.no_grad():
        rows = result.normalise(vectors)
        mean = rows.mean(dim=0)
        for start in range(0, len(rows), batch):
            x = rows[start : start + batch]
            values, terms = result.sae.activations(x, k)
            error += float((result.sae.decode(values, terms) - x).square().sum())
            total += float((x - mean).square().sum())
            active += float((values > 0).sum())
    if total == 0.0:
        raise InvalidInput("rows to measure a reconstruction on must differ")
    return {"fvu": error / total, "l0": active / len(rows), "error": error / rows.numel(), "rows": float(len(rows))}


def _check_enough(source: Source, settings: SaeSettings, steps: int) -> None:
    if steps < 1:
        raise InvalidInput(
            f"{source.rows:,} tokens are less than one batch of {settings.batch:,} in {settings.epochs:g} epochs: "
            "give more data or a smaller batch"
        )
    if source.rows < _MIN_TOKENS_PER_TERM * settings.width:
        raise InvalidInput(
            f"{source.rows:,} tokens are too few for {settings.width:,} terms: at least "
            f"{_MIN_TOKENS_PER_TERM * settings.width:,} ({_MIN_TOKENS_PER_TERM} per term) are needed; give more data "
            "or a smaller width"
        )


def _optimizer(sae: TopKSae, settings: SaeSettings) -> Any:
    kind = torch.optim.AdamW if settings.optimizer == "adamw" else torch.optim.Adam
    return kind(sae.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=sae.device.type == "cuda")


class _Meter:
    """Sums the steps' numbers on the device and reads them only when a report is due."""

    def __init__(self, sae: TopKSae, dim: int, steps: int, settings: SaeSettings, first: int) -> None:
        self._sae, self._dim, self._steps, self._settings, self._last = sae, dim, steps, settings, first
        self._sums: Any = torch.zeros(3, dtype=torch.float64, device=sae.device)
        self._start = time.perf_counter()

    def add(self, stats: Any) -> None:
        self._sums += torch.stack([part.double() for part in stats])

    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def report(self, step: int, rate: float) -> Progress:
        error, total, active = self._sums.tolist()
        tokens = (step - self._last) * self._settings.batch
        self._sums.zero_()
        self._last = step
        if not (error >= 0.0 and total < float("inf")):
            raise InvalidInput(
                f"the training broke down before step {step}: the activations hold values that are not finite, or "
                f"the learning rate {self._settings.lr:g} is too high"
            )
        dead = float((self._sae.silent >= self._settings.dead_after).double().mean())
        return Progress(
            step=step, steps=self._steps, tokens=step * self._settings.batch, lr=rate, error=error / tokens / self._dim,
            fvu=error / total if total else 0.0, l0=active / tokens, dead=dead, seconds=round(self.elapsed(), 3),
        )  # fmt: skip
