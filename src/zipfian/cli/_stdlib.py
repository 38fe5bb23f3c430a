"""The documentation of Python's own standard library, read from its sources: real text that every machine has.

The sources are parsed, never run. Every public module, class, function and method with a docstring is one document,
and so is every topic of the language reference that `help()` carries.
"""

from __future__ import annotations

import ast
import sysconfig
import warnings
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput

LEFT_OUT = frozenset(
    {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "__pycache__", "ensurepip"}
)
"""Folders that are not part of the library that people program with."""

TOPICS = "pydoc_data.topics"
"""A module that is one large dictionary: topic to text."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def stdlib_folder() -> Path:
    """Where this Python keeps the sources of its standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    if not (folder / "os.py").is_file():
        raise InvalidInput(
            f"this Python has no standard library sources in {folder}; index a folder of your own instead"
        )
    return folder


def stdlib_modules(folder: Path) -> Iterator[tuple[str, Path]]:
    """Dotted name and file of each public module, in order of name."""
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        if LEFT_OUT & set(parts) or any("-" in part for part in parts):
            continue
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts and not any(part.startswith("_") for part in parts):
            yield ".".join(parts), path


def stdlib_documents(folder: Path, modules: Container[str] | None = None) -> Iterator[dict[str, Any]]:
    """One document for each documented public name, with its kind and module as metadata.

    `modules` names the top-level modules to read; None: all of them.
    """
    seen: set[str] = set()
    for module, path in stdlib_modules(folder):
        if modules is not None and module.partition(".")[0] not in modules:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # old escapes in somebody else's sources
                tree = ast.parse(path.read_bytes(), filename=str(path))
        except (SyntaxError, ValueError):
            continue  # samples of broken code are part of some installations
        for name, kind, text in _documented(tree, module):
            if name not in seen:
                seen.add(name)
                yield {"id": name, "text": text, "metadata": {"kind": kind, "module": module.partition(".")[0]}}


def _documented(tree: ast.Module, module: str) -> Iterator[tuple[str, str, str]]:
    if text := ast.get_docstring(tree):
        yield module, "module", f"{module}\n\n{text}"
    if module == TOPICS:
        yield from _topics(tree)
        return
    for node in _definitions(tree):
        name = f"{module}.{node.name}"
        if text := ast.get_docstring(node):
            yield name, "class" if isinstance(node, ast.ClassDef) else "function", f"{_headline(node, name)}\n\n{text}"
        if isinstance(node, ast.ClassDef):
            for method in _definitions(node):
                if not isinstance(method, ast.ClassDef) and (text := ast.get_docstring(method)):
                    full = f"{name}.{method.name}"
                    yield full, "method", f"{_headline(method, full)}\n\n{text}"


def _topics(tree: ast.Module) -> Iterator[tuple[str, str, str]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict):
            for name, text in ast.literal_eval(node.value).items():
                yield f"topic:{name}", "topic", text


def _definitions(parent: ast.Module | ast.ClassDef) -> Iterator[Definition]:
    for node in parent.body:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node


def _headline(node: Definition, name: str) -> str:
    """The name with its arguments, the way documentation shows it."""
    if isinstance(node, ast.ClassDef):
        return name
    return f"{name}({ast.unparse(node.args)})"
