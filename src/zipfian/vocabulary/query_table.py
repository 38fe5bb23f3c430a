"""Queries without a neural network: which terms a word piece stands for on average, whatever its context.

A query is tokenised and the rows of its pieces are summed. The table is learnt once from the training text of the
vocabulary and ships with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.types import FloatArray, IntArray
from zipfian.vocabulary._sae_weights import check_sha256, read_tensors

TABLE_FILE = "table.safetensors"
TERMS, WEIGHTS = "query_terms", "query_weights"


class QueryTable:
    """(pieces, width) terms and weights; a weight of 0 is no entry."""

    def __init__(self, terms: npt.NDArray[np.integer], weights: npt.NDArray[np.floating], n_terms: int) -> None:
        if terms.ndim != 2 or terms.shape != weights.shape or 0 in terms.shape:
            raise InvalidInput(f"a query table has terms and weights of one shape, not {terms.shape}, {weights.shape}")
        if terms.dtype.kind not in "ui" or weights.dtype.kind != "f":
            raise InvalidInput(f"a query table holds whole numbers and weights, not {terms.dtype} and {weights.dtype}")
        self.weights: FloatArray = weights.astype(np.float32)
        if not (np.isfinite(self.weights).all() and (self.weights >= 0).all()):
            raise InvalidInput("the weights of a query table must be finite and not negative")
        if int(terms.min()) < 0 or int(terms.max()) >= n_terms:
            raise InvalidInput(f"a query table names terms up to {int(terms.max())}, the vocabulary has {n_terms}")
        self.terms: IntArray = terms.astype(np.int32)

    @classmethod
    def load(cls, folder: Path, expected: Mapping[str, Any], n_terms: int) -> QueryTable:
        """The table of a vocabulary's folder; `expected` is what its settings say of it."""
        path = folder / TABLE_FILE
        check_sha256(path, expected.get("sha256"))
        tensors = read_tensors(path)
        if TERMS not in tensors or WEIGHTS not in tensors:
            raise InvalidInput(f"{path} holds no {TERMS} and {WEIGHTS}: it is no query table")
        return cls(tensors[TERMS], tensors[WEIGHTS], n_terms)

    def __len__(self) -> int:
        return len(self.terms)

    def rows(self, pieces: IntArray) -> tuple[IntArray, FloatArray]:
        """(pieces, width): terms and weights of each piece; a piece that occurs twice counts twice."""
        pieces = np.asarray(pieces)
        if pieces.ndim != 1 or pieces.dtype.kind not in "iu":
            if pieces.size:
                raise InvalidInput(f"word pieces are a row of whole numbers, not {pieces.dtype} of {pieces.shape}")
            pieces = np.empty(0, np.int32)
        if len(pieces) and not 0 <= int(pieces.min()) <= int(pieces.max()) < len(self.terms):
            raise InvalidInput(
                f"word pieces from {int(pieces.min())} to {int(pieces.max())}: the table has {len(self.terms):,} rows. "
                "Use the tokenizer of the encoder that the vocabulary was trained for"
            )
        return self.terms[pieces], self.weights[pieces]
