"""What a training tells on its way, on standard error: for every command that trains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zipfian.cli._output import Progress, human_bytes, note, printable
from zipfian.train.fit import Plan, Watcher

if TYPE_CHECKING:
    from zipfian.train.sae import Progress as Step

SHOWN_PROBLEMS = 5


class Shown(Watcher):
    """What happens, on standard error: the first few problems, and how far it is."""

    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._problems = 0

    def planned(self, plan: Plan) -> None:
        self._bar.total = plan.items
        note(
            f"{plan.items:,} {plan.kind}s, about {plan.tokens:,} tokens of {plan.dim} numbers; their vectors take "
            f"{human_bytes(plan.nbytes)} {'on disk' if plan.on_disk else 'in memory'}"
        )

    def encoded(self, items: int) -> None:
        self._bar.reach(items)

    def trained(self, progress: Step) -> None:
        self._bar.total = progress.steps
        self._bar.label = (
            f"training, error {progress.error:.4f}, FVU {progress.fvu:.3f}, L0 {progress.l0:.1f}, "
            f"dead {progress.dead:.1%}, step"
        )
        self._bar.reach(progress.step)

    def skipped(self, where: str, problem: str) -> None:
        self._problems += 1
        if self._problems <= SHOWN_PROBLEMS:
            self._bar.clear()
            note(f"left out {printable(where)}: {printable(problem)}")
