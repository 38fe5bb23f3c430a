"""Fusion methods by name, and back from their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from zipfian.errors import InvalidInput
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.candidates import Candidates
from zipfian.fuse.linear import Linear
from zipfian.fuse.ranking import Ranking
from zipfian.fuse.rrf import RRF


class Method(Protocol):
    """What every fusion method can do; one of your own needs these three verbs.

    Examples
    --------
    >>> methods: list[Method] = [Adaptive(), Linear(), RRF()]
    >>> [method.depth(10) for method in methods]
    [100, 100, 1000]
    """

    def depth(self, k: int) -> int:
        """How many documents to ask of every field for k hits; the same for all k up to the population's size."""

    def fuse(self, candidates: Candidates) -> Ranking:
        """Rank the candidates."""

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""


_METHODS: dict[str, Any] = {"adaptive": Adaptive, "linear": Linear, "rrf": RRF}


def method_from_json(value: str | Mapping[str, Any]) -> Method:
    """A method from its name or from its settings.

    Parameters
    ----------
    value
        `adaptive`, `linear` or `rrf` (with its defaults), or what a method's `to_json` gave.

    Returns
    -------
    Method
        Equal to the one whose settings were given.

    Raises
    ------
    InvalidInput
        An unknown method, or settings that it does not have.

    Examples
    --------
    >>> method_from_json("rrf").to_json()
    {'method': 'rrf', 'weights': {}, 'k': 60.0, 'ranks': 1000}
    """
    settings = {"method": value} if isinstance(value, str) else dict(value)
    name = settings.pop("method", None)
    if not isinstance(name, str) or name not in _METHODS:
        raise InvalidInput(f"unknown fusion method {name!r}; one of {', '.join(_METHODS)}")
    try:
        made: Method = _METHODS[name](**settings)
    except TypeError as error:
        raise InvalidInput(f"settings of the fusion method {name!r} that it does not have: {error}") from error
    return made
