"""Checks that the settings of every training share, how settings come back from JSON, and what is too old to go on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from zipfian.errors import FormatTooOld, InvalidInput

T = TypeVar("T")


def whole(name: str, value: object, low: int, high: int) -> None:
    """A whole number from `low` to `high`."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise InvalidInput(f"{name} must be a whole number between {low:,} and {high:,}, not {value!r}")


def real(name: str, value: object, low: float, high: float, *, above: bool = False) -> None:
    """A number from `low` to `high`; with `above`, `low` itself is not one."""
    good = not isinstance(value, bool) and isinstance(value, (int, float)) and low <= value <= high
    if not good or (above and value == low):
        raise InvalidInput(f"{name} must be a number {'above' if above else 'from'} {low:g} to {high:g}, not {value!r}")


def choice(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """One of some words."""
    if value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(allowed)}, not {value!r}")


def training(settings: Any) -> None:
    """What every training has: its rate, how the rate rises, and its seed."""
    whole("seed", settings.seed, 0, 2**62)
    real("lr", settings.lr, 0.0, 1e3, above=True)
    real("warmup", settings.warmup, 0.0, 1.0)
    real("weight_decay", settings.weight_decay, 0.0, 1e6)


def contrastive(settings: Any) -> None:
    """What trainings on pairs of pictures and captions have in common."""
    training(settings)
    for name in ("batch", "epochs", "patience"):
        whole(name, getattr(settings, name), 1, 2**24)
    if settings.temperature is not None:
        real("temperature", settings.temperature, 0.0, 1e3, above=True)
    real("smoothing", settings.smoothing, 0.0, 1.0)
    choice("precision", settings.precision, ("auto", "float32", "bf16"))


def from_json(cls: type[T], values: Mapping[str, Any]) -> T:
    """Settings of a dataclass again; a name it does not have is an error."""
    unknown = set(values) - {field.name for field in fields(cls)}  # type: ignore[arg-type]
    if unknown:
        raise InvalidInput(f"unknown settings of {cls.__name__}: {', '.join(sorted(unknown))}")
    return cls(**values)


def too_old(path: Path) -> FormatTooOld:
    """The error for a checkpoint in the format of zipfian 0.1, or in another one that is no longer read."""
    return FormatTooOld(
        f"{path} is a checkpoint of an older zipfian, which this release does not read: delete it to start over, or "
        "finish the training with the release that began it"
    )
