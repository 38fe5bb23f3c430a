"""Other autoencoders than the top-k one, in plain autograd: small, slow beside it, and enough to compare recipes.

`l1`: ReLU with an L1 penalty. `batch`: BatchTopK, the k x batch strongest activations of a batch. `jump`: JumpReLU with
a threshold per term that learns through a rectangle around it. Used afterwards, all of them give the strongest terms
of a token, as the package does with every vocabulary.
"""

from __future__ import annotations

import math
import time
from typing import Any, Literal

import torch
from torch.nn import functional as F

from zipfian.train.model import TopKSae
from zipfian.train.sae import TrainResult, input_statistics, reconstruction
from zipfian.train.settings import SaeSettings
from zipfian.train.source import MemorySource

Variant = Literal["l1", "batch", "jump"]
WIDTH_OF_STEP = 0.5
"""Half the width of the rectangle that stands for the derivative of a jump."""


class _Jump(torch.autograd.Function):  # type: ignore[misc]
    """x where it is above its threshold; the threshold gets the derivative of a rectangle around the jump."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, threshold)
        return x * (x > threshold)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, threshold = ctx.saved_tensors
        near = ((x - threshold).abs() < WIDTH_OF_STEP / 2) / WIDTH_OF_STEP
        return grad * (x > threshold), -(threshold * near * grad).sum(dim=0)


class _Count(torch.autograd.Function):  # type: ignore[misc]
    """1 where x is above its threshold, with the same derivative for the threshold."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, threshold: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x, threshold)
        return (x > threshold).float()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[None, torch.Tensor]:
        x, threshold = ctx.saved_tensors
        near = ((x - threshold).abs() < WIDTH_OF_STEP / 2) / WIDTH_OF_STEP
        return None, -(near * grad).sum(dim=0)


def train_variant(
    source: MemorySource, settings: SaeSettings, variant: Variant, penalty: float, device: str
) -> TrainResult:
    """Trained on as many tokens as the top-k autoencoder would be."""
    mu, scale = input_statistics(source, settings, device)
    sae = TopKSae(source.dim, settings, device)
    encoder, bias, decoder = (part.detach().clone().requires_grad_(True) for part in sae.parameters())
    logs = torch.full_like(bias, math.log(3.0)).requires_grad_(True)
    moved = [encoder, bias, decoder] + ([logs] if variant == "jump" else [])
    optimizer = torch.optim.Adam(moved, lr=settings.lr)
    per_epoch = source.rows // settings.batch
    steps, step, begun = int(per_epoch * settings.epochs), 0, time.perf_counter()
    active = torch.zeros((), device=device)
    for epoch in range(math.ceil(settings.epochs)):
        for rows in source.batches(epoch, settings.batch, settings.seed, 0, device):
            if step == steps:
                break
            x = (rows - mu) / scale
            pre = torch.addmm(bias, x, encoder.T)
            cost = torch.zeros((), device=device)
            if variant == "jump":
                threshold = logs.exp()
                values = _Jump.apply(pre.relu(), threshold)
                count = _Count.apply(pre, threshold).sum(dim=1).mean()
                cost = penalty * min(1.0, 4.0 * step / steps) * (count / settings.k - 1.0).square()
            elif variant == "batch":
                values = pre.relu()
                with torch.no_grad():
                    strongest = torch.topk(values, 4 * settings.k, dim=1, sorted=False).values
                    least = strongest.flatten().kthvalue(strongest.numel() - settings.k * len(x)).values
                values = values * (values > least)
            else:
                values = pre.relu()
                cost = penalty * values.sum(dim=1).mean()
            loss = (values @ decoder - x).square().sum(dim=1).mean() + cost
            optimizer.zero_grad()
            loss.backward()
            for group in optimizer.param_groups:
                group["lr"] = settings.lr_at(step, steps)
            optimizer.step()
            with torch.no_grad():
                decoder.copy_(F.normalize(decoder, dim=1))
                active = (values > 0).float().sum(dim=1).mean()
            step += 1
    for target, found in zip(sae.parameters(), (encoder, bias, decoder), strict=True):
        target.copy_(found.detach())
    result = TrainResult(sae, mu, scale, settings)
    rows = source.sample(65_536, settings.seed + 1, device)
    result.metrics = {
        "steps": step, "tokens": step * settings.batch, "seconds": round(time.perf_counter() - begun, 1),
        "active": float(active), "train": reconstruction(result, rows),
    }  # fmt: skip
    return result
