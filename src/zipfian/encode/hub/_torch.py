"""torch, transformers and open_clip, asked for in one place and only when a model is used."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zipfian import device as device_names
from zipfian.device import Precision
from zipfian.errors import InvalidInput, MissingExtra


def module(name: str, what: str = "a hub encoder") -> Any:
    """An optional package, or the name of the extra that brings it."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise MissingExtra(what, "hub") from error


def checked_device(device: str) -> str:
    """`cpu`, `cuda` or `cuda:N`; `auto` is the GPU where there is one. On a CPU, too, hub models run in torch."""
    module("torch")
    found = device_names.checked_device(device, "a hub encoder", "hub")
    return device_names.CPU if found == device_names.TORCH_CPU else found


def checked_precision(precision: str, device: str) -> Precision:
    """A known precision that the device can do."""
    found = device_names.checked_precision(precision)
    if found == "float16" and device == device_names.CPU:
        raise InvalidInput("precision 'float16' needs a GPU: sums overflow on a CPU; use 'float32' or 'bfloat16'")
    return found


@contextmanager
def frozen(device: str, precision: Precision) -> Iterator[None]:
    """No gradients; large products in the chosen precision. Weights, sums and results stay in float32."""
    torch = module("torch")
    mixed = precision != "float32"
    kind = device.partition(":")[0]
    with torch.inference_mode(), torch.autocast(kind, getattr(torch, precision), enabled=mixed):
        yield
