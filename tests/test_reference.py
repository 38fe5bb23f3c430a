"""Every public name says what goes in, what comes out, what can go wrong, and shows it in an example that runs.

Docstrings are read with the parser that makes the reference on the documentation site, so what passes here is shown
there. Public names are those of `zipfian.__all__` and of the stages' `__all__`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import griffe
import pytest

from tests.tools.loading import load

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "zipfian"

NO_EXAMPLE = {
    "zipfian.collection.FieldHit": "made by a search; the example of Hit shows it",
    "zipfian.rerank.KChoice": "made by AdaptiveK; the example of AdaptiveK shows it",
}
"""Dataclasses without behaviour that another name's example shows."""


@cache
def package() -> griffe.Module:
    """The sources, parsed and not run."""
    found = griffe.load("zipfian", search_paths=[str(ROOT / "src")], docstring_parser="numpy")
    assert isinstance(found, griffe.Module)
    return found


def public() -> list[str]:
    """Dotted names, each once."""
    (site,) = load("docs_site")
    return [f"{module}.{name}" for module, names in site.public_names().items() for name in names]


def look_up(name: str) -> griffe.Object:
    found = package()[name.removeprefix("zipfian.")]
    return found.final_target if isinstance(found, griffe.Alias) else found


def sections(item: griffe.Object) -> dict[str, list[str]]:
    """Kinds of sections in a docstring, and the names that each lists."""
    out: dict[str, list[str]] = {}
    for section in item.docstring.parsed if item.docstring else []:
        names = [str(getattr(entry, "name", "") or getattr(entry, "annotation", "")) for entry in _entries(section)]
        out.setdefault(section.kind.value, []).extend(names)
    return out


def _entries(section: griffe.DocstringSection) -> list[object]:
    return list(section.value) if isinstance(section.value, list) else []


def parameters(function: griffe.Function) -> list[str]:
    """What a caller passes, as a docstring writes it."""
    return [p.name for p in function.parameters if p.name not in ("self", "cls")]


def raises(function: griffe.Function) -> bool:
    """Whether an error starts right here."""
    tree = ast.parse(textwrap.dedent(function.source))
    return any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree))


def members(item: griffe.Class) -> Iterator[griffe.Function]:
    """Public methods written in the class itself."""
    for name, member in item.members.items():
        if isinstance(member, griffe.Function) and not name.startswith("_"):
            yield member


def problems(name: str, item: griffe.Object) -> Iterator[str]:
    """What the docstring of a public name lacks."""
    if item.docstring is None:
        yield "no docstring"
        return
    if isinstance(item, griffe.Function):
        yield from _of_function(item)
    elif isinstance(item, griffe.Class):
        yield from _of_class(item)
    if (
        isinstance(item, griffe.Function | griffe.Class)
        and name not in NO_EXAMPLE
        and ">>> " not in item.docstring.value
    ):
        yield "no example"


def _of_function(item: griffe.Function) -> Iterator[str]:
    has = sections(item)
    for parameter in parameters(item):
        if parameter not in [n.lstrip("*") for n in has.get("parameters", [])]:
            yield f"parameter {parameter} is not under Parameters"
    if str(item.returns) != "None" and "returns" not in has:
        yield "no Returns"
    if raises(item) and "raises" not in has:
        yield "no Raises"


def _of_class(item: griffe.Class) -> Iterator[str]:
    has = sections(item)
    named = [*has.get("parameters", []), *has.get("attributes", [])]
    makes = [item.members[n] for n in ("__init__", "__post_init__", "__new__") if n in item.members]
    for parameter in _made_with(item):
        if parameter not in named:
            yield f"{parameter} is not under Parameters"
    if any(isinstance(m, griffe.Function) and raises(m) for m in makes) and "raises" not in has:
        yield "no Raises"
    for method in members(item):
        if method.docstring is None and _described_above(item, method.name):
            continue  # `help` shows what the class it derives from says
        yield from (f"{method.name}: {problem}" for problem in _of_method(method))


