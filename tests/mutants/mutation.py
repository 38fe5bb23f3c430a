"""A mistake to make: where, what, and which tests ought to notice."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).resolve().parent / "list"
PACKAGE = Path("src", "zipfian")


class DoesNotApply(Exception):
    """The sources have no such place, or several; the message says which mutation and what to do."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One entry of the list. `name` is `stage/what`, where the stage is the list's file."""

    name: str
    file: str
    """Under `src/zipfian`."""
    old: str
    new: str
    tests: tuple[str, ...]
    """What pytest is given: files, or tests of them."""
    why: str
    """What a user would suffer if this went unnoticed."""

    @property
    def stage(self) -> str:
        return self.name.partition("/")[0]

    def applied(self, text: str) -> str:
        """The text with the mistake in it; `DoesNotApply` unless the place is there exactly once."""
        found = text.count(self.old)
        if found != 1 or self.old == self.new:
            raise DoesNotApply(
                f"{self.name}: {PACKAGE / self.file} holds its old text {found} times, not once: the code has changed, "
                f"so write down the same mistake for the new code in {LIST.name}/{self.stage}.toml\n{self.old}"
            )
        return text.replace(self.old, self.new)


def mutations(only: Iterable[str] = ()) -> list[Mutation]:
    """The whole list, or those whose names contain one of the given words."""
    found: list[Mutation] = []
    for path in sorted(LIST.glob("*.toml")):
        for entry in tomllib.loads(path.read_text())["mutation"]:
            name, tests = f"{path.stem}/{entry.pop('name')}", tuple(entry.pop("tests"))
            found.append(Mutation(name, tests=tests, **entry))
    wanted = tuple(only)
    return [m for m in found if not wanted or any(word in m.name for word in wanted)]
