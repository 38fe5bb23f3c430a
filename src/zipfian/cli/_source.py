"""The SOURCE of a command: opened with the options that say how it is read."""

from __future__ import annotations

import argparse

from zipfian.cli._output import note
from zipfian.ingest.source import Source, open_source


def source_of(args: argparse.Namespace) -> Source:
    """The source that a command was given; links that are not followed are counted aloud."""
    source = open_source(
        args.source, id_column=args.id_column, text_column=args.text_column, image_column=args.image_column,
        follow_links=args.follow_links,
    )  # fmt: skip
    if source.found is not None and source.found.links:
        note(f"links that were not followed in {args.source}: {source.found.links:,}; --follow-links follows them")
    return source
