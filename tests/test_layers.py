"""The rules that keep the code base simple, checked on the sources themselves."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "zipfian"

FLOW: tuple[tuple[str, ...], ...] = (
    ("_version", "errors", "limits"),
    ("deadline", "device"),
    ("recent",),
    ("types", "objects"),
    ("language", "storage"),
    ("compiled",),
    ("encode",),
    ("vocabulary",),
    ("index",),
    ("retrieve",),
    ("fuse",),
    ("rerank",),
    ("explain",),
    ("fields",),
    ("collection",),
    ("engines",),
    ("ingest",),
    ("train",),
    ("evaluate",),
    ("client",),
    ("serve",),
    ("cli",),
    ("__init__", "__main__"),
)
"""Left to right; a stage may import from itself and from its left."""

RANK = {stage: rank for rank, stages in enumerate(FLOW) for stage in stages}

MAX_LINES = 500

SOURCES = sorted(PACKAGE.rglob("*.py"))


def stage_of(path: Path) -> str:
    """The stage that a source file belongs to: its top folder, or its own name beside the folders."""
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imported_stages(tree: ast.AST, path: Path) -> Iterator[tuple[int, str]]:
    """Line and stage of every import from this package, wherever in the file it stands."""
    inside = ("zipfian", *path.relative_to(PACKAGE).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(inside[: len(inside) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            names = [f"{module}.{alias.name}" for alias in node.names] if module == "zipfian" else [module]
        else:
            continue
        for name in names:
            parts = name.split(".")
            if parts[0] == "zipfian":
                # `import zipfian` and `from zipfian import Collection` name the root, which is right of everything.
                yield node.lineno, parts[1] if len(parts) > 1 and parts[1] in RANK else "__init__"


def wrong_imports(tree: ast.AST, path: Path) -> list[str]:
    """Every import of `path` that points to the right."""
    here = stage_of(path)
    return [
        f"{path.name}:{line}: {here} imports {there}, which is to its right"
        for line, there in imported_stages(tree, path)
        if RANK[there] > RANK[here]
    ]


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_bytes(), filename=str(path)) for path in SOURCES}


def test_every_module_has_a_place_in_the_flow() -> None:
    unknown = {stage_of(path) for path in SOURCES} - set(RANK)
    assert not unknown, f"add to FLOW in {Path(__file__).name}: {sorted(unknown)}"


def test_stages_import_only_from_their_left(trees: dict[Path, ast.Module]) -> None:
    assert [line for path, tree in trees.items() for line in wrong_imports(tree, path)] == []


@pytest.mark.parametrize(
    "code",
    [
        "from zipfian.collection import Collection",
        "import zipfian.cli.search",
        "from zipfian import collection",
        "from zipfian import Collection",
        "import zipfian",
        "from .. import cli",
        "from ..cli import main",
        "def f():\n    from zipfian.retrieve import searcher",
    ],
)
def test_an_import_from_the_right_is_found(code: str) -> None:
    assert len(wrong_imports(ast.parse(code), PACKAGE / "index" / "segment.py")) == 1


@pytest.mark.parametrize(
    "code",
    ["from zipfian.errors import InvalidInput", "from . import directory", "from ..types import Terms", "import re"],
)
def test_an_import_from_the_left_is_fine(code: str) -> None:
    assert wrong_imports(ast.parse(code), PACKAGE / "index" / "segment.py") == []


UNSAFE_MODULES = frozenset({"pickle", "_pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"})
UNSAFE_BUILTINS = frozenset({"eval", "exec"})


def test_the_package_needs_nothing_beside_it(trees: dict[Path, ast.Module]) -> None:
    """What lies beside `src/` is not installed: the package must do without it."""
    beside = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"src"}
    found = []
    for path, tree in trees.items():
        for node in ast.walk(tree):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            found += [f"{path.name}:{name}" for name in names if name.partition(".")[0] in beside]
    assert found == []


def unsafe(tree: ast.AST) -> Iterator[str]:
    """Whatever could run code found in data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            yield from (f"{node.lineno}: import {n}" for n in names if n.partition(".")[0] in UNSAFE_MODULES)
        elif isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in UNSAFE_BUILTINS or called.removeprefix("builtins.") in UNSAFE_BUILTINS:
                yield f"{node.lineno}: {called}"
            elif called == "torch.load":
                yield f"{node.lineno}: torch.load"
            for keyword in node.keywords:
                allowed = isinstance(keyword.value, ast.Constant) and keyword.value.value is False
                if keyword.arg == "allow_pickle" and not allowed:
                    yield f"{node.lineno}: {called}(allow_pickle=...)"


def test_no_code_is_loaded_from_data(trees: dict[Path, ast.Module]) -> None:
    assert [f"{path.name}:{problem}" for path, tree in trees.items() for problem in unsafe(tree)] == []


@pytest.mark.parametrize(
    "code",
    [
        "import pickle",
        "from pickle import loads",
        "eval(text)",
        "exec(text)",
        "torch.load(path)",
        "np.load(path, allow_pickle=True)",
        "np.load(path, allow_pickle=flag)",
    ],
)
def test_unsafe_loading_is_found(code: str) -> None:
    assert len(list(unsafe(ast.parse(code)))) == 1


def test_safe_loading_is_fine() -> None:
    assert list(unsafe(ast.parse("np.load(path, allow_pickle=False); re.compile(x); model.eval()"))) == []


def repository_files() -> list[Path]:
    """What is or is about to be tracked; everything but caches where this is not a git checkout."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
        files = [ROOT / name for name in listed.split("\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = [p for p in ROOT.rglob("*") if not any(part.startswith(".venv") for part in p.parts)]
    return [path for path in files if path.is_file() and "__pycache__" not in path.parts]


def test_no_python_file_is_too_long() -> None:
    lengths = {p: p.read_bytes().count(b"\n") for p in repository_files() if p.suffix == ".py"}
    assert {str(p.relative_to(ROOT)): n for p, n in lengths.items() if n > MAX_LINES} == {}


MACHINE_PATH = re.compile(
    rb"(?<![\w.$}~)])/(?:"
    + b"|".join([b"ro" + b"ot", b"wo" + b"rk", b"ho" + b"me/[a-z]", b"Us" + b"ers/[A-Za-z]"])
    + rb")/"
)


def test_no_machine_paths_in_the_repository() -> None:
    found = [str(p.relative_to(ROOT)) for p in repository_files() if MACHINE_PATH.search(p.read_bytes())]
    assert found == []


@pytest.mark.parametrize("name", ["requirements.lock", "requirements-hub.lock"])
def test_the_lock_names_no_package_index(name: str) -> None:
    lock = (ROOT / name).read_text()
    assert not re.search(r"://|index-url|find-links|trusted-host", lock)
    assert "--hash=sha256:" in lock


def loaded_by(code: str) -> set[str]:
    """Top-level modules in memory after running `code` in a new interpreter."""
    script = f"{code}\nimport sys\nprint(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(
        subprocess.run([sys.executable, "-c", script], capture_output=True, check=True, text=True).stdout.split()
    )


@pytest.mark.parametrize(
    "code",
    [
        "import zipfian",
        "import zipfian.cli",
        "from zipfian.cli import build_parser, COMMANDS; build_parser(list(COMMANDS))",
        "from zipfian.index import commit, snapshot",
    ],
)
def test_heavy_packages_load_lazily(code: str) -> None:
    heavy = {"numba", "llvmlite", "torch", "scipy", "sklearn", "onnxruntime"}
    assert loaded_by(code) & heavy == set()
