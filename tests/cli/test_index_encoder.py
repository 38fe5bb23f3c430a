"""`zipfian index --encoder` where no model is loaded: options that would do nothing, and a missing extra."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import RED, picture

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return picture(tmp_path / "photos" / "a.png", RED).parent


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_without_torch_the_extra_is_named(zipfian: Command, photos: Path, tmp_path: Path) -> None:
    code, _, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--encoder", "open_clip:MobileCLIP-S1")
    assert code == 1 and "zipfian[hub]" in error and not (tmp_path / "p.zf").exists()


def test_options_that_would_do_nothing(zipfian: Command, photos: Path, tmp_path: Path) -> None:
    code, _, error = zipfian("index", photos, "--into", tmp_path / "p.zf", "--visual-words", tmp_path / "w")
    assert code == 1 and "name it with --encoder" in error
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("A note.")
    code, _, error = zipfian("index", tmp_path / "notes", "--into", tmp_path / "p.zf", "--encoder", "hf:a/b")
    assert code == 1 and "has none" in error
    code, _, error = zipfian("index", "--into", tmp_path / "p.zf", "--add-field", "words", "--encoder", "hf:a/b")
    assert code == 1 and "--encoder is of the pictures of a new collection" in error
