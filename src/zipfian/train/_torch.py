"""torch, asked for in one place: a missing one names the extra."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zipfian.errors import MissingExtra

try:
    import torch
except ImportError as _error:
    raise MissingExtra("training", "train") from _error

__all__ = ["matmul_precision", "torch"]


@contextmanager
def matmul_precision(setting: str, device: Any) -> Iterator[None]:
    """float32 products in tf32 while inside, where the setting and the device allow it."""
    before = torch.get_float32_matmul_precision()
    fast = setting != "float32" and torch.device(device).type == "cuda"
    torch.set_float32_matmul_precision("high" if fast else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
