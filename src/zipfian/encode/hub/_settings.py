"""What the encoders of the hub have in common: the model they run, the checks of their settings, numbers from torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from zipfian.encode.hub.model import HubModel
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray

DEFAULT_TOKENS = 512
LEAST_TOKENS = 8

LongTexts = Literal["windows", "cut"]


def model_of(model: str | Path | HubModel, where: dict[str, Any]) -> HubModel:
    """The model that was given, or a new one found with the settings in `where`."""
    if not isinstance(model, HubModel):
        return HubModel(model, **where)
    if where:
        raise InvalidInput(f"{', '.join(sorted(where))}: settings of the HubModel, which was given ready made")
    return model


def checked_tokens(max_tokens: int | None, most: int) -> int:
    """Tokens of one window for a network that takes `most`."""
    chosen = min(DEFAULT_TOKENS, most) if max_tokens is None else max_tokens
    if not LEAST_TOKENS <= chosen <= most:
        raise InvalidInput(f"max_tokens must be {LEAST_TOKENS} to {most} for this model, not {chosen}")
    return chosen


def checked_long_texts(long_texts: LongTexts) -> LongTexts:
    """One of the two ways to treat a text that is too long."""
    if long_texts not in ("windows", "cut"):
        raise InvalidInput(f"long_texts must be 'windows' or 'cut', not {long_texts!r}")
    return long_texts


def checked_overlap(overlap: int, room: int) -> int:
    """Tokens that neighbouring windows with `room` for tokens may share."""
    if not 0 <= overlap <= room // 2:
        raise InvalidInput(f"overlap must be 0 to {room // 2} (half a window), not {overlap}")
    return overlap


def from_one(name: str, value: int) -> int:
    """A count of at least 1."""
    if value < 1:
        raise InvalidInput(f"{name} must be at least 1, not {value}")
    return value


def array(tensor: Any) -> FloatArray:
    """A tensor of any device and precision as float32 numbers here."""
    found: FloatArray = tensor.float().cpu().numpy()
    return found
