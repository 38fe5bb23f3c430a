"""Fusion methods by name, and back from their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from zipfian.errors import InvalidInput
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.candidates import Candidates, Fused
from zipfian.fuse.linear import Linear
from zipfian.fuse.rrf import RRF


class Method(Protocol):
    """What every fusion method can do."""

    def depth(self, k: int) -> int:
        """How many documents to ask of every leg for k hits; the same for all k up to the population's size."""

    def fuse(self, candidates: Candidates) -> Fused:
        """Rank the candidates."""

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""


_METHODS: dict[str, Any] = {"adaptive": Adaptive, "linear": Linear, "rrf": RRF}


def method_from_json(value: str | Mapping[str, Any]) -> Method:
    """A method from its name (with its defaults) or from what its `to_json` gave."""
    settings = {"method": value} if isinstance(value, str) else dict(value)
    name = settings.pop("method", None)
    if not isinstance(name, str) or name not in _METHODS:
        raise InvalidInput(f"unknown fusion method {name!r}; one of {', '.join(_METHODS)}")
    try:
        made: Method = _METHODS[name](**settings)
    except TypeError as error:
        raise InvalidInput(f"settings of the fusion method {name!r} that it does not have: {error}") from error
    return made
