"""Rows of terms for word pieces and pairs of them, averaged or fitted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from texts import Array, open_tokenizer

from training.codes import Fired
from training.text_encoder import Pieces
from training.text_statistics import BLOCK, SPAN_WEIGHT

FREQUENT = 150
"""So many of the commonest whole pieces (function words, punctuation) are never part of a pair."""
EPS = 1e-4
Span = tuple[Pieces, torch.Tensor, torch.Tensor]
"""Stretches of text, and the values and terms of each of their pieces."""


class Rows(NamedTuple):
    """Row i < vocabulary belongs to piece i, row vocabulary + j to pair j (first << 16 | second, ascending)."""

    terms: torch.Tensor
    values: torch.Tensor
    pairs: Array
    before: torch.Tensor | None = None
    """The weights that a fit started from."""

    def cut(self, size: int, worth: torch.Tensor | None) -> Rows:
        """The strongest `size` of every row, by value or by value x worth of the term."""
        by = self.values if worth is None else self.values * worth[self.terms]
        place = torch.topk(by, min(size, by.shape[1]), dim=1).indices
        values, terms = torch.gather(self.values, 1, place), torch.gather(self.terms, 1, place)
        order = torch.argsort(values, dim=1, descending=True, stable=True)
        before = None if self.before is None else torch.gather(torch.gather(self.before, 1, place), 1, order)
        return Rows(torch.gather(terms, 1, order), torch.gather(values, 1, order), self.pairs, before)

    def between(self, share: float) -> Rows:
        """Weights between those before a fit and after it, geometrically: the fit must not be trusted whole."""
        before = self.values if self.before is None else self.before
        values = before.clamp(min=1e-6).log().lerp(self.values.clamp(min=1e-6).log(), share)
        return self._replace(values=values.exp().masked_fill(self.values <= 0, 0.0))


def pairs_of(pieces: Pieces, tokenizer_file: Path, count: int) -> Array:
    """The commonest pairs of neighbouring pieces in which neither is a function word or punctuation."""
    tokenizer = open_tokenizer(tokenizer_file)
    words = [tokenizer.id_to_token(i) or "" for i in range(tokenizer.get_vocab_size())]
    ids = pieces.ids.astype(np.int64)
    often = np.bincount(ids, minlength=len(words))
    whole = np.array([not word.startswith("##") for word in words])
    barred = np.array([not any(c.isalnum() for c in word) for word in words])
    barred[np.argsort(-(often * whole))[:FREQUENT]] = True
    inside = np.ones(max(0, len(ids) - 1), dtype=bool)
    inside[pieces.indptr[1:-1] - 1] = False
    inside &= ~barred[ids[:-1]] & ~barred[ids[1:]]
    keys, counts = np.unique(((ids[:-1] << 16) | ids[1:])[inside], return_counts=True)
    return np.sort(keys[np.argsort(-counts, kind="stable")[:count]])


def units_of(pieces: Pieces, pairs: Array, vocabulary: int) -> Pieces:
    """Pieces with known pairs joined, from left to right; a joined pair is vocabulary + its number."""
    ids = pieces.ids.astype(np.int64)
    if not len(pairs) or len(ids) < 2:
        return Pieces(ids, pieces.indptr)
    keys = (ids[:-1] << 16) | ids[1:]
    place = np.searchsorted(pairs, keys).clip(max=len(pairs) - 1)
    known = np.append(pairs[place] == keys, False)
    ends = pieces.indptr[1:] - 1
    known[ends[ends >= 0]] = False
    # In a run of overlapping pairs every second one is taken.
    number = np.arange(len(ids))
    start = np.maximum.accumulate(np.where(known & ~np.append(False, known[:-1]), number, 0))
    taken = known & ((number - start) % 2 == 0)
    second = np.append(False, taken[:-1])
    units = np.where(taken, vocabulary + np.append(place, 0), ids)
    owner = np.repeat(np.arange(len(pieces.indptr) - 1), np.diff(pieces.indptr))[~second]
    indptr = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=len(pieces.indptr) - 1))])
    return Pieces(units[~second], indptr)


def unit_of_token(pieces: Pieces, pairs: Array, vocabulary: int) -> tuple[Array, Array]:
    """For every piece the unit it went into, and the units in order."""
    units = units_of(pieces, pairs, vocabulary)
    size = 1 + (units.ids >= vocabulary)
    return np.repeat(units.ids, size), units.ids


def mean_rows(
    pieces: Pieces,
    codes: Fired,
    spans: Sequence[Span],
    pairs: Array,
    vocabulary: int,
    width: int,
    size: int,
) -> dict[str, Rows]:
    """Mean activations over whole texts (`mean`), and over texts and short stretches together (`both`)."""
    device, units = codes[0].device, vocabulary + len(pairs)
    sums, counts = [], []
    for source in ([(pieces, *codes)], spans):
        total = torch.zeros(units * width, device=device)
        count = torch.zeros(units, device=device)
        for part, values, terms in source:
            of_token, in_order = unit_of_token(part, pairs, vocabulary)
            unit = torch.from_numpy(of_token).to(device)
            count += torch.bincount(torch.from_numpy(in_order).to(device), minlength=units)
            if len(pairs):  # a piece's own row also learns from where it was part of a pair
                alone = torch.from_numpy(part.ids.astype(np.int64)).to(device)
                joined = unit >= vocabulary
                count += torch.bincount(alone[joined], minlength=units)
            for start in range(0, len(values), BLOCK):
                here = slice(start, start + BLOCK)
                flat = unit[here, None] * width + terms[here].long()
                total.index_add_(0, flat.reshape(-1), values[here].reshape(-1))
                if len(pairs):
                    also = joined[here]
                    flat = alone[here][also][:, None] * width + terms[here][also].long()
                    total.index_add_(0, flat.reshape(-1), values[here][also].reshape(-1))
        sums.append(total.view(units, width))
        counts.append(count)
    found = {"mean": _strongest(sums[0], counts[0], pairs, size)}
    total, count = (part[0] + SPAN_WEIGHT * part[1] for part in (sums, counts))
    found["both"] = _strongest(total, count, pairs, size)
    return found


def _strongest(sums: torch.Tensor, counts: torch.Tensor, pairs: Array, size: int) -> Rows:
    terms, values = [], []
    for start in range(0, len(sums), 2_048):
        part = sums[start : start + 2_048] / counts[start : start + 2_048, None].clamp(min=1.0)
        best = torch.topk(part, size, dim=1)
        terms.append(best.indices)
        values.append(best.values)
    return Rows(torch.cat(terms), torch.cat(values), pairs)


def fit(
    rows: Rows, spans: Sequence[Span], idf: torch.Tensor, vocabulary: int, *, power: float, by_idf: bool, epochs: float,
    batch: int = 2_048, rate: float = 0.05, seed: int = 0,
) -> Rows:  # fmt: skip
    """Move the weights, not the terms, until summed rows point where the encoder's terms of the stretch point.

    Likeness is the cosine of weights to the scorer's power, idf included if asked: what a search will multiply.
    Weights are moved by factors, so none changes sign and rows that no stretch touches stay as they are.
    """
    device, width = rows.values.device, len(idf)
    worth = idf if by_idf else torch.ones_like(idf)
    logs = rows.values.clamp(min=EPS).log().requires_grad_(True)
    silent = rows.values <= 0
    optimizer = torch.optim.Adam([logs], lr=rate, betas=(0.9, 0.99))
    rng = np.random.default_rng(seed)
    prepared = []
    for part, values, terms in spans:
        units = units_of(part, rows.pairs, vocabulary)
        prepared.append(
            (
                torch.from_numpy(units.ids).to(device), torch.from_numpy(units.indptr).to(device),
                torch.from_numpy(part.indptr).to(device), values, terms,
            )
        )  # fmt: skip
    jobs = [(s, start) for s, span in enumerate(prepared) for start in range(0, len(span[1]) - 1, batch)]
    steps = max(1, int(len(jobs) * epochs))
    for step in range(steps):
        if step % len(jobs) == 0:
            rng.shuffle(jobs)
        s, start = jobs[step % len(jobs)]
        ids, unit_ptr, token_ptr, values, terms = prepared[s]
        stop = min(start + batch, len(unit_ptr) - 1)
        n = stop - start
        target = torch.zeros(n * width, device=device)
        low, high = token_ptr[start], token_ptr[stop]
        owner = torch.repeat_interleave(torch.arange(n, device=device), token_ptr[start : stop + 1].diff())
        target.index_add_(
            0, (owner[:, None] * width + terms[low:high].long()).reshape(-1), values[low:high].reshape(-1)
        )
        target = target.view(n, width).clamp(min=0.0).pow(power) * worth
        for group in optimizer.param_groups:
            group["lr"] = rate * 0.5 * (1.0 + np.cos(np.pi * step / steps))
        with torch.enable_grad():
            unit = ids[unit_ptr[start] : unit_ptr[stop]]
            owner = torch.repeat_interleave(torch.arange(n, device=device), unit_ptr[start : stop + 1].diff())
            weights = logs[unit].exp().masked_fill(silent[unit], 0.0)
            flat = (owner[:, None] * width + rows.terms[unit]).reshape(-1)
            made = torch.zeros(n * width, device=device).index_add(0, flat, weights.reshape(-1)).view(n, width)
            made = ((made + EPS).pow(power) - EPS**power) * worth
            loss = 1.0 - torch.nn.functional.cosine_similarity(made, target, dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
        optimizer.step()
    values = logs.detach().exp().masked_fill(silent, 0.0)
    order = torch.argsort(values, dim=1, descending=True, stable=True)
    before = rows.values if rows.before is None else rows.before
    found = (torch.gather(part, 1, order) for part in (rows.terms, values, before))
    terms, values, before = found
    return Rows(terms, values, rows.pairs, before)
