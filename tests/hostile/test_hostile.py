"""Every attack of the generator, on this checkout: a right answer or a clear error, in bounded memory and time."""

from __future__ import annotations

import sys

import pytest

from tests.conftest import SOAK
from tests.hostile.case import GOOD, Case, WrongAnswer
from tests.hostile.families import FAMILIES, family
from tests.hostile.watch import Watched
from tests.reliability.conftest import Report, report

__all__ = ["report"]

CASES = dict.fromkeys(FAMILIES, 5_000) if SOAK else {"sections": 420, "manifests": 420, "pictures": 100, "inputs": 100}
"""A thousand in all, most of them forgeries, which take least. Every attack is among them, as a test makes sure."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="memory of a process is read from /proc")


@pytest.mark.parametrize("name", FAMILIES)
def test_every_attack_is_answered_or_refused(name: str, report: Report) -> None:
    outcomes = list(Watched().run(family(name).cases(CASES[name], seed=0)))
    bad = [f"{o.result}: {o.case}: {o.detail} ({o.megabytes:.0f} MB)" for o in outcomes if o.result not in GOOD]
    refused = sum(o.result == "refused" for o in outcomes)
    report(f"{name}: {len(outcomes)} hostile cases, {refused} refused, {len(bad)} not as promised")
    assert not bad, "\n".join(bad[:20])
    assert len(outcomes) >= CASES[name] * 0.8


def test_cases_are_the_same_for_the_same_seed() -> None:
    for name in FAMILIES:
        assert list(family(name).cases(60, seed=3)) == list(family(name).cases(60, seed=3))


@pytest.mark.parametrize("name", FAMILIES)
def test_every_attack_is_tried(name: str) -> None:
    tried, known = ({case.attack for case in family(name).cases(count, seed=0)} for count in (CASES[name], 5_000))
    assert tried == known


@pytest.mark.parametrize(
    ("attack", "result"),
    [
        ("fine", "answered"),
        ("refused", "refused"),
        ("raw", "raw"),
        ("wrong", "wrong"),
        ("short peak", "memory"),
        ("crash", "crash"),
    ],
)
def test_the_watch_sees_what_happens(attack: str, result: str) -> None:
    outcome = next(Watched().run([Case("test_hostile", attack, 0)]))
    assert outcome.result == result


def forge(case: Case, folder: object) -> None:
    """Nothing to make: this module is itself a family, for the test above."""


def suffer(case: Case, folder: object) -> str:
    """Do what the attack is called."""
    import os

    from zipfian.errors import InvalidInput

    if case.attack == "refused":
        raise InvalidInput("no")
    if case.attack == "raw":
        raise TypeError("not ours")
    if case.attack == "wrong":
        raise WrongAnswer("2 + 2 = 5")
    if case.attack == "short peak":
        del (lambda: bytearray(b"x" * 700_000_000))()[:]
    if case.attack == "crash":
        os._exit(7)
    return "fine"
