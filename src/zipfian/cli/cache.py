"""`zipfian cache`: what encoders made is kept, so that nothing is encoded twice; how much, and how much at most."""

from __future__ import annotations

import argparse

from zipfian.cli._arguments import size
from zipfian.cli._output import human_bytes, print_json
from zipfian.errors import InvalidInput


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "When the limit is reached, what was not used for longest goes first. Nothing is lost with it but time: a "
        "collection keeps what was encoded for it, and only a field that is added later, or an index that is made "
        "anew, looks here. ZIPFIAN_CACHE_DIR names another place for all of zipfian's caches."
    )
    parser.add_argument(
        "--limit", type=size, metavar="SIZE", help="keep at most so much from now on, such as 512M or 4G"
    )
    parser.add_argument("--clear", action="store_true", help="remove all of it; weights and kernels stay")
    parser.add_argument("--json", action="store_true", help="print the numbers as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.encode.cache import EncodingCache

    if args.clear and args.limit is not None:
        raise InvalidInput("give either --clear or --limit, not both")
    cache = EncodingCache()
    before = cache.size()
    if args.clear:
        cache.clear()
    if args.limit is not None:
        cache.set_limit(args.limit)
    now, entries = cache.size(), cache.count()
    if args.json:
        print_json(
            {"path": cache.path, "bytes": now, "entries": entries, "limit": cache.max_bytes, "removed": before - now}
        )
        return 0
    gone = f"; {human_bytes(before - now)} removed" if before > now else ""
    print(f"{cache.path}: {human_bytes(now)} in {entries:,} entries, {human_bytes(cache.max_bytes)} at most{gone}")
    return 0
