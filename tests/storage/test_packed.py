"""Small arrays as bytes: what goes in comes out, and nothing else does."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from zipfian.storage.packed import Damaged, pack, seal, unpack, unpack_sealed

ARRAYS = {"pooled": np.arange(4, dtype=np.float32), "ids": np.arange(6, dtype=np.uint16).reshape(3, 2)}


@given(
    st.dictionaries(
        st.text(max_size=8),
        hnp.arrays(
            st.sampled_from([np.float32, np.float16, np.uint16, np.int32, np.uint8, np.int64, np.bool_]),
            hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=5),
        ),
        max_size=4,
    )
)
def test_arrays_come_back_as_they_were(arrays: dict[str, Any]) -> None:
    found = unpack_sealed(seal(pack(arrays)))
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


@given(st.integers(0, len(seal(pack(ARRAYS))) - 1), st.integers(1, 255))
def test_any_damage_is_noticed(place: int, change: int) -> None:
    whole = seal(pack(ARRAYS))
    flipped = bytearray(whole)
    flipped[place] ^= change
    for data in (bytes(flipped), whole[:place], whole + b"\0"):
        with pytest.raises(Damaged):
            unpack_sealed(data)


def packed(table: bytes, data: bytes = b"") -> bytes:
    return struct.pack("<I", len(table)) + table + data


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        packed(b"{"),
        packed(b"[1, 2]"),
        packed(b"[" * 100_000),
        packed(b'{"a": 3}'),
        packed(b'{"a": ["|O", [1]]}', bytes(8)),
        packed(b'{"a": ["|V8", [1]]}', bytes(8)),
        packed(b'{"a": ["<f4", [-1]]}', bytes(8)),
        packed(b'{"a": ["<f4", [true]]}', bytes(4)),
        packed(b'{"a": ["<f4", 2]}', bytes(8)),
        packed(b'{"a": ["<f4", [3]]}', bytes(8)),
        packed(b'{"a": ["<f4", [4294967296, 4294967296, 4294967296]]}', bytes(8)),
        packed(b'{"a": ["<f4", [0' + b", 1" * 64 + b"]]}"),
        packed(b'{"a": ["<f4", [1]]}', bytes(8)),
    ],
)
def test_a_table_is_not_believed(data: bytes) -> None:
    with pytest.raises(Damaged):
        unpack(data)


def test_arrays_are_read_only_and_found_behind_other_bytes() -> None:
    found = unpack(b"before" + pack(ARRAYS), 6)
    assert found["ids"].tolist() == [[0, 1], [2, 3], [4, 5]] and not found["ids"].flags.writeable
