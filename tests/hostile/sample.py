"""The honest collection that forgeries start from: every kind of field, made with toy encoders, in a few kilobytes."""

from __future__ import annotations

import functools
import json
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from tests import toys
from tests.toys import toy_alignment, toy_vocabulary
from zipfian.collection import Collection
from zipfian.fields import Aligned, Dense, Field, Latent, Scalar, Sparse, Translated, Visual, Words
from zipfian.types import Encoded, Terms
from zipfian.vocabulary.scalar import ScalarVocabulary

TEXTS = {
    "a": "A puppy sleeps in the sun, and the sun is warm.",
    "b": "The automobile is red like the evening light.",
    "c": "My kitten likes light and the red car.",
    "d": "A hound and a puppy run after the red automobile.",
}
COLOURS = {"a": (250, 10, 10), "b": (10, 250, 10), "c": (10, 10, 250)}
QUERY = "the red puppy in the sun"
FIELDS = ("words", "codes", "latent", "dense", "scalar", "visual", "aligned", "translated")


class ToyText(toys.ToyText):
    """As 0.1.0 wants an encoder, too: the same attacks are tried on it."""

    def stream_documents(self, items: Iterable[str]) -> Iterator[Encoded]:
        return iter(self.encode_documents(list(items)))


class ToyImage(toys.ToyImage):
    """Likewise."""

    def stream_documents(self, items: Iterable[Any]) -> Iterator[Encoded]:
        return iter(self.encode_documents(list(items)))


class Sample:
    """The collection, the models it was made with, and what a search of each field gives."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.text, self.image = ToyText("hostile"), ToyImage("hostile")
        self.vocabulary = toy_vocabulary(root / "toy-sae")
        self.alignment = toy_alignment(root / "toy-align", self.vocabulary)
        vectors = [e.pooled for e in self.text.encode_documents(list(TEXTS.values()))]
        self.scalar = root / "toy-scalar"
        ScalarVocabulary.fit(vectors, seed=1, source=self.text.fingerprint).save(self.scalar)
        self.pictures = {name: picture(root / f"{name}.png", colour) for name, colour in COLOURS.items()}
        self.collection = root / "sample.zf"
        self._build()

    def fields(self) -> dict[str, Field]:
        """One field of every kind that needs no torch."""
        return {
            "words": Words(),
            "codes": Sparse(32),
            "latent": Latent(self.vocabulary, encoder=self.text),
            "dense": Dense(encoder=self.text),
            "scalar": Scalar(self.scalar, encoder=self.text),
            "visual": Visual(self.vocabulary, encoder=self.image),
            "aligned": Aligned(model=str(self.alignment), text=self.text, image=self.image),
            "translated": Translated(model=str(self.alignment), text=self.text, image=self.image),
        }

    def _build(self) -> None:
        with Collection.create(self.collection, self.fields(), encodings=False) as made:
            for n, (name, text) in enumerate(TEXTS.items()):
                document: dict[str, Any] = {"id": name, "text": text, "metadata": {"year": 2000 + n}}
                document["terms"] = {"codes": Terms(np.array([n, 9], np.int32), np.array([1.5, 2.0], np.float32))}
                if name in self.pictures:
                    document["image"] = self.pictures[name].read_bytes()
                made.add([document])
            made.commit()

    def manifest(self) -> dict[str, Any]:
        """The newest one, as JSON values."""
        found: dict[str, Any] = json.loads(max(self.collection.glob("manifest-*.json")).read_bytes())
        return found


def picture(path: Path, colour: tuple[int, int, int]) -> Path:
    """A small PNG of one colour with a dark corner."""
    pixels = np.full((8, 8, 3), colour, np.uint8)
    pixels[:2, :2] = 0
    Image.fromarray(pixels).save(path)
    return path


@functools.cache
def sample() -> Sample:
    """Made once in a process, and searched, so that compiling and loading are no part of a case."""
    made = Sample(Path(tempfile.mkdtemp(prefix="sample-")))
    with Collection.open(made.collection, encodings=False) as found:
        for field in FIELDS:
            ask(found, field)
        found.explain(None, "a", image=made.pictures["a"].read_bytes(), fields="visual")
        found.search(QUERY, method="late")
    return made


def ask(collection: Any, field: str) -> Any:
    """The search that suits a field of the sample, whatever its settings have become."""
    known = collection.fields[field]
    if known.takes == "terms":
        return collection.search({0: 1.0, 9: 1.0}, fields=field, k=4)
    if known.takes == "image":
        return collection.search(image=np.full((8, 8, 3), 200, np.uint8), fields=field, k=4)
    return collection.search(QUERY, fields=field, k=4)
