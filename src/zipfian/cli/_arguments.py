"""Argument types that more than one command uses; a wrong value is a usage error (exit code 2)."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from zipfian.cli._parser import Parser
from zipfian.errors import InvalidInput


def positive(text: str) -> int:
    """A whole number from 1."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 was expected, not {text!r}")
    return value


def size(text: str) -> int:
    """A number of bytes: 500000, 512M, 1.5G or 2GiB; K, M and G are powers of 1,024."""
    found = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,3})?) ?([kmgt]?)(?:i?b)?", text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"a size is a number of bytes, or such as 512M or 2G, not {text!r}")
    return int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))


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
    parser = Parser()
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


def add_device(parser: argparse.ArgumentParser) -> None:
    """Where encoders run: the same for every command that has them read documents."""
    parser.add_argument(
        "--device", metavar="NAME",
        help="where encoders of texts, of pictures and of the hub run: cpu (the default), cuda, cuda:N, or auto: a GPU "
        "where there is one (extra gpu). Searching needs none",
    )  # fmt: skip
    parser.add_argument(
        "--precision", choices=("float32", "float16", "bfloat16"),
        help="of encoders on a GPU: float32 (the default), or half precision, kept apart in the encode cache",
    )  # fmt: skip


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
