"""Settings of a training of alignment heads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from zipfian.train import _checks


@dataclass(frozen=True, slots=True)
class AlignSettings:
    """How two heads are trained.

    Parameters
    ----------
    dim, hidden
        Width of the common space and of the hidden layer of each head.
    word_rank, term_rank
        Width that words and visual words are embedded in; 0 leaves them out.
    batch
        Pictures per step, each with one of its captions.
    epochs, patience
        Passes over all captions, and how many without a better dev score end the training.
    dropout, hidden_dropout
        Share of inputs and of hidden units left out.
    temperature
        Where the learnt temperature starts.
    smoothing
        Label smoothing.
    averaging
        Decay per step of the running mean of weights that is kept; 0 keeps the last weights.
    whole_share
        How often a picture shows itself whole where there are other views of it.
    """

    dim: int = 512
    hidden: int = 512
    word_rank: int = 384
    term_rank: int = 0
    batch: int = 1_024
    epochs: int = 60
    patience: int = 15
    lr: float = 1e-3
    warmup: float = 0.05
    weight_decay: float = 0.05
    dropout: float = 0.2
    hidden_dropout: float = 0.2
    temperature: float = 0.07
    smoothing: float = 0.0
    averaging: float = 0.99
    whole_share: float = 0.4
    seed: int = 0
    precision: str = "auto"
    """`auto`: bf16 products on CUDA, float32 on a CPU."""

    def __post_init__(self) -> None:
        _checks.contrastive(self)
        for name in ("dim", "hidden"):
            _checks.whole(name, getattr(self, name), 1, 2**24)
        for name in ("word_rank", "term_rank"):
            _checks.whole(name, getattr(self, name), 0, 2**16)
        _checks.real("temperature", self.temperature, 0.0, 1e3, above=True)  # heads have none of their own
        for name in ("dropout", "hidden_dropout", "averaging", "whole_share"):
            _checks.real(name, getattr(self, name), 0.0, 1.0)

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> AlignSettings:
        """What `to_json` wrote."""
        return _checks.from_json(cls, values)
