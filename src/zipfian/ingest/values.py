"""What a text in a table or in front matter is: a whole number, a number, a date, true or false, or just a text.

Only what can be read in one way is more than a text. `007` and a card number stay texts, since a number would lose
digits of them; `03/04/2024` does, since half of the world reads it as another day; and so do `yes` and `no`, which are
also codes of countries.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any, Literal

Kind = Literal["integer", "number", "comma", "boolean", "date", "text"]
"""`comma` is a number with a decimal comma, as files that are separated by semicolons have them."""

_WHOLE = r"-?(?:0|[1-9][0-9]{0,14})"
_INTEGER = re.compile(_WHOLE)
_NUMBER = re.compile(rf"(?:{_WHOLE}|-)?\.[0-9]{{1,17}}(?:[eE][+-]?[0-9]{{1,3}})?")
_COMMA = re.compile(rf"{_WHOLE},[0-9]{{1,17}}")
_DAY = re.compile(r"[0-9]{4}([-/])[0-9]{2}\1[0-9]{2}")
_DOTTED = re.compile(r"([0-9]{1,2})\.([0-9]{1,2})\.([0-9]{4})")
_TIME = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?: ?(?:Z|[+-][0-9]{2}:?[0-9]{2}))?"
)
_LONGEST = 40
"""Characters of the longest text that may be more than a text."""


def kind_of(text: str, *, decimal_comma: bool = False) -> Kind:
    """What a text can be read as.

    >>> [kind_of(text) for text in ("12", "0.5", "2024-01-31", "31.1.2024", "True", "007", "03/04/2024")]
    ['integer', 'number', 'date', 'date', 'boolean', 'text', 'text']
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return "text"
    if _INTEGER.fullmatch(text):
        return "integer"
    if _NUMBER.fullmatch(text):
        return "number" if math.isfinite(float(text)) else "text"
    if decimal_comma and _COMMA.fullmatch(text):
        return "comma"
    if text.lower() in ("true", "false"):
        return "boolean"
    return "text" if _date(text) is None else "date"


def both(one: Kind | None, other: Kind) -> Kind:
    """What a column is that holds values of two kinds; None: it held none so far."""
    if one is None or one == other:
        return other
    numbers = {one, other}
    if numbers == {"integer", "number"}:
        return "number"
    return "comma" if numbers == {"integer", "comma"} else "text"


def convert(text: str, kind: Kind) -> Any:
    """A text as a value of the kind that its column has; `ValueError` where it is none.

    >>> convert("12", "number"), convert("1,5", "comma"), convert("31.1.2024", "date")
    (12.0, 1.5, datetime.date(2024, 1, 31))
    """
    return text if kind == "text" else _READ[kind](text.strip())


def value_of(text: str) -> Any:
    """A single text as what it can be read as."""
    return convert(text, kind_of(text))


def _date(text: str) -> date | None:
    """A day, or a day and a time; None for any other text, and for a day that no calendar has."""
    try:
        if _DAY.fullmatch(text):
            return date.fromisoformat(text.replace("/", "-"))
        if found := _DOTTED.fullmatch(text):
            day, month, year = map(int, found.groups())
            return date(year, month, day)
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text.replace(" ", "T", 1).replace(" ", ""))
    except ValueError:
        return None
    return None


def _read_date(text: str) -> date:
    found = _date(text)
    if found is None:
        raise ValueError(f"{text!r} is no date")
    return found


def _read_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() == "true"


_READ: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "comma": lambda text: float(text.replace(",", ".")),
    "boolean": _read_boolean,
    "date": _read_date,
}
