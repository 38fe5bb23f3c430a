"""Every example runs, offline and in seconds, and prints what it is there to show."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.encode.conftest import needed

ROOT = Path(__file__).resolve().parent.parent
SHOWS = {
    "quickstart": ["1. garden", "[Plants] [make] [food]", "4 documents; light of the sun:"],
    "update_and_delete": ["the merge changed no score: True", "documents: ['river', 'shark']"],
    "filters": ["'published': 'date'", "['a2', 'a5']", "['a3', 'a4']"],
    "explain_a_hit": ["the parts sum to the score: True", "scores above", '{"value": 0.0, "label": "words: BM25'],
    "sparse_vectors": ["10,000 documents in", "many:", "even only:"],
    "tune_bm25": ["best of 12 settings: precision 1.00", "TfIdf", "opened with it: ['medium'"],
    "read_only_process": ["reader: generation 2 -> 2", "writer: committed generation 4", "refused: IndexLocked"],
    "import_an_sae": ["6 terms over vectors of 4", "by words:   []", "by meaning: ['rex']", "The **dog** naps."],
    "search_by_meaning": ["by words:   []", "by meaning: ['router']", "<- modem", "from the table: ['router']"],
    "search_pictures": ["with a picture: ['bricks'] of 3", "of 12 x 12", "with words: ['bricks']"],
}
"""Lines that each example must print."""
NEEDS = {
    "search_by_meaning": ["all-minilm-l6-v2"],
    "search_pictures": ["all-minilm-l6-v2", "efficientnet-lite2"],
}
"""Weights without which an example is left out."""


def test_every_example_is_here() -> None:
    assert {path.stem for path in (ROOT / "examples").glob("*.py")} == set(SHOWS)


@pytest.mark.parametrize("name", SHOWS)
def test_example(name: str, tmp_path: Path) -> None:
    for weights in NEEDS.get(name, []):
        needed(weights, "onnxruntime", "tokenizers", "safetensors", "PIL")
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")],
        capture_output=True, text=True, cwd=tmp_path, env=environment, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for line in SHOWS[name]:
        assert line in done.stdout, done.stdout
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []  # it tidies up after itself
