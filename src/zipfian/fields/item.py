"""A document as fields see it: on its way into an index, and as it is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.encode.images import ImageSource
from zipfian.types import Passages


@dataclass(slots=True)
class Item:
    """A checked document, ready to be written."""

    id: str
    text: str | None
    terms: dict[str, tuple[npt.NDArray[np.int32], npt.NDArray[Any]]]
    """Ids and stored weights (steps, counts or float32) by field, where terms are numbers."""
    vectors: dict[str, npt.NDArray[np.float32]]
    metadata: dict[str, Any]
    nbytes: int
    clipped: int = 0
    zeroed: int = 0
    image: ImageSource | None = None
    """The picture until it is encoded; it is not stored, only where it was found."""
    counts: Mapping[str, Mapping[str, int]] = dataclasses.field(default_factory=dict)
    """Words of a long text by field: counting them was the check, and is not done twice."""
    language: str | None = None
    """ISO 639-1 code of the language of the text, where some field asks for it."""
    passages: dict[str, list[Item]] = dataclasses.field(default_factory=dict)
    """The parts of a long text by field, where its encoder cannot read the whole at once; then terms and vectors of
    that field are theirs."""
    span: tuple[int, int] = (0, 0)
    """Of a passage: where it stands in the text of its document."""

    def rows(self, field: str) -> Sequence[Item]:
        """What a field has a row for: the document, or its passages."""
        return self.passages.get(field) or (self,)


def passages_of(items: Iterable[Item], field: str) -> Passages | None:
    """Where the rows of a field stand in some documents; None where each document has one."""
    rows = [item.rows(field) for item in items]
    return Passages.of([len(some) for some in rows], [row.span for some in rows for row in some])


@dataclass(frozen=True, slots=True)
class Stored:
    """What a field may look at again to show where its terms stand."""

    text: str | None
    picture: Callable[[], ImageSource | None]
    """Reads the picture now, where whoever opened the collection allows it; None: the document has none."""
    language: str | None = None
    """ISO 639-1 code of the language of the text, where some field asks for it."""
