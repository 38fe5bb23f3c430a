"""`zipfian serve`: collections over HTTP, and a page to search them in a browser."""

from __future__ import annotations

import argparse
from contextlib import suppress
from pathlib import Path

from zipfian.cli import _offer
from zipfian.cli._collection import add_trust, trusted
from zipfian.cli._output import note
from zipfian.errors import InvalidInput, MissingExtra


def configure(parser: argparse.ArgumentParser) -> None:
    """Arguments."""
    from zipfian.serve.settings import PORT, ServeSettings

    usual = ServeSettings()
    parser.add_argument(
        "collections",
        nargs="*",
        metavar="COLLECTION",
        help="a folder or opensearch://host:9200/name; NAME=PATH names it; texts and pictures are indexed on request",
    )
    parser.add_argument(
        "--index", action="store_true",
        help="a folder or file that is no collection is indexed first, into NAME.zf beside it, without a question",
    )  # fmt: skip
    parser.add_argument("--host", default=usual.host, help="address to listen on; one that others reach needs --keys")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to listen on; {PORT} unless given, 0: a free one")
    parser.add_argument(
        "--allow-host", action="append", default=[], metavar="NAME",
        help="a name that requests may address the service by, beside localhost; may be repeated",
    )  # fmt: skip
    parser.add_argument(
        "--write", action="store_true", help="open the collections for writing: add, update, delete, commit"
    )
    keys = parser.add_argument_group("keys")
    keys.add_argument(
        "--keys", type=Path, metavar="FILE", help="ask for a key: a file of lines 'read HASH', 'admin HASH'"
    )
    keys.add_argument(
        "--new-key", choices=("read", "admin"), help="print a new key, and the line for the file of --keys; then stop"
    )
    keys.add_argument("--open-to-all", action="store_true", help="let others than this machine search without a key")
    load = parser.add_argument_group("load")
    load.add_argument("--workers", type=int, default=usual.workers, help="requests at a time; two for each core")
    load.add_argument(
        "--waiting", type=int, default=usual.waiting, help="requests that may wait; more are answered 503"
    )
    load.add_argument("--deadline", type=float, default=usual.deadline, help="seconds that a request may take")
    load.add_argument("--refresh", type=float, default=usual.refresh, help="seconds between looks for new commits")
    log = parser.add_argument_group("log")
    log.add_argument("--log-json", action="store_true", help="a line of JSON for each request")
    log.add_argument("--log-queries", action="store_true", help="write down what was asked")
    add_trust(parser)


def check_installed(what: str) -> None:
    """An error that says what to install, before anything else is done."""
    try:
        import zipfian.serve.app
        import zipfian.serve.server  # noqa: F401
    except ImportError as error:
        raise MissingExtra(what, "serve") from error


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.serve.keys import Keys, hashed, load_keys, new_key
    from zipfian.serve.settings import ServeSettings

    if args.new_key is not None:
        key = new_key()
        print(key)
        note(f"for the file of keys: {args.new_key} {hashed(key)}")
        return 0
    if not args.collections:
        raise InvalidInput("nothing to serve: name at least one collection")
    keys = Keys() if args.keys is None else load_keys(args.keys)
    settings = ServeSettings(
        args.host, args.port, tuple(args.allow_host), keys.read, keys.admin, args.open_to_all, args.workers,
        args.waiting, args.deadline, args.refresh, args.log_json, args.log_queries,
    )  # fmt: skip
    check_installed("zipfian serve")
    from zipfian.serve import logs
    from zipfian.serve.app import create_app
    from zipfian.serve.server import listen, make_server
    from zipfian.serve.shelf import open_shelf

    with logs.to_standard_error(args.log_json), listen(settings) as socket:
        shelf = open_shelf(_offer.collections_of(args.collections, args), write=args.write, **trusted(args))
        host = f"[{args.host}]" if ":" in args.host else args.host
        note(f"serving {', '.join(one.name for one in shelf)} at http://{host}:{socket.getsockname()[1]}/")
        with suppress(KeyboardInterrupt):  # comes again when all is finished and closed; it is how a service ends
            make_server(create_app(shelf, settings), settings).run(sockets=[socket])
    return 0
