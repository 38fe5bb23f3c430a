"""Settings shared by all tests, how they are spread over processes, and what is said at the end.

`make test` runs them in several processes (pytest-xdist). A file's tests stay together, so that what they share is made
once, and so do those of a folder in `TOGETHER`; what takes long begins first, so that no process is left alone with it.

`ZIPFIAN_MUST` names folders of tests that must not be left out (`make test WITH_CLUSTER=must` sets it): if none of a
folder's tests ran, or some were skipped because what they need is not installed, the run fails. By convention such a
skip's reason begins with NO, as in "NO OPENSEARCH TESTS: ...", and says what to install.
"""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

SOAK = os.environ.get("ZIPFIAN_SOAK", "") not in ("", "0")
MUST = tuple(os.environ.get("ZIPFIAN_MUST", "").split())
NOT_INSTALLED = "NO "

TOGETHER = ("tests/cluster/", "tests/page/")
"""Folders that share what takes long to start: a cluster, a browser."""
APART = ("tests/hostile/",)
"""Folders of few long tests that share nothing."""
FIRST = (*APART, *TOGETHER, "tests/reliability/", "tests/serve/")

SAID = "said"
"""Property of a test with a line that is shown at the end, whether it passes or not."""

# Shared machines stall now and then, so no example has a deadline; in CI the examples are the same on every run.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("soak", settings.get_profile("default"), max_examples=2_000)
settings.load_profile("soak" if SOAK else "ci" if os.environ.get("CI") else "default")


def group_of(nodeid: str) -> str:
    """Tests of one group run in one process, one after the other."""
    if nodeid.startswith(APART):
        return nodeid
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), nodeid.partition("::")[0])


def place_of(nodeid: str) -> int:
    """When a group begins: the long ones first, all others as they were collected."""
    return next((place for place, folder in enumerate(FIRST) if nodeid.startswith(folder)), len(FIRST))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hands groups to processes. Its own marks for groups are lost with pytest 9.2, which names tests otherwise."""
    from xdist.scheduler import LoadScopeScheduling

    scheduler: Any = LoadScopeScheduling(config, log)
    scheduler._split_scope = group_of
    return scheduler


def cuda_devices() -> int:
    """How many torch sees; 0 where there is no torch."""
    if importlib.util.find_spec("torch") is None:
        return 0
    import torch

    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0


def tell_apart(items: list[pytest.Item]) -> None:
    """Number tests of one name, such as schemathesis makes: several processes would run only one of them."""
    seen: Counter[str] = Counter()
    for item in items:
        seen[item.nodeid] += 1
        if seen[item.nodeid] > 1:
            item._id = item.id.parse(f"{item.nodeid}#{seen[item.nodeid]}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """One process of several begins with what takes long; tests marked `soak` run only when asked for, and those
    marked `cuda` where there is a GPU."""
    tell_apart(items)
    on_gpu = [item for item in items if item.get_closest_marker("cuda")]
    if on_gpu and not cuda_devices():
        for item in on_gpu:
            item.add_marker(pytest.mark.skip(reason="no CUDA device here"))
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: place_of(item.nodeid))
    if SOAK:
        return
    for item in items:
        if item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="a long loop: run it with `make soak`"))


def left_out(reporter: pytest.TerminalReporter) -> Counter[tuple[str, str]]:
    """How many tests were skipped, by file and reason."""
    found: Counter[tuple[str, str]] = Counter()
    for report in reporter.stats.get("skipped", []):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        found[report.nodeid.partition("::")[0], reason.removeprefix("Skipped: ")] += 1
    return found


def broken_promises(reporter: pytest.TerminalReporter) -> list[str]:
    """What `ZIPFIAN_MUST` asked for and did not get."""
    ran = {report.nodeid for kind in ("passed", "failed") for report in reporter.stats.get(kind, [])}
    skipped = left_out(reporter)
    problems = []
    for folder in MUST:
        inside = f"{folder}/"
        reasons = sorted({why for suite, why in skipped if suite.startswith(inside) and why.startswith(NOT_INSTALLED)})
        if reasons or not any(nodeid.startswith(inside) for nodeid in ran):
            problems.append(f"{folder} must run, and was left out: {'; '.join(reasons) or 'none of its tests ran'}")
    return problems


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A required suite that was left out is a failure, however green the rest."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and session.exitstatus == pytest.ExitCode.OK and broken_promises(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to say; which suites were left out, how many tests each has, and why."""
    for report in (*terminalreporter.stats.get("passed", ()), *terminalreporter.stats.get("failed", ())):
        for line in (line for name, line in report.user_properties if name == SAID):
            terminalreporter.line(line)
    skipped = left_out(terminalreporter)
    terminalreporter.section("left out")
    if not skipped:
        terminalreporter.line("nothing: every suite ran")
    for (suite, reason), count in sorted(skipped.items()):
        terminalreporter.line(f"{suite}: {count} test{'s' * (count != 1)}: {reason}")
    for problem in broken_promises(terminalreporter):
        terminalreporter.line(f"ERROR: {problem}", red=True)
