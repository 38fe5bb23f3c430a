"""Alignment heads on made-up pictures and captions that share a hidden cause."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from zipfian.errors import InvalidInput
from zipfian.types import Terms
from zipfian.vocabulary.aligned import AlignedHeads, TranslationTable

torch = pytest.importorskip("torch", reason="NO TRAINING TESTS: pip install 'zipfian[train]'")

from zipfian.train.align import AlignResult, CaptionedImages, train_heads  # noqa: E402
from zipfian.train.align_export import save_alignment  # noqa: E402
from zipfian.train.align_settings import AlignSettings  # noqa: E402
from zipfian.train.passes import recalls  # noqa: E402
from zipfian.train.translate import ridge_table  # noqa: E402

WORDS, TERMS, WIDTH = 30, 40, 12
SETTINGS = AlignSettings(
    dim=16, hidden=24, word_rank=8, term_rank=6, batch=32, epochs=12, patience=12, lr=5e-3, averaging=0.9, dropout=0.1
)


def world(pictures: int, seed: int, *, views: int = 1) -> CaptionedImages:
    """Pictures and captions that see the same cause through different random maps."""
    rng, maps = np.random.default_rng(seed), np.random.default_rng(0)
    cause = rng.normal(size=(pictures, 6))
    # Components of very different size, as encoders give them: int8 weights must not suffer from that.
    look = 0.2 + np.tanh(cause @ maps.normal(size=(6, WIDTH))) * np.logspace(-3, 0, WIDTH)
    said = np.repeat(cause, 2, axis=0)
    caption = said @ maps.normal(size=(6, WIDTH)) + 0.1 * rng.normal(size=(2 * pictures, WIDTH))
    words = np.maximum(said @ maps.normal(size=(6, WORDS)) - 1.0, 0)
    terms = np.maximum(cause @ maps.normal(size=(6, TERMS)) - 1.0, 0)
    unit = [part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-9) for part in (words, terms)]
    seen = np.stack([look * (1 + 0.05 * v * rng.normal(size=look.shape)) for v in range(views)], axis=1)
    return CaptionedImages(*(part.astype(np.float32) for part in (seen, caption, *unit)))


@pytest.fixture(scope="module")
def trained() -> AlignResult:
    return train_heads(world(128, 1, views=3), world(40, 2), SETTINGS)


def test_beats_chance_and_says_how_it_went(trained: AlignResult) -> None:
    chance = 1 / 40
    assert trained.best.t2i[1] > 0.5 > 10 * chance
    assert trained.best.i2t[1] > 0.5
    first, last = trained.history[0], trained.history[-1]
    assert last.loss < first.loss
    assert trained.best.score == max(epoch.score for epoch in trained.history)
    assert trained.metrics()["best"]["epoch"] == trained.best.epoch


def test_vectors_are_those_of_the_best_epoch(trained: AlignResult) -> None:
    pictures, captions = trained.vectors(world(40, 2))
    assert recalls(pictures, captions) == (trained.best.t2i, trained.best.i2t)
    assert np.allclose(np.linalg.norm(pictures.numpy(), axis=1), 1, atol=1e-5)


def test_the_same_seed_gives_the_same_heads_and_another_does_not() -> None:
    settings = replace(SETTINGS, epochs=2)
    before = torch.random.get_rng_state()
    runs = [train_heads(world(64, 1), world(20, 2), replace(settings, seed=seed)) for seed in (3, 3, 4)]
    states = [run.heads.state_dict() for run in runs]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert not torch.equal(states[0]["image.linear.weight"], states[2]["image.linear.weight"])
    assert torch.equal(before, torch.random.get_rng_state())


def test_stops_early_when_nothing_gets_better() -> None:
    result = train_heads(world(64, 1), world(20, 2), replace(SETTINGS, lr=1e-12, epochs=30, patience=2, averaging=0.0))
    assert len(result.history) <= 4


def test_recalls_by_hand() -> None:
    pictures = torch.eye(3)
    captions = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1], [1.0, 0, 0]])
    t2i, i2t = recalls(pictures, captions)
    assert t2i[1] == pytest.approx(4 / 6)
    assert i2t[1] == pytest.approx(1 / 3)
    assert t2i[5] == i2t[5] == 1.0


def test_saved_heads_say_the_same_within_int8(trained: AlignResult, tmp_path: Path) -> None:
    dev = world(40, 2)
    idf, term_idf = np.ones(WORDS, np.float32), np.ones(TERMS, np.float32)
    words = [f"w{i}" for i in range(WORDS)]
    save_alignment([trained, trained], tmp_path, words=words, idf=idf, term_idf=term_idf, info={"name": "toy"})
    heads = AlignedHeads.load(tmp_path)
    assert heads.dim == 32
    assert heads.uses_terms
    pictures, captions = (part.numpy() for part in trained.vectors(dev))
    for i in range(5):
        row = dev.terms[i]
        ids = np.flatnonzero(row).astype(np.int32)
        # The runtime takes square roots and scales to length 1: squares undo the first, the rows had length 1 before.
        found = heads.image_vector(dev.pictures[i, 0], Terms(ids, row[ids] ** 2))
        assert np.linalg.norm(found) == pytest.approx(1, abs=1e-5)
        assert np.tile(pictures[i], 2) @ found / np.sqrt(2) > 0.999
    head = heads.text[1]
    for i in range(5):
        named = np.flatnonzero(dev.words[i])
        assert head(dev.captions[i], named, dev.words[i][named], "text") @ captions[i] > 0.999


def test_ridge_finds_what_a_word_adds(tmp_path: Path, trained: AlignResult) -> None:
    rng = np.random.default_rng(0)
    words = (rng.random((400, WORDS)) < 0.2).astype(np.float32)
    truth = np.zeros((WORDS, TERMS), np.float32)
    truth[np.arange(WORDS), np.arange(WORDS) % TERMS] = 2.0
    impacts = words @ truth + 0.1 * rng.random((400, TERMS)).astype(np.float32)
    terms, weights = ridge_table(words, impacts, strength=0.1, keep=4)
    assert (terms[:, 0] == np.arange(WORDS)).all()
    assert np.allclose(weights[:, 0], 2.0, atol=0.1)
    assert (np.diff(weights, axis=1) <= 0).all()
    assert (weights >= 0).all()
    save_alignment(
        [trained], tmp_path, words=[f"w{i}" for i in range(WORDS)], idf=np.ones(WORDS, np.float32),
        term_idf=np.ones(TERMS, np.float32), table=(terms, weights),
    )  # fmt: skip
    table = TranslationTable.load(tmp_path)
    assert int(table.row("w7").ids[table.row("w7").weights.argmax()]) == 7


@pytest.mark.parametrize(
    "change",
    [
        {"captions": np.zeros((5, WIDTH), np.float32)},
        {"words": np.zeros((3, WORDS), np.float32)},
        {"terms": np.zeros((3, TERMS), np.float32)},
        {"pictures": np.full((20, WIDTH), np.nan, np.float32)},
    ],
)
def test_data_that_does_not_fit(change: dict[str, np.ndarray]) -> None:
    with pytest.raises(InvalidInput):
        train_heads(replace(world(20, 1), **change), world(20, 2), SETTINGS)


def test_settings_are_checked_and_survive_json() -> None:
    assert AlignSettings.from_json(SETTINGS.to_json()) == SETTINGS
    for wrong in ({"lr": 0.0}, {"dropout": 1.5}, {"dim": 0}, {"precision": "int4"}):
        with pytest.raises(InvalidInput):
            replace(SETTINGS, **wrong)
    with pytest.raises(InvalidInput):
        AlignSettings.from_json({"width": 3})
    with pytest.raises(InvalidInput):
        ridge_table(np.ones((3, 2)), np.ones((4, 2)), strength=1.0, keep=1)
