"""From token vectors to the terms of an autoencoder, and from the terms of tokens to those of an item."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from texts import Array

from zipfian.train._torch import matmul_precision
from zipfian.train.sae import TrainResult
from zipfian.train.source import MemorySource
from zipfian.vocabulary._sae_weights import quantise

Fired = tuple[Any, Any]
"""Values and terms of every token, (tokens, k) each, strongest first."""


class Codes(NamedTuple):
    """The strongest terms of every token, strongest first, and the item each token belongs to."""

    values: torch.Tensor
    terms: torch.Tensor
    item: torch.Tensor
    items: int

    def pooled(self, k: int, width: int, how: str = "sum") -> torch.Tensor:
        """Items x terms: the activations of the k strongest terms of every token, summed or the largest."""
        # In double precision the order of additions no longer shows in hundredths.
        kind = torch.float64 if how == "sum" else torch.float32
        out = torch.zeros(self.items * width, dtype=kind, device=self.values.device)
        flat = (self.item[:, None] * width + self.terms[:, :k]).reshape(-1)
        values = self.values[:, :k].reshape(-1).to(kind)
        if how == "sum":
            out.index_add_(0, flat, values)
        else:
            out.scatter_reduce_(0, flat, values, "amax")
        return out.view(self.items, width).float()

    def df(self, k: int, width: int) -> torch.Tensor:
        """In how many items each term fires among the k strongest of a token."""
        fired = self.values[:, :k] > 0
        pairs = torch.unique((self.item[:, None] * width + self.terms[:, :k])[fired])
        return torch.bincount(pairs % width, minlength=width)


def codes_of(
    result: TrainResult, source: MemorySource, k: int, *, precision: str = "float32", block: int = 16_384
) -> Fired:
    """Values and terms of all rows of a source."""
    device = result.sae.device
    values = torch.empty(source.rows, k, device=device)
    terms = torch.empty(source.rows, k, dtype=torch.int32, device=device)
    with torch.no_grad(), matmul_precision(precision, device):
        for start in range(0, source.rows, block):
            rows = source.take(torch.arange(start, min(source.rows, start + block), device=device), device)
            part = result.sae.activations(result.normalise(rows), k)
            values[start : start + block], terms[start : start + block] = part
    return values, terms


def by_item(fired: Fired, indptr: Array) -> Codes:
    """The terms of texts: tokens indptr[i] to indptr[i + 1] are those of text i."""
    return Codes(*fired, item_of(indptr, fired[0].device), len(indptr) - 1)


def of_pictures(result: TrainResult, patches: torch.Tensor, k: int) -> Codes:
    """The terms of pictures from their patches, (pictures, cells, channels)."""
    n, cells, _ = patches.shape
    found = codes_of(result, MemorySource(patches.flatten(0, 1)), min(k, result.settings.width))
    return Codes(*found, torch.arange(n, device=found[0].device).repeat_interleave(cells), n)


def item_of(indptr: Array, device: Any) -> torch.Tensor:
    """The number of the text that each token belongs to."""
    return torch.from_numpy(np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))).to(device)


def quantise_in_place(result: TrainResult) -> None:
    """Put the weights in the steps of int8 that they are stored in."""
    steps, step = quantise(result.sae.encoder.cpu().numpy())
    result.sae.encoder.copy_(torch.from_numpy(steps.astype(np.float32) * step[:, None]))
