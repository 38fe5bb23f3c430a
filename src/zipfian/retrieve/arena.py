"""Where posting lists live for the kernels, and the masks over documents that go with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zipfian.retrieve.layout import WINDOW
from zipfian.retrieve.validate import check_mask

if TYPE_CHECKING:
    from zipfian.retrieve.kernels import Postings

NO_MASK = np.empty(0, np.bool_)
"""Stands for 'every document is allowed'."""

NO_CODES, NO_TABLE = np.empty(0, np.uint16), np.empty(0, np.float64)
"""Stand for 'weights are kept as they are'."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Posting lists laid out for the kernels, with the norms and constants their impacts were computed from.

    Slots are terms, and their lists follow each other: `stop` is `start` from the second on, in the same memory.
    """

    postings: Postings
    norm: npt.NDArray[np.float64]
    spec: npt.NDArray[np.float64]
    n_docs: int

    @property
    def n_windows(self) -> int:
        return windows(self.n_docs)

    @property
    def nbytes(self) -> int:
        arrays = (*self.postings._replace(stop=self.postings.stop[-1:]), self.norm, self.spec)
        return sum(int(a.nbytes) for a in arrays)

    @property
    def df(self) -> npt.NDArray[np.int64]:
        """Documents that have each term."""
        found: npt.NDArray[np.int64] = self.postings.stop - self.postings.start
        return found

    def df_of(self, terms: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The same of a few terms, without counting all."""
        found: npt.NDArray[np.int64] = self.postings.stop[terms] - self.postings.start[terms]
        return found

    @property
    def weights(self) -> type[np.float32] | type[np.float64]:
        """The smallest type that holds every stored weight."""
        table = self.postings.table if len(self.postings.code) else np.empty(0, self.postings.tf.dtype)
        with np.errstate(over="ignore"):
            exact = table.dtype == np.float32 or (len(table) > 0 and np.array_equal(table.astype(np.float32), table))
        return np.float32 if exact else np.float64

    def pad_mask(self, mask: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        """A mask over documents, stretched to whole windows so that kernels read full chunks."""
        found = check_mask(mask, self.n_docs)
        out = np.zeros(self.n_windows * WINDOW, np.bool_)
        out[: self.n_docs] = found
        return out


def windows(n_docs: int) -> int:
    """Windows needed for so many documents."""
    return (n_docs + WINDOW - 1) // WINDOW
