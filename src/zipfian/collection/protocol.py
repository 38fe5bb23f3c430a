"""What every engine gives beside the verbs of `Collection`: the read side that fusion and reranking work on."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import Document
from zipfian.collection.settings import Settings

Ints = npt.NDArray[np.int64]


class ReadSide(Protocol):
    """Documents by number, as one search sees them. Numbers ascend in document order, which breaks ties."""

    @property
    def settings(self) -> Settings:
        """Fields and columns."""

    @property
    def mean_words(self) -> float | None:
        """Words of a document on average; None where no field counts them."""

    def number(self, doc_id: str) -> int:
        """The number of a document that must be there."""

    def ids_of(self, numbers: Ints) -> list[str]:
        """The ids of some documents."""

    def document(self, number: int) -> Document:
        """The stored fields of a document."""
