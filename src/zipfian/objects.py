"""Values out of a JSON object that somebody else wrote: each by name, with its type and range, nothing left over.

JSON knows fewer types than a program trusts in: `true` counts as 1, 1e400 is infinite, any key may be missing. Whatever
reads settings from a file or a cluster takes them through `JsonObject`, so that a wrong one is an `InvalidInput` that
says what it is, where it stands and what was expected. `plain` goes the other way.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from typing import Any

from zipfian.errors import FormatTooNew, InvalidInput, shown

_NAME_CHARS = 1_000
_MISSING: Any = object()


class JsonObject:
    """The values of one object, taken out one by one; `end` refuses what nobody asked for.

    Examples
    --------
    >>> found = JsonObject({"k": 3, "pooling": "sum"}, "the vocabulary")
    >>> found.whole("k", 1, 10), found.choice("pooling", ("sum", "max"))
    (3, 'sum')
    >>> found.end()
    """

    def __init__(self, value: Any, what: str) -> None:
        """`what` is how messages call the object."""
        if not isinstance(value, Mapping):
            raise InvalidInput(f"{what}: an object was expected, not {shown(value)}")
        self.what = what
        self._left = dict(value)

    def whole(self, name: str, least: int, most: int) -> int:
        """A whole number within bounds."""
        value = self._take(name)
        if type(value) is not int or not least <= value <= most:
            raise self._wrong(name, f"a whole number from {least} to {most}", value)
        return value

    def number(self, name: str, least: float = -math.inf, most: float = math.inf) -> float:
        """A finite number within bounds."""
        value = self._take(name)
        if not finite_number(value) or not least <= value <= most:
            raise self._wrong(name, f"a finite number from {least:g} to {most:g}", value)
        return float(value)

    def text(self, name: str, most: int = _NAME_CHARS) -> str:
        """Printable text of at least one character."""
        value = self._take(name)
        if not isinstance(value, str) or not 1 <= len(value) <= most or not value.isprintable():
            raise self._wrong(name, f"1 to {most} printable characters", value)
        return value

    def string(self, name: str, most: int) -> str:
        """Any text, also an empty one."""
        value = self._take(name)
        if not isinstance(value, str) or len(value) > most:
            raise self._wrong(name, f"a text of at most {most} characters", value)
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._take(name)
        if not isinstance(value, bool):
            raise self._wrong(name, "true or false", value)
        return value

    def choice(self, name: str, known: Collection[str]) -> str:
        """One of some words."""
        value = self._take(name)
        if not isinstance(value, str) or value not in known:
            raise self._wrong(name, f"one of {', '.join(known)}", value)
        return value

    def value(self, name: str) -> Any:
        """Whatever it is: for an owner that checks it by itself."""
        return self._take(name)

    def object(self, name: str) -> JsonObject:
        """Another object."""
        return JsonObject(self._take(name), f"{self.what}, {name!r}")

    def mapping(self, name: str, most: int) -> dict[str, Any]:
        """An object whose names are not known beforehand."""
        value = self._take(name)
        if not isinstance(value, dict) or len(value) > most:
            raise self._wrong(name, f"an object of at most {most} values", value)
        return value

    def items(self, name: str, most: int) -> list[Any]:
        """A list."""
        value = self._take(name)
        if not isinstance(value, list) or len(value) > most:
            raise self._wrong(name, f"a list of at most {most} values", value)
        return value

    def match(self, name: str, pattern: re.Pattern[str]) -> str:
        """A text of a given form."""
        value = self._take(name)
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise self._wrong(name, f"a text like {pattern.pattern}", value)
        return value

    def row(self, name: str, length: int) -> JsonObject:
        """A list of known length; its values are called '0', '1' and so on."""
        return self._row(self._take(name), name, length)

    def rows(self, name: str, length: int, most: int) -> Iterator[JsonObject]:
        """A list of such lists."""
        for value in self.items(name, most):
            yield self._row(value, name, length)

    def _row(self, value: Any, name: str, length: int) -> JsonObject:
        if not isinstance(value, list) or len(value) != length:
            raise self._wrong(name, f"a list of {length} values", value)
        return JsonObject({str(place): inside for place, inside in enumerate(value)}, f"{self.what}, {name!r}")

    def has(self, name: str) -> bool:
        """Whether there is such a value and it is not null; a null is taken out."""
        if self._left.get(name) is not None:
            return True
        self._left.pop(name, None)
        return False

    def version(self, newest: int, name: str = "version") -> int:
        """A version that this zipfian reads."""
        value = self._left.get(name)
        if type(value) is int and value > newest:
            raise FormatTooNew(f"{self.what}: written by a newer zipfian ({name} {value}); upgrade the package")
        return self.whole(name, 1, newest)

    def rest(self, known: Collection[str]) -> dict[str, Any]:
        """All that is left, of these names only, as it is: for an owner that checks the values by itself."""
        out = {name: self._left.pop(name) for name in known if name in self._left}
        self.end()
        return out

    def left(self) -> dict[str, Any]:
        """All that nobody has taken, as an object for another reader."""
        out, self._left = self._left, {}
        return out

    def end(self) -> None:
        """Refuse values that nobody has taken."""
        if self._left:
            raise InvalidInput(f"{self.what}: unknown {', '.join(shown(name) for name in list(self._left)[:3])}")

    def _take(self, name: str) -> Any:
        value = self._left.pop(name, _MISSING)
        if value is _MISSING:
            raise InvalidInput(f"{self.what}: {name!r} is missing")
        return value

    def _wrong(self, name: str, expected: str, value: Any) -> InvalidInput:
        return InvalidInput(f"{self.what}: {name!r} must be {expected}, not {shown(value)}")


def inner(settings: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    """An object inside another, by the names that lead there; an empty one where it is missing or null."""
    found: Any = settings
    for name in names:
        found = found.get(name)
        if found is None:
            return {}
        if not isinstance(found, Mapping):
            raise InvalidInput(f"{name!r} of the settings must be an object, not {shown(found)}")
    return found  # type: ignore[no-any-return]


def finite_number(value: object) -> bool:
    """Whether it is a number, no truth value, and neither infinite nor beyond what a float can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def plain(value: object) -> Any:
    """Any result as JSON values: dataclasses, mappings, dates, arrays and numpy numbers included.

    JSON has no number that is not finite; such a one becomes None.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, str | bool | int):
        return value
    if hasattr(value, "to_dict"):
        return plain(value.to_dict())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "tolist"):  # numpy arrays and scalars
        return plain(value.tolist())
    if isinstance(value, Iterable):
        return [plain(v) for v in value]
    return str(value)
