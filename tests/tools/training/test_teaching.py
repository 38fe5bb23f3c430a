"""Questions cut from paragraphs, what the teacher makes of them, and a vocabulary that learns it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.tools.loading import load

torch = pytest.importorskip("torch", reason="LEFT OUT: torch not installed (extra 'train')")
questions, teacher, pupil, codes, ranking, text_encoder = load(
    *(f"training.{name}" for name in ("questions", "teacher", "pupil", "codes", "ranking", "text_encoder"))
)  # fmt: skip

from zipfian.train.model import TopKSae  # noqa: E402
from zipfian.train.sae import TrainResult  # noqa: E402
from zipfian.train.settings import SaeSettings  # noqa: E402

WORDS = ["a", "##b", "rare", "."] + [f"w{i}" for i in range(1020)]
WIDTH, DIM = 64, 8


def texts(rng: np.random.Generator, count: int = 12, size: int = 30) -> Any:
    rows = [rng.integers(4, 1024, size).astype(np.uint16) for _ in range(count)]
    for row in rows:
        row[9], row[19], row[29] = 1012, 1012, 1012
        row[3] = 1
    return text_encoder.Pieces(np.concatenate(rows), np.arange(0, (count + 1) * size, size))


def vocabulary(seed: int = 0) -> TrainResult:
    torch.manual_seed(seed)
    settings = SaeSettings(width=WIDTH, k=4, seed=seed)
    return TrainResult(TopKSae(DIM, settings, "cpu"), torch.zeros(DIM), 1.0, settings)


def test_questions_are_parts_of_their_paragraph() -> None:
    pieces = texts(np.random.default_rng(0))
    drawn, sources = questions.Questions(pieces, WORDS, seed=1).draw(np.arange(12))
    assert len(sources) == len(drawn.indptr) - 1 == 36
    for number, source in enumerate(sources.tolist()):
        asked = drawn.ids[drawn.indptr[number] : drawn.indptr[number + 1]].tolist()
        text = pieces.ids[pieces.indptr[source] : pieces.indptr[source + 1]].tolist()
        kind = number % 3
        if kind < 2:  # a sentence, a stretch: as they stand in the text
            assert any(text[i : i + len(asked)] == asked for i in range(len(text)))
        if kind == 0:
            assert asked[-1] == 1012 and asked.count(1012) == 1 and len(asked) == 10
        if kind == 1:
            assert asked[0] != 1, "starts inside a word"
        if kind == 2:  # rare words in their order, never punctuation
            places = [text.index(piece) for piece in asked]
            assert places == sorted(places) and 1012 not in asked


def test_the_teachers_legs_are_bm25_and_leave_the_source_out() -> None:
    rng = np.random.default_rng(3)
    pieces = texts(rng)
    every = teacher.piece_codes(pieces, torch.device("cpu"))
    leg = teacher.term_leg(every, every, 1024, 1, None, teacher.WORDS)
    whole = every.pooled(1, 1024)
    expected = whole.pow(1.0) @ ranking.impacts(whole, teacher.WORDS).T
    assert torch.allclose(leg(0, 12), expected, atol=1e-4)
    assert torch.allclose(leg(5, 7), expected[5:7], atol=1e-4)
    sources = torch.arange(12)
    found = teacher.lessons([(1.0, leg)], sources, top=3, far=4, depth=10, seed=0, block=5)
    assert found.candidates.shape == found.scores.shape == (12, 7)
    assert not (found.candidates == sources[:, None]).any()
    others = expected.clone().fill_diagonal_(-1.0)
    best = others.gather(1, found.candidates[:, :1].long())[:, 0]
    assert torch.allclose(best, others.max(dim=1).values)
    assert (found.scores.diff(dim=1) <= 0).all(), "best first"


def school(rng: np.random.Generator) -> tuple[Any, Any]:
    pieces = texts(rng)
    states = torch.from_numpy(rng.normal(size=(len(pieces.ids), DIM)).astype(np.float32))
    return pieces, pupil.Tokens(states, torch.from_numpy(pieces.indptr))


def test_what_the_pupil_derives_is_the_score_of_a_search() -> None:
    pieces, tokens = school(np.random.default_rng(4))
    result = vocabulary()
    teaching = pupil.Teaching(k=3, k_post=20)
    learner = pupil.Pupil(result, teaching)
    every = torch.arange(12)
    learner.count(tokens, every)
    pooled, _ = learner.pooled(*tokens.take(every), 12)
    made = learner.questions(pooled) @ learner.documents(pooled).T
    fired = result.sae.activations(result.normalise(tokens.states), 3)
    whole = codes.by_item(fired, pieces.indptr).pooled(3, WIDTH)
    best = torch.topk(whole, 20, dim=1)
    kept = torch.zeros_like(whole).scatter_(1, best.indices, best.values)
    expected = teaching.scoring.asked(whole) @ ranking.impacts(kept, teaching.scoring).T
    assert torch.allclose(made, expected, rtol=1e-3, atol=1e-3)
    assert torch.equal(tokens.take(torch.tensor([3]))[0], tokens.states[90:120])


@pytest.mark.parametrize(("rate", "gain_rate"), [(0.01, 0.0), (0.0, 0.05)])
def test_lessons_are_learned_by_what_may_move(rate: float, gain_rate: float) -> None:
    _, tokens = school(np.random.default_rng(5))
    sources = torch.arange(12)
    wanted = torch.stack([torch.randperm(12)[torch.randperm(12) != 13] for _ in range(12)])
    candidates = torch.stack([row[row != source][:8] for row, source in zip(wanted, sources, strict=True)])
    lesson = teacher.Lessons(candidates.int(), torch.linspace(3.0, -3.0, 8).expand(12, -1).half())
    settings = pupil.Teaching(
        k=3, k_post=40, steps=60, questions=12, compared=8, rate=rate, gain_rate=gain_rate, own=0.0
    )
    learner = pupil.Pupil(vocabulary(), settings)
    before = learner.encoder.detach().clone()
    said: list[str] = []
    pupil.teach(learner, tokens, tokens, sources, lesson, said.append)
    losses = [float(line.split("teacher ")[1].split(",")[0]) for line in said]
    assert losses[-1] < 0.95 * losses[0]
    assert bool((learner.gains() != 1.0).any()) == bool(gain_rate)
    assert torch.equal(learner.encoder.detach(), before) == (not rate)
    assert torch.equal(learner.taught().sae.encoder, learner.encoder.detach())


def test_a_table_learns_weights_and_no_terms() -> None:
    torch.manual_seed(0)
    terms = torch.stack([torch.randperm(WIDTH)[:4] for _ in range(1024)])
    values = torch.rand(1024, 4)
    values[:, 3] = 0.0
    pieces = texts(np.random.default_rng(6))
    impacts = torch.rand(12, WIDTH)
    asked = (torch.from_numpy(pieces.ids.astype(np.int64)), torch.from_numpy(pieces.indptr))
    candidates = torch.stack([torch.tensor([d for d in range(12) if d != s][:8]) for s in range(12)])
    lesson = teacher.Lessons(candidates.int(), torch.linspace(3.0, -3.0, 8).expand(12, -1).half())
    settings = pupil.TableTeaching(steps=40, questions=12, rate=0.05)
    found = pupil.teach_table(terms, values, impacts, 0.65, asked, torch.arange(12), lesson, settings, compared=8)
    assert (found[:, 3] == 0).all() and (found[:, :3] > 0).all()
    touched = torch.zeros(1024, dtype=torch.bool)
    touched[asked[0]] = True
    assert torch.allclose(found[~touched], values[~touched].clamp(min=1e-4) * (values[~touched] > 0), atol=1e-6)
    assert not torch.allclose(found[touched], values[touched])
