"""Token vectors that are on a GPU to their strongest terms; only these come back.

The product with all terms is made on the device, a block of tokens at a time, and chooses a few more terms than are
wanted. In half precision it only screens: the values of the chosen ones are computed again in float32, so that equal
roundings do not decide which term is the stronger one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.device import Precision, load_torch, torch_device
from zipfian.errors import DeviceMemory
from zipfian.types import FloatArray, IntArray
from zipfian.vocabulary._sae_weights import SaeWeights
from zipfian.vocabulary.topk import top_k

BLOCK_NUMBERS = 1 << 28
"""Of products, or of rows that are looked at again, held at a time: 1 GB of float32. Halved where there is no room."""
SPARE = 16
"""Terms beyond the wanted ones that are chosen at first: so many may tie with the last one, or be put in its place."""


class DeviceProjection:
    """The encoder half of an autoencoder on a device; `strongest` may be called from several threads at once."""

    def __init__(self, weights: SaeWeights, device: str, precision: Precision) -> None:
        torch = load_torch("a vocabulary on a GPU")
        place = torch_device(device)
        self._torch = torch
        self._device = device
        self._numbers = BLOCK_NUMBERS
        self._rows, self._bias, self._mu = (
            torch.tensor(array, dtype=torch.float32, device=place)
            for array in (weights.encoder, weights.bias, weights.mu)
        )
        self._scale = weights.scale
        half = getattr(torch, precision)
        self._screen = None if precision == "float32" else (self._rows.to(half), self._bias.to(half))
        self.n_terms, self.dim = weights.n_terms, weights.dim

    def strongest(self, vectors: Any, k: int) -> tuple[IntArray, FloatArray]:
        """(tokens, k): terms and values, strongest first, equal ones by lower id; -1 and 0 where there are fewer."""
        chosen = min(k + SPARE, self.n_terms)
        held = self.n_terms if self._screen is None else max(self.n_terms, chosen * self.dim)
        block = max(1, self._numbers // held)
        found, values = np.empty((len(vectors), k), np.int32), np.empty((len(vectors), k), np.float32)
        start = 0
        while start < len(vectors):
            part = slice(start, start + block)
            try:
                found[part], values[part] = (tensor.cpu().numpy() for tensor in self._block(vectors[part], k, chosen))
            except self._torch.OutOfMemoryError:
                if block == 1:
                    raise DeviceMemory(self._device, "the terms of one token", "or use device='cpu'") from None
                block = max(1, min(block, len(vectors) - start) // 2)
                self._numbers = block * held
                self._torch.cuda.empty_cache()
                continue
            start += block
        return found, values

    def _block(self, vectors: Any, k: int, chosen: int) -> tuple[Any, Any]:
        torch = self._torch
        x = (vectors.float() - self._mu) / self._scale
        if self._screen is None:
            values, terms = top_k(torch.addmm(self._bias, x, self._rows.T), chosen)
        else:
            rows, bias = self._screen
            _, terms = top_k(torch.addmm(bias, x.to(rows.dtype), rows.T), chosen)
            values = torch.bmm(self._rows[terms], x[:, :, None])[:, :, 0] + self._bias[terms]
        terms, order = terms.sort(dim=1)
        values, order = values.gather(1, order).sort(dim=1, descending=True, stable=True)
        terms, values = terms.gather(1, order)[:, :k], values[:, :k]
        fired = values > 0
        return torch.where(fired, terms, -1).int(), torch.where(fired, values, 0.0)
