from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.cli import fake
from tests.toys import ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian.cli import main
from zipfian.encode.cache import EncodingCache
from zipfian.fields import Aligned, Dense, Field, Latent, Translated, Visual
from zipfian.fields.named import default_field as real_field

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(params=["in memory", "real"])
def collections(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands are tested twice: on a collection in memory, which shows what they ask for, and on the real one."""
    if request.param == "real":
        if importlib.util.find_spec("zipfian.collection") is None:
            pytest.skip("zipfian.collection is not part of this checkout")
        return
    module = types.ModuleType("zipfian.collection")
    module.Collection = fake.Collection  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "zipfian.collection", module)


@pytest.fixture
def zipfian(capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command; gives its exit code, standard output and standard error."""

    def command(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@dataclass
class Toys:
    """The encoders that stand in for the real ones, and what they were given."""

    text: ToyText
    image: ToyImage


@pytest.fixture
def toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Toys:
    """Field names mean fields of toy encoders; encodings are kept in the test's own folder."""
    made = Toys(ToyText(str(tmp_path)), ToyImage(str(tmp_path)))
    sae = toy_vocabulary(tmp_path / "toy-sae")
    align = toy_alignment(tmp_path / "toy-align", sae)

    def field(name: str, beside: tuple[str, ...] = ()) -> Field:
        if name == "latent":
            return Latent(sae, encoder=made.text)
        if name == "visual":
            return Visual(sae, encoder=made.image)
        if name in ("dense", "dense-text", "dense-image"):
            picture = name == "dense-image" or (name == "dense" and "visual" in beside)
            return Dense(encoder=made.image if picture else made.text)
        if name in ("aligned", "translated"):
            make = Aligned if name == "aligned" else Translated
            return make(model=str(align), text=made.text, image=made.image)
        return real_field(name, beside)

    class OwnCache(EncodingCache):
        def __init__(self, path: Path | None = None, **options: int) -> None:
            super().__init__(path or tmp_path / "encodings", **options)

    monkeypatch.setattr("zipfian.fields.named.default_field", field)
    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)
    return made


def picture(path: Path, *colours: tuple[int, int, int]) -> Path:
    """A picture of vertical stripes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = np.zeros((16, 16, 3), np.uint8)
    for i in range(16):
        pixels[:, i] = colours[i * len(colours) // 16]
    Image.fromarray(pixels).save(path)
    return path


RED, GREEN, BLUE, BLACK = (255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)
