"""How a model is written in one word: `open_clip:MobileCLIP-S1`, `hf:openai/clip-vit-base-patch32`, or a folder of it.

The word before the colon is the library that reads the model; without one its files decide. After `open_clip:` stands a
name of open_clip's own list, of which each model is on the hub in a place of its own, or a hub name, or a folder.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path

from zipfian.encode.hub._torch import module
from zipfian.encode.hub.family import Library
from zipfian.errors import InvalidInput, shown

LIBRARIES: dict[str, Library] = {"open_clip": "open_clip", "hf": "transformers"}

FORMS = (
    "open_clip:MobileCLIP-S1, open_clip:NAME:WEIGHTS, hf:openai/clip-vit-base-patch32, or the folder of a model after "
    "the colon"
)


@dataclass(frozen=True, slots=True)
class Named:
    """Where a model is, and what reads it."""

    place: str | Path
    """A folder, or a name on the hub."""
    library: Library | None
    """None: its files decide."""
    name: str
    """What it is called."""


def named(given: str | Path, library: Library | None = None) -> Named:
    """What a caller wrote, taken apart; `library` is what it said beside it."""
    prefix, colon, rest = str(given).partition(":")
    if isinstance(given, Path) or not colon or Path(given).expanduser().is_dir() or len(prefix) == 1:
        return Named(given, library, _short(given))
    if prefix not in LIBRARIES:
        raise InvalidInput(f"{shown(given)}: no library is called {shown(prefix)}; an encoder is written as {FORMS}")
    if library not in (None, LIBRARIES[prefix]):
        raise InvalidInput(f"{shown(given)} is read by {LIBRARIES[prefix]}, not by {shown(library)}: leave one out")
    if prefix == "open_clip" and rest and not _is_place(rest):
        return _listed(rest)
    return Named(rest, LIBRARIES[prefix], _short(rest))


def _is_place(text: str) -> bool:
    """Whether it is a folder or a hub name, neither of which open_clip's own names look like."""
    return "/" in text or "\\" in text or text.startswith((".", "~")) or Path(text).is_dir()


def _short(place: str | Path) -> str:
    path = Path(place).expanduser()
    return (path.name or path.resolve().name) if path.is_dir() else str(place).split("/")[-1]


def _listed(text: str) -> Named:
    """A model of open_clip's list, by its place on the hub."""
    open_clip = module("open_clip", "an OpenCLIP model")
    name, _, tag = text.partition(":")
    tags = open_clip.list_pretrained_tags_by_model(name)
    if not tags:
        every = sorted({model for model, _ in open_clip.list_pretrained()})
        near = difflib.get_close_matches(name, every, 3, 0.5)
        hint = f"did you mean {', '.join(near)}?" if near else "see open_clip.list_pretrained()"
        raise InvalidInput(f"open_clip has no weights for {shown(name)}: {hint} A folder is written open_clip:./FOLDER")
    if tag not in tags:
        if tag or len(tags) > 1:
            wrong = f"no weights called {shown(tag)}" if tag else f"{len(tags)} sets of weights"
            raise InvalidInput(
                f"open_clip has {wrong} for {name}; write one of: {', '.join(f'open_clip:{name}:{t}' for t in tags)}"
            )
        (tag,) = tags
    repository = str(open_clip.get_pretrained_cfg(name, tag).get("hf_hub") or "").rpartition("/")[0]
    if not repository:
        raise InvalidInput(
            f"open_clip:{name}:{tag} is not on the hub: its weights are a pickled file at a web address, which can run "
            "code and is never loaded. Choose other weights, or another model"
        )
    return Named(repository, "open_clip", name)
