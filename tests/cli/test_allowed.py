"""Models that were named to make a collection are allowed later; nobody else can name them for the user."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import pytest

from zipfian.cli import _allowed
from zipfian.cli._collection import trusted


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.cli._allowed.root", lambda: tmp_path / "cache")


def test_names_are_kept_once_and_in_order() -> None:
    assert _allowed.names() == []
    _allowed.remember(["open_clip:MobileCLIP-S1", "/words"])
    _allowed.remember(["/words", "two\nlines", "hf:a/b"])
    assert _allowed.names() == ["open_clip:MobileCLIP-S1", "/words", "hf:a/b"]


def test_they_are_added_to_what_is_typed() -> None:
    nothing = argparse.Namespace(trust=None, pictures=None)
    assert trusted(nothing) == {}
    _allowed.remember(["hf:a/b"])
    assert trusted(nothing) == {"trust": ["hf:a/b"]}
    typed = argparse.Namespace(trust=["mine"], pictures=[Path("p")])
    assert trusted(typed) == {"trust": ["mine", "hf:a/b"], "pictures": [Path("p")]}
    assert typed.trust == ["mine"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has access lists instead of modes")
def test_a_file_that_others_can_write_allows_nothing() -> None:
    _allowed.remember(["hf:a/b"])
    _allowed.path().chmod(0o622)
    assert _allowed.names() == []
    _allowed.path().chmod(0o600)
    assert _allowed.names() == ["hf:a/b"]


def test_a_huge_file_allows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    _allowed.remember(["hf:a/b"])
    monkeypatch.setattr(_allowed, "MAX_CONFIG_BYTES", 3)
    assert _allowed.names() == []


def test_a_damaged_file_allows_nothing() -> None:
    _allowed.remember(["hf:a/b"])
    _allowed.path().write_bytes(b"hf:a/b\n\xff\xfe")
    assert _allowed.names() == []
