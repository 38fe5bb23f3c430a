"""The list of mutants stays alive, and the runner tells what became of each."""

from __future__ import annotations

import ast
import json
import textwrap
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from tests.mutants.mutation import PACKAGE, DoesNotApply, Mutation, mutations
from tests.mutants.report import table, write
from tests.mutants.tree import Result, Tree

CHECKOUT = Path(__file__).resolve().parents[2]
LISTED = mutations()


@pytest.mark.parametrize("mutation", LISTED, ids=lambda m: m.name)
def test_every_mutation_still_applies(mutation: Mutation) -> None:
    """Whoever changes a line of the list writes the same mistake down for the new line."""
    changed = mutation.applied((CHECKOUT / PACKAGE / mutation.file).read_text())
    ast.parse(changed)
    for test in mutation.tests:
        path, _, name = test.partition("::")
        assert (CHECKOUT / path).exists(), test
        assert not name or f"def {name.partition('[')[0]}(" in (CHECKOUT / path).read_text(), test


def test_the_list_covers_the_stages() -> None:
    counts = Counter(m.stage for m in LISTED)
    assert set(counts) >= {"index", "retrieve", "fuse", "rerank", "explain", "vocabulary", "collection", "engines"}
    assert counts.total() >= 60 and counts["engines"] >= 12
    assert len({m.name for m in LISTED}) == len(LISTED)
    assert all(m.why and "|" not in m.why + m.name for m in LISTED), "each says what a user would suffer"


def test_some_are_chosen_by_a_word() -> None:
    assert {m.stage for m in mutations(["fuse/"])} == {"fuse"}
    assert mutations(["no such mutation"]) == []


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """A package of one function, in the shape of a checkout."""
    checkout = tmp_path_factory.mktemp("checkout")
    files = {
        "src/zipfian/__init__.py": "",
        "src/zipfian/double.py": "def double(x):\n    return x + x\n",
        "tests/test_double.py": """
            import time
            from zipfian.double import double

            def test_two():
                assert double(2) == 4

            def test_slow():
                time.sleep(double(0))
            """,
        "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    }
    for name, text in files.items():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_text(textwrap.dedent(text))
    folder = tmp_path_factory.mktemp("copy").resolve()
    return Tree(checkout, folder)


TESTS = ("tests/test_double.py",)


@pytest.mark.parametrize(
    ("new", "seconds", "result", "by"),
    [
        ("return x + 1", 60.0, "caught", "tests/test_double.py::test_two"),
        ("return 2 * x", 60.0, "survived", ""),
        ("return x * x", 60.0, "survived", ""),  # as long as the sound line: no byte code may be taken for another's
        ("return x - x", 60.0, "caught", "tests/test_double.py::test_two"),
        ("return x + x if x else 60", 3.0, "timed out", "not done after 3 s"),
        ("return x +", 60.0, "broken", None),
    ],
)
def test_what_becomes_of_a_mutation(tree: Tree, new: str, seconds: float, result: str, by: str | None) -> None:
    sound = (tree.folder / PACKAGE / "double.py").read_text()
    found = tree.run(Mutation("x/y", "double.py", "return x + x", new, TESTS, "why"), seconds)
    assert found.result == result
    assert by is None or found.by == by
    assert (tree.folder / PACKAGE / "double.py").read_text() == sound


@pytest.mark.parametrize("old", ["return y", "x"])
def test_a_mutation_without_a_place_is_no_survivor(tree: Tree, old: str) -> None:
    missing = Mutation("x/y", "double.py", old, "pass", TESTS, "why")
    assert tree.run(missing, 60.0).result == "does not apply"
    with pytest.raises(DoesNotApply, match="not once: the code has changed"):
        missing.applied("def f(x): return x")


def test_tests_that_fail_without_a_mutation_say_nothing(tree: Tree) -> None:
    (tree.folder / "tests" / "test_wrong.py").write_text("def test_wrong(): assert False\n")
    found = tree.run(Mutation("x/y", "double.py", "x + x", "x", ("tests/test_wrong.py",), "why"), 60.0)
    assert found.result == "broken" and found.by.startswith("on sound sources: ")


def test_a_copy_behind_another_package_is_refused(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every mutant would survive if the tests imported the installed package."""
    monkeypatch.setitem(tree._environment, "PYTHONPATH", str(CHECKOUT / "src"))
    with pytest.raises(RuntimeError, match="not the copy in"):
        tree._check()


def test_the_table() -> None:
    listed = [Mutation(f"s/{i}", "f.py", "a", "b", TESTS, f"why {i}") for i in range(2)]
    shown = table(listed, [Result("s/0", "caught", "tests/a.py::test"), Result("s/1", "survived")])
    assert "| s | 2 | 1 | 1 |" in shown and "| **all** | 2 | 1 | 1 |" in shown
    assert "| s/0 | why 0 | caught | `a.py::test` |" in shown
    assert "| s/1 | why 1 | survived |  |" in shown


def test_results_are_kept_until_their_mutation_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "docs").mkdir()
    old = [Mutation(f"s/{i}", "f.py", f"a{i}", "b", TESTS, "why") for i in range(3)]
    monkeypatch.setattr("tests.mutants.report.mutations", lambda: old)
    write(tmp_path, [Result(m.name, "survived") for m in old])
    new = [replace(old[0], old="changed"), *old[1:]]
    monkeypatch.setattr("tests.mutants.report.mutations", lambda: new)
    write(tmp_path, [Result("s/2", "caught", "tests/a.py::test")])
    found = json.loads((tmp_path / "results" / "mutants" / "mutants.json").read_text())
    assert (found["listed"], found["run"], found["counts"]) == (3, 2, {"caught": 1, "survived": 1})
    assert [(row["name"], row["result"]) for row in found["results"]] == [("s/1", "survived"), ("s/2", "caught")]
    assert "| s/2 | why | caught | `a.py::test` |" in (tmp_path / "docs" / "mutants.md").read_text()
