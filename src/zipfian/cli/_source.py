"""The SOURCE of a command: opened with the options that say how it is read."""

from __future__ import annotations

import argparse

from zipfian.cli._output import note, printable
from zipfian.ingest.source import Source, open_source


def source_of(args: argparse.Namespace) -> Source:
    """The source that a command was given; what is not read because of its name or kind is counted aloud."""
    source = open_source(
        args.source, id_column=args.id_column, text_column=args.text_column, image_column=args.image_column,
        follow_links=args.follow_links, exclude=args.exclude or (), default_excludes=not args.no_default_excludes,
    )  # fmt: skip
    if source.found is not None and source.found.links:
        note(f"links that were not followed in {args.source}: {source.found.links:,}; --follow-links follows them")
    if source.found is not None and (excluded := source.found.excluded):
        names = ", ".join(f"{pattern} ({count:,})" for pattern, count in sorted(excluded.items()))
        advice = "" if args.no_default_excludes else "; --no-default-excludes reads what is left out by default"
        note(f"left out by name in {args.source}: {printable(names)}{advice}")
    return source
