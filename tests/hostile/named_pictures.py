"""Documents whose metadata name a picture that is none of the collection's business."""

from __future__ import annotations

import hashlib
import inspect
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.hostile.case import NotHere, WrongAnswer
from tests.hostile.sample import COLOURS, picture, sample
from tests.hostile.tripwire import tripwire

ATTACKS = (
    "picture outside the folder",
    "picture that is a device",
    "picture that is a named pipe",
    "picture that is no file",
    "picture that is a link to elsewhere",
    "picture of a terabyte",
    "picture with another's size and hash",
    "text with its right size and hash as a picture",
    "picture path that is no path",
    "link out of a folder that was allowed",
)
SIZE, HASH = "_image_bytes", "_image_sha256"


def forge(attack: str, rng: random.Random, folder: Path) -> None:
    """A collection of one picture, given as bytes; its metadata say that it is somewhere else."""
    from zipfian.collection import Collection
    from zipfian.fields import Visual

    known = sample()
    outside = folder / "outside"
    metadata = {"image": _bait(attack, rng, outside, folder), **_stamps(attack, rng, outside)}
    metadata = {key: value for key, value in metadata.items() if value is not None}
    with Collection.create(
        folder / "c.zf", {"visual": Visual(known.vocabulary, encoder=known.image)}, encodings=False
    ) as made:
        made.add([{"id": "x", "image": known.pictures["a"].read_bytes(), "metadata": metadata}])
        made.commit()


def suffer(attack: str, rng: random.Random, folder: Path) -> str:
    """Explain, compare token by token, add a field: whatever opens pictures."""
    from zipfian.collection import Collection
    from zipfian.errors import ZipfianError
    from zipfian.fields import Dense

    known = sample()
    asked = known.pictures["a"].read_bytes()
    options: dict[str, Any] = {}
    if attack == "link out of a folder that was allowed":
        if "pictures" not in inspect.signature(Collection.open).parameters:
            raise NotHere("no folders of pictures can be named")
        options["pictures"] = [folder / "allowed"]
    refused: list[ZipfianError] = []
    # a text is read when it proves to be what was indexed, and refused when it is no picture
    bait = () if attack.startswith("text") else (folder / "outside",)
    with tripwire(*bait), Collection.open(folder / "c.zf", "w", encodings=False, **options) as found:
        steps: list[Callable[[], Any]] = [
            lambda: _no_patches(found.explain(None, "x", image=asked, fields="visual")),
            lambda: found.search(image=asked, method="late", k=1, rerank_depth=1),
            lambda: found.add_field("dense", Dense(encoder=known.image)),
        ]
        for step in rng.sample(steps, len(steps)):
            try:
                step()
            except ZipfianError as error:
                refused.append(error)
    if refused:
        raise refused[0]
    return "explained without patches"


def _no_patches(tree: Any) -> None:
    if any("row" in place for place in tree.evidence):
        raise WrongAnswer("patches of a picture that was never indexed")
    for part in tree.parts:
        _no_patches(part)


def _bait(attack: str, rng: random.Random, outside: Path, folder: Path) -> Any:
    target = outside / "secret.png"
    if attack == "picture that is a device":
        return rng.choice(["/dev/zero", "/dev/random", "/dev/urandom", "/dev/full", "/dev/stdin", "/dev/tty"])
    if attack == "picture that is a named pipe":
        os.mkfifo(target)
    elif attack == "picture that is no file":
        return rng.choice([str(outside), "/", "/proc/self", "/proc/self/mem", "/proc/kmsg", "/proc/self/environ", "."])
    elif attack == "picture of a terabyte":
        with target.open("wb") as file:
            file.truncate(rng.choice([1 << 40, 1 << 30, 129 << 20]))
    elif attack == "text with its right size and hash as a picture":
        target.write_bytes(rng.randbytes(rng.randint(1, 1000)))
    elif attack == "picture path that is no path":
        return rng.choice(["", "\0", "a\0b", "x" * 100_000, 17, 1.5, True, ["/dev/zero"], "~", "//", "\x1b[2J"])
    else:
        picture(target, rng.choice(list(COLOURS.values())))
    if attack in ("picture that is a link to elsewhere", "link out of a folder that was allowed"):
        (folder / "allowed" / "inner").mkdir(parents=True)
        link = folder / "allowed" / "a.png"
        if rng.random() < 0.5:
            link.symlink_to(target)
        else:
            (folder / "allowed" / "inner" / "up").symlink_to(outside)
            link = folder / "allowed" / "inner" / "up" / "secret.png"
        return str(link)
    return rng.choice([str(target), f"{outside}/../outside/secret.png", str(target)])


def _stamps(attack: str, rng: random.Random, outside: Path) -> dict[str, Any]:
    """What the collection says the picture was; a forger may say anything."""
    target = outside / "secret.png"
    size = target.stat().st_size if target.exists() else rng.choice([0, 1000])
    if attack.startswith("text"):
        return {SIZE: size, HASH: hashlib.sha256(target.read_bytes()).hexdigest()}
    wrong = rng.choice([None, "0" * 64, "", 17, "x" * 5000])
    if attack == "picture with another's size and hash":  # of a right size it may be read, to be hashed: not here
        return {SIZE: rng.choice([size + 1, -size, 0, 2**62, str(size), True, None]), HASH: wrong}
    return {SIZE: rng.choice([None, size + 1, -1, 2**62]), HASH: wrong}
