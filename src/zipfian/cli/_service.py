"""A search through a running `zipfian serve`: nothing is loaded here, and the service has everything warm."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.cli._collection import Place
    from zipfian.client import RemoteCollection

KEY = "ZIPFIAN_KEY"
"""The environment variable with the key of a service: on a command line, everybody on the machine could read it."""


def is_service(where: Place) -> bool:
    """Whether it is the address of a service instead of a folder or a cluster."""
    return isinstance(where, str) and where.lower().startswith(("http://", "https://"))


def connected(args: argparse.Namespace) -> RemoteCollection:
    """The collection that an address names: `http://HOST:PORT/NAME`, or without a name the only one there is."""
    from zipfian.client import connect

    unused = [f"--{name}" for name in ("trust", "pictures") if getattr(args, name)]
    if unused:
        raise InvalidInput(f"{args.path} opens its models and pictures itself: leave {' and '.join(unused)} out")
    parts = urlsplit(args.path)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise InvalidInput(
            f"the address of a service is http://HOST:PORT/COLLECTION and nothing else; a key goes into {KEY}"
        )
    base, _, name = parts.path.rstrip("/").rpartition("/")
    url = f"{parts.scheme}://{parts.netloc}{base}"
    return connect(url, unquote(name) or None, key=os.environ.get(KEY))


def typed(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a search that were typed, for a collection at hand and for a service alike."""
    if args.query is None and args.image is None:
        raise InvalidInput("nothing to look for: give a QUERY, a picture with --image FILE, or both")
    names = None if args.fields is None else [name.strip() for name in args.fields.split(",")]
    given = {"fields": names, "method": args.method, "preset": args.preset, "query_encoder": args.query_encoder}
    return {name: value for name, value in given.items() if value is not None}


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The same for a service, which says what is wrong with them."""
    picture = {} if args.image is None else {"image": args.image}
    return {**picture, **typed(args), "explain": "places" if args.highlight or picture else "terms"}
