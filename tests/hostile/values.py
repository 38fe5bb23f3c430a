"""JSON as somebody who means harm would write it: values of the wrong type, size or meaning in any place of a tree."""

from __future__ import annotations

import copy
import json
import random
import zlib
from collections.abc import Iterator
from typing import Any

Path_ = tuple[str | int, ...]


def value(rng: random.Random, instead_of: Any = None) -> Any:
    """A hostile value, as often as not close to the one it replaces."""
    near = _near(instead_of, rng)
    if near and rng.random() < 0.5:
        return rng.choice(near)
    return rng.choice(_FAR)()


def _near(known: Any, rng: random.Random) -> list[Any]:
    """Values that a careless check would take for the right one."""
    if isinstance(known, bool):
        return [not known, int(known), str(known), None]
    if isinstance(known, int | float):
        size = 10.0 ** rng.randint(3, 300)
        return [-known, known + 0.5, known * 2, 2**31 - 1, 2**31, 2**63, 10**30, size, str(known), [known], True, None]
    if isinstance(known, str):
        return [known * 1000, known.upper(), known + "\x00", known + "\x1b[2J", known + "/../x", "\u202e" + known, ""]
    if isinstance(known, list):
        return [known * 3, known[::-1], {}, [known], [*known, None], dict(enumerate(map(str, known)))]
    if isinstance(known, dict):
        return [list(known.items()), list(known), {**known, "extra": 1}, {}, [known], None]
    return [0, "", False, {}, []]


def _nested(depth: int = 150) -> Any:
    inner: Any = {}
    for _ in range(depth):
        inner = {"x": [inner]}
    return inner


_FAR: list[Any] = [
    lambda: None,
    lambda: True,
    lambda: 0,
    lambda: -1,
    lambda: 2**31 - 2,
    lambda: 2**62,
    lambda: 10**400,
    lambda: 1e308,
    lambda: 5e-324,
    lambda: float("nan"),
    lambda: float("inf"),
    lambda: "",
    lambda: "x" * 100_000,
    lambda: "../../etc/passwd",
    lambda: "/dev/zero",
    lambda: "\x1b]52;c;aGk=\x07",
    lambda: "\ud800",
    list,
    lambda: [[]],
    lambda: list(range(10_000)),
    dict,
    lambda: {"kind": "unknown"},
    lambda: {"": ""},
    _nested,
]


def places(tree: Any, here: Path_ = ()) -> Iterator[Path_]:
    """Every place of a tree but its root."""
    inside = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, known in inside:
        yield (*here, key)
        yield from places(known, (*here, key))


def at(tree: Any, place: Path_) -> Any:
    """What stands in a place."""
    for key in place:
        tree = tree[key]
    return tree


def replaced(tree: Any, place: Path_, new: Any) -> Any:
    """A copy of a tree with another value in one place."""
    out = copy.deepcopy(tree)
    at(out, place[:-1])[place[-1]] = new
    return out


def removed(tree: Any, place: Path_) -> Any:
    """A copy of a tree without one place."""
    out = copy.deepcopy(tree)
    del at(out, place[:-1])[place[-1]]
    return out


def signed(manifest: dict[str, Any]) -> bytes:
    """A manifest in the form a writer gives it, with the checksum that belongs to it."""
    content = {key: known for key, known in manifest.items() if key != "crc"}
    packed = json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
    return (json.dumps({**content, "crc": zlib.crc32(packed)}, indent=1, sort_keys=True) + "\n").encode("ascii")
