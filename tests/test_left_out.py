"""A suite that must run and does not is a failure, in one process or several, and `.ci/run` says which ones must."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

TESTS = {
    "tests/there/test_a.py": "def test_a(): pass\ndef test_b(): pass\n",
    "tests/engine/test_a.py": "import pytest\ndef test_a(): pytest.skip('NO ENGINE TESTS: install it')\n",
    "tests/engine/test_b.py": "import pytest\npytest.importorskip('no_such', reason='NO CLIENT: pip install it')\n",
    "tests/half/test_a.py": "import pytest\ndef test_a(): pytest.skip('no graphics card here')\ndef test_b(): pass\n",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TESTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path / "tests" / "conftest.py")
    return tmp_path


def run(folder: Path, must: str, *arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", f"--rootdir={folder}", *arguments]
    environment = {**os.environ, "ZIPFIAN_MUST": must}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture(params=[(), ("-n", "2", "--dist", "loadscope")], ids=["one process", "two"])
def spread(request: pytest.FixtureRequest) -> tuple[str, ...]:
    if request.param:
        pytest.importorskip("xdist", reason="NO PROCESSES: pip install pytest-xdist")
    return request.param


def test_by_default_what_is_left_out_is_said_and_counted(folder: Path, spread: tuple[str, ...]) -> None:
    code, out = run(folder, "", *spread)
    assert code == 0
    assert "tests/engine/test_a.py: 1 test: NO ENGINE TESTS: install it" in out
    assert "tests/engine/test_b.py: 1 test: NO CLIENT: pip install it" in out
    assert "ERROR" not in out


def test_a_required_suite_fails_the_run_and_says_what_to_install(folder: Path, spread: tuple[str, ...]) -> None:
    code, out = run(folder, "tests/there tests/engine", *spread)
    assert code == 1
    wanted = "tests/engine must run, and was left out: NO CLIENT: pip install it; NO ENGINE TESTS: install it"
    assert f"ERROR: {wanted}" in out
    assert "tests/there must run" not in out


def test_what_a_test_says_is_shown_at_the_end(folder: Path, spread: tuple[str, ...]) -> None:
    said = "def test_a(record_property):\n    record_property('said', '12 cases')\n"
    (folder / "tests" / "there" / "test_a.py").write_text(said + said.replace("test_a", "test_b") + "    assert 0\n")
    code, out = run(folder, "", *spread, "tests/there")
    assert code == 1
    assert out.splitlines().count("12 cases") == 2


def test_tests_that_share_something_stay_in_one_process(folder: Path) -> None:
    pytest.importorskip("xdist", reason="NO PROCESSES: pip install pytest-xdist")
    where = "import os, pathlib\n@__import__('pytest').mark.parametrize('i', range(4))\n"
    where += "def test_a(i): pathlib.Path(f'{__file__}-{os.getpid()}').touch()\n"
    for name in ("cluster/test_a", "cluster/test_b", "other/test_a", "hostile/test_a"):
        (folder / "tests" / name).parent.mkdir(exist_ok=True)
        (folder / "tests" / f"{name}.py").write_text(where)
    names = ["tests/cluster", "tests/other", "tests/hostile"]
    assert run(folder, "", "-n", "2", "--dist", "loadscope", "--no-loadscope-reorder", *names)[0] == 0
    ran = {name: [made.name for made in (folder / name).glob("*.py-*")] for name in names}
    assert len({made.rpartition("-")[2] for made in ran["tests/cluster"]}) == 1
    assert len(ran["tests/other"]) == 1
    assert len(ran["tests/hostile"]) == 2, "these share nothing"


def test_a_suite_that_ran_may_skip_what_this_machine_does_not_have(folder: Path) -> None:
    assert run(folder, "tests/there tests/half")[0] == 0


@pytest.mark.parametrize("arguments", [["--ignore=tests/there"], ["-k", "nothing_has_this_name or test_a.py and half"]])
def test_a_required_suite_nobody_collected(folder: Path, arguments: list[str]) -> None:
    code, out = run(folder, "tests/there", *arguments)
    assert code != 0
    assert "tests/there must run, and was left out: none of its tests ran" in out


def test_a_name_that_only_begins_alike_is_another_suite(folder: Path) -> None:
    assert run(folder, "tests/the")[0] == 1


def test_the_program_of_the_ci_insists() -> None:
    if not (ROOT / ".ci" / "run").exists():
        pytest.skip("the CI's program is not part of this package")
    last = "exec make test WITH_HUB=must WITH_CLUSTER=must WITH_BROWSER=must\n"
    assert (ROOT / ".ci" / "run").read_text().endswith(last)


def test_tests_of_one_name_all_run(folder: Path, spread: tuple[str, ...]) -> None:
    """As schemathesis makes them: a scheduler that knows tests by their names would run one."""
    twice = folder / "tests" / "twice"
    twice.mkdir()
    (twice / "test_a.py").write_text(
        "from pathlib import Path\n" + "".join(f"def test_{name}(): Path('ran-{name}').touch()\n" for name in "abc")
    )
    (twice / "conftest.py").write_text(
        "import pytest\n@pytest.hookimpl(tryfirst=True)\ndef pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item._id = item.id.parse(item.nodeid.partition('::')[0] + '::test_same')\n"
    )
    code, _ = run(folder, "", *spread, "tests/twice")
    assert code == 0 and sorted(path.name for path in folder.glob("ran-*")) == ["ran-a", "ran-b", "ran-c"]
