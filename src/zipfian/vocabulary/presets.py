"""How a latent vocabulary is used unless the user says otherwise: the settings of both papers, by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from zipfian.errors import InvalidInput, shown
from zipfian.objects import finite_number

Pooling = Literal["sum", "max"]
QueryWeights = Literal["weighted", "binary"]


def _whole(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise InvalidInput(f"{name} must be a whole number above 0, not {value!r}")


@dataclass(frozen=True, slots=True)
class FieldDefaults:
    """From an item's tokens to its terms, and the scoring measured with them."""

    k: int = 16
    """Terms of a token."""
    k_least: int | None = None
    """Terms of an item wanted at least: a short one takes more of each token, up to the k of the training, until it has
    so many. None: `k` of each token, however short the item."""
    pooling: Pooling = "sum"
    """How the tokens of an item are put together."""
    k_post: int | None = None
    """Terms of an item at most, the heaviest; None: all."""
    k_query: int | Literal["k_post"] | None = "k_post"
    """Terms of a query at most; `k_post`: as many as of an item. Long queries cost time, not postings."""
    k1: float = 8.0
    b: float = 0.7
    phi: str = "sqrt"
    scale: float = 100.0
    """Steps in a stored weight of 1."""
    query: QueryWeights = "weighted"
    """`binary`: every term of a query counts the same."""

    def __post_init__(self) -> None:
        _whole("k", self.k)
        for name in ("k_least", "k_post"):
            if (most := getattr(self, name)) is not None:
                _whole(name, most)
        if self.k_query is not None and self.k_query != "k_post":
            _whole("k_query", self.k_query)
        if self.pooling not in ("sum", "max"):
            raise InvalidInput(f"pooling must be 'sum' or 'max', not {self.pooling!r}")
        if self.query not in ("weighted", "binary"):
            raise InvalidInput(f"query must be 'weighted' or 'binary', not {self.query!r}")
        for name in ("k1", "b", "scale"):
            value = getattr(self, name)
            if not finite_number(value) or value < 0:
                raise InvalidInput(f"{name} must be a finite number that is not negative, not {shown(value)}")
        if not isinstance(self.phi, str):
            raise InvalidInput(f"phi must be the name of a transform, such as 'sqrt', not {shown(self.phi)}")

    @property
    def query_cap(self) -> int | None:
        """Terms of a query at most."""
        return self.k_post if self.k_query == "k_post" else self.k_query

    @property
    def bm25(self) -> dict[str, Any]:
        """Arguments of `BM25`."""
        return {"k1": self.k1, "b": self.b, "phi": self.phi}

    def changed(self, values: Mapping[str, Any]) -> FieldDefaults:
        """With some settings replaced; unknown ones are refused."""
        unknown = set(values) - {field.name for field in fields(self)}
        if unknown:
            raise InvalidInput(f"unknown settings of use: {', '.join(sorted(map(str, unknown)))}")
        return replace(self, **values)


PRESETS: Mapping[str, FieldDefaults] = {
    "bm25-v": FieldDefaults(k=16, k_post=16, k1=1.5, b=0.75, phi="identity", query="binary"),
    "latent-terms": FieldDefaults(k=16, k_post=None, k1=8.0, b=0.7, phi="sqrt", query="weighted"),
    "photos": FieldDefaults(k=32, k_post=384, k1=8.0, b=0.7, phi="sqrt", query="weighted"),
}
"""`bm25-v`: seed of visual words, few terms per picture. `latent-terms`: its counterpart for text, all terms. `photos`:
what held on several kinds of pictures (the card of image-11k)."""


def preset(name: str) -> FieldDefaults:
    """The preset called `name`."""
    try:
        return PRESETS[name]
    except (KeyError, TypeError):
        raise InvalidInput(f"no preset is called {name!r}; known: {', '.join(PRESETS)}") from None
