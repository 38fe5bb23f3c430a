"""A parser whose errors help: each under the usage of its own command, with what was probably meant."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

_CHOICE = re.compile(r"invalid choice: '([^']*)' \(choose from (.*)\)$", re.DOTALL)


class Parser(argparse.ArgumentParser):
    """As argparse has it, but options may stand anywhere: `search PATH --image FILE QUERY` is as good as
    `search PATH QUERY --image FILE`. By itself, argparse gives an optional positional up at the first option.

    Commands made by `add_subparsers` are parsed by the same class.
    """

    _parted = False
    _mixed = False

    def add_subparsers(self, **settings: Any) -> Any:
        """As ever; a command with commands of its own leaves the order of the arguments to them."""
        self._parted = True
        return super().add_subparsers(**settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What one command does not know, none above it does: it is an error here, where its usage can be shown."""
        if self._mixed:  # one of two passes, each for its own kind of arguments
            return super().parse_known_args(args, namespace)
        if self._parted or "--" in (args or ()):  # behind -- nothing is an option any more
            found, rest = super().parse_known_args(args, namespace)
        else:
            self._mixed = True
            try:
                found, rest = self.parse_known_intermixed_args(args, namespace)
            finally:
                self._mixed = False
        if rest:
            self.error(f"unrecognized arguments: {' '.join(rest)}{self._meant(rest)}")
        return found, rest

    def error(self, message: str) -> NoReturn:
        """End with status 2; a choice that there is not gets the nearest that there is."""
        if wrong := _CHOICE.search(message):
            message += did_you_mean(wrong[1], re.findall(r"[^\s',]+", wrong[2]))
        super().error(message)

    def _meant(self, unknown: Sequence[str]) -> str:
        options = [name for action in self._actions for name in action.option_strings]
        hints = (did_you_mean(one.partition("=")[0], options) for one in unknown if one.startswith("-"))
        return next((hint for hint in hints if hint), "")


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`; did you mean --where?`, or nothing where no name is near.

    >>> did_you_mean("serach", ["search", "serve"]), did_you_mean("x", ["search"])
    ('; did you mean search?', '')
    """
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
