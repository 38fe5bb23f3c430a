from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.collection.models.conftest import picture
from tests.toys import ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian.encode.cache import EncodingCache
from zipfian.evaluate import build
from zipfian.evaluate.datasets import CaptionSet, Dataset, load_captions
from zipfian.fields import Aligned, Dense, Field, Latent, Translated, Visual, Words

DOCS = {
    "d1": "Plants make food from light.",
    "d2": "Cats sleep most of the day.",
    "d3": "Green plants grow in the garden.",
    "d4": "The garden has a pond with fish.",
    "d5": "Fish eat plants in the pond.",
}
QUERIES = {"q1": "plants and light", "q2": "sleeping cats", "q3": "garden pond", "q4": "fish", "q5": "never judged"}
QRELS = [("q1", "d1", 2), ("q1", "d3", 1), ("q2", "d2", 1), ("q3", "d4", 1), ("q3", "d3", 0), ("q4", "d5", 1)]


def write_beir(folder: Path, qrels: list[tuple[str, str, int]] | None = None) -> Path:
    (folder / "qrels").mkdir(parents=True)
    rows = [json.dumps({"_id": key, "title": "", "text": text}) for key, text in DOCS.items()]
    (folder / "corpus.jsonl").write_text("\n".join(rows))
    (folder / "queries.jsonl").write_text("\n".join(json.dumps({"_id": q, "text": t}) for q, t in QUERIES.items()))
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in (QRELS if qrels is None else qrels))]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    return write_beir(tmp_path / "tiny")


Touch = Callable[..., Path]


@pytest.fixture
def touch() -> Touch:
    """A file that looks like a picture by its name; its bytes tell pictures apart."""

    def make(path: Path, content: str | None = None) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((str(path) if content is None else content).encode())
        return path

    return make


@pytest.fixture
def classes(tmp_path: Path, touch: Touch) -> Path:
    root = tmp_path / "pets"
    for name in ("cat/a.jpg", "cat/b.png", "dog/c.webp", "dog/d.jpg"):
        touch(root / "gallery" / name)
    touch(root / "query" / "cat" / "q.jpg")
    touch(root / "query" / "dog" / "own.jpg", (root / "gallery" / "dog" / "c.webp").read_bytes().decode())
    return root


@pytest.fixture
def captions(tmp_path: Path, touch: Touch) -> tuple[Path, Path]:
    """Our JSONL with 12 test pictures of five captions each, one of another split, and their folder."""
    rows = []
    for i in range(13):
        name = f"p{i:02d}.jpg"
        touch(tmp_path / "images" / name)
        colour = ("red", "blue", "green", "black")[i % 4]
        texts = [f"{colour} thing{i} seen {word}" for word in ("once", "twice", "thrice", "often", "always")]
        rows.append(json.dumps({"image": name, "split": "test" if i < 12 else "dev", "captions": texts}))
    (tmp_path / "captions.jsonl").write_text("\n".join(rows))
    return tmp_path / "captions.jsonl", tmp_path / "images"


COLOURS = {"dog": (255, 0, 0), "cat": (0, 255, 0), "car": (0, 0, 255), "sun": (0, 0, 0), "puppy": (200, 0, 0)}
"""What the toys understand: the direction of each word is that of its colour."""


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CaptionSet:
    """Five pictures of one colour each, five captions that name what the toys see in it."""
    rows = []
    for name, colour in COLOURS.items():
        (tmp_path / "images").mkdir(exist_ok=True)
        picture(tmp_path / "images" / f"{name}.png", colour)
        captions = [f"a {name} {word}" for word in ("here", "there", "again", "outside", "alone")]
        rows.append(json.dumps({"image": f"{name}.png", "split": "test", "captions": captions}))
    (tmp_path / "captions.jsonl").write_text("\n".join(rows))
    sae = toy_vocabulary(tmp_path / "toy-sae")
    align = str(toy_alignment(tmp_path / "toy-align", sae, also=["car", "cat", "puppi", "sun"]))
    text, image = ToyText(), ToyImage()

    def make_fields(names: Sequence[str], dataset: Dataset, encoder: Any = None) -> dict[str, Field]:
        source: Any = "image" if "image" in next(dataset.documents()) else "text"
        across = {"model": align, "text": text, "image": image}
        made: dict[str, Any] = {
            "words": Words, "latent": lambda: Latent(sae, encoder=text),
            "dense": lambda: Dense(encoder=text),
            "aligned": lambda: Aligned(source, **across),
            "translated": lambda: Translated(source, **across),
        }  # fmt: skip
        visual = {"visual": Visual(sae, encoder=image)} if source == "image" and "translated" in names else {}
        return {**visual, **{name: made[name]() for name in names}}

    class OwnCache(EncodingCache):
        def __init__(self) -> None:
            super().__init__(tmp_path / "encodings")

    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)
    monkeypatch.setattr(build, "make_fields", make_fields)
    return load_captions(tmp_path / "captions.jsonl", tmp_path / "images")
