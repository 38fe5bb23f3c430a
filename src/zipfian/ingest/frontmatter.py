"""Front matter: what the writer of a Markdown file says about it, between two lines of dashes.

The part of YAML that people write there is read: `key: value`, lists, quotes, folded texts. Anchors, tags and nested
objects are left out, so nothing in it can grow or be run. A block that is no front matter after all is text, as before.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from typing import Any

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index.metadata import check_column_name, infer_column_type
from zipfian.ingest.items import IMAGE_COLUMN
from zipfian.ingest.values import value_of
from zipfian.limits import MAX_FRONT_CHARS, MAX_FRONT_KEYS

OWN = frozenset({"path", "type", IMAGE_COLUMN})
"""Columns that say where a file is and what it is: a writer's own of these names are called `front.NAME`."""

_KEY = re.compile(
    r"""(?:"([^"\n]{1,256})"|'([^'\n]{1,256})'|([^\s"'#&*!|>%@`\[\]{},:-][^:\n]{0,256}?))\s*:(?:\s+(.*))?$"""
)
_COMMENT = re.compile(r"(?:^|\s)#.*$")
_BLOCK = re.compile(r"([|>])[+-]?\s*$")
_ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "/": "/"}
_NOTHING = ("", "~", "null")
_UNREAD = object()
"""A value that is not taken: nested, anchored, tagged."""


def split(text: str) -> tuple[dict[str, Any], str]:
    """Metadata and the text after them; without front matter nothing and the whole text.

    >>> split("---\\ntitle: Cats\\ndate: 2024-05-01\\ntags: [pets, sleep]\\n---\\nThey sleep.")
    ({'title': 'Cats', 'date': datetime.date(2024, 5, 1), 'tags': ['pets', 'sleep']}, 'They sleep.')
    """
    mark = text[:3]
    ends = {"---": ("---", "..."), "+++": ("+++",)}.get(mark)
    head = text[: MAX_FRONT_CHARS + 1]
    lines = head.split("\n")
    if ends is None or lines[0].rstrip() != mark:
        return {}, text
    last = next((i for i, line in enumerate(lines[1:], 1) if line.rstrip() in ends), None)
    if last is None:
        return {}, text
    found = _yaml(lines[1:last]) if mark == "---" else _toml("\n".join(lines[1:last]))
    if not found or len(found) > MAX_FRONT_KEYS:
        return {}, text
    rest = text[sum(len(line) + 1 for line in lines[: last + 1]) :]
    return _named(found), rest.lstrip("\n")


def _named(found: dict[str, Any]) -> dict[str, Any]:
    """Values under names that a column can have; those of the file itself, and what begins with _, are not theirs."""
    out: dict[str, Any] = {}
    for name, value in found.items():
        column = f"front.{name}" if name.lower() in OWN or name.startswith("_") else name
        try:
            check_column_name(column)
            infer_column_type(value)
        except (InvalidInput, LimitExceeded):
            continue
        out[column] = value
    return out


def _toml(block: str) -> dict[str, Any]:
    try:
        return tomllib.loads(block)
    except (ValueError, RecursionError):
        return {}


def _yaml(lines: list[str]) -> dict[str, Any]:
    """Keys and values; nothing where a line is neither, since then it is no front matter."""
    out: dict[str, Any] = {}
    at = 0
    while at < len(lines):
        line = lines[at].rstrip()
        at += 1
        if not line or line.lstrip().startswith("#"):
            continue
        found = _KEY.match(line)
        if not found:
            return {}
        own: list[str] = []
        while at < len(lines) and (not lines[at].strip() or lines[at][0] in " \t" or lines[at].startswith("- ")):
            own.append(lines[at].rstrip())
            at += 1
        value = _value((found[4] or "").strip(), own)
        if value is not _UNREAD and value is not None:
            out[(found[1] or found[2] or found[3]).strip()] = value
    return out


def _value(said: str, below: list[str]) -> Any:
    """A value, from what stands behind its key and in the lines below that belong to it."""
    if block := _BLOCK.match(said):
        return ("\n" if block[1] == "|" else " ").join(line.strip() for line in below).strip() or None
    below = [line.strip() for line in below if line.strip() and not line.strip().startswith("#")]
    if not said.startswith(('"', "'")):
        said = _COMMENT.sub("", said).strip()
    if not said and below:
        return _list([line[1:].strip() for line in below]) if all(line.startswith("-") for line in below) else _UNREAD
    if said.startswith("["):
        joined = " ".join([said, *below])
        return _list(list(_parts(joined[1:-1]))) if joined.endswith("]") else _UNREAD
    return _scalar(" ".join([said, *below]))


def _list(parts: list[str]) -> Any:
    values = [value for part in parts if (value := _scalar(part)) is not None]
    if any(value is _UNREAD for value in values):
        return _UNREAD
    try:
        infer_column_type(values)
    except (InvalidInput, LimitExceeded):  # of several kinds: as they are written
        return [part.strip("\"'") for part in parts]
    return values


def _parts(inside: str) -> Iterator[str]:
    """The values of `[a, "b, c"]`."""
    start, quote = 0, ""
    for i, char in enumerate(inside):
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and not inside[start:i].strip():
            quote = char
        elif char == ",":
            yield inside[start:i].strip()
            start = i + 1
    if inside[start:].strip():
        yield inside[start:].strip()


def _scalar(said: str) -> Any:
    if said.startswith('"'):
        if len(said) < 2 or not said.endswith('"'):
            return _UNREAD
        return re.sub(r"\\(.)", lambda found: _ESCAPES.get(found[1], found[0]), said[1:-1])
    if said.startswith("'"):
        return said[1:-1].replace("''", "'") if len(said) > 1 and said.endswith("'") else _UNREAD
    if said.lower() in _NOTHING:
        return None
    if said[0] in "&*!{[|>%@`":
        return _UNREAD
    return value_of(said)
