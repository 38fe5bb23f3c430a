"""One home for every error and every limit, and no reaching into another module's private parts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "zipfian"


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_bytes(), filename=str(path)) for path in sorted(PACKAGE.rglob("*.py"))}


def classes(trees: dict[Path, ast.Module]) -> Iterator[tuple[Path, ast.ClassDef, set[str]]]:
    """Every class of the package with the last parts of its bases' names."""
    for path, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield path, node, {ast.unparse(base).rpartition(".")[2] for base in node.bases}


def stray_errors(trees: dict[Path, ast.Module], home: Path) -> list[str]:
    """Classes outside `home` that derive from the root of all errors, however far up."""
    known = {"ZipfianError"}
    while True:
        found = {node.name for _, node, bases in classes(trees) if bases & known} - known
        if not found:
            break
        known |= found
    return [
        f"{path.name}:{node.lineno}: class {node.name}"
        for path, node, bases in classes(trees)
        if bases & known and path != home
    ]


def stray_limits(tree: ast.AST) -> Iterator[str]:
    """Constants of a module or a class whose name says that they are a limit."""
    for scope in ast.walk(tree):
        if not isinstance(scope, ast.Module | ast.ClassDef):
            continue
        for node in scope.body:
            if isinstance(node, ast.Assign | ast.AnnAssign):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    for name in ast.walk(target):
                        if isinstance(name, ast.Name) and re.match(r"_*MAX_[A-Z]", name.id):
                            yield f"{node.lineno}: {name.id}"


def test_every_error_is_in_one_file(trees: dict[Path, ast.Module]) -> None:
    assert stray_errors(trees, PACKAGE / "errors.py") == []


def test_every_limit_is_in_one_file(trees: dict[Path, ast.Module]) -> None:
    elsewhere = {path: tree for path, tree in trees.items() if path != PACKAGE / "limits.py"}
    assert [f"{path.name}:{found}" for path, tree in elsewhere.items() for found in stray_limits(tree)] == []


def test_a_stray_error_is_found() -> None:
    home, other = PACKAGE / "errors.py", PACKAGE / "index" / "commit.py"
    trees = {
        home: ast.parse("class ZipfianError(Exception): ...\nclass Missing(ZipfianError, OSError): ..."),
        other: ast.parse("class Gone(errors.Missing): ...\nclass Mine(Exception): ...\nclass Worse(Gone): ..."),
    }
    assert stray_errors(trees, home) == ["commit.py:1: class Gone", "commit.py:3: class Worse"]


@pytest.mark.parametrize("code", ["MAX_X = 1 << 20", "_MAX_X: int = 3", "class A:\n    MAX_X = 1", "A, MAX_X = 1, 2"])
def test_a_stray_limit_is_found(code: str) -> None:
    assert len(list(stray_limits(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code", ["MAXIMUM = 1", "from zipfian.limits import MAX_K", "def f():\n    most = limits.MAX_K"]
)
def test_what_is_no_stray_limit(code: str) -> None:
    assert list(stray_limits(ast.parse(code))) == []


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def own_names(tree: ast.AST) -> set[str]:
    """What a file defines: functions, classes, attributes of its own objects and fields."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls"):
            names.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def intrusions(tree: ast.AST) -> Iterator[str]:
    """Private attributes and names of another module; a private module of one's own package is no secret."""
    own = own_names(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and private(node.attr) and node.attr not in own | {"_replace", "_asdict"}:
            yield f"{node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("zipfian."):
            folder = PACKAGE.joinpath(*str(node.module).split(".")[1:])
            for alias in node.names:
                if private(alias.name) and not (folder / f"{alias.name}.py").exists():
                    yield f"{node.lineno}: from {node.module} import {alias.name}"


def test_nobody_uses_the_private_parts_of_another_module(trees: dict[Path, ast.Module]) -> None:
    assert [f"{path.name}:{found}" for path, tree in trees.items() for found in intrusions(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "collection._reading()",
        "def f(index):\n    return index._propose(1)",
        "from zipfian.index.segment import _helper",
        "class A:\n    def f(self):\n        return self.other._hidden",
    ],
)
def test_an_intrusion_is_found(code: str) -> None:
    assert len(list(intrusions(ast.parse(code)))) == 1


@pytest.mark.parametrize(
    "code",
    [
        "class A:\n    def __init__(self, other):\n        self._x = other._x",
        "from zipfian.index import _arrays",
        "pair._replace(a=1)",
        "value.__class__",
    ],
)
def test_what_is_no_intrusion(code: str) -> None:
    assert list(intrusions(ast.parse(code))) == []
