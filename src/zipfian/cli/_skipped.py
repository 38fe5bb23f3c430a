"""What could not be read: listed at the end, and told to scripts by the exit status."""

from __future__ import annotations

from collections.abc import Sequence

from zipfian.cli._output import note, printable
from zipfian.ingest.source import BadItem

EXIT_SKIPPED = 3
"""Done, but something was skipped that nobody had said might be."""

LISTED = 20
"""Items that are named; all of them are in what --json prints."""


def report(bad: Sequence[BadItem], seen: int, on_bad: str | None) -> int:
    """Say what was skipped, and give the exit status: 0 where nothing was, or where `--on-bad skip` asked for it."""
    if not bad:
        return 0
    for item in bad[:LISTED]:
        note(printable(f"skipped {item.where}: {item.problem}"))
    if len(bad) > LISTED:
        note(f"... and {len(bad) - LISTED:,} more; --json lists all of them")
    if on_bad == "skip":
        note(f"{len(bad):,} of {seen:,} items were skipped")
        return 0
    note(
        f"{len(bad):,} of {seen:,} items were skipped, so the exit status is {EXIT_SKIPPED}; with --on-bad skip it is "
        "0, and --on-bad fail stops at the first"
    )
    return EXIT_SKIPPED
