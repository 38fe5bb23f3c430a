"""A vocabulary that learns from a teacher: its projection and the worth of its terms move, the encoder stays frozen."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.nn import functional as F

from training.ranking import Scoring, heaviest, idf
from training.teacher import Lessons
from zipfian.train.sae import TrainResult
from zipfian.vocabulary.topk import top_k

EPS = 1e-6
USE = Scoring(4.0, 0.7, 0.65)
"""How the package scores latent terms."""


@dataclass(frozen=True)
class Teaching:
    """Settings of one trial."""

    k: int = 3
    k_post: int = 250
    scoring: Scoring = USE
    steps: int = 1_000
    questions: int = 96
    """Of a step."""
    compared: int = 16
    """Paragraphs compared for a question."""
    rate: float = 1e-4
    """Of the projection; 0: it stays."""
    gain_rate: float = 0.0
    """Of the worth of terms in questions; 0: it stays 1."""
    sharpness: float = 1.0
    """Of the teacher's preferences: factor on its z-scores."""
    own: float = 0.1
    """Share of the loss that asks for the paragraph a question came from, among all paragraphs of a step."""
    stay: float = 0.0
    """Share of the loss that asks the decoder to rebuild the tokens: keeps terms what they were."""
    seed: int = 0


class Tokens:
    """Hidden states of texts, by text."""

    def __init__(self, states: torch.Tensor, indptr: torch.Tensor) -> None:
        self.states, self.starts, self.sizes = states, indptr[:-1], indptr.diff()

    def take(self, texts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The states of some texts, and for each the place of its text among those asked for."""
        sizes = self.sizes[texts]
        owner = torch.repeat_interleave(torch.arange(len(texts), device=texts.device), sizes)
        first = torch.repeat_interleave(self.starts[texts] - (sizes.cumsum(0) - sizes), sizes)
        return self.states[first + torch.arange(len(owner), device=texts.device)], owner


class Pupil:
    """The projection of an autoencoder and a factor per term for questions, with BM25 on top that can be derived."""

    def __init__(self, result: TrainResult, teaching: Teaching) -> None:
        self.result, self.teaching = result, teaching
        self.encoder = result.sae.encoder.detach().clone().requires_grad_(teaching.rate > 0)
        self.bias = result.sae.bias.detach().clone().requires_grad_(teaching.rate > 0)
        self.gain = torch.zeros_like(result.sae.bias).requires_grad_(teaching.gain_rate > 0)
        self.width = result.settings.width
        self.worth = torch.ones(self.width, device=self.encoder.device)
        self.length = torch.ones((), device=self.encoder.device)

    def pooled(self, states: torch.Tensor, owner: torch.Tensor, items: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Items x terms, and the reconstruction error of the tokens where that is asked for."""
        x = self.result.normalise(states)
        low = torch.bfloat16 if x.device.type == "cuda" else torch.float32
        k = max(self.teaching.k, self.result.settings.k if self.teaching.stay else 0)
        with torch.no_grad():
            encoder, bias = self.encoder.to(low).T, self.bias.to(low)
            terms = torch.cat(
                [top_k(torch.addmm(bias, part.to(low), encoder), k)[1] for part in x.split(32_768)]
            )  # fmt: skip
        values = (torch.einsum("nd,nkd->nk", x, F.embedding(terms, self.encoder)) + self.bias[terms]).clamp(min=0.0)
        error = torch.zeros((), device=x.device)
        if self.teaching.stay:
            rebuilt = torch.einsum("nk,nkd->nd", values, self.result.sae.decoder[terms])
            error = (rebuilt - x).square().mean()
        values, terms = values[:, : self.teaching.k], terms[:, : self.teaching.k]
        flat = (owner[:, None] * self.width + terms).reshape(-1)
        out = torch.zeros(items * self.width, device=x.device).index_add(0, flat, values.reshape(-1))
        return out.view(items, self.width), error

    def documents(self, pooled: torch.Tensor) -> torch.Tensor:
        """BM25's part of every posting, without idf, of the terms that an index would keep."""
        scoring = self.teaching.scoring
        with torch.no_grad():
            kept = (heaviest(pooled, self.teaching.k_post) > 0).float()
        tf = (pooled + EPS).pow(scoring.power) * kept
        length = tf.sum(dim=1, keepdim=True)
        norm = scoring.k1 * (1.0 - scoring.b + scoring.b * length / self.length)
        return tf * (scoring.k1 + 1.0) / (tf + norm)

    def questions(self, pooled: torch.Tensor) -> torch.Tensor:
        """What the terms of questions weigh, idf and learned worth included."""
        power = self.teaching.scoring.power
        return (pooled + EPS).pow(power) * (pooled > 0) * self.worth * torch.exp(power * self.gain)

    def count(self, tokens: Tokens, texts: torch.Tensor) -> None:
        """Document frequencies and the mean length over a sample of texts."""
        df, lengths = torch.zeros(self.width, device=texts.device), []
        with torch.no_grad():
            for part in texts.split(1_024):
                states, owner = tokens.take(part)
                pooled, _ = self.pooled(states, owner, len(part))
                kept = heaviest(pooled, self.teaching.k_post)
                df += (kept > 0).sum(dim=0)
                lengths.append(kept.pow(self.teaching.scoring.power).sum(dim=1))
        self.worth, self.length = idf(df, len(texts)), torch.cat(lengths).mean()

    def taught(self) -> TrainResult:
        """The autoencoder with its new projection; the worth of terms is apart, in `gains`."""
        self.result.sae.encoder.copy_(self.encoder.detach())
        self.result.sae.bias.copy_(self.bias.detach())
        return self.result

    def gains(self) -> torch.Tensor:
        """Factors on the weights of a question's terms."""
        return self.gain.detach().exp()


def teach(
    pupil: Pupil, documents: Tokens, questions: Tokens, sources: torch.Tensor, lessons: Lessons,
    say: Callable[[str], None],
) -> None:  # fmt: skip
    """Let the pupil's order of the compared paragraphs become the teacher's."""
    settings, device = pupil.teaching, sources.device
    generator = torch.Generator(device=device).manual_seed(settings.seed)
    sharp = torch.zeros((), device=device, requires_grad=True)
    groups = [{"params": [sharp], "lr": 0.01}]
    if settings.rate:
        groups.append({"params": [pupil.encoder, pupil.bias], "lr": settings.rate})
    if settings.gain_rate:
        groups.append({"params": [pupil.gain], "lr": settings.gain_rate})
    for group in groups:
        group["peak"] = group["lr"]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99))
    sample = torch.randperm(len(documents.sizes), generator=generator, device=device)[:16_384]
    pupil.count(documents, sample)
    scale = torch.zeros((), device=device)
    sums = torch.zeros(3, device=device)
    for step in range(settings.steps):
        if step and step % max(1, settings.steps // 4) == 0:
            pupil.count(documents, sample)
        rows = torch.randint(len(sources), (settings.questions,), generator=generator, device=device)
        shown = lessons.candidates.shape[1]
        place = torch.rand(len(rows), shown, generator=generator, device=device).topk(settings.compared, dim=1).indices
        compared = lessons.candidates[rows].gather(1, place).long()
        liked = lessons.scores[rows].gather(1, place).float()
        texts, number = torch.unique(torch.cat([compared.reshape(-1), sources[rows]]), return_inverse=True)
        states, owner = documents.take(texts)
        found, error = pupil.pooled(states, owner, len(texts))
        asked, _ = pupil.pooled(*questions.take(rows), len(rows))
        scores = pupil.questions(asked) @ pupil.documents(found).T
        if step == 0:  # so that preferences of pupil and teacher are of one size from the start
            mine = scores.detach().gather(1, number[: compared.numel()].view(compared.shape))
            scale = 1.0 / mine.std(dim=1).mean().clamp(min=EPS)
        scores = scores * scale * sharp.exp()
        mine = scores.gather(1, number[: compared.numel()].view(compared.shape))
        loss = F.kl_div(
            F.log_softmax(mine, dim=1), F.softmax(settings.sharpness * liked, dim=1), reduction="batchmean"
        )  # fmt: skip
        # Paragraphs that the teacher likes are no wrong answers to the question where they came from.
        mask = torch.zeros_like(scores).scatter_(1, number[: compared.numel()].view(compared.shape), -math.inf)
        origin = F.cross_entropy(scores + mask, number[compared.numel() :])
        whole = loss + settings.own * origin + settings.stay * error
        optimizer.zero_grad()
        whole.backward()
        warm = min(1.0, (step + 1) / (0.05 * settings.steps + 1))
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * warm * 0.5 * (1.0 + math.cos(math.pi * step / settings.steps))
        optimizer.step()
        sums += torch.stack([loss.detach(), origin.detach(), error.detach()])
        if (step + 1) % max(1, settings.steps // 5) == 0:
            mean = (sums / max(1, settings.steps // 5)).tolist()
            sums.zero_()
            say(f"  step {step + 1}: teacher {mean[0]:.4f}, origin {mean[1]:.4f}, rebuilt {mean[2]:.4f}")


@dataclass(frozen=True)
class TableTeaching:
    """Settings of a query table that learns from the teacher."""

    steps: int = 3_000
    questions: int = 512
    rate: float = 0.02
    sharpness: float = 1.0
    own: float = 0.1
    seed: int = 0


def teach_table(
    terms: torch.Tensor, values: torch.Tensor, impacts: torch.Tensor, power: float, texts: tuple[torch.Tensor, ...],
    sources: torch.Tensor, lessons: Lessons, settings: TableTeaching, compared: int = 32,
) -> torch.Tensor:  # fmt: skip
    """Weights of the rows of word pieces, moved until questions made of them rank as the teacher does.

    `impacts`: paragraphs x terms, idf included. `texts`: word pieces of all questions and where each question starts.
    Weights move by factors, so none changes sign and rows that no question touches stay as they are.
    """
    device, width = values.device, impacts.shape[1]
    pieces, indptr = texts
    starts, sizes = indptr[:-1], indptr.diff()
    logs = values.clamp(min=1e-4).log().requires_grad_(True)
    sharp = torch.zeros((), device=device, requires_grad=True)
    groups = [
        {"params": [logs], "lr": settings.rate, "peak": settings.rate},
        {"params": [sharp], "lr": 0.01, "peak": 0.01},
    ]
    optimizer = torch.optim.Adam(groups, betas=(0.9, 0.99))
    generator = torch.Generator(device=device).manual_seed(settings.seed)
    scale = torch.ones((), device=device)
    for step in range(settings.steps):
        rows = torch.randint(len(sources), (settings.questions,), generator=generator, device=device)
        size = sizes[rows]
        owner = torch.repeat_interleave(torch.arange(len(rows), device=device), size)
        first = torch.repeat_interleave(starts[rows] - (size.cumsum(0) - size), size)
        unit = pieces[first + torch.arange(len(owner), device=device)]
        weights = F.embedding(unit, logs).exp().masked_fill(values[unit] <= 0, 0.0)
        flat = (owner[:, None] * width + terms[unit]).reshape(-1)
        made = torch.zeros(len(rows) * width, device=device).index_add(0, flat, weights.reshape(-1)).view(-1, width)
        asked = ((made + EPS).pow(power) * (made > 0)).to(impacts.dtype)
        place = torch.rand(
            len(rows), lessons.candidates.shape[1], generator=generator, device=device
        ).topk(min(compared, lessons.candidates.shape[1]), dim=1).indices  # fmt: skip
        chosen = lessons.candidates[rows].gather(1, place).long()
        liked = lessons.scores[rows].gather(1, place).float()
        mine = torch.einsum("qt,qct->qc", asked, impacts[chosen]).float()
        others = (asked @ impacts[sources[rows]].T).float()
        if step == 0:
            scale = 1.0 / mine.detach().std(dim=1).mean().clamp(min=EPS)
        factor = scale * sharp.exp()
        loss = F.kl_div(
            F.log_softmax(mine * factor, dim=1), F.softmax(settings.sharpness * liked, dim=1), reduction="batchmean"
        )  # fmt: skip
        loss = loss + settings.own * F.cross_entropy(others * factor, torch.arange(len(rows), device=device))
        optimizer.zero_grad()
        loss.backward()
        for group in optimizer.param_groups:
            group["lr"] = group["peak"] * 0.5 * (1.0 + math.cos(math.pi * step / settings.steps))
        optimizer.step()
    return logs.detach().exp().masked_fill(values <= 0, 0.0)
