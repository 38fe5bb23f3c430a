"""Between everything the command prints and the screen: nothing that was read may steer the terminal.

`guarded` puts a filter before standard output and standard error, so that results, errors, usage messages and warnings
all pass the same place. Colour is the one thing let through, as the few sequences that this program itself writes.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

BOLD = "1"
DIM = "2"
MATCH = "1;33"
PLAIN = "0"

STANDARD_OUTPUT = "standard output"
"""How it is called in messages."""

_STEERING = "[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
"""Control characters, line separators, writing direction overrides and halves of characters."""
_ANY = re.compile(_STEERING)
_COLOUR = f"\x1b\\[(?:{'|'.join((PLAIN, BOLD, DIM, MATCH))})m"
_COLOUR_OR_ANY = re.compile(f"({_COLOUR}|[\t\n])|{_STEERING}")
_LAYOUT_OR_ANY = re.compile(f"([\t\n])|{_STEERING}")
_SIGN = "\ufffd"


def is_terminal(stream: TextIO) -> bool:
    """Whether a person is looking at this stream."""
    try:
        return stream.isatty()
    except ValueError:  # already closed
        return False


def printable(text: str, keep: str = "") -> str:
    """`text` without control characters: a document must not be able to steer the terminal it is shown on."""
    if text.isprintable():
        return text
    return _ANY.sub(lambda found: found[0] if found[0] in keep else _SIGN, text)


def escaped(json_text: str) -> str:
    """JSON with the same value whose strings hold no such character as it is, only as \\u and four digits."""
    if json_text.isprintable():
        return json_text
    return _ANY.sub(lambda found: found[0] if found[0] == "\n" else f"\\u{ord(found[0]):04x}", json_text)


class Guarded:
    """A stream that lets lines, tabs and our own colours through and replaces whatever else would steer a terminal."""

    def __init__(self, stream: TextIO, name: str) -> None:
        self.unguarded = stream
        self._name = name
        self._pattern = _COLOUR_OR_ANY if is_terminal(stream) else _LAYOUT_OR_ANY

    def write(self, text: str) -> int:
        """Write what is harmless of it."""
        with self._named():
            self.unguarded.write(text if text.isprintable() else self._pattern.sub(lambda f: f[1] or _SIGN, text))
        return len(text)

    def flush(self) -> None:
        """Hand over what was written."""
        with self._named():
            self.unguarded.flush()

    def writelines(self, lines: Any) -> None:
        """Each of them."""
        for line in lines:
            self.write(line)

    @contextmanager
    def _named(self) -> Iterator[None]:
        """The system does not say which stream it could not write to."""
        try:
            yield
        except OSError as error:
            error.filename = self._name
            raise

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unguarded, name)


@contextmanager
def guarded() -> Iterator[None]:
    """Standard output and standard error guarded, for as long as the block lasts."""
    before = sys.stdout, sys.stderr
    out, err = Guarded(sys.stdout, STANDARD_OUTPUT), Guarded(sys.stderr, "standard error")
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def unguarded(stream: TextIO) -> TextIO:
    """The stream behind the guard: for a progress bar, which moves the cursor and shows nothing that was read."""
    return stream.unguarded if isinstance(stream, Guarded) else stream
