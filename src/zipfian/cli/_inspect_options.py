"""Part of `zipfian inspect`: which options go together. One that would do nothing is refused, with what it is for."""

from __future__ import annotations

import argparse

from zipfian.cli._arguments import given, refuse
from zipfian.errors import InvalidInput

VIEWS = ("term", "terms", "find", "zipf")
"""Options that say what of a collection or a vocabulary is shown; without any it is an outline."""

GOES_WITH: dict[str, tuple[str, ...]] = {
    "field": VIEWS,
    "html": ("term",),
    "out": ("term", "image"),
    "limit": ("term", "terms", "find", "text", "image"),
    "queries": ("zipf",),
    "vocabulary": ("text", "image"),
}
"""Option to those that it needs one of."""

PURPOSE = {
    "field": "names the field of a collection that is meant",
    "html": "writes the page of one term",
    "out": "writes patches of a picture",
    "limit": "says how many terms or examples are listed",
    "queries": "counts postings for the Zipf statistics",
    "vocabulary": "is the one that a text or picture is shown in",
}


def check_options(args: argparse.Namespace, is_vocabulary: bool) -> None:
    """Refuse what cannot be shown together, and options of something else than what is shown."""
    if is_vocabulary:
        needs = f"needs a collection with documents, and {args.path} is a vocabulary"
        refuse(
            args, ("field", "out", "queries", "trust", "pictures", *(["limit"] if given(args, "term") else [])), needs
        )
    if args.text is not None or args.image is not None:
        refuse(args, VIEWS, "shows what a collection or vocabulary holds: leave it out with --text and --image")
        refuse(args, ["plot"], "draws the Zipf statistics of a collection or vocabulary: leave it out here")
        refuse(args, ["trust", "pictures"], "is about a collection, which --text and --image do without")
    shown = [name for name in VIEWS if given(args, name)]
    if len(shown) > 1:
        raise InvalidInput(f"--{shown[0]} and --{shown[1]} show different things: give one of them")
    if given(args, "plot"):  # as good as --zipf
        refuse(args, ("term", "terms", "find"), "shows something else than --plot draws: give one of them")
        shown = ["zipf"]
    chosen = {*shown, *(name for name in ("text", "image") if given(args, name))}
    for name, others in GOES_WITH.items():
        if chosen.isdisjoint(others):
            refuse(args, [name], f"{PURPOSE[name]}: it goes with {' or '.join(f'--{other}' for other in others)}")
