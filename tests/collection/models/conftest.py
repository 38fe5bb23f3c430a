"""Small collections whose fields have real vocabularies and toy encoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zipfian as zf
from tests.toys import ToyImage, ToyText, toy_vocabulary
from zipfian.fields import Dense, Field, Latent, Visual, Words

TEXTS = {"a": "A puppy sleeps in the sun.", "b": "The automobile is red.", "c": "My kitten likes light."}


@pytest.fixture
def text() -> ToyText:
    return ToyText()


@pytest.fixture
def image() -> ToyImage:
    return ToyImage()


@pytest.fixture
def sae(tmp_path: Path) -> Path:
    return toy_vocabulary(tmp_path / "toy-sae")


def picture(path: Path, *colours: tuple[int, int, int]) -> Path:
    """Vertical stripes of the given colours."""
    pixels = np.zeros((8, 8, 3), np.uint8)
    for i in range(8):
        pixels[:, i] = colours[i * len(colours) // 8]
    Image.fromarray(pixels).save(path)
    return path


def fields(sae: Path, encoder: Any) -> dict[str, Field]:
    make = Latent if encoder.kind == "text" else Visual
    name = "latent" if encoder.kind == "text" else "visual"
    words = {"words": Words()} if encoder.kind == "text" else {}
    return {**words, name: make(sae, encoder=encoder), "dense": Dense(encoder=encoder)}


@pytest.fixture
def notes(tmp_path: Path, text: ToyText, sae: Path) -> zf.Collection:
    made = zf.Collection.create(tmp_path / "notes.zf", fields(sae, text), encodings=False)
    made.add({"id": i, "text": t} for i, t in TEXTS.items())
    made.commit()
    return made


def check_sums(tree: zf.Explanation) -> None:
    if tree.parts:
        total = 0.0
        for part in tree.parts:
            total += part.value
            check_sums(part)
        assert total == tree.value
