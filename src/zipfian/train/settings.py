"""How a sparse autoencoder is trained, as plain values; the two papers' settings are presets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from zipfian import limits
from zipfian.errors import InvalidInput
from zipfian.train import _checks
from zipfian.train.schedule import rate

Precision = Literal["auto", "float32", "tf32", "bf16"]


@dataclass(frozen=True, slots=True)
class SaeSettings:
    """Top-k autoencoder after Gao et al. (2024).

    Parameters
    ----------
    width
        Terms of the vocabulary.
    k
        Terms that stay active per token while training; inference may use fewer.
    epochs
        Passes over the activations; a fraction is allowed.
    batch
        Tokens per step.
    lr, warmup
        Peak learning rate; share of the steps it is reached in. It falls to 0 along a cosine.
    optimizer, weight_decay
        `adam` or `adamw`.
    l1
        Weight of the mean L1 norm of the activations beside the squared error.
    aux_k, aux_weight, dead_after, aux_rows
        AuxK: terms that were silent for `dead_after` tokens reconstruct what the others left over, the `aux_k`
        strongest of them per token (half the input width when None, 0 turns it off), on `aux_rows` tokens a step.
    centre, scale
        Whether mu is the mean of the activations (else 0) and s makes their mean squared component 1 (else 1).
    decoder
        `kaiming` or `unit`: where the decoder starts. The encoder starts as its transpose.
    unit_norm
        Keep every decoder row at length 1.
    seed
        All randomness comes from it.
    precision
        Of the large products. `auto`: tf32 on CUDA, float32 on a CPU. `bf16` is quicker on a CPU with AVX-512 BF16 or
        AMX, above all where k is large, and slower on others.
    """

    width: int = 16_384
    k: int = 16
    epochs: float = 3.0
    batch: int = 8_192
    lr: float = 1e-3
    warmup: float = 0.05
    optimizer: Literal["adam", "adamw"] = "adam"
    weight_decay: float = 0.0
    l1: float = 0.0
    aux_k: int | None = None
    aux_weight: float = 1.0 / 32.0
    dead_after: int = 1_000_000
    aux_rows: int = 2_048
    centre: bool = True
    scale: bool = True
    decoder: Literal["kaiming", "unit"] = "unit"
    unit_norm: bool = True
    seed: int = 0
    precision: Precision = "auto"

    def __post_init__(self) -> None:
        _checks.training(self)
        _checks.whole("width", self.width, 1, limits.MAX_SAE_TERMS)
        _checks.whole("k", self.k, 1, self.width)
        _checks.whole("batch", self.batch, 1, 2**24)
        _checks.whole("dead_after", self.dead_after, 1, 2**50)
        _checks.whole("aux_rows", self.aux_rows, 1, 2**24)
        if self.aux_k is not None:
            _checks.whole("aux_k", self.aux_k, 0, self.width)
        _checks.real("epochs", self.epochs, 0.0, 1e6, above=True)
        for name in ("l1", "aux_weight"):
            _checks.real(name, getattr(self, name), 0.0, 1e6)
        _checks.choice("optimizer", self.optimizer, ("adam", "adamw"))
        _checks.choice("decoder", self.decoder, ("kaiming", "unit"))
        _checks.choice("precision", self.precision, ("auto", "float32", "tf32", "bf16"))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SaeSettings:
        """What `to_json` wrote."""
        return _checks.from_json(cls, values)

    @classmethod
    def preset(cls, name: str, dim: int, tokens: int | None = None, **changes: Any) -> SaeSettings:
        """The settings of a paper for token vectors of width `dim`, `bm25-v` or `latent-terms`; or `photos`, those of
        the visual words that ship, with as many terms as so many `tokens` can teach."""
        if name == "bm25-v":
            found = cls(
                width=16 * dim, k=16, optimizer="adam", batch=4_096, epochs=5.0, l1=1e-3, warmup=0.0,
                centre=False, scale=False, decoder="kaiming", aux_k=0,
            )  # fmt: skip
        elif name == "latent-terms":
            found = cls(
                width=32_768, k=16, optimizer="adamw", weight_decay=0.01, batch=4_096, epochs=3.0,
                centre=False, scale=False, decoder="kaiming", aux_k=0,
            )  # fmt: skip
        elif name == "photos":
            found = cls._photos(PHOTO_TOKENS if tokens is None else tokens)
        else:
            raise InvalidInput(f"there is no preset {name!r}: choose from {', '.join(PRESETS)}")
        return replace(found, **changes)

    @classmethod
    def _photos(cls, tokens: int) -> SaeSettings:
        """A term for about every hundred patches and eighteen passes, as image-11k had; fewer passes where there are
        many, so that a processor is done in an hour, and small batches where there are few, so that about a thousand
        steps are made all the same."""
        return cls(
            width=min(max(32, _power(tokens // 100)), 8_192), epochs=min(max(3.0, PHOTO_PASSES / max(1, tokens)), 18.0),
            batch=min(max(32, _power(tokens // 64)), 8_192), dead_after=min(max(1, 4 * tokens), 500_000),
        )  # fmt: skip

    def lr_at(self, step: int, steps: int) -> float:
        """Learning rate of a step (from 0) of a training of `steps` steps."""
        return rate(step, steps, self.lr, self.warmup)

    def aux_count(self, dim: int) -> int:
        """Silent terms that AuxK uses per token."""
        return min(self.width, dim // 2) if self.aux_k is None else self.aux_k


def _power(number: int) -> int:
    """The largest power of two that is no larger."""
    return 1 << max(0, number.bit_length() - 1)


PHOTO_TOKENS = 1_350_000
"""Patches that image-11k was trained on."""
PHOTO_PASSES = 4_000_000
"""Patches that go by in all passes together."""
PRESETS = ("bm25-v", "latent-terms", "photos")
