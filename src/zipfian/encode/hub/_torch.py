"""torch, transformers and open_clip, asked for in one place and only when a model is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

from zipfian.errors import InvalidInput, MissingExtra

Precision = Literal["float32", "bfloat16", "float16"]
"""Of the large products. Weights, sums and results stay in float32 (mixed precision)."""


def module(name: str, what: str = "a hub encoder") -> Any:
    """An optional package, or the name of the extra that brings it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(what, "hub") from error


def checked_device(device: str) -> str:
    """`cpu`, `cuda` or `cuda:N`; `auto` is the GPU where there is one."""
    torch = module("torch")
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    kind, _, number = device.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdigit()):
        raise InvalidInput(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', not {device!r}")
    if kind == "cuda":
        count = torch.cuda.device_count() if torch.cuda.is_available() else 0
        if int(number or 0) >= count:
            raise InvalidInput(f"device {device!r}: torch sees {count} CUDA devices here; use device='cpu'")
    return device


def checked_precision(precision: str, device: str) -> Precision:
    """A known precision that the device can do."""
    if precision not in get_args(Precision):
        raise InvalidInput(f"precision must be one of {', '.join(get_args(Precision))}, not {precision!r}")
    if precision == "float16" and device == "cpu":
        raise InvalidInput("precision 'float16' needs a GPU: sums overflow on a CPU; use 'float32' or 'bfloat16'")
    return precision  # type: ignore[return-value]


@contextmanager
def frozen(device: str, precision: Precision) -> Iterator[None]:
    """No gradients; large products in the chosen precision."""
    torch = module("torch")
    mixed = precision != "float32"
    kind = device.partition(":")[0]
    with torch.inference_mode(), torch.autocast(kind, getattr(torch, precision), enabled=mixed):
        yield
