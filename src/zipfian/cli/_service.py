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


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """The options of a search as typed; the service says what is wrong with them."""
    if args.query is None and args.image is None:
        raise InvalidInput("nothing to look for: give a QUERY, a picture with --image FILE, or both")
    names = None if args.fields is None else [name.strip() for name in args.fields.split(",")]
    places = args.highlight or args.image is not None
    given = {
        "image": args.image, "fields": names, "method": args.method, "preset": args.preset,
        "query_encoder": args.query_encoder, "explain": "places" if places else "terms",
    }  # fmt: skip
    return {name: value for name, value in given.items() if value is not None}
