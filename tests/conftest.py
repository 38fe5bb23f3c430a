"""Settings shared by all tests, and a closing table of what was left out and why."""

from __future__ import annotations

import os
from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

SOAK = os.environ.get("ZIPFIAN_SOAK", "") not in ("", "0")

# Shared machines stall now and then, so no example has a deadline; in CI the examples are the same on every run.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("soak", settings.get_profile("default"), max_examples=2_000)
settings.load_profile("soak" if SOAK else "ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `soak` run only when asked for."""
    if SOAK:
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="a long loop: run it with `make soak`"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which suites were left out, how many tests each has, and why."""
    left_out: Counter[tuple[str, str]] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        left_out[report.nodeid.partition("::")[0], reason.removeprefix("Skipped: ")] += 1
    terminalreporter.section("left out")
    if not left_out:
        terminalreporter.line("nothing: every suite ran")
    for (suite, reason), count in sorted(left_out.items()):
        terminalreporter.line(f"{suite}: {count} test{'s' * (count != 1)}: {reason}")
