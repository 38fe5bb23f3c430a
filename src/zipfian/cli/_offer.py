"""What `zipfian serve` does with a folder or a file that is no collection yet: it offers to index it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from zipfian.cli import index
from zipfian.cli._arguments import as_typed
from zipfian.cli._output import is_terminal, printable
from zipfian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Offer:
    """A source that somebody asked to serve, and the collection beside it that would hold it."""

    source: Path
    into: Path

    @property
    def command(self) -> str:
        """What does it by hand."""
        return f"zipfian index {shlex.quote(str(self.source))} --into {shlex.quote(str(self.into))}"

    @property
    def question(self) -> str:
        """What a person is asked."""
        what = "bring it up to date in" if self.into.exists() else "index it into"
        return f"{self.source} is not a collection: {what} {self.into} and serve that?"


def collections_of(given: Iterable[str], args: argparse.Namespace) -> list[str]:
    """What to serve: collections as they were named, and in place of each source the collection made of it.

    All questions come first: an hour of indexing is no time to find that the second answer was no.
    """
    from zipfian.serve.shelf import named

    places: list[str] = []
    accepted: list[Offer] = []
    for one in given:
        name, place = named(one)
        offer = offer_for(place)
        if offer is not None:
            _accept(offer, args.index)
            accepted.append(offer)
        places.append(one if offer is None else f"{name}={offer.into}")
    for offer in accepted:
        _index(offer, args)
    return places


def offer_for(place: str) -> Offer | None:
    """None for a collection, an address of one, and what is not there: opening it says what is wrong."""
    from zipfian.index.manifest import list_generations
    from zipfian.storage.directory import FSDirectory

    source = Path(place)
    if "://" in place or not source.exists():
        return None
    if source.is_dir() and (source.suffix == ".zf" or list_generations(FSDirectory(source))):
        return None
    whole = source.resolve()  # "." has no name of its own
    name = whole.name if source.is_dir() else whole.stem
    return Offer(source, (whole.parent if source.name in ("", "..") else source.parent) / f"{name}.zf")


def _accept(offer: Offer, said_yes: bool) -> None:
    """Goes on if somebody said yes, on the command line or now; otherwise it is an error that says what to type."""
    if said_yes or (is_terminal(sys.stdin) and is_terminal(sys.stderr) and _yes(offer.question)):
        return
    raise InvalidInput(
        f"{offer.source} is not a collection: index it first ({offer.command}), or say --index to do both"
    )


def _yes(question: str) -> bool:
    """Ask the person at the keyboard; anything but a yes is a no."""
    print(f"{printable(question)} [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _index(offer: Offer, args: argparse.Namespace) -> None:
    """As `zipfian index` does it, through its own arguments: what that command does by default, this does too."""
    chosen = as_typed(index.configure, f"--into={offer.into}", "--", offer.source)
    chosen.trust, chosen.pictures = args.trust, args.pictures
    index.run(chosen)
