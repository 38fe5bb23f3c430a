"""What the encoders of the hub have in common: the model they run, the checks of their settings, numbers from torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol, Self, TypeVar

from zipfian.device import Precision, no_room
from zipfian.encode.hub._torch import module
from zipfian.encode.hub.model import HubModel
from zipfian.encode.windows import checked_tokens
from zipfian.errors import DeviceMemory, InvalidInput
from zipfian.types import FloatArray

DEFAULT_TOKENS = 512


class Part(Protocol):
    """What goes through a network together and can be cut in two."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> Self: ...


B = TypeVar("B", bound=Part)
R = TypeVar("R")


class HubEncoder:
    """What every encoder of the hub has: the model it runs."""

    model: HubModel

    @property
    def precision(self) -> Precision:
        """Of the large products."""
        return self.model.precision

    def load(self) -> None:
        """Load the weights now instead of at the first use."""
        with self.model.running():
            pass


def passed(model: HubModel, batch: B, run: Callable[[B], R]) -> Iterator[tuple[B, R]]:
    """A batch and what `run` makes of it; where the device has no room for all of it, each half and its result."""
    torch = module("torch")
    try:
        found = run(batch)
    except torch.OutOfMemoryError:
        if len(batch) == 1:
            raise DeviceMemory(model.device, f"one item of {model.name}", "or use device='cpu'") from None
    else:
        yield batch, found
        return
    half = len(batch) // 2
    no_room(torch, model.device, len(batch), "items", half)
    yield from passed(model, batch[:half], run)
    yield from passed(model, batch[half:], run)


def model_of(model: str | Path | HubModel, where: dict[str, Any]) -> HubModel:
    """The model that was given, or a new one found with the settings in `where`."""
    if not isinstance(model, HubModel):
        return HubModel(model, **where)
    if where:
        raise InvalidInput(f"{', '.join(sorted(where))}: settings of the HubModel, which was given ready made")
    return model


def tokens_of(max_tokens: int | None, most: int) -> int:
    """Tokens of one window for a network that takes `most`; None: 512, or what it takes."""
    return checked_tokens(min(DEFAULT_TOKENS, most) if max_tokens is None else max_tokens, most)


def from_one(name: str, value: int) -> int:
    """A count of at least 1."""
    if value < 1:
        raise InvalidInput(f"{name} must be at least 1, not {value}")
    return value


def array(tensor: Any) -> FloatArray:
    """A tensor of any device and precision as float32 numbers here."""
    found: FloatArray = tensor.float().cpu().numpy()
    return found
