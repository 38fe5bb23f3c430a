"""Train two small heads so that a picture and its captions meet: the loop, its measures and its early end.

The encoders stay frozen: what enters are pooled vectors, counted words and visual words, computed once.

>>> heads = train_heads(train, dev, AlignSettings())       # doctest: +SKIP
>>> save_alignment(heads, "my-alignment", words=words, idf=idf)   # doctest: +SKIP
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch
from zipfian.train.align_model import Heads, contrastive
from zipfian.train.align_settings import AlignSettings

DEPTHS = (1, 5, 10)


@dataclass(frozen=True, slots=True, eq=False)
class CaptionedImages:
    """Features of pictures and of their captions; every picture has equally many captions, in order."""

    pictures: Any
    """(pictures, views, width): pooled vectors; view 0 is the whole picture. (pictures, width) is one view."""
    captions: Any
    """(pictures * captions, width): pooled vectors."""
    words: Any
    """(pictures * captions, words): weights of words, rows of length 1."""
    terms: Any = None
    """(pictures, terms): weights of visual words, rows of length 1."""

    def on(self, device: Any) -> CaptionedImages:
        """The same as tensors on a device, checked."""
        pictures, captions, words = (_tensor(part, device) for part in (self.pictures, self.captions, self.words))
        terms = None if self.terms is None else _tensor(self.terms, device)
        if pictures.ndim == 2:
            pictures = pictures[:, None, :]
        n = len(pictures)
        if pictures.ndim != 3 or captions.ndim != 2 or words.ndim != 2 or n == 0:
            raise InvalidInput("pictures, captions and words must be matrices with at least one row")
        if len(captions) == 0 or len(captions) % n or len(words) != len(captions):
            raise InvalidInput(
                f"{len(captions)} captions and {len(words)} rows of words do not belong to {n} pictures: every picture "
                "needs equally many captions"
            )
        if terms is not None and len(terms) != n:
            raise InvalidInput(f"{len(terms)} rows of visual words for {n} pictures")
        for name, part in (("pictures", pictures), ("captions", captions)):
            if not bool(torch.isfinite(part.float().sum())):
                raise InvalidInput(f"the {name} hold values that are not finite: encode them again")
        return CaptionedImages(pictures, captions, words, terms)


@dataclass(frozen=True, slots=True)
class Epoch:
    """One pass: the mean loss, and on the dev pictures the share found in the first k places, both directions."""

    epoch: int
    loss: float
    temperature: float
    t2i: dict[int, float]
    i2t: dict[int, float]
    seconds: float

    @property
    def score(self) -> float:
        """The mean of all six, which is what early stopping watches."""
        return float(np.mean([*self.t2i.values(), *self.i2t.values()]))


@dataclass(slots=True, eq=False)
class AlignResult:
    """The heads of the best epoch and how the training went."""

    heads: Heads
    settings: AlignSettings
    best: Epoch
    history: list[Epoch] = field(default_factory=list)

    def vectors(self, data: CaptionedImages) -> tuple[Any, Any]:
        """Vectors of pictures (view 0) and captions."""
        device = self.heads.log_scale.device
        return _vectors(self.heads, data.on(device))

    def metrics(self) -> dict[str, Any]:
        """For the settings file."""
        return {"best": asdict(self.best), "epochs": len(self.history), "temperature": _temperature(self.heads)}


def train_heads(
    train: CaptionedImages,
    dev: CaptionedImages,
    settings: AlignSettings,
    *,
    device: str = "cpu",
    progress: Callable[[Epoch], None] | None = None,
) -> AlignResult:
    """Train until the dev score stops rising; the same seed on the same device gives the same heads."""
    train, dev = train.on(device), dev.on(device)
    n, per = len(train.pictures), len(train.captions) // len(train.pictures)
    batch = min(settings.batch, n)
    if batch < 2:
        raise InvalidInput("at least two pictures are needed: each is told apart from the others of its batch")
    with torch.random.fork_rng(devices=[device] if str(device).startswith("cuda") else []):
        torch.manual_seed(settings.seed)
        heads = Heads(_sizes(train), settings).to(device)
        heads.image.fit_scale(train.pictures[:, 0].float())
        heads.text.fit_scale(train.captions.float())
        kept = Heads(_sizes(train), settings).to(device)
        kept.load_state_dict(heads.state_dict())
        optimizer = torch.optim.AdamW(heads.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
        steps = settings.epochs * per * (n // batch)
        generator = torch.Generator().manual_seed(settings.seed)
        result: AlignResult | None = None
        state: dict[str, Any] = {}
        start, step, history = time.perf_counter(), 0, []
        for number in range(settings.epochs):
            heads.train()
            losses = []
            for pictures, captions in batches(n, per, batch, generator):
                for group in optimizer.param_groups:
                    group["lr"] = rate(step, steps, settings.lr, settings.warmup)
                losses.append(_step(heads, optimizer, train, pictures.to(device), captions.to(device), settings))
                step += 1
                _average(kept, heads, min(settings.averaging, step / (step + 10.0)) if settings.averaging else 0.0)
            t2i, i2t = recalls(*_vectors(kept, dev))
            epoch = Epoch(
                number, float(torch.stack(losses).mean()), _temperature(kept), t2i, i2t,
                round(time.perf_counter() - start, 3),
            )  # fmt: skip
            if not math.isfinite(epoch.loss):
                raise InvalidInput(
                    f"the training broke down in epoch {number}: lower the learning rate {settings.lr:g}"
                )
            history.append(epoch)
            if progress is not None:
                progress(epoch)
            if result is None or epoch.score > result.best.score:
                state = {name: value.clone() for name, value in kept.state_dict().items()}
                result = AlignResult(kept, settings, epoch)
            elif number - result.best.epoch >= settings.patience:
                break
    if result is None:
        raise InvalidInput("no epoch was trained")
    kept.load_state_dict(state)
    kept.eval()
    result.history = history
    return result


def recalls(pictures: Any, captions: Any, block: int = 1_024) -> tuple[dict[int, float], dict[int, float]]:
    """Text to image and image to text: the share of queries with a right answer among the first 1, 5 and 10.

    A caption has one right picture; a picture has several right captions, and any of them counts. Ties count against.
    """
    return score_recalls(pictures.float() @ captions.float().T, block)


def score_recalls(scores: Any, block: int = 1_024) -> tuple[dict[int, float], dict[int, float]]:
    """The same from a matrix of scores, pictures x captions."""
    n, per = len(scores), scores.shape[1] // len(scores)
    owner = torch.arange(n, device=scores.device).repeat_interleave(per)
    right = scores[owner, torch.arange(scores.shape[1], device=scores.device)]
    ahead = torch.cat([(part >= own).sum(dim=0) for part, own in _columns(scores, right, block)]) - 1
    own = right.view(n, per)
    best = own.max(dim=1, keepdim=True).values
    above = (scores >= best).sum(dim=1) - (own >= best).sum(dim=1)
    return (
        {k: float((ahead < k).double().mean()) for k in DEPTHS},
        {k: float((above < k).double().mean()) for k in DEPTHS},
    )


def _columns(scores: Any, right: Any, block: int) -> Any:
    for start in range(0, scores.shape[1], block):
        yield scores[:, start : start + block], right[start : start + block]


def _sizes(data: CaptionedImages) -> dict[str, tuple[int, int]]:
    terms = 0 if data.terms is None else int(data.terms.shape[1])
    return {
        "image": (int(data.pictures.shape[2]), terms),
        "text": (int(data.captions.shape[1]), int(data.words.shape[1])),
    }


def _tensor(part: Any, device: Any) -> Any:
    return (part if isinstance(part, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(part))).to(device)


def batches(n: int, per: int, batch: int, generator: Any) -> Any:
    """Every caption once, one per picture at a time, so that no batch holds a second caption of a picture."""
    choice = torch.argsort(torch.rand(n, per, generator=generator), dim=1)
    for turn in range(per):
        order = torch.randperm(n, generator=generator)
        for place in range(n // batch):
            pictures = order[place * batch : (place + 1) * batch]
            yield pictures, pictures * per + choice[pictures, turn]


def _step(
    heads: Heads, optimizer: Any, data: CaptionedImages, pictures: Any, captions: Any, settings: AlignSettings
) -> Any:
    views = int(data.pictures.shape[1])
    view = torch.zeros(len(pictures), dtype=torch.int64, device=pictures.device)
    if views > 1:
        other = torch.randint(1, views, view.shape, device=view.device)
        view = torch.where(torch.rand(view.shape, device=view.device) < settings.whole_share, view, other)
    low = settings.precision == "bf16" or (settings.precision == "auto" and pictures.is_cuda)
    with torch.autocast(pictures.device.type, torch.bfloat16) if low else nullcontext():
        images = heads.image(
            data.pictures[pictures, view].float(), None if data.terms is None else data.terms[pictures].float()
        )
        texts = heads.text(data.captions[captions].float(), data.words[captions].float())
    loss = contrastive(images.float(), texts.float(), heads.scale(), settings.smoothing)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(heads.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def _average(kept: Heads, heads: Heads, decay: float) -> None:
    with torch.no_grad():
        for old, new in zip(kept.parameters(), heads.parameters(), strict=True):
            old.lerp_(new, 1.0 - decay)


def _vectors(heads: Heads, data: CaptionedImages) -> tuple[Any, Any]:
    heads.eval()
    with torch.no_grad():
        images = heads.image(data.pictures[:, 0].float(), None if data.terms is None else data.terms.float())
        texts = torch.cat(
            [
                heads.text(data.captions[start : start + 4_096].float(), data.words[start : start + 4_096].float())
                for start in range(0, len(data.captions), 4_096)
            ]
        )
    return images, texts


def _temperature(heads: Heads) -> float:
    return float(1.0 / heads.scale().detach())


def rate(step: int, steps: int, peak: float, warmup: float) -> float:
    """The learning rate of a step: a straight rise, then half a cosine down to nothing."""
    rise = max(1, round(warmup * steps))
    if step < rise:
        return peak * (step + 1) / rise
    return peak * 0.5 * (1.0 + math.cos(math.pi * (step - rise) / max(1, steps - rise)))
