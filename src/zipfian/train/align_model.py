"""The two heads as torch modules, and the loss that pulls a picture and its captions together."""

from __future__ import annotations

import math
from typing import Any

from zipfian.train._torch import torch
from zipfian.train.align_settings import AlignSettings

_F = torch.nn.functional


class Tower(torch.nn.Module):  # type: ignore[misc]
    """linear(x) + narrow(relu(wide(x))) of a standardised dense input beside an embedded sparse one."""

    def __init__(self, dense: int, sparse: int, rank: int, settings: AlignSettings) -> None:
        super().__init__()
        self.rank = rank if sparse else 0
        inputs = dense + self.rank
        self.register_buffer("mean", torch.zeros(dense))
        self.register_buffer("spread", torch.ones(dense))
        self.embed = torch.nn.Parameter(torch.randn(sparse, rank) / math.sqrt(rank)) if self.rank else None
        self.linear = torch.nn.Linear(inputs, settings.dim)
        self.wide = torch.nn.Linear(inputs, settings.hidden)
        self.narrow = torch.nn.Linear(settings.hidden, settings.dim)
        self.dropout, self.inner = settings.dropout, settings.hidden_dropout

    def fit_scale(self, rows: Any) -> None:
        """Mean and spread of the dense input, so that every component starts alike."""
        self.mean.copy_(rows.mean(dim=0))
        self.spread.copy_(rows.std(dim=0).clamp(min=1e-6))

    def forward(self, rows: Any, sparse: Any) -> Any:
        """Vectors of length 1."""
        x = (rows - self.mean) / self.spread
        x = _F.dropout(x, self.dropout, self.training)
        if self.embed is not None:
            # Whole words are dropped, and the embedding is scaled to the size of a standardised input.
            kept = _F.dropout(sparse, self.dropout, self.training)
            x = torch.cat([x, kept @ self.embed * math.sqrt(self.rank)], dim=1)
        inside = _F.dropout(torch.relu(self.wide(x)), self.inner, self.training)
        return _F.normalize(self.linear(x) + self.narrow(inside), dim=1)


class Heads(torch.nn.Module):  # type: ignore[misc]
    """Both towers and the temperature."""

    def __init__(self, sizes: dict[str, tuple[int, int]], settings: AlignSettings) -> None:
        super().__init__()
        self.image = Tower(*sizes["image"], settings.term_rank, settings)
        self.text = Tower(*sizes["text"], settings.word_rank, settings)
        self.log_scale = torch.nn.Parameter(torch.tensor(math.log(1.0 / settings.temperature)))

    def scale(self) -> Any:
        """1 / temperature, never above 100."""
        return self.log_scale.clamp(max=math.log(100.0)).exp()


def contrastive(images: Any, texts: Any, scale: Any, smoothing: float) -> Any:
    """The mean of both directions' cross-entropies: each picture finds its caption and each caption its picture."""
    scores = scale * images @ texts.T
    target = torch.arange(len(scores), device=scores.device)
    return 0.5 * (
        _F.cross_entropy(scores, target, label_smoothing=smoothing)
        + _F.cross_entropy(scores.T, target, label_smoothing=smoothing)
    )
