"""Read the tensors of an old PyTorch checkpoint without PyTorch and without running anything in it.

Such a file is a few pickles followed by the raw storages. A pickle is a program; Python's own reader would run it. This
one knows the instructions that a plain table of tensors needs and no others, imports nothing and calls nothing: a
"function" is one of four names, and what each would do is done here. Anything else is an error.
"""

from __future__ import annotations

import io
import math
import pickletools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput

Array = npt.NDArray[Any]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001

_ORDERED_DICT = "collections OrderedDict"
_REBUILD = "torch._utils _rebuild_tensor_v2"
_STORAGES: dict[str, np.dtype[Any]] = {"torch FloatStorage": np.dtype("<f4"), "torch LongStorage": np.dtype("<i8")}
_ALLOWED = frozenset({_ORDERED_DICT, _REBUILD, *_STORAGES})

_CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_LITERALS = frozenset({"BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1"})
_TUPLES = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


@dataclass(frozen=True, slots=True)
class _Name:
    """One of the four names that a checkpoint may mention."""

    name: str


@dataclass(frozen=True, slots=True)
class _Storage:
    key: str
    dtype: np.dtype[Any]
    count: int


@dataclass(frozen=True, slots=True)
class _Tensor:
    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _Mark:
    """Where the arguments of the next collecting instruction begin."""


def read_checkpoint(path: Path) -> dict[str, Array]:
    """The tensors of the checkpoint by name."""
    data = path.read_bytes()
    stream = io.BytesIO(data)
    try:
        if _Reader(stream).read() != MAGIC or _Reader(stream).read() != PROTOCOL:
            raise InvalidInput(f"{path}: not a PyTorch checkpoint of the old format")
        _Reader(stream).read()  # sizes of C types where it was written; the two storages used here have fixed sizes
        table = _Reader(stream).read()
        storages = dict(_storages(_Reader(stream).read(), table, stream))
        return {name: _array(tensor, storages) for name, tensor in _tensors(table)}
    except (ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise InvalidInput(f"{path}: not a readable checkpoint ({error})") from error


def _tensors(table: Any) -> Iterator[tuple[str, _Tensor]]:
    if not isinstance(table, dict):
        raise ValueError("it holds no table")
    for name, value in table.items():
        if not (isinstance(name, str) and isinstance(value, _Tensor)):
            raise ValueError("its table holds something other than tensors")
        yield name, value


def _storages(keys: Any, table: Any, stream: io.BytesIO) -> Iterator[tuple[str, Array]]:
    """The raw numbers behind the tensors, in the order of `keys`; every size is checked against what is there."""
    known = {tensor.storage.key: tensor.storage for _, tensor in _tensors(table)}
    for key in keys:
        storage = known[key]
        count = int.from_bytes(stream.read(8), "little")
        raw = stream.read(count * storage.dtype.itemsize) if count == storage.count else b""
        if len(raw) != count * storage.dtype.itemsize or count != storage.count:
            raise ValueError(f"storage {key} is not whole")
        yield key, np.frombuffer(raw, dtype=storage.dtype)


def _array(tensor: _Tensor, storages: dict[str, Array]) -> Array:
    flat = storages[tensor.storage.key]
    if len(tensor.shape) != len(tensor.strides) or min((*tensor.shape, *tensor.strides, tensor.offset)) < 0:
        raise ValueError("a tensor of impossible shape")
    empty = 0 in tensor.shape
    last = tensor.offset + sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.strides, strict=True))
    if not empty and (last >= len(flat) or math.prod(tensor.shape) > len(flat)):
        raise ValueError("a tensor reaches beyond its storage")
    steps = [stride * flat.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(flat[tensor.offset :], tensor.shape, steps, writeable=False)
    return np.ascontiguousarray(view)


class _Reader:
    """Follows one pickle up to its end."""

    def __init__(self, stream: io.BytesIO) -> None:
        self._stream = stream
        self._stack: list[Any] = []
        self._memo: dict[int, Any] = {}

    def read(self) -> Any:
        """The value that the pickle describes."""
        for count, (operation, argument, _) in enumerate(pickletools.genops(self._stream)):
            if count > limits.MAX_CHECKPOINT_OPERATIONS:
                raise ValueError("too many instructions")
            if operation.name == "STOP":
                break
            self._follow(operation.name, argument)
        (value,) = self._stack
        return value

    def _follow(self, name: str, argument: Any) -> None:
        stack = self._stack
        match name:
            case "PROTO":
                pass
            case _ if name in _CONSTANTS:
                stack.append(_CONSTANTS[name])
            case _ if name in _LITERALS:
                stack.append(argument)
            case _ if name in _TUPLES:
                stack.append(tuple(self._pop(_TUPLES[name])))
            case "TUPLE":
                stack.append(tuple(self._marked()))
            case "EMPTY_DICT":
                stack.append({})
            case "EMPTY_LIST":
                stack.append([])
            case "MARK":
                stack.append(_Mark)
            case "BINPUT" | "LONG_BINPUT":
                self._memo[argument] = stack[-1]
            case "BINGET" | "LONG_BINGET":
                stack.append(self._memo[argument])
            case "SETITEM":
                self._fill(self._pop(2))
            case "SETITEMS":
                self._fill(self._marked())
            case "APPENDS":
                values = self._marked()
                stack[-1].extend(values)
            case "GLOBAL":
                if argument not in _ALLOWED:
                    raise InvalidInput(
                        f"the checkpoint asks for {argument.replace(' ', '.')!r}: refused, nothing was run"
                    )
                stack.append(_Name(argument))
            case "BINPERSID":
                stack.append(_storage(stack.pop()))
            case "REDUCE":
                function, arguments = self._pop(2)
                stack.append(_call(function, arguments))
            case "BUILD":
                stack.pop()  # attributes of the table (version numbers); not needed
            case _:
                raise InvalidInput(f"the checkpoint holds the instruction {name}: refused, nothing was run")

    def _pop(self, count: int) -> list[Any]:
        if count > len(self._stack):
            raise ValueError("the stack is empty")
        values = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        return values

    def _marked(self) -> list[Any]:
        values: list[Any] = []
        while (value := self._stack.pop()) is not _Mark:
            values.append(value)
        return values[::-1]

    def _fill(self, pairs: list[Any]) -> None:
        target = self._stack[-1]
        if not isinstance(target, dict):
            raise ValueError("items are set on something that is no table")
        target.update(zip(pairs[::2], pairs[1::2], strict=True))


def _storage(identity: Any) -> _Storage:
    tag, kind, key, _location, count, view = identity
    if tag != "storage" or view is not None or not isinstance(kind, _Name) or kind.name not in _STORAGES:
        raise ValueError("an unknown kind of storage")
    if not (isinstance(key, str) and isinstance(count, int) and count >= 0):
        raise ValueError("a storage without key or size")
    return _Storage(key, _STORAGES[kind.name], count)


def _call(function: Any, arguments: Any) -> Any:
    """What one of the two allowed functions would have returned."""
    if function == _Name(_ORDERED_DICT) and arguments == ():
        return {}
    if function == _Name(_REBUILD) and isinstance(arguments, tuple) and len(arguments) == 6:
        storage, offset, shape, strides, _gradient, _hooks = arguments
        numbers = (offset, *shape, *strides)
        if isinstance(storage, _Storage) and all(isinstance(n, int) for n in numbers):
            return _Tensor(storage, offset, tuple(shape), tuple(strides))
    raise InvalidInput("the checkpoint calls something that it may not: refused, nothing was run")
