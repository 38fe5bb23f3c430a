"""The checkpoint reader: right on honest files, and nothing a dishonest one says is ever done."""

from __future__ import annotations

import io
import os
import pickle
import pickletools
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zipfian.encode.converted import TENSORS_SHA256, load, tensors_sha256
from zipfian.encode.torchfile import MAGIC, PROTOCOL, read_checkpoint
from zipfian.errors import InvalidInput


class Global:
    """Pickled as a mere name, which is all that a checkpoint holds of PyTorch."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    def __init__(self, function: Global, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


PythonPickler: Any = vars(pickle)["_Pickler"]
"""The one written in Python: names need not be importable."""


class Writer(PythonPickler):  # type: ignore[misc]
    def persistent_id(self, value: Any) -> Any:
        return value[1:] if isinstance(value, tuple) and value and value[0] is Writer else None

    def save(self, value: Any, save_persistent_id: bool = True) -> None:
        if isinstance(value, Global):
            self.write(b"c" + value.module.encode() + b"\n" + value.name.encode() + b"\n")
        elif isinstance(value, Call):
            self.save(value.function)
            self.save(value.arguments)
            self.write(b"R")
        else:
            super().save(value, save_persistent_id)


def pickled(value: Any) -> bytes:
    out = io.BytesIO()
    Writer(out, protocol=2).dump(value)
    return out.getvalue()


def tensor(
    key: str, count: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], kind: str = "Float"
) -> Call:
    storage = (Writer, "storage", Global("torch", f"{kind}Storage"), key, "cpu", count, None)
    return Call(Global("torch._utils", "_rebuild_tensor_v2"), storage, offset, shape, strides, False, OrderedDict())


def checkpoint(table: bytes, storages: dict[str, bytes], counts: dict[str, int] | None = None) -> bytes:
    sizes = {"protocol_version": PROTOCOL, "little_endian": True, "type_sizes": {"short": 2, "int": 4, "long": 4}}
    head = pickled(MAGIC) + pickled(PROTOCOL) + pickled(sizes) + table + pickled(list(storages))
    counted = counts or {key: len(raw) // 4 for key, raw in storages.items()}
    return head + b"".join(struct.pack("<q", counted[key]) + raw for key, raw in storages.items())


def read(tmp_path: Path, data: bytes) -> dict[str, Any]:
    path = tmp_path / "model.pth"
    path.write_bytes(data)
    return read_checkpoint(path)


NUMBERS = np.arange(12, dtype="<f4").tobytes()


def test_tensors_of_every_layout(tmp_path: Path) -> None:
    table = {
        "plain": tensor("s", 12, 0, (3, 4), (4, 1)),
        "turned": tensor("s", 12, 0, (4, 3), (1, 4)),
        "part": tensor("s", 12, 4, (2,), (1,)),
        "scalar": tensor("s", 12, 7, (), ()),
        "counter": tensor("n", 1, 0, (1,), (1,), "Long"),
    }
    data = checkpoint(pickled(table), {"s": NUMBERS, "n": struct.pack("<q", 77)}, {"s": 12, "n": 1})
    found = read(tmp_path, data)
    plain = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert np.array_equal(found["plain"], plain)
    assert np.array_equal(found["turned"], plain.T)
    assert found["part"].tolist() == [4.0, 5.0]
    assert found["scalar"] == 7.0
    assert found["counter"].tolist() == [77]


class Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path: Path, protocol: int) -> None:
    victim = tmp_path / "made-by-the-pickle"
    table = pickle.dumps({"weight": Evil(victim)}, protocol=protocol)
    with pytest.raises(InvalidInput, match=r"refused|not a readable"):
        read(tmp_path, checkpoint(table, {}))
    assert not victim.exists()
    pickle.loads(table)  # noqa: S301 - the same bytes do run in Python's own reader
    assert victim.exists()


@pytest.mark.parametrize(
    "name",
    [
        ("os", "system"),
        ("posix", "system"),
        ("builtins", "eval"),
        ("builtins", "getattr"),
        ("torch", "load"),
        ("torch._utils", "_rebuild_tensor"),
        ("torch", "DoubleStorage"),
        ("collections", "deque"),
        ("collections", "OrderedDict.fromkeys"),
        ("torch.storage", "_load_from_bytes"),
    ],
)
def test_other_names_are_refused(tmp_path: Path, name: tuple[str, str]) -> None:
    with pytest.raises(InvalidInput, match="refused, nothing was run"):
        read(tmp_path, checkpoint(pickled({"w": Call(Global(*name), "echo")}), {}))


@pytest.mark.parametrize(
    "table",
    [
        b"\x80\x02c" + b"os\nsystem\n" + b"X\x04\x00\x00\x00true\x85R.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x04true\x85R.",  # STACK_GLOBAL
        b"(S'true'\nios\nsystem\n.",  # INST
        b"\x80\x02(cos\nsystem\nX\x04\x00\x00\x00trueo.",  # OBJ
        b"\x80\x02ccollections\nOrderedDict\n)\x81.",  # NEWOBJ
        b"\x80\x02\x82\x01.",  # EXT1
        b"\x80\x02ccollections\nOrderedDict\nX\x01\x00\x00\x00a\x85R.",  # arguments it may not have
    ],
)
def test_other_ways_to_call_are_refused(tmp_path: Path, table: bytes) -> None:
    with pytest.raises(InvalidInput):
        read(tmp_path, checkpoint(table, {}))


@pytest.mark.parametrize(
    "forged",
    [
        tensor("s", 12, 0, (13,), (1,)),
        tensor("s", 12, 1, (12,), (1,)),
        tensor("s", 12, -1, (2,), (1,)),
        tensor("s", 12, 0, (-1,), (1,)),
        tensor("s", 12, 0, (2,), (-1,)),
        tensor("s", 12, 0, (2, 2), (1,)),
        tensor("s", 12, 0, (1 << 60,), (0,)),
        tensor("s", 12, 0, (1 << 62, 1 << 62), (1, 1)),
        tensor("s", 1 << 60, 0, (2,), (1,)),
        tensor("other", 12, 0, (2,), (1,)),
    ],
)
def test_forged_sizes_take_no_memory(tmp_path: Path, forged: Call) -> None:
    with pytest.raises(InvalidInput):
        read(tmp_path, checkpoint(pickled({"w": forged}), {"s": NUMBERS}))
    with pytest.raises(InvalidInput):
        read(tmp_path, checkpoint(pickled({"w": forged}), {"s": NUMBERS}, {"s": 1 << 60}))


def test_not_a_checkpoint(tmp_path: Path) -> None:
    for data in (
        b"",
        b"PK\x03\x04",
        pickled(1) + pickled(2),
        checkpoint(pickled([1]), {}),
        checkpoint(pickled({1: 2}), {}),
    ):
        with pytest.raises(InvalidInput):
            read(tmp_path, data)


WHOLE = checkpoint(pickled({"w": tensor("s", 12, 0, (3, 4), (4, 1))}), {"s": NUMBERS})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(WHOLE) - 1), st.integers(1, 255))
def test_damage_gives_numbers_or_an_error_that_is_ours(tmp_path: Path, place: int, change: int) -> None:
    data = bytearray(WHOLE)
    data[place] ^= change
    for damaged in (bytes(data), WHOLE[:place]):
        try:
            read(tmp_path, damaged)
        except InvalidInput:
            pass


def test_the_published_checkpoint_needs_only_the_four_names(lite2: dict[str, Path]) -> None:
    (path,) = lite2.values()
    names = set()
    with path.open("rb") as file:
        for _ in range(5):
            names |= {argument for op, argument, _ in pickletools.genops(file) if op.name == "GLOBAL"}
    assert len(names) == 4
    tensors = {k: v for k, v in read_checkpoint(path).items() if v.dtype == np.float32}
    assert len(tensors) == 322
    assert tensors_sha256(tensors) == TENSORS_SHA256


def test_the_copy_in_safetensors_is_made_once_and_checked(
    lite2: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (checkpoint_path,) = lite2.values()
    monkeypatch.setenv("ZIPFIAN_CACHE_DIR", str(tmp_path))
    first = load(source=checkpoint_path)
    (copy,) = tmp_path.glob("weights/efficientnet-lite2/*.safetensors")
    whole = copy.read_bytes()
    assert tensors_sha256(load()) == tensors_sha256(first) == TENSORS_SHA256
    for damaged in (whole[:-4] + b"abcd", whole[:1000], b""):
        copy.write_bytes(damaged)
        assert tensors_sha256(load()) == TENSORS_SHA256
        assert copy.read_bytes() == whole
