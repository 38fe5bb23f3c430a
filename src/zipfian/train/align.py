"""Train two small heads so that a picture and its captions meet: the loop, its measures and its early end.

The encoders stay frozen: what enters are pooled vectors, counted words and visual words, computed once.

>>> heads = train_heads(train, dev, AlignSettings())       # doctest: +SKIP
>>> save_alignment(heads, "my-alignment", words=words, idf=idf)   # doctest: +SKIP
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch
from zipfian.train.align_model import Heads, contrastive
from zipfian.train.align_settings import AlignSettings
from zipfian.train.passes import Epoch, Passes, batches, checked_batch, products, set_rate, update
from zipfian.train.schedule import rate


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
    batch = checked_batch(settings.batch, n)
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
        passes, step = Passes(kept, settings.patience, settings.lr, progress), 0
        for number in range(settings.epochs):
            heads.train()
            losses = []
            for pictures, captions in batches(n, per, batch, generator):
                set_rate(optimizer, rate(step, steps, settings.lr, settings.warmup))
                losses.append(_step(heads, optimizer, train, pictures.to(device), captions.to(device), settings))
                step += 1
                _average(kept, heads, min(settings.averaging, step / (step + 10.0)) if settings.averaging else 0.0)
            passes.measured(number, float(torch.stack(losses).mean()), _temperature(kept), _vectors(kept, dev))
            if passes.over():
                break
    return AlignResult(kept, settings, passes.finish(), passes.history)


def _sizes(data: CaptionedImages) -> dict[str, tuple[int, int]]:
    terms = 0 if data.terms is None else int(data.terms.shape[1])
    return {
        "image": (int(data.pictures.shape[2]), terms),
        "text": (int(data.captions.shape[1]), int(data.words.shape[1])),
    }


def _tensor(part: Any, device: Any) -> Any:
    return (part if isinstance(part, torch.Tensor) else torch.from_numpy(np.ascontiguousarray(part))).to(device)


def _step(
    heads: Heads, optimizer: Any, data: CaptionedImages, pictures: Any, captions: Any, settings: AlignSettings
) -> Any:
    views = int(data.pictures.shape[1])
    view = torch.zeros(len(pictures), dtype=torch.int64, device=pictures.device)
    if views > 1:
        other = torch.randint(1, views, view.shape, device=view.device)
        view = torch.where(torch.rand(view.shape, device=view.device) < settings.whole_share, view, other)
    with products(settings.precision, pictures.device):
        images = heads.image(
            data.pictures[pictures, view].float(), None if data.terms is None else data.terms[pictures].float()
        )
        texts = heads.text(data.captions[captions].float(), data.words[captions].float())
    loss = contrastive(images.float(), texts.float(), heads.scale(), settings.smoothing)
    return update(heads, optimizer, loss)


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