def _described_above(item: griffe.Class, name: str) -> bool:
    """Whether a class that this one derives from describes the method of that name."""
    inherited = (base.members.get(name) for base in item.mro())
    return any(isinstance(m, griffe.Function) and m.docstring is not None for m in inherited)


def _made_with(item: griffe.Class) -> list[str]:
    """What an object is made with, less what a docstring below a field or a sentence on `__init__` explains."""
    if "dataclass" in item.labels or "NamedTuple" in [str(base) for base in item.bases]:
        fields = [m for m in item.members.values() if isinstance(m, griffe.Attribute) and m.annotation is not None]
        plain = [m for m in fields if m.docstring is None and "instance-attribute" in m.labels]
        return [m.name for m in plain if not m.name.startswith("_")]
    init = item.members.get("__init__")
    return parameters(init) if isinstance(init, griffe.Function) and init.docstring is None else []


def _of_method(item: griffe.Function) -> Iterator[str]:
    """A method may say it in a sentence that names every parameter, or points to where they are explained."""
    if item.docstring is None:
        yield "no docstring"
        return
    if re.search(r"\barguments( are)? as for `\w+`", item.docstring.value):
        return
    listed = [n.lstrip("*") for n in sections(item).get("parameters", [])]
    for parameter in parameters(item):
        if parameter not in listed and not re.search(rf"\b{parameter}\b", item.docstring.value):
            yield f"parameter {parameter} is not named"


@pytest.mark.parametrize("name", public())
def test_a_public_name_is_documented(name: str) -> None:
    assert list(problems(name, look_up(name))) == []


def test_what_needs_no_example_does_nothing() -> None:
    for name in NO_EXAMPLE:
        item = look_up(name)
        assert isinstance(item, griffe.Class) and "dataclass" in item.labels, name
        assert {method.name for method in members(item)} <= {"to_json"}, name


GOOD = '''
def twice(x: int) -> int:
    """Double it.

    Parameters
    ----------
    x
        Any number.

    Returns
    -------
    int
        Two of it.

    Raises
    ------
    ValueError
        It is negative.

    Examples
    --------
    >>> twice(2)
    4
    """
    if x < 0:
        raise ValueError(x)
    return 2 * x
'''

CLASS = '''
from dataclasses import dataclass

@dataclass
class Point:
    """A place.

    Examples
    --------
    >>> Point(1).x
    1
    """

    x: int
    """How far to the right."""

    def moved(self, by: int) -> "Point":
        """Elsewhere: `by` so far to the right."""
        return Point(self.x + by)
'''


def visited(code: str, name: str) -> list[str]:
    with griffe.temporary_visited_package("m", {"__init__.py": code}, docstring_parser="numpy") as module:
        found = module[name]
        assert isinstance(found, griffe.Object)
        return list(problems(f"m.{name}", found))


def test_good_docstrings_pass() -> None:
    assert visited(GOOD, "twice") == []
    assert visited(CLASS, "Point") == []


@pytest.mark.parametrize(
    ("gone", "problem"),
    [
        ("    Parameters\n    ----------\n    x\n        Any number.\n", "parameter x is not under Parameters"),
        ("    Returns\n    -------\n    int\n        Two of it.\n", "no Returns"),
        ("    Raises\n    ------\n    ValueError\n        It is negative.\n", "no Raises"),
        ("    >>> twice(2)\n    4\n", "no example"),
    ],
)
def test_what_a_function_lacks_is_found(gone: str, problem: str) -> None:
    assert gone in GOOD
    assert visited(GOOD.replace(gone, ""), "twice") == [problem]


@pytest.mark.parametrize(
    ("gone", "problem"),
    [
        ('    """How far to the right."""\n', "x is not under Parameters"),
        ("`by` ", "moved: parameter by is not named"),
        ('        """Elsewhere: `by` so far to the right."""\n', "moved: no docstring"),
        ("    >>> Point(1).x\n    1\n", "no example"),
    ],
)
def test_what_a_class_lacks_is_found(gone: str, problem: str) -> None:
    assert gone in CLASS
    assert visited(CLASS.replace(gone, ""), "Point") == [problem]
