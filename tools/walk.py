"""Which functions a search, an add and its commit pass through: `python tools/walk.py` prints it, for a toy collection.

A *hop* is a call from one module of the package into another, each pair of calling module and called function counted
once. What a caller only holds or raises (value types, errors, limits) is no stop on the way, and the folders below the
engine's door (`index/`, `storage/`, `retrieve/kernels/`) count as one stop each. A module is *entered* whenever the
walk comes to it from elsewhere; hops into one module in a row are one entry.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import zipfian
from zipfian import Collection

ROOT = Path(zipfian.__file__).parent

HELD = ("types.py", "errors.py", "limits.py", "objects.py", "deadline.py")
"""What is passed along: values, errors and numbers, and when the time is over."""

DOORS = ("index/", "storage/", "retrieve/kernels/", "compiled/")
"""Folders of which only the door is seen from above."""

TEXTS = [f"plants make food number {i} for the cats and dogs" for i in range(30)]


@dataclass(frozen=True)
class Walk:
    """Hops in the order in which they were first made."""

    hops: tuple[tuple[str, str, str], ...]
    """Calling module, called module, called function."""

    @property
    def files(self) -> list[str]:
        """The modules that were walked through, in order."""
        return list(dict.fromkeys(module for _, module, _ in self.hops))

    @property
    def again(self) -> dict[str, int]:
        """The modules that were entered more than once, and how often."""
        entries = [module for module, _ in itertools.groupby(module for _, module, _ in self.hops)]
        return {module: n for module, n in Counter(entries).items() if n > 1}

    def lines(self) -> list[str]:
        """One for each entry: the module, and the functions that were called there."""
        entries = itertools.groupby(self.hops, key=lambda hop: hop[1])
        return [f"{module:32} {', '.join(function for _, _, function in some)}" for module, some in entries]


def walk(call: Callable[[], Any]) -> Walk:
    """What is walked through while something is called."""
    hops: dict[tuple[str, str, str], None] = {}

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event != "call":
            return
        module, name = _module(frame), frame.f_code.co_name
        if module is None or module in HELD or name.startswith("<"):
            return
        caller = frame.f_back
        while caller is not None and (_module(caller) is None or _module(caller) in HELD):
            caller = caller.f_back
        source = "" if caller is None else str(_module(caller))
        if source != module:
            hops.setdefault((source, module, "..." if module.endswith("/") else name))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return Walk(tuple(hops))


def _module(frame: FrameType) -> str | None:
    """The module of the package that a frame is in, or the folder whose door it is behind."""
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(ROOT):
        return None
    name = path.relative_to(ROOT).as_posix()
    return next((door for door in DOORS if name.startswith(door)), name)


def walks() -> dict[str, Walk]:
    """Of a search, an add and a commit, on a collection of words where all have been done before."""
    with tempfile.TemporaryDirectory() as folder, Collection.create(folder + "/toy.zf", encodings=False) as toy:
        toy.add({"id": str(i), "text": text} for i, text in enumerate(TEXTS))
        toy.commit()
        toy.search("dogs plants")
        toy.add([{"id": "warm", "text": "plants grow in the garden"}])
        return {
            "search": walk(lambda: toy.search("plants dogs")),
            "add": walk(lambda: toy.add([{"id": "new", "text": "dogs sleep in the garden"}])),
            "commit": walk(toy.commit),
        }


def main() -> None:
    """Print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="numbers only")
    args = parser.parse_args()
    found = walks()
    if args.json:
        print(json.dumps({name: [len(one.hops), len(one.files), one.again] for name, one in found.items()}))
        return
    for name, one in found.items():
        again = ", ".join(f"{module} ({n})" for module, n in one.again.items()) or "none"
        print(f"{name}: {len(one.hops)} hops, {len(one.files)} files; entered more than once: {again}")
        print("\n".join(f"  {line}" for line in one.lines()))


if __name__ == "__main__":
    main()
