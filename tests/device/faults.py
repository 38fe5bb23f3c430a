"""What the tests of devices share: when they are left out, and faults that a GPU would have."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="NO DEVICE TESTS: torch is not installed (extra 'gpu')"
)

TORCH_CPU = "torch:cpu"
"""The code of a GPU, on the processor."""


def devices() -> list[Any]:
    """The processor with a GPU's code, and a GPU where there is one."""
    return [TORCH_CPU, pytest.param("cuda", marks=pytest.mark.cuda)]


def out_of_memory(*_: object, **__: object) -> Any:
    """What torch raises when a device is full."""
    import torch

    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def failing(work: Callable[..., Any], when: Callable[..., bool], fault: Callable[[], Any]) -> Callable[..., Any]:
    """`work`, but `fault` where `when` says so of its arguments."""

    @functools.wraps(work)
    def wrapped(*args: Any, **settings: Any) -> Any:
        return fault() if when(*args, **settings) else work(*args, **settings)

    return wrapped
