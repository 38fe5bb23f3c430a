"""Argument types that more than one command uses; a wrong value is a usage error (exit code 2)."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from typing import Any

from zipfian.errors import InvalidInput


class AnyOrder(argparse.ArgumentParser):
    """A parser of a command whose options may stand anywhere: `search PATH --image FILE QUERY` is as good as
    `search PATH QUERY --image FILE`. By itself, argparse gives an optional positional up at the first option."""

    _parted = False
    _mixed = False

    def add_subparsers(self, **settings: Any) -> Any:
        """As ever; a command with commands of its own leaves the order of the arguments to them."""
        self._parted = True
        return super().add_subparsers(**settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """What is known, and the rest."""
        if self._parted or self._mixed or "--" in (args or ()):  # behind -- nothing is an option any more
            return super().parse_known_args(args, namespace)
        self._mixed = True  # the two passes that follow come back here, each for its own kind of arguments
        try:
            return self.parse_known_intermixed_args(args, namespace)
        finally:
            self._mixed = False


def positive(text: str) -> int:
    """A whole number from 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 was expected, not {text!r}")
    return value


def json_object(text: str) -> dict[str, Any]:
    """A JSON object, as filters are written: '{"lang": "en", "year": {">=": 2020}}'."""
    try:
        value = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"not JSON: {error}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"a JSON object was expected, not {type(value).__name__}")
    return value


def as_typed(configure: Callable[[argparse.ArgumentParser], None], *arguments: object) -> argparse.Namespace:
    """The arguments of another command as if somebody had typed them: its defaults stay in one place."""
    parser = AnyOrder()
    configure(parser)
    return parser.parse_args([str(one) for one in arguments])


def given(args: argparse.Namespace, name: str) -> bool:
    """Whether an option was typed: one that may do nothing in some combination has no default of its own."""
    value = getattr(args, name)
    return value is not None and value is not False and value != ""


def refuse(args: argparse.Namespace, names: Iterable[str], purpose: str) -> None:
    """An option that would do nothing is an error, which says what it is for: whoever typed it expects something."""
    for name in names:
        if given(args, name):
            raise InvalidInput(f"--{name.replace('_', '-')} {purpose}")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How a source is read: the same for every command that reads one."""
    parser.add_argument("--id-column", metavar="NAME", help="column of a record that holds the id")
    parser.add_argument(
        "--text-column", metavar="NAME", help="column that holds the text (text, body, description ...)"
    )
    parser.add_argument("--image-column", metavar="NAME", help="column that holds the path of the picture (image)")
    parser.add_argument(
        "--follow-links", action="store_true", help="follow symbolic links in a folder, which may lead out of it"
    )
    parser.add_argument(
        "--exclude", action="append", metavar="GLOB",
        help="leave out what has such a name, '*.log', or path, 'drafts/*'; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--no-default-excludes", action="store_true",
        help="read hidden entries, node_modules, __pycache__ and the like, too",
    )  # fmt: skip
    parser.add_argument(
        "--on-bad", choices=("fail", "skip"),
        help="what cannot be read, such as a damaged picture, is skipped and listed at the end, with exit status 3; "
        "skip: the same with status 0; fail: stop at the first",
    )  # fmt: skip
