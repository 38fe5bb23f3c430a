"""How the files of a collection are forged: each attack by its name, as a change of the newest commit."""

from __future__ import annotations

import json
import random
import struct
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.forger import (
    Contents,
    Forger,
    bomb,
    numbers,
    put,
    replace_block,
    reseal,
    rewrite_contents_table,
)
from zipfian.limits import MAX_ID_BYTES, MAX_METADATA_BYTES, MAX_TEXT_CHARS

_LARGE = (2**20, 2**24, 2**28, 2**30, 2**31 - 2, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, 10**30)
_VALUES: tuple[Any, ...] = (-1, 0, 1, 2, 63, 64, 65, 127, 255, 256, *_LARGE, 0.5, -1e300, True, None, "7", "", [], {})
_TYPES = ("u1", "<u2", "<u4", "<u8", "i1", "<i2", "<i4", "<i8", "<f4", "<f8")

Forgery = Callable[[random.Random, Path], None]


def _anywhere(change: Callable[[random.Random, Contents], object], times: int = 1) -> Forgery:
    """A change of the contents of some file."""

    def forgery(rng: random.Random, path: Path) -> None:
        forger = Forger(path)
        for _ in range(times):
            at, role = rng.choice(forger.files())
            forger.rewrite(at, role, lambda contents: change(rng, contents))
        forger.publish()

    return forgery


def _in(role: str, change: Callable[[random.Random, Contents], object]) -> Forgery:
    """A change of a file of one role in some segment."""

    def forgery(rng: random.Random, path: Path) -> None:
        forger = Forger(path)
        at = rng.choice([i for i, found in forger.files() if found == role])
        forger.rewrite(at, role, lambda contents: change(rng, contents))
        forger.publish()

    return forgery


def _number(rng: random.Random, contents: Contents) -> None:
    put(contents.meta, rng.choice(list(numbers(contents.meta))), rng.choice(_VALUES))


def _nested_number(rng: random.Random, contents: Contents) -> None:
    deep: Any = 1
    for _ in range(rng.choice((10, 300, 900))):
        deep = [deep]
    put(contents.meta, rng.choice(list(numbers(contents.meta))), deep)


def _some(rng: random.Random, contents: Contents) -> str:
    return rng.choice(sorted(contents.sections))


