"""Values that nobody should hand to a search library, and everybody does one day."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

MEBI = 1 << 20


class Unshowable:
    """Has no `repr`, no length, and equals everything."""

    def __repr__(self) -> str:
        raise RuntimeError("no repr")

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = object.__hash__


def deep(rng: Random, wrap: Callable[[Any], Any] | None = None, most: int = 200_000) -> Any:
    """A container in a container in a container ..."""
    wraps = [lambda v: [v], lambda v: (v,), lambda v: {"not": v}, lambda v: {"and": [v]}, lambda v: {"a": v}]
    chosen = wrap or rng.choice(wraps)
    value: Any = rng.choice([1, "x", None, {"lang": "en"}])
    for _ in range(rng.choice([33, 66, 70, 100, 1_000, 2_000, 20_000, most])):
        value = chosen(value)
    return value


def cyclic(rng: Random) -> Any:
    """A container that holds itself, or that holds the same one twice, sixty times over: 2**60 paths through it."""
    if rng.random() < 0.5:
        inner: Any = rng.choice([[1], {"lang": "en"}])
        for _ in range(60):
            inner = rng.choice([[inner, inner], {"and": [inner, inner]}, {"or": [inner, inner]}])
        return {"and": [inner, inner]} if isinstance(inner, dict) else {"lang": inner}
    if rng.random() < 0.5:
        loop: dict[str, Any] = {}
        loop[rng.choice(["not", "lang", "a"])] = loop
        return loop
    turn: list[Any] = [1]
    turn.append(turn)
    return rng.choice([{"and": turn}, {"lang": turn}, {"lang": {"in": turn}}])


NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2, 3, 10**6, 10**6 + 1, 2**31, 2**63, -(2**63) - 1, 10**400, 10**6_000, True, False, 0.0, -0.0, 1.0, 2.5,
    math.nan, math.inf, -math.inf, 5e-324, 1e-40, 3e38, 3.5e38, 1e300, 1j, Decimal("NaN"), Decimal(3), Fraction(1, 3),
    np.float32(1e38), np.float64(math.nan), np.int8(-3), np.int64(7), np.uint64(2**63), np.bool_(True),
    np.longdouble(1e4_000), np.array(3), np.array([1, 2]), np.datetime64("2020"), "3", b"3", "", None,
)  # fmt: skip
STRINGS: tuple[Any, ...] = (
    "", " ", "\0", "a\0b", "\n", "\r\n", "\x1b[31m", "\u009b2J", "\u202e", "\ud800", "a\udfff", "\ufeff", "x" * 512,
    "x" * 513, "é" * 257, "x" * 100_000, "../../etc", "id", "$date", "and", "not", "İ", "ﷺ", "a-" * 600, "漢" * 700,
    "e\u0301" * 700, "\U0010ffff", "%s%n", "'; --", "{}", "a@b", "C++", ".NET", np.str_("np"),
)  # fmt: skip
THINGS: tuple[Any, ...] = (
    b"bytes", bytearray(b"x"), object(), Unshowable(), Unshowable, len, iter(()), range(5), {1, 2}, frozenset(), {}, [],
    (), {"a": 1}, {1: "a"}, {None: None}, {(1, 2): 3}, {math.nan: 1}, MappingProxyType({"a": 1}), [None],
    [[1], [2, 3]], date(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999),
    datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
    datetime(2020, 1, 1, tzinfo=UTC), timedelta(1), ..., NotImplemented, np.zeros((3, 3)), np.zeros(0), np.array(["a"]),
    np.array([object()]), np.ma.masked, np.zeros(3, "f4,i4"), memoryview(b"abc"),
)  # fmt: skip


def anything(rng: Random, level: int = 0) -> Any:
    """A value of any kind, now and then several in one."""
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(NUMBERS)
    if kind < 0.6:
        return rng.choice(STRINGS)
    if kind < 0.85 or level > 2:
        return rng.choice(THINGS)
    if kind < 0.93:
        return [anything(rng, level + 1) for _ in range(rng.randrange(4))]
    return {str(rng.choice(STRINGS))[:20]: anything(rng, level + 1) for _ in range(rng.randrange(3))}


def vector(rng: Random, dim: int) -> Any:
    """Something like a vector."""
    size = rng.choice([dim, dim, dim, dim, 0, 1, dim + 1, 70_000])
    number = rng.choice(
        [3e38, 1e-40, 5e-324, 1e39, 1e200, 1e308, 0.0, math.nan, math.inf, -1.0, True, 1j, "1", None, 10**400]
    )
    values = (
        [rng.choice([number, number, rng.uniform(-1, 1)]) for _ in range(size)] if size <= dim + 1 else [1.0] * size
    )
    if rng.random() < 0.5:
        return values
    dtype: Any = rng.choice(
        [np.float16, np.float32, np.float64, np.int8, np.uint64, np.complex128, object, bool, "U3", ">f4"]
    )
    try:
        with np.errstate(all="ignore"):
            made = np.array(values).astype(dtype)
    except (TypeError, ValueError, OverflowError):
        return values
    return rng.choice([made, made, made[::-1], made.reshape(1, -1), np.broadcast_to(np.float32(1), (size,))])


def terms(rng: Random, n: int) -> Any:
    """Something like terms with weights."""
    ids: list[Any] = [
        rng.choice([0, 1, 2, n - 1, n, -1, 2**40, 2**70, True, 1.5, math.nan, "1", None])
        for _ in range(rng.randrange(1, 4))
    ]
    weights: list[Any] = [
        rng.choice([1.0, 2.5, 0.0, -1.0, 1e6, 1e7, 1e300, math.nan, math.inf, 1e-30, True, "1", 1j, None]) for _ in ids
    ]
    if rng.random() < 0.4:
        ids = sorted({rng.randrange(n) for _ in ids})[: len(weights)]
        weights = weights[: len(ids)]
    shape = rng.randrange(5)
    if shape == 0:
        return dict(zip(ids, weights, strict=True))
    if shape == 1:
        return (ids, weights)
    if shape == 2:
        return [ids, weights[:-1]]
    if shape == 3:
        return (np.array(ids, object), np.array(weights, object))
    return rng.choice(
        [(ids,), {}, ([], []), ("12", "34"), (np.zeros((2, 2), int), np.ones((2, 2))), range(3), {"a": 1.0}]
    )


UNITS = (
    "a-", "a_", "a.", "a'", "a@", "1,", "1.", "1,000.", "ab-", "a b-", "a+", "a#", "C++ ", ".net", ".NET-", "_", "_-",
    "-", "İ", "ß ", "ﷺ", "ﷺ ", "a\u0301", "\u0301", "a\u200d", "\u200d", "漢", "漢字 ", "か\u3099", "กา", "က္",
    "한글 ", "я漢a", "!", "\0", "\n", "\u2028", "👩\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈 ", "𝒜", "\U00020000",
    "क्", "x", "word ", "o'b'", "\ufeff", "\u0301\u0323", "\uff11\uff12,", "ǅ", "\U000e0041",
)  # fmt: skip
"""Patterns that are long when repeated."""


def text(rng: Random, size: int) -> str:
    """Characters of one pattern, or of a few."""
    units = [rng.choice(UNITS) for _ in range(rng.choice([1, 1, 1, 2, 5]))]
    block = "".join(rng.choice(units) for _ in range(64)) if len(units) > 1 else units[0]
    return (block * (size // len(block) + 1))[:size]


def failing(good: list[dict[str, Any]], error: BaseException) -> Iterator[dict[str, Any]]:
    """Some documents, then an error of the caller's own."""
    yield from good
    raise error
