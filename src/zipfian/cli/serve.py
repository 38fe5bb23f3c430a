"""`zipfian serve`: collections over HTTP, and a page to search them in a browser."""

from __future__ import annotations

import argparse

from zipfian.cli._collection import WHERE, add_trust, trusted
from zipfian.cli._output import note
from zipfian.errors import MissingExtra


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    from zipfian.serve.settings import PORT

    parser.add_argument("collections", nargs="*", metavar="COLLECTION", help=f"{WHERE}; NAME=PATH names it")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; one that others reach needs a key")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on; {PORT} unless given")
    parser.add_argument("--write", action="store_true", help="open the collections for writing: add, delete, commit")
    add_trust(parser)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    try:
        import uvicorn

        from zipfian.serve.app import create_app
    except ImportError as error:
        raise MissingExtra("zipfian serve", "serve") from error
    from zipfian.serve.settings import ServeSettings
    from zipfian.serve.shelf import open_shelf

    settings = ServeSettings(args.host, args.port)
    shelf = open_shelf(args.collections, write=args.write, **trusted(args))
    app = create_app(shelf, settings)
    note(f"serving {', '.join(one.name for one in shelf)} at http://{args.host}:{args.port}/")
    uvicorn.run(
        app, host=args.host, port=args.port, server_header=False, access_log=False, log_level="warning",
        proxy_headers=False, timeout_graceful_shutdown=30,
    )  # fmt: skip
    return 0
