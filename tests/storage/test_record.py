"""A JSON object that carries its own checksum."""

from __future__ import annotations

import json
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.errors import IndexCorrupt
from zipfian.storage.record import pack_record, unpack_record

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(max_size=3).filter(lambda name: name != "crc"), JSON, max_size=4))
def test_what_is_written_comes_back(content: dict[str, object]) -> None:
    assert unpack_record("a.json", pack_record(content)) == content


def test_the_checksum_is_that_of_docs_format() -> None:
    data = pack_record({"b": 1, "a": "\u00e4"})
    crc = zlib.crc32(rb'{"a":"\u00e4","b":1}')
    assert json.loads(data) == {"a": "\u00e4", "b": 1, "crc": crc}
    assert data == f'{{\n "a": "\\u00e4",\n "b": 1,\n "crc": {crc}\n}}\n'.encode()


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "not JSON"),
        (b"\xff", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[1]", "holds a list"),
        (b"{}", "fails its checksum"),
        (b'{"a": 1, "crc": 1}', "fails its checksum"),
        (b'{"a": NaN, "crc": 1}', "cannot be read"),
    ],
)
def test_anything_else_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(IndexCorrupt, match=rf"a\.json.*{problem}"):
        unpack_record("a.json", data)
