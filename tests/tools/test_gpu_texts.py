"""Texts that are carried to a GPU in parts come back whole and in order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import gpu_texts


@pytest.fixture
def sources(tmp_path: Path) -> tuple[Path, Path]:
    corpus, wiki = tmp_path / "corpus.jsonl", tmp_path / "wiki.txt"
    records = [
        {"_id": "a", "title": "RIVERS", "text": "The longest of them"},
        {"_id": "b", "title": "", "text": "A lake"},
    ]
    corpus.write_text("".join(json.dumps(record) + "\n" for record in records))
    ten = "One two three four five six seven eight nine ten."
    wiki.write_text(f"Short. {ten} Too short here. {ten.upper()}\n" + "word " * 80 + "\n" + "word " * 300 + "\n")
    return corpus, wiki


def test_parts_hold_short_and_long_texts_of_both_sources(sources: tuple[Path, Path], tmp_path: Path) -> None:
    corpus, wiki = sources
    gpu_texts.main(["--out", str(tmp_path / "parts"), "--beir", str(corpus), "--paragraphs", str(wiki)])
    ten = "One two three four five six seven eight nine ten."
    assert gpu_texts.read(tmp_path / "parts", "short", 99) == [
        "RIVERS: The longest of them",
        "A lake",
        ten,
        ten.upper(),
    ]
    assert gpu_texts.read(tmp_path / "parts", "short", 1) == ["RIVERS: The longest of them"]
    assert gpu_texts.read(tmp_path / "parts", "long", 99) == [("word " * 80).strip()]


def test_parts_are_small_in_order_and_can_be_read_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_texts, "SLICE", 10)
    texts = [f"text {i} {hash((i, 'x'))} é" for i in range(95)]
    parts = gpu_texts.write(texts, tmp_path, "short", 900)
    assert len(parts) > 3 and all(part.stat().st_size <= 900 for part in parts)
    assert gpu_texts.read(tmp_path, "short", 10**9) == texts
    parts[0].unlink()
    left = gpu_texts.read(tmp_path, "short", 10**9)
    assert left == texts[-len(left) :] and 0 < len(left) < 95


def test_a_folder_without_parts_says_how_they_are_made(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no long-\*\.jsonl\.xz: make them with python -m benchmarks"):
        gpu_texts.read(tmp_path, "long", 1)
