"""The top-k autoencoder itself: parameters, forward pass and hand-written gradients.

Gradients are written out because almost all of them are zero: k of `width` activations per token matter. Autograd
would build and walk dense matrices for the rest. Everything is deterministic on one device: sums over tokens are
matrix products on a GPU (whose scattered additions are not) and ordered additions on a CPU.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from zipfian.train._torch import torch
from zipfian.train.settings import SaeSettings
from zipfian.vocabulary.topk import top_k


class StepStats(NamedTuple):
    """Sums over one batch, still on the device."""

    error: Any
    """Squared error summed over tokens and dimensions."""
    total: Any
    """The same for predicting the batch's mean."""
    active: Any
    """Activations above 0."""


class TopKSae:
    """width x dim encoder and decoder on inputs that are already centred and scaled."""

    def __init__(self, dim: int, settings: SaeSettings, device: Any) -> None:
        self.dim, self.settings, self.device = dim, settings, torch.device(device)
        width = settings.width
        generator = torch.Generator().manual_seed(settings.seed)
        if settings.decoder == "kaiming":
            bound = math.sqrt(3.0) * math.sqrt(2.0 / (1.0 + 5.0)) / math.sqrt(dim)
            start = (torch.rand(width, dim, generator=generator) * 2.0 - 1.0) * bound
        else:
            start = torch.randn(width, dim, generator=generator)
        if settings.unit_norm or settings.decoder == "unit":
            start /= start.norm(dim=1, keepdim=True)
        self.decoder = start.to(self.device)
        self.encoder = self.decoder.clone()
        self.bias = torch.zeros(width, device=self.device)
        self.silent = torch.zeros(width, dtype=torch.int64, device=self.device)
        """Tokens since each term last fired."""
        self.dead: Any = torch.zeros(0, dtype=torch.int64, device=self.device)
        for parameter in self.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self._sums: Any = None
        self._touched: Any = None

    def parameters(self) -> list[Any]:
        """What the optimizer moves."""
        return [self.encoder, self.bias, self.decoder]

    # ------------------------------------------------------------------ inference

    def activations(self, x: Any, k: int | None = None) -> tuple[Any, Any]:
        """The k strongest terms of every row and their weights (0 where fewer are positive), strongest first."""
        values, terms = top_k(torch.addmm(self.bias, x, self.encoder.T), k or self.settings.k)
        return values.clamp_(min=0.0), terms

    def decode(self, values: Any, terms: Any) -> Any:
        """Inputs rebuilt from activations."""
        return torch.bmm(values[:, None, :], self.decoder[terms])[:, 0, :]

    # ------------------------------------------------------------------ training

    def gradients(self, x: Any) -> StepStats:
        """Fill the gradients of one batch of the loss (mean over tokens) and say how good it was."""
        settings, n = self.settings, x.shape[0]
        pre = self._pre(x)
        values, terms = top_k(pre, settings.k)
        if pre.dtype != torch.float32:
            values = torch.bmm(self.encoder[terms], x[:, :, None])[:, :, 0] + self.bias[terms]
        values = values.clamp(min=0.0)
        rows = self.decoder[terms]
        rest = torch.bmm(values[:, None, :], rows)[:, 0, :] - x
        push = rest * (2.0 / n)
        back = torch.bmm(rows, push[:, :, None])[:, :, 0]
        if settings.l1:
            back = back + settings.l1 / n
        back = back * (values > 0)
        self._accumulate(x, push, values, back, terms)
        self._count(values, terms, n)
        if len(self.dead):
            self._aux(x, pre, rest)
        if settings.unit_norm:
            grad = self.decoder.grad
            grad -= (grad * self.decoder).sum(dim=1, keepdim=True) * self.decoder
        return StepStats(error=rest.square().sum(), total=(x - x.mean(dim=0)).square().sum(), active=(values > 0).sum())

    def after_step(self) -> None:
        """Put decoder rows back to length 1."""
        if self.settings.unit_norm:
            self.decoder /= self.decoder.norm(dim=1, keepdim=True).clamp(min=1e-12)

    def refresh_dead(self) -> int:
        """Find the terms that were silent for too long; AuxK uses this list until the next call."""
        if self.settings.aux_count(self.dim) and self.settings.aux_weight:
            self.dead = torch.nonzero(self.silent >= self.settings.dead_after)[:, 0]
        return len(self.dead)

    def _pre(self, x: Any) -> Any:
        if self.settings.precision == "bf16":
            low = torch.bfloat16
            return torch.addmm(self.bias.to(low), x.to(low), self.encoder.to(low).T)
        return torch.addmm(self.bias, x, self.encoder.T)

    def _accumulate(self, x: Any, push: Any, values: Any, back: Any, terms: Any) -> None:
        """Sums over tokens: decoder += activation x push, encoder += back x input, bias += back."""
        if self.device.type == "cuda" or self.settings.precision == "bf16":
            self._accumulate_dense(x, push, values, back, terms)
            return
        flat = terms.reshape(-1)
        for target, factor, source in ((self.decoder, values, push), (self.encoder, back, x)):
            target.grad.zero_()
            target.grad.index_add_(0, flat, (factor[:, :, None] * source[:, None, :]).reshape(-1, self.dim))
        self.bias.grad.zero_()
        self.bias.grad.index_add_(0, flat, back.reshape(-1))

    def _accumulate_dense(self, x: Any, push: Any, values: Any, back: Any, terms: Any) -> None:
        """The same as matrix products over a batch x width buffer of which only the touched entries are rewritten."""
        low = torch.bfloat16 if self.settings.precision == "bf16" else torch.float32
        if self._sums is None or self._sums.shape[0] != x.shape[0]:
            self._sums = torch.zeros(x.shape[0], self.settings.width, dtype=low, device=self.device)
        else:
            self._sums.scatter_(1, self._touched, 0.0)
        self._touched = terms
        self._sums.scatter_(1, terms, values.to(low))
        self.decoder.grad.copy_(self._sums.T @ push.to(low))
        self._sums.scatter_(1, terms, back.to(low))
        self.encoder.grad.copy_(self._sums.T @ x.to(low))
        self.bias.grad.copy_(self._sums.sum(dim=0, dtype=torch.float32))

    def _count(self, values: Any, terms: Any, n: int) -> None:
        fired = torch.zeros_like(self.silent)
        fired.index_add_(0, terms.reshape(-1), (values > 0).reshape(-1).to(fired.dtype))
        self.silent += n
        self.silent[...] = torch.where(fired > 0, 0, self.silent)

    def _aux(self, x: Any, pre: Any, rest: Any) -> None:
        """Silent terms learn to rebuild the residual: the only gradient they get."""
        dead, n = self.dead, min(self.settings.aux_rows, x.shape[0])
        part, target = x[:n], -rest[:n]
        values, place = torch.topk(
            pre[:n].index_select(1, dead).float(), min(self.settings.aux_count(self.dim), len(dead)), dim=1
        )
        active = torch.zeros(n, len(dead), device=self.device).scatter_(1, place, values.clamp(min=0.0))
        rows = self.decoder.index_select(0, dead)
        push = (active @ rows - target) * (2.0 * self.settings.aux_weight / n)
        back = (push @ rows.T) * (active > 0)
        self.decoder.grad[dead] += active.T @ push
        self.encoder.grad[dead] += back.T @ part
        self.bias.grad[dead] += back.sum(dim=0)
