"""What every engine gives: the verbs of a collection, and the read side that fusion and reranking work on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from zipfian.collection.following import Synced
from zipfian.collection.legs import Leg
from zipfian.collection.model import QueryMode
from zipfian.collection.results import Document, Results
from zipfian.collection.settings import Settings
from zipfian.collection.store import Existing, Skipped
from zipfian.encode.images import ImageSource
from zipfian.fuse.methods import Method
from zipfian.index.check import CheckReport
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.retrieve.scoring import Scoring
from zipfian.types import Explanation

Ints = npt.NDArray[np.int64]


class ReadSide(Protocol):
    """Documents by number, as one search sees them. Numbers ascend in document order, which breaks ties."""

    @property
    def settings(self) -> Settings:
        """Legs and fields."""

    @property
    def mean_words(self) -> float | None:
        """Words of a document on average; None where no leg counts them."""

    def number(self, doc_id: str) -> int:
        """The number of a document that must be there."""

    def ids_of(self, numbers: Ints) -> list[str]:
        """The ids of some documents."""

    def document(self, number: int) -> Document:
        """The stored fields of a document."""

    def loader(self, number: int) -> Callable[[], Document]:
        """Reads a document when somebody asks for it."""


class AnyCollection(Protocol):
    """A collection in a folder or in a cluster; `Collection` says what each verb does.

    Where an engine cannot do what a verb says, the verb is there and its error says so.
    """

    def add(
        self, items: Iterable[Mapping[str, Any]], existing: Existing = "error",
        progress: Callable[[int], None] | None = None, skipped: Skipped | None = None,
    ) -> int: ...  # fmt: skip

    def upsert(self, items: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None) -> int: ...

    def delete(self, ids: Iterable[str]) -> int: ...

    def commit(self, user: Mapping[str, Any] | None = None) -> int: ...

    def rollback(self) -> None: ...

    def merge(self, max_segments: int = 1) -> None: ...

    def add_leg(
        self, name: str, leg: Leg, terms: Mapping[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None: ...  # fmt: skip

    def sync(self, source: Any, **options: Any) -> Synced: ...

    def search(
        self,
        asked: Any = None,
        /,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        image: ImageSource | None = None,
        leg: str | None = None,
        method: str | Method | None = None,
        preset: str | None = None,
        scoring: Scoring | None = None,
        query: QueryMode | None = None,
        K: int | AdaptiveK | None = None,
        ann: str | None = None,
        exact_match_bonus: float = 0.0,
    ) -> Results: ...

    def score(
        self, leg: str, asked: Any, ids: Sequence[str], where: Mapping[str, Any] | None = None,
        scoring: Scoring | None = None, *, image: ImageSource | None = None, query: QueryMode | None = None,
    ) -> npt.NDArray[np.float64]: ...  # fmt: skip

    def explain(
        self, asked: Any, id: str, *, image: ImageSource | None = None, leg: str | None = None,
        method: str | Method | None = None, preset: str | None = None, scoring: Scoring | None = None,
        query: QueryMode | None = None,
    ) -> Explanation: ...  # fmt: skip

    def why(self, asked: Any, id_a: str, id_b: str, **options: Any) -> Explanation: ...

    def get(self, id: str) -> Document | None: ...

    def picture(self, id: str) -> bytes | None: ...

    def vector(self, id: str, name: str = "default") -> npt.NDArray[np.float32] | None: ...

    def ids(self) -> Iterator[str]: ...

    def refresh(self) -> int: ...

    def stats(self) -> dict[str, Any]: ...

    def check(self) -> CheckReport: ...

    def close(self) -> None: ...

    @property
    def generation(self) -> int: ...

    @property
    def user(self) -> Mapping[str, Any]: ...

    @property
    def fields(self) -> Mapping[str, str]: ...

    @property
    def legs(self) -> Mapping[str, Leg]: ...

    def __len__(self) -> int: ...

    def __contains__(self, id: object) -> bool: ...

    def __exit__(self, *_: object) -> None: ...
