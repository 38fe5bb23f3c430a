"""Bodies as they come: in pieces, too large, cut short, or never."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from zipfian.errors import Refused
from zipfian.serve.body import check_json, read_body, replayed


def read(pieces: list[bytes | None], most: int = 10, seconds: float = 5.0, **headers: str) -> bytes:
    """The body of these pieces; None: the client goes away. After the last one, nothing comes."""
    waiting = list(pieces)

    async def receive() -> Any:
        if not waiting:
            await asyncio.sleep(60)
        piece = waiting.pop(0)
        if piece is None:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": piece, "more_body": piece != b""}

    async def whole() -> bytes:
        return await read_body(receive, headers, most, asyncio.get_running_loop().time() + seconds)

    return asyncio.run(whole())


def test_pieces_are_joined() -> None:
    assert read([b"12345", b"67890", b""]) == b"1234567890"
    assert read([b""]) == b""


@pytest.mark.parametrize(
    ("pieces", "code"),
    [([b"12345", b"67890", b"1"], "too_large"), ([b"1", None], "disconnected"), ([b"1"], "too_slow")],
)
def test_what_is_refused(pieces: list[bytes | None], code: str) -> None:
    with pytest.raises(Refused) as refused:
        read(pieces, seconds=0.2)
    assert refused.value.code == code


@pytest.mark.parametrize("length", ["11", "9" * 5_000])
def test_a_length_that_is_promised_is_refused_before_anything_is_read(length: str) -> None:
    with pytest.raises(Refused, match="10 bytes at most"):
        read([], **{"content-length": length})


@pytest.mark.parametrize("length", ["3", "x", "-1", "٣"])
def test_a_length_that_lies_is_not_believed(length: str) -> None:
    assert read([b"12345", b""], **{"content-length": length}) == b"12345"


def test_a_body_is_handed_on_once() -> None:
    async def later() -> Any:
        return {"type": "http.disconnect"}

    async def both() -> tuple[Any, Any]:
        receive = replayed(b"body", later)
        return await receive(), await receive()

    first, second = asyncio.run(both())
    assert first == {"type": "http.request", "body": b"body", "more_body": False}
    assert second["type"] == "http.disconnect"


@pytest.mark.parametrize(
    ("body", "values"),
    [
        (b"[1, 2, 3]", 3),
        (b"[[], [], [[]]]", 7),
        (b"{}", 1),
        (b'{"a": "b,[{", "c": []}', 6),  # marks in a text are none
        (rb'["\", \"[", ","]', 4),  # nor is a quote that is escaped
        (rb'["\\", "[", ","]', 6),  # this one is not: its backslash is
        (b'["", "", ""]', 6),
        (b'"never ends, [', 1),
        (b'["ends here"', 2),
    ],
)
def test_values_are_counted_as_they_stand_outside_of_texts(body: bytes, values: int) -> None:
    check_json(body + b" " * 100, values)
    with pytest.raises(Refused, match=f"{values - 1} values at most") as refused:
        check_json(body + b" " * 100, values - 1)
    assert (refused.value.status, refused.value.code) == (413, "too_many_values")


def test_a_body_in_another_encoding_is_refused() -> None:
    check_json('["≢"]'.encode(), 10)
    for encoding in ("utf-16-le", "utf-16", "utf-32-be"):
        with pytest.raises(Refused, match="UTF-8"):
            check_json('["≢", [], [], []]'.encode(encoding), 1_000)
