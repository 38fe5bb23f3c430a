"""What is said before encoders start."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import RED, Toys, picture
from zipfian.cli import _encoding
from zipfian.encode import models
from zipfian.encode.models import Model
from zipfian.fields.named import make_fields
from zipfian.ingest.source import open_source


def test_an_estimate_counts_and_times(tmp_path: Path, toys: Toys, monkeypatch: pytest.MonkeyPatch) -> None:
    for i in range(30):
        (tmp_path / f"{i}.txt").write_text("one two three " * (10 if i else 20_000))
        picture(tmp_path / f"{i}.png", RED)
    (tmp_path / "long.md").write_text("one two three " * 3_000)
    source = open_source(tmp_path)
    survey = source.survey()
    assert (survey.texts, survey.pictures, survey.captions) == (31, 30, 30)
    assert max(map(len, survey.sample)) <= 4_000
    words = 29 * 30 + 60_000 + 9_000
    fields = make_fields(["words", "latent", "dense-text", "visual"])
    pictures = [str(tmp_path / "0.png"), str(tmp_path / "1.png")]
    text, image = _encoding.estimate(fields, survey, pictures)
    assert text.tokens == pytest.approx(words, rel=0.02)
    assert text.nbytes == pytest.approx(words * 200 + 31 * (160 + 64), rel=0.02)
    assert (image.items, image.tokens) == (30, 480)
    assert text.seconds is not None and image.seconds is not None
    assert str(image).startswith("encoding 30 pictures, about 480 patches: about ")
    monkeypatch.setattr(_encoding, "SMALL_PICTURES", 100)
    assert _encoding.estimate(fields, survey, pictures)[1].seconds is None


def test_pictures_that_cannot_be_timed_are_counted_all_the_same(tmp_path: Path, toys: Toys) -> None:
    for i in range(30):
        (tmp_path / f"{i}.png").write_text("no picture")
    survey = open_source(tmp_path).survey()
    (work,) = _encoding.estimate(make_fields(["visual"]), survey, [str(tmp_path / "0.png")])
    assert (work.items, work.seconds) == (30, None)


def test_missing_weights_are_fetched_with_a_word_and_others_not_at_all(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []

    def get(model: Model, **_: object) -> None:
        asked.append(model.name)

    monkeypatch.setattr("zipfian.encode.weights.get", get)
    monkeypatch.setattr(_encoding, "_is_here", lambda model: model is models.MINILM)
    _encoding.fetch_weights(make_fields(["words", "latent", "visual", "dense"]).values())
    assert asked == ["efficientnet-lite2"]
    assert capsys.readouterr().err == "fetching the weights of efficientnet-lite2 once, 23.5 MiB ...\n"
