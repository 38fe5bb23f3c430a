"""The wheel as a user gets it: pure Python, typed, with the metadata and extras that the documentation names."""

from __future__ import annotations

import email
import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from email.message import Message
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.encode.conftest import needed
from zipfian._version import __version__

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = {
    "text",
    "image",
    "heic",
    "hub",
    "train",
    "faiss",
    "gpu",
    "documents",
    "eval",
    "parquet",
    "pandas",
    "opensearch",
    "serve",
    "all",
    "dev",
}

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
    files = [p for p in (ROOT / "src").rglob("*") if p.is_file() and p.suffix not in (".pyc", ".nbi", ".nbc")]
    sources = {p.relative_to(ROOT / "src").as_posix() for p in files}
    assert sources <= names  # code, and with it what ships: vocabularies, labels, tables and their cards
    assert "zipfian/py.typed" in names
    for model in ("text-16k", "image-11k", "align-flickr8k"):
        assert {f"zipfian/models/{model}/README.md"} < {n for n in names if n.startswith(f"zipfian/models/{model}/")}
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
    assert {re.split(r"[<>=~ ]", r)[0].lower() for r in base} == {"numpy", "numba", "pystemmer", "py3langid"}


def test_every_dependency_has_a_lower_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = [*project["dependencies"], *(r for extra in extras.values() for r in extra if not r.startswith("zipfian["))]
    assert [r for r in named if ">=" not in r or "<" in r] == []
    (everything,) = extras["all"]
    assert set(everything.removeprefix("zipfian[").removesuffix("]").split(",")) == EXTRAS - {"all", "dev"}


# -- installed in an empty environment, far from the checkout ----------------------------------------------------------


class Elsewhere:
    """An environment with the wheel and nothing of ours beside it, and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.work = folder / "work"
        self.work.mkdir()
        self.bin = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        kept = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
        # a cache of its own: what it compiles goes with it
        self.environment = kept | {"ZIPFIAN_CACHE_DIR": str(folder / "cache"), "PYTHONWARNINGS": "error"}

    def run(self, program: str, *arguments: object) -> str:
        """What a program of the environment prints."""
        done = subprocess.run(
            [str(self.bin / program), *map(str, arguments)],
            cwd=self.work, env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def elsewhere(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Elsewhere:
    made = Elsewhere(tmp_path_factory.mktemp("elsewhere"))
    uv = [sys.executable, "-m", "uv", "--quiet"]
    subprocess.run([*uv, "venv", "--python", sys.executable, str(made.folder / "env")], check=True)
    install = ["pip", "install", "--python", str(made.folder / "env"), "--constraint", str(ROOT / "requirements.lock")]
    asked = f"zipfian[text,image,serve] @ {wheel.as_uri()}"
    done = subprocess.run([*uv, *install, asked], cwd=made.work, capture_output=True, text=True, check=False)
    if "Failed to fetch" in done.stderr or "Network connectivity is disabled" in done.stderr:
        pytest.skip("no package index can be reached, and the cache has not all that the wheel depends on")
    assert done.returncode == 0, done.stderr
    return made


def test_the_installed_package_is_the_wheel(elsewhere: Elsewhere) -> None:
    assert elsewhere.run("zipfian", "--version").split()[-1] == __version__
    where = Path(elsewhere.run("python", "-c", "import zipfian; print(zipfian.__file__)").strip())
    assert where.is_relative_to(elsewhere.folder / "env")
    installed = json.loads(elsewhere.run("python", "-c", _DISTRIBUTIONS))
    assert {"zipfian", "numpy", "numba", "pystemmer", "onnxruntime", "tokenizers", "pillow"} <= set(installed)
    assert not {"torch", "scipy", "pytest", "mkdocs"} & set(installed)


_DISTRIBUTIONS = "import json, importlib.metadata as m; print(json.dumps([d.name.lower() for d in m.distributions()]))"


def test_the_installed_command_shows_the_demo(elsewhere: Elsewhere) -> None:
    model = "all-minilm-l6-v2"
    weights = needed(model, "onnxruntime", "tokenizers", "safetensors")
    elsewhere.run("zipfian", "weights", "get", model, "--from", next(iter(weights.values())).parent)
    shown = json.loads(elsewhere.run("zipfian", "demo", "--quick", "--json", "--into", "demo"))
    assert shown["texts"]["fields"] == ["words", "latent"]
    assert shown["texts"]["check"] is True
    assert shown["texts"]["meaning"]["latent"]["hits"][0]["id"] == "difflib.get_close_matches"


def test_the_installed_command_finds_pictures(elsewhere: Elsewhere) -> None:
    from PIL import Image

    model = "efficientnet-lite2"
    weights = needed(model, "onnxruntime", "PIL", "safetensors")
    elsewhere.run("zipfian", "weights", "get", model, "--from", next(iter(weights.values())).parent)
    (elsewhere.work / "pictures").mkdir()
    for name, colour in (("red", (200, 30, 30)), ("blue", (20, 40, 200))):
        Image.new("RGB", (64, 64), colour).save(elsewhere.work / "pictures" / f"{name}.png")
    elsewhere.run("zipfian", "index", "pictures", "--into", "pictures.zf", "--fields", "visual,dense")
    found = json.loads(elsewhere.run("zipfian", "search", "pictures.zf", "--image", "pictures/red.png", "--json"))
    assert found["hits"][0]["id"] == "red.png"


_NAMED = re.compile(r"""(?:src|href)="(/[^"#?]*)"|(?:from|import)\s*\(?["'](\.{0,2}/[^"']+)["']""")
"""Files that a page or a module of it names."""


def test_the_installed_command_serves_the_page_and_all_it_loads(elsewhere: Elsewhere) -> None:
    (elsewhere.work / "notes.jsonl").write_text('{"id": "a", "text": "Plants make food."}\n')
    elsewhere.run("zipfian", "index", "notes.jsonl", "--into", "served.zf", "--fields", "words")
    command = [str(elsewhere.bin / "zipfian"), "serve", "served.zf", "--port", "0"]
    with subprocess.Popen(
        command, cwd=elsewhere.work, env=elsewhere.environment, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline()
            assert line.startswith("serving served at http://"), line + process.stderr.read()
            base = line.split()[-1]
            waiting, loaded = ["/", "/docs/", "/openapi.json", "/v1/collections"], set[str]()
            while waiting:
                path = waiting.pop()
                if path in loaded:
                    continue
                loaded.add(path)
                with urllib.request.urlopen(urljoin(base, path), timeout=60) as answer:
                    assert answer.status == 200
                    kind, text = answer.headers["content-type"], answer.read().decode("utf-8", "replace")
                if "html" in kind or "javascript" in kind:
                    waiting += [urljoin(path, found[1] or found[2]) for found in _NAMED.finditer(text)]
            assert "/docs/docs.js" in loaded
        finally:
            process.terminate()