def _shape(rng: random.Random, contents: Contents) -> None:
    name = _some(rng, contents)
    array = contents.sections[name]
    n = len(array)
    pairs = [(n, 1), (1, n)] + ([(n // 2, 2)] if n % 2 == 0 else [])
    if rng.random() < 0.3:
        contents.claims[name] = rng.choice([(n, 1, 1), (), (1,) * 1_000, (2**62, 0), (0, 2**62), (n * 2,)])
    else:
        contents.sections[name] = array.reshape(rng.choice(pairs))


def _column_of_numbers(rng: random.Random, contents: Contents) -> None:
    """A long section as n x 1: arithmetic with another of length n then makes n x n of it."""
    name = rng.choice(("postings", "forward", "block_first", "block_doc_width", "block_tf_width", "lengths", "df"))
    contents.sections[name] = contents.sections[name].reshape(-1, 1)


def _type(rng: random.Random, contents: Contents) -> None:
    name = _some(rng, contents)
    array, other = contents.sections[name], np.dtype(rng.choice(_TYPES))
    if rng.random() < 0.5 and array.nbytes % other.itemsize == 0:
        contents.sections[name] = array.view(other)
    else:
        with np.errstate(all="ignore"):
            contents.sections[name] = array.astype(other)


def _length(rng: random.Random, contents: Contents) -> None:
    name = _some(rng, contents)
    array = contents.sections[name]
    n = len(array)
    to = rng.choice([0, 1, n - 1, n + 1, n // 2, 2 * n, n + 64, 1 << 18])
    contents.sections[name] = np.resize(array, max(to, 0)) if n else np.zeros(max(to, 0), array.dtype)


def _values(rng: random.Random, contents: Contents) -> None:
    name = _some(rng, contents)
    array = contents.sections[name]
    if not len(array):
        return
    raw = np.random.default_rng(rng.randrange(2**32))
    how = rng.randrange(9)
    if array.dtype.kind == "f":
        contents.sections[name] = _floats(rng, array)
    elif how == 0:
        array[:] = np.iinfo(array.dtype).max
    elif how == 1:
        array[:] = 0
    elif how == 2:
        array[:] = 1
    elif how == 3:
        contents.sections[name] = array[::-1].copy()
    elif how == 4:
        array[:] = np.frombuffer(raw.bytes(array.nbytes), array.dtype)
    elif how == 5:
        raw.shuffle(array)
    elif how == 6:
        wide = array.astype(np.uint64)
        wide[rng.randrange(len(wide))] = rng.choice([2**63, 2**64 - 1, 2**32, 2**31])
        contents.sections[name] = wide
    else:
        for _ in range(rng.choice((1, 1, 3))):
            array[rng.randrange(len(array))] ^= array.dtype.type(1 << rng.randrange(8 * array.itemsize - 1))


def _floats(rng: random.Random, array: Any) -> Any:
    array[rng.randrange(len(array))] = rng.choice([np.nan, np.inf, -np.inf, 3e38, 1e-45])
    return array * array.dtype.type(rng.choice([1, 1e30, 0]))


def _missing(rng: random.Random, contents: Contents) -> None:
    names = sorted(contents.sections)
    a, b = rng.choice(names), rng.choice(names)
    how = rng.randrange(3)
    if how == 0:
        del contents.sections[a]
    elif how == 1:
        contents.sections[a], contents.sections[b] = contents.sections[b], contents.sections[a]
    else:
        contents.sections[a + "x"] = contents.sections.pop(a)


def _several(rng: random.Random, contents: Contents) -> None:
    for _ in range(2):
        rng.choice([_number, _values, _length])(rng, contents)


def _claimed_documents(rng: random.Random, path: Path) -> None:
    """Every file of a segment, and the manifest, agree on a number of documents that none of them holds."""
    forger = Forger(path)
    for at in range(len(forger.entries)) if rng.random() < 0.5 else [rng.randrange(len(forger.entries))]:
        n = rng.choice((1, 200, 2**20, 2**24, 2**27, 2**28, 2**29, 2**30))
        roles = [role for i, role in forger.files() if i == at]
        if rng.random() < 0.3:
            entry = forger.entries[at]
            forger.entries[at] = type(entry)(entry.id, n, {"doc": entry.files["doc"]})
            roles = ["doc"]
        for role in roles:
            forger.rewrite(at, role, partial(_claim, n))
        forger.claim_documents(at, n)
    forger.publish()


def _claim(n_docs: int, contents: Contents) -> None:
    contents.meta["n_docs"] = n_docs


def _empty_documents(rng: random.Random, path: Path) -> None:
    """A document file that has nothing but the claim: all sections empty or of one element."""
    forger = Forger(path)

    def change(contents: Contents) -> None:
        contents.meta["n_docs"] = n
        keep = rng.random() < 0.5
        for name, array in contents.sections.items():
            contents.sections[name] = array[: int(keep and "offsets" in name)]

    n, at = rng.choice((2**24, 2**28, 2**30)), rng.randrange(len(forger.entries))
    forger.rewrite(at, "doc", change)
    entry = forger.entries[at]
    forger.entries[at] = type(entry)(entry.id, n, {"doc": entry.files["doc"]})
    forger.publish()


def _claimed_postings(rng: random.Random, contents: Contents) -> None:
    """Document frequencies whose sum, and number of blocks, is in the billions."""
    n_docs, terms = contents.meta["n_docs"], rng.choice((1_000, 100_000, 500_000))
    contents.meta.update(n_terms=terms, terms="int", n_postings=n_docs * terms)
    contents.sections["terms"] = np.arange(terms, dtype=np.uint32)
    contents.sections["df"] = np.full(terms, n_docs, np.uint8 if n_docs < 256 else np.uint16)
    if rng.random() < 0.5:
        n = terms * -(-n_docs // 128)
        contents.sections |= {
            "block_first": np.zeros(n, np.uint32),
            "block_doc_width": np.zeros(n, np.uint8),
            "block_tf_width": np.zeros(n, np.uint8),
            "postings": np.zeros(2, np.uint64),
        }


def _weights(rng: random.Random, contents: Contents) -> None:
    tried: dict[str, tuple[Any, ...]] = {
        "scale": (1e-320, 1e-30, 5e-19, 1e19, 1e300, 10**400, 0, -1, "1", True),
        "phi": ("power:1e-300", "power:nan", "power:" + "0" * 5_000 + "1", "sqrt", 0.5, None, []),
        "tf": ("count", "fixed", "float32", "float64", [], None),
        "forward_low": (0, 1, 30, 31, 32, -1),
        "total_length": (0, 1, 2**62, 2**93, -1),
    }
    key = rng.choice(sorted(tried))
    contents.meta[key] = rng.choice(tried[key])


def _deletes(rng: random.Random, contents: Contents) -> None:
    fields = contents.meta["fields"]
    i = rng.randrange(len(fields))
    how = rng.randrange(5)
    if how == 0:
        fields[i]["length"] = rng.choice((0, 1, fields[i]["length"] * 2, 2**70))
    elif how == 1:
        contents.sections[f"{i}.counts"][:] = 1
    elif how == 2:
        contents.sections[f"{i}.terms"] = contents.sections[f"{i}.terms"].astype(np.uint64) + np.uint64(2**64 - 4)
    elif how == 3:
        fields[i]["terms"] = 0
        contents.sections[f"{i}.terms"] = contents.sections[f"{i}.terms"][:0]
        contents.sections[f"{i}.counts"] = contents.sections[f"{i}.counts"][:0]
    else:
        contents.sections["deleted"] = np.roll(contents.sections["deleted"], 1)


def _block(rng: random.Random, contents: Contents, records: list[tuple[bytes | None, bytes]]) -> None:
    """Other documents in a block, as many as it has; the last record stands for all that follow."""
    docs = contents.sections["block_docs"].astype(np.int64)
    block = rng.randrange(len(docs) - 1)
    n = int(docs[block + 1] - docs[block])
    records = (records + [(b"x", b"{}")] * n)[:n]
    head = b"".join(struct.pack("<2I", 0 if t is None else len(t) + 1, len(m)) for t, m in records)
    raw = head + b"".join((t or b"") + m for t, m in records)
    replace_block(contents, block, zlib.compress(raw, 9), len(raw))


def _bomb(rng: random.Random, contents: Contents) -> None:
    """One document of a block claims to be gigabytes of one letter."""
    docs = contents.sections["block_docs"].astype(np.int64)
    block = rng.randrange(len(docs) - 1)
    n = int(docs[block + 1] - docs[block])
    size = rng.choice((100 << 20, 700 << 20, 1700 << 20, 4000 << 20))
    sizes = [0, 2] * n
    in_text = rng.random() < 0.7
    sizes[0 if in_text else 1] = size + int(in_text)
    head = struct.pack(f"<{2 * n}I", *sizes)
    tail = b"{}" * (n if in_text else n - 1)
    said = len(head) + size + len(tail)
    replace_block(contents, block, bomb(head, b"a" if in_text else b" ", size, tail), said - rng.choice((0, 0, 0, 50)))


def _largest_document(rng: random.Random, path: Path) -> None:
    """What a writer may store: as many characters as a text may have, each of four bytes."""
    forger = Forger(path)
    text = (chr(0x1F600 + rng.randrange(40)) * MAX_TEXT_CHARS).encode()

    def change(contents: Contents) -> None:
        old = zlib.decompress(contents.sections["blocks"].tobytes()[: int(contents.sections["block_offsets"][1])])
        n = int(contents.sections["block_docs"][1])
        sizes = list(struct.unpack_from(f"<{2 * n}I", old))
        ends = np.cumsum([8 * n] + [s - (i % 2 == 0 and s > 0) for i, s in enumerate(sizes)]).tolist()
        doc = next(d for d in range(n) if d % 7)  # the first that is not deleted
        sizes[2 * doc] = len(text) + 1
        raw = struct.pack(f"<{2 * n}I", *sizes) + old[8 * n : ends[2 * doc]] + text + old[ends[2 * doc + 1] :]
        replace_block(contents, 0, zlib.compress(raw, 1), len(raw))

    forger.rewrite(0, "doc", change)
    forger.publish()


def _metadata(rng: random.Random, contents: Contents) -> None:
    depth = rng.choice((40, 900, 100_000))
    raw = rng.choice(
        (
            b'{"lang":' + b"[" * depth + b"]" * depth + b"}",
            b'{"lang":' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
            b"[" * depth,
            b'{"year":NaN}',
            b'{"year":1e999}',
            b'{"year":' + b"9" * 5_000 + b"}",
            b'{"year":99999999999999999999}',
            b'{"lang":"\\ud800"}',
            b'{"\\ud800":1}',
            b'{"day":{"$date":5}}',
            b'{"day":{"$date":"2024-99-99"}}',
            b'{"day":{"$datetime":"0001-01-01T00:00:00+23:59"}}',
            b'{"$date":"2024-01-01"}',
            b'{"lang":{"en":1}}',
            b'{"lang":[1,"a"]}',
            b"[]",
            b"",
            b"\xff\xfe",
            json.dumps({"tags": ["a"] * 200_000}).encode(),
        )
    )
    _block(rng, contents, [(b"light of the sun", raw)] * rng.choice((1, 100)))


def _over_limits(rng: random.Random, contents: Contents) -> None:
    how = rng.randrange(3)
    if how == 0:
        _block(rng, contents, [(b"a" * (MAX_TEXT_CHARS + 1), b"{}")])
    elif how == 1:
        _block(rng, contents, [(b"a", b'{"lang":"' + b"a" * MAX_METADATA_BYTES + b'"}')] * 40)
    else:
        ends = contents.sections["id_offsets"].astype(np.uint64)
        longer = np.uint64(rng.choice((MAX_ID_BYTES, 100_000)))
        at = rng.randrange(len(ends) - 1)
        ids = contents.sections["ids"].tobytes()
        cut = int(ends[at + 1])
        contents.sections["ids"] = np.frombuffer(ids[:cut] + b"a" * int(longer) + ids[cut:], np.uint8)
        ends[at + 1 :] += longer
        contents.sections["id_offsets"] = ends


def _contents_table(rng: random.Random, path: Path) -> None:
    forger = Forger(path)
    at, role = rng.choice(forger.files())
    forger.rewrite(at, role, lambda contents: None)

    def change(raw: bytes) -> bytes:
        toc = json.loads(raw)
        section = toc["sections"][rng.choice(sorted(toc["sections"]))]
        deep: Any = 1
        for _ in range(500):
            deep = [deep]
        how = rng.randrange(8)
        if how == 0:
            section["shape"] = [2**62 + 1] * 50_000
        elif how == 1:
            section["offset"] = rng.choice((64, 2**40, 2**63 - 64, -64, 63))
        elif how == 2:
            section[rng.choice(("shape", "dtype", "nbytes", "offset"))] = rng.choice((deep, None, "x", {}, [], 1e308))
        elif how == 3:
            toc["meta"] = rng.choice((deep, None, [], {}, {"n_docs": deep}))
        elif how == 4:
            toc["sections"] = rng.choice((deep, None, [], {}))
        elif how == 5:
            return b"[" * rng.choice((100, 100_000, 2_000_000))
        elif how == 6:
            toc["meta"]["more"] = [[]] * rng.choice((50_000, 400_000))
        else:
            section["nbytes"] = section["nbytes"] * 2 + 64
        return json.dumps(toc).encode()

    rewrite_contents_table(path, forger.entries[at].files[role].name, change)
    reseal(forger, path, at, role)
    forger.publish()


def _no_previous_manifest(rng: random.Random, path: Path) -> None:
    Forger(path).lose_previous_manifest()


ATTACKS: dict[str, Forgery] = {
    "a number in a file's head replaced": _anywhere(_number),
    "a number in a file's head replaced by nested lists": _anywhere(_nested_number),
    "a section of another shape": _anywhere(_shape),
    "a section of another type": _anywhere(_type),
    "a section of another length": _anywhere(_length),
    "numbers in a section replaced": _anywhere(_values),
    "sections missing, renamed or exchanged": _anywhere(_missing),
    "several of these in several files": _anywhere(_several, times=3),
    "millions of documents that are not there, all files agreeing": _claimed_documents,
    "a document file that is nothing but a claim": _empty_documents,
    "billions of postings that are not there": _in("field:codes", _claimed_postings),
    "weights of another kind or scale": _in("field:codes", _weights),
    "weights of another kind or scale, of words": _in("field:words", _weights),
    "deletes that take away the wrong amount": _in("del", _deletes),
    "metadata nested 100,000 deep, or none at all": _in("doc", _metadata),
    "ids, texts and metadata over the limits": _in("doc", _over_limits),
    "a table of contents made up": _contents_table,
    "the previous manifest is gone": _no_previous_manifest,
    "a text block that unpacks to gigabytes": _in("doc", _bomb),
    "a document of the largest size": _largest_document,
    "long posting lists of shape n x 1": _in("field:codes", _column_of_numbers),
}
"""Every attack: from its random numbers, on the collection in a folder."""
