"""The wheel as a user gets it: pure Python, typed, with the metadata and extras that the documentation names."""

from __future__ import annotations

import email
import importlib.util
import re
import subprocess
import sys
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

import pytest

from zipfian._version import __version__

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {"text", "image", "hub", "train", "faiss", "eval", "parquet", "opensearch", "serve", "all", "dev"}

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed: pip install 'zipfian[dev]'"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(f"zipfian-{__version__}.dist-info/METADATA"))


def test_the_wheel_is_pure_python(wheel: Path) -> None:
    assert wheel.name == f"zipfian-{__version__}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        text = archive.read(f"zipfian-{__version__}.dist-info/WHEEL").decode()
        compiled = [
            n for n in archive.namelist() if n.endswith((".so", ".pyd", ".dylib", ".dll", ".pyc", ".nbi", ".nbc"))
        ]
    assert "Root-Is-Purelib: true" in text
    assert compiled == []


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    assert {n.partition("/")[0] for n in names} == {"zipfian", f"zipfian-{__version__}.dist-info"}
    sources = {p.relative_to(ROOT / "src").as_posix() for p in (ROOT / "src").rglob("*.py")}
    assert sources <= names
    assert "zipfian/py.typed" in names
    assert f"zipfian-{__version__}.dist-info/licenses/LICENSE" in names


def test_the_command_is_installed(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        scripts = archive.read(f"zipfian-{__version__}.dist-info/entry_points.txt").decode()
    assert "zipfian = zipfian.cli:main" in scripts


def test_metadata(metadata: Message) -> None:
    assert metadata["Name"] == "zipfian"
    assert metadata["Version"] == __version__
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["License-Expression"] == "Apache-2.0"
    assert "Typing :: Typed" in (metadata.get_all("Classifier") or [])


def test_extras_and_base_dependencies(metadata: Message) -> None:
    assert set(metadata.get_all("Provides-Extra") or []) == EXTRAS
    base = [r for r in metadata.get_all("Requires-Dist") or [] if "extra ==" not in r]
    assert {re.split(r"[<>=~ ]", r)[0].lower() for r in base} == {"numpy", "numba", "pystemmer"}


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(r for extra in extras.values() for r in extra if not r.startswith("zipfian["))]
    assert [r for r in named if ">=" not in r or "<" in r] == []
    (everything,) = extras["all"]
    assert set(everything.removeprefix("zipfian[").removesuffix("]").split(",")) == EXTRAS - {"all", "dev"}
