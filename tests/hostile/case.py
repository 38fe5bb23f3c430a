"""What an attack is, and what may come of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

MEMORY = 512 * 1024 * 1024
"""Bytes that suffering one case may take above what the process had before."""

SECONDS = 10.0
"""Processor time that one case may take."""

PATIENCE = 30.0
"""Seconds by the clock after which a case hangs, also one that only waits: machines are busy with other things, too."""

GOOD = ("answered", "refused")
"""Outcomes that are as promised: a right answer, or an error of `zipfian.errors` with a sentence for the user."""


class WrongAnswer(Exception):
    """Raised by `suffer` when what came back is not what it should be: the worst outcome."""


class NotHere(Exception):
    """Raised by `forge` or `suffer` when the version under attack has no such feature; the case is counted apart."""


@dataclass(frozen=True)
class Case:
    """One attack: which kind, and the seed that everything random about it comes from."""

    family: str
    attack: str
    seed: int


class Outcome(NamedTuple):
    """What became of a case.

    `result` is `answered`, `refused`, `raw` (an error that is none of ours), `wrong`, `hang`, `memory`, `crash`,
    `not here` or `forge` (the attack itself could not be made: a defect of the generator).
    """

    case: Case
    result: str
    detail: str
    seconds: float
    """By the clock."""
    megabytes: float


class Family(Protocol):
    """A module of attacks."""

    FAMILY: str

    def cases(self, count: int, seed: int) -> Iterator[Case]:
        """About `count` cases, every attack of the family among them; the same for the same seed."""

    def forge(self, case: Case, folder: Path) -> None:
        """Make the hostile files of a case in an empty folder. Not watched."""

    def suffer(self, case: Case, folder: Path) -> str:
        """Use them as a user would. Watched. Returns a few words on what happened, or raises `WrongAnswer`."""
