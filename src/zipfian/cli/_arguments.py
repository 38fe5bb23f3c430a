"""Argument types that more than one command uses; a wrong value is a usage error (exit code 2)."""

from __future__ import annotations

import argparse
import json
from typing import Any


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


def add_reading(parser: argparse.ArgumentParser) -> None:
    """How a source is read: the same for every command that reads one."""
    parser.add_argument("--id-field", metavar="NAME", help="field of a record that holds the id")
    parser.add_argument("--text-field", metavar="NAME", help="field that holds the text (text, then caption)")
    parser.add_argument("--image-field", metavar="NAME", help="field that holds the path of the picture (image)")
    parser.add_argument(
        "--follow-links", action="store_true", help="follow symbolic links in a folder, which may lead out of it"
    )
    parser.add_argument(
        "--on-bad",
        choices=("fail", "skip"),
        default="fail",
        help="unreadable input, such as a damaged picture: stop (default) or skip",
    )
