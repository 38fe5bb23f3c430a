"""Where networks and batches of queries run: on the processor, or on a GPU through torch (extra `gpu`).

torch is imported only when a device that needs it is asked for.
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, get_args

from zipfian.errors import DeviceFailed, InvalidInput, MissingExtra, ZipfianError, shown

CPU = "cpu"
TORCH_CPU = "torch:cpu"
"""The code of a GPU on the processor: for tests and rehearsals. `cpu` is the faster way to use a processor."""

Precision = Literal["float32", "bfloat16", "float16"]
"""Of the large products of a network."""

_one_setting = threading.RLock()
"""How convolutions are rounded is one setting of the whole process, so threads that change it take turns."""


def load_torch(what: str, extra: str = "gpu") -> Any:
    """torch, or the name of the extra that brings it."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise MissingExtra(what, extra) from error


def checked_device(device: str, what: str = "a GPU", extra: str = "gpu") -> str:
    """`cpu`, `cuda`, `cuda:N` or `torch:cpu`; `auto` is the GPU where there is one.

    What does without torch (`cpu`, and `auto` where it is not installed) does not load it.
    """
    kind, _, number = device.partition(":") if isinstance(device, str) else ("", "", "")
    known = device in ("auto", CPU, TORCH_CPU, "cuda") or (kind == "cuda" and number.isascii() and number.isdigit())
    if not known:
        raise InvalidInput(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', not {shown(device)}")
    if device == "auto":
        return "cuda" if importlib.util.find_spec("torch") is not None and _gpus(what, extra) else CPU
    if device == TORCH_CPU:
        load_torch(what, extra)
    if kind == "cuda":
        count = _gpus(what, extra)
        if int(number or 0) >= count:
            seen = "no CUDA device" if not count else f"only cuda:0 to cuda:{count - 1} of CUDA devices"
            raise InvalidInput(
                f"device {shown(device)} was asked for, and torch sees {seen} here: look at `nvidia-smi` and at "
                "`python -c 'import torch; print(torch.version.cuda)'`, or use device='cpu'"
            )
    return device


def checked_precision(precision: str) -> Precision:
    """One of the precisions."""
    if precision not in get_args(Precision):
        raise InvalidInput(f"precision must be one of {', '.join(get_args(Precision))}, not {shown(precision)}")
    return precision  # type: ignore[return-value]


def torch_device(device: str, what: str = "a GPU") -> Any:
    """torch's own object for a checked device."""
    return load_torch(what).device(CPU if device == TORCH_CPU else device)


def from_host(array: Any, device: Any) -> Any:
    """A numpy array on a device. To a GPU it goes through pinned memory, so that nothing waits for the copy."""
    tensor = load_torch("a GPU").from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


@contextmanager
def running(device: str) -> Iterator[Any]:
    """torch without gradients, its products in full precision, and what breaks down on the device as `DeviceFailed`.

    `torch.OutOfMemoryError` passes: the caller may go on with less at a time.
    """
    torch = load_torch("a GPU")
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")  # float32 is float32: TF32 would round each factor to 11 bits
    try:
        with torch.inference_mode():
            yield torch
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        if isinstance(error, ZipfianError):
            raise
        raise DeviceFailed(device, error) from error
    finally:
        torch.set_float32_matmul_precision(before)


@contextmanager
def plain_convolutions(torch: Any) -> Iterator[None]:
    """Convolutions of float32 in float32: by default cuDNN rounds each factor to 11 bits (TF32), as `running` says.

    The setting is read when a convolution is handed to the device, not when it is done: nobody waits for long.
    """
    # Newer versions of torch have a setting for convolutions alone, and complain of whoever mixes it with the old one.
    cudnn = torch.backends.cudnn
    new = hasattr(cudnn, "conv")
    owner, name = (cudnn.conv, "fp32_precision") if new else (cudnn, "allow_tf32")
    with _one_setting:
        before = getattr(owner, name)
        setattr(owner, name, "ieee" if new else False)
        try:
            yield
        finally:
            setattr(owner, name, before)


def no_room(torch: Any, device: str, tried: int, what: str, left: int) -> None:
    """Give back what a full device does not use, and warn that so many at a time were too many."""
    torch.cuda.empty_cache()
    warnings.warn(
        f"device {device!r} has no room for {tried:,} {what} at a time; going on with {left:,}", RuntimeWarning,
        stacklevel=4,
    )  # fmt: skip


def _gpus(what: str, extra: str) -> int:
    torch = load_torch(what, extra)
    return int(torch.cuda.device_count()) if torch.cuda.is_available() else 0
