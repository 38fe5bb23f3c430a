"""What the extras `text` and `image` bring along: never torch."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
HEAVY = {"torch", "tensorflow", "jax", "transformers", "sentence-transformers", "onnx", "torchvision"}


def required_by(name: str) -> set[str]:
    """What an installed package needs itself, extras left out."""
    try:
        requirements = importlib.metadata.requires(name) or []
    except importlib.metadata.PackageNotFoundError:
        return set()
    return {bare(r) for r in requirements if "extra ==" not in r and "extra==" not in r}


def bare(requirement: str) -> str:
    return re.split(r"[\s<>=!~;\[(]", requirement, maxsplit=1)[0].lower().replace("_", "-")


def test_nothing_that_text_and_image_resolve_to_requires_torch() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    asked = {bare(r) for extra in ("text", "image") for r in extras[extra]}
    for package in asked:
        pytest.importorskip({"pillow": "PIL"}.get(package, package), reason=f"{package} is not installed")
    found: set[str] = set()
    waiting = set(asked)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= required_by(name) - found
    print(f"{len(found)} packages: {', '.join(sorted(found))}")
    assert found & HEAVY == set()


def test_encoding_imports_no_torch_and_importing_imports_nothing(minilm: object) -> None:
    code = (
        "import sys; from zipfian.encode import TextEncoder, ImageEncoder\n"
        "assert not {'onnxruntime', 'tokenizers', 'safetensors', 'PIL'} & set(sys.modules)\n"
        "TextEncoder().encode_documents(['a text'])\n"
        f"assert not {HEAVY!r} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["onnxruntime", "tokenizers", "safetensors"])
def test_a_missing_package_names_the_extra(module: str, minilm: object) -> None:
    code = (
        f"import sys; sys.modules[{module!r}] = None\n"
        "from zipfian.encode import TextEncoder\n"
        "from zipfian.errors import MissingExtra\n"
        "try:\n    TextEncoder().encode_documents(['a text'])\n"
        "except MissingExtra as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'zipfian[text]'" in done.stdout, done.stderr
