"""`--where`: a filter as JSON, or `type=md` and `year>=2020` for short; several of them must all hold."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from zipfian.cli._arguments import json_object
from zipfian.cli._collection import Place
from zipfian.errors import InvalidInput
from zipfian.ingest.values import Kind, convert, value_of

_SHORT = re.compile(r"\s*([^=<>!]+?)\s*(==|!=|>=|<=|=|>|<)\s*(.*?)\s*", re.DOTALL)
_KINDS: dict[str, Kind] = {"integer": "integer", "number": "number", "boolean": "boolean", "date": "date"}


@dataclass(frozen=True, slots=True)
class Short:
    """One comparison as it was typed; only the collection knows of which type the value is."""

    column: str
    operator: str
    value: str


Typed = dict[str, Any] | Short


def add_where(parser: argparse.ArgumentParser) -> None:
    """The option, for every command that takes a filter."""
    parser.add_argument(
        "--where", type=typed, action="append", metavar="FILTER",
        help="""only documents with this metadata: type=md, year>=2020, or JSON such as '{"type": ["md", "txt"]}'; """
        "may be repeated, and all must hold",
    )  # fmt: skip


def typed(text: str) -> Typed:
    """What was typed after --where."""
    if text.lstrip().startswith(("{", "[")):
        return json_object(text)
    found = _SHORT.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"""a filter is COLUMN=VALUE (or != < <= > >=) or a JSON object, such as type=md, not {text!r}"""
        )
    return Short(found[1], "==" if found[2] == "=" else found[2], found[3])


def filter_of(given: Sequence[Typed] | None, columns: Mapping[str, str], path: Place) -> dict[str, Any] | None:
    """All filters as one, each value of the type that its column has; None without one."""
    if not given:
        return None
    made = [one if isinstance(one, dict) else _expanded(one, columns, path) for one in given]
    return made[0] if len(made) == 1 else {"and": made}


def _expanded(short: Short, columns: Mapping[str, str], path: Place) -> dict[str, Any]:
    kind = columns.get(short.column)
    if kind is None:
        value: Any = value_of(short.value)  # the collection says that it has no such column
        return {short.column: value} if short.operator == "==" else {short.column: {short.operator: value}}
    from zipfian.retrieve.periods import span_of

    try:
        inner = kind.removeprefix("list[").removesuffix("]")
        whole = inner == "date" and span_of(short.value) is not None  # a year or a month, which the filter knows
        value = short.value if whole else convert(short.value, _KINDS.get(inner, "text"))
    except ValueError:
        raise InvalidInput(
            f"--where: {short.column} of {path} is of type {kind}, and {short.value!r} is none"
        ) from None
    return {short.column: value} if short.operator == "==" else {short.column: {short.operator: value}}
