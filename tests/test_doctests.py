"""Every example in a docstring gives what it says it gives."""

from __future__ import annotations

import doctest
import importlib
import tempfile
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "zipfian"


def modules() -> list[str]:
    """Modules with examples; those of training need torch, and their examples are for reading only."""
    found = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]
    dotted = [".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts) for path in found]
    return [name.removesuffix(".__init__") for name in dotted if not name.startswith("zipfian.train.")]


@pytest.mark.parametrize("name", modules())
def test_the_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # what an example makes goes with the test
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.failed == 0, "see above for what came out"
