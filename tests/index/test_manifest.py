"""Manifests: strict in both directions."""

from __future__ import annotations

import json
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.doubles import MemoryDirectory
from zipfian.errors import FileGone, FormatTooNew, FormatTooOld, IndexCorrupt, InvalidInput
from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import (
    Manifest,
    is_ours,
    list_generations,
    manifest_name,
    newest_named,
    pack_note,
    read_manifest,
    read_note,
)
from zipfian.storage.layout import FileRef

SEGMENT = "s00000001-0a1b2c3d"


def entry(number: int = 1, **changes: Any) -> SegmentEntry:
    seg_id = f"s{number:08d}-0a1b2c3d"
    files = {role: FileRef(f"{seg_id}.{role}", 100, 2**64 - 1, number) for role in ("doc", "field-words")}
    return SegmentEntry(**({"id": seg_id, "n_docs": 5, "files": files} | changes))


def signed(content: dict[str, Any]) -> bytes:
    """The bytes of a manifest with whatever content, its checksum right."""
    rest = {k: v for k, v in content.items() if k != "crc"}
    crc = zlib.crc32(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode())
    return (json.dumps({**rest, "crc": crc}, indent=1, sort_keys=True) + "\n").encode()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=4)


@given(
    st.integers(1, 10**12 - 1),
    objects,
    objects,
    st.integers(0, 4),
    st.dictionaries(st.text(), st.integers(0, 2**63 - 1)),
)
def test_round_trip(
    generation: int, settings: dict[str, Any], user: dict[str, Any], n: int, counters: dict[str, int]
) -> None:
    manifest = Manifest(generation, tuple(entry(i) for i in range(n)), settings, counters, user, "1.2.3")
    assert Manifest.decode(manifest.name, manifest.encode()) == manifest


@pytest.mark.parametrize("settings", [{1: "a"}, {"a": (1, 2)}, {"a": {1, 2}}, {"a": float("nan")}, {"a": b"x"}])
def test_settings_that_would_not_come_back_equal_are_refused(settings: dict[Any, Any]) -> None:
    with pytest.raises(InvalidInput, match="JSON"):
        Manifest(1, settings=settings).encode()


def test_every_flipped_bit_is_found() -> None:
    manifest = Manifest(3, (entry(),), {"text": "grün", "x": 1.5}, {"segments": 1})
    data = manifest.encode()
    for position in range(len(data)):
        for bit in range(8):
            damaged = bytearray(data)
            damaged[position] ^= 1 << bit
            with pytest.raises(IndexCorrupt, match=manifest.name):
                Manifest.decode(manifest.name, bytes(damaged))
    for length in range(len(data)):
        with pytest.raises(IndexCorrupt):
            Manifest.decode(manifest.name, data[:length])


def test_a_manifest_under_another_name_is_refused() -> None:
    data = Manifest(3).encode()
    with pytest.raises(IndexCorrupt, match="generation 3 under another"):
        Manifest.decode(manifest_name(4), data)


def test_a_manifest_of_the_first_release_is_refused_with_one_sentence() -> None:
    content = json.loads(Manifest(3).encode())
    with pytest.raises(FormatTooOld, match=r"has format 1, of an older zipfian.*: index the documents into a new"):
        Manifest.decode(manifest_name(3), signed({**content, "format": 1}))


def test_a_later_format_is_told_apart_from_damage() -> None:
    content = json.loads(Manifest(3).encode())
    with pytest.raises(FormatTooNew, match="upgrade"):
        Manifest.decode(manifest_name(3), signed({**content, "format": 3, "something": "else"}))
    with pytest.raises(IndexCorrupt):
        Manifest.decode(manifest_name(3), json.dumps({**content, "format": 3}).encode())


def file(**changes: Any) -> dict[str, Any]:
    return {"doc": {**FileRef(f"{SEGMENT}.doc", 1, 1, 1).to_json(), **changes}}


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "1"},
        {"generation": "3"},
        {"generation": 3.0},
        {"generation": True},
        {"extra": 1},
        {"settings": []},
        {"user": None},
        {"counters": {"a": "x"}},
        {"counters": []},
        {"segments": {}},
        {"segments": [1]},
        {"segments": [{"id": SEGMENT, "n_docs": -1, "files": {}}]},
        {"segments": [{"id": SEGMENT, "n_docs": 2**62, "files": {}}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": []}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": {}, "more": 1}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": {}}] * 2},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(name="../../etc/passwd")}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(name="/etc/passwd")}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(name="notes.txt")}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(size=-1)}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(size=1.0)}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(checksum="x")}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(checksum=5)}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": file(more=5)}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": {"doc": None}}]},
        {"segments": [{"id": SEGMENT, "n_docs": 1, "files": {**file(), "col": file()["doc"]}}]},
    ],
)
def test_forged_manifests_are_refused(changes: dict[str, Any]) -> None:
    content = json.loads(Manifest(3).encode())
    with pytest.raises(IndexCorrupt, match=manifest_name(3)):
        Manifest.decode(manifest_name(3), signed({**content, **changes}))


@given(st.binary(max_size=200) | json_values.map(lambda v: json.dumps(v).encode()))
def test_anything_else_is_never_a_manifest(data: bytes) -> None:
    with pytest.raises(IndexCorrupt):
        Manifest.decode(manifest_name(1), data)


def test_deep_nesting_is_an_error_not_a_crash() -> None:
    for data in (b"[" * 200_000, b'{"a":' * 200_000):
        with pytest.raises(IndexCorrupt):
            Manifest.decode(manifest_name(1), data)


def test_names() -> None:
    assert manifest_name(12) == "manifest-000000000012.json"
    for bad in (0, -1, 10**12, True, 1.0):
        with pytest.raises(InvalidInput):
            manifest_name(bad)  # type: ignore[arg-type]
    ours = [manifest_name(1), f"{SEGMENT}.doc", "manifest-000000000002-0a1b2c3d.tmp"]
    others = ["write.lock", "notes.txt", "manifest.json", f"{manifest_name(9)}.aside", "s1-x.doc", SEGMENT, "a b"]
    assert all(is_ours(name) for name in ours) and not any(is_ours(name) for name in others)
    assert list_generations(MemoryDirectory(dict.fromkeys([*ours, *others, manifest_name(7)], b""))) == [1, 7]
    assert newest_named([*ours, *others]) == 9


def test_reading_a_generation() -> None:
    directory = MemoryDirectory({manifest_name(1): Manifest(1).encode()})
    assert read_manifest(directory, 1) == Manifest(1)
    with pytest.raises(FileGone):
        read_manifest(directory, 2)


@pytest.mark.parametrize("text", [b"", b"x", b"000000000007 00000000\n", pack_note(7)[:-1], b"\0" * 22, b"x" * 5000])
def test_a_note_that_is_torn_says_nothing(text: bytes) -> None:
    assert read_note(MemoryDirectory({"write.lock": pack_note(7)})) == 7
    assert read_note(MemoryDirectory()) == 0
    assert read_note(MemoryDirectory({"write.lock": text})) == 0
