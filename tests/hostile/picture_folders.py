"""Folders and files of records with hostile neighbours: every good document must be indexed, nothing else."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import re
from pathlib import Path
from typing import Any

from tests.hostile import picture_files as files
from tests.hostile.case import WrongAnswer

ATTACKS = (
    "folder of good and hostile pictures",
    "folder of good and hostile texts",
    "names that steer the terminal",
    "names that are not Unicode",
    "links out of the folder",
    "JSONL with hostile lines",
    "CSV with hostile rows",
)

_STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
_EVIL = ("\x1b[2J", "\x9b31m", "\u202e", "\x1b]52;c;Zm9v\x07", "\u2066", "\r", "\x85", "\n")
KIND = "metadata of another kind"
_SKIPPING = ("--on-bad", "skip", "--json")
_PICTURES = (files.flipped, files.cut, files.lying, files.nested, files.gigapixel, files.wrong_size, files.run_lengths)


def forge(attack: str, chance: random.Random, folder: Path) -> None:
    """`source`, and in `good` the ids that must be found and `bad` those that must not."""
    source = folder / "source"
    source.mkdir()
    make = {
        ATTACKS[0]: _pictures, ATTACKS[1]: _texts, ATTACKS[2]: _evil_names, ATTACKS[3]: _half_names, ATTACKS[4]: _links,
        ATTACKS[5]: _jsonl, ATTACKS[6]: _csv,
    }[attack]  # fmt: skip
    good, bad = make(chance, source)
    (folder / "expected.json").write_text(json.dumps({"good": good, "bad": bad}))


def _pictures(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    from tests.hostile.pictures import SPECIAL, special

    good, bad = [f"good-{i}.png" for i in range(3)], []
    for name in good:
        files.scene(chance).save(source / name)
    for i in range(6):
        suffix = chance.choice((".png", ".jpg", ".tif", ".webp", ".avif", ".heic"))
        (source / f"odd-{i}{suffix}").write_bytes(chance.choice(_PICTURES)(chance))
    for kind in chance.sample(SPECIAL, 3):
        name = f"{kind.replace(' ', '-')}.jpg"
        special(kind, source / name)
        bad.append(name)
    return good, bad


def _texts(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    from tests.hostile.pictures import SPECIAL, special

    good, bad = ["a.txt", "b.md", "c.html", "with-mark.txt"], ["half-wide.txt", "nul.txt", "no-letter.txt"]
    for name in good:
        (source / name).write_text("a fox", encoding="utf-8-sig" if name.startswith("with") else "utf-8")
    (source / "wide.txt").write_bytes("a fox".encode("utf-16"))
    (source / "latin.txt").write_bytes(b"caf\xe9 fox")
    good += ["wide.txt", "latin.txt"]
    (source / "half-wide.txt").write_bytes("a fox".encode("utf-16")[:-1])
    (source / "nul.txt").write_bytes(b"a\0fox")
    (source / "no-letter.txt").write_bytes(b"caf\x81 fox")
    broken = "<", "<!--", "<a ", "</", "&#", "<![CDATA[", "<p>", '<a href="', "&#9"
    (source / "broken.html").write_text(chance.choice(broken) * chance.choice((30_000, 3_000_000)))
    (source / "number.html").write_text("&#" + "9" * 10_000 + "; fox")
    for kind in chance.sample(SPECIAL, 3):
        name = f"{kind.replace(' ', '-')}.txt"
        special(kind, source / name)
        bad.append(name)
    return good, bad


def _evil_names(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    good: list[str] = []
    bad: list[str] = []
    for i in range(4):
        name = f"{i}{chance.choice(_EVIL)}fox{chance.choice(_EVIL)}.txt"
        (source / name).write_bytes(b"a fox" if i % 2 else b"\xff")
        (good if i % 2 else bad).append(name)
    return good, bad


def _half_names(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    (source / "good.txt").write_text("a fox")
    half = bytes([chance.randrange(0x80, 0x100)])
    Path(os.fsdecode(os.fsencode(source) + b"/bad-" + half + b".txt")).write_text("a fox")
    deep = source
    for _ in range(4):
        deep = deep / ("d" * 200)
        deep.mkdir()
    (deep / "fox.txt").write_text("a fox")
    return ["good.txt"], []


def _links(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    outside = source.parent / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("a fox")
    (source / "good.txt").write_text("a fox")
    os.symlink(outside / "secret.txt", source / "link.txt")
    os.symlink(outside, source / "way")
    os.symlink(source, source / "circle")
    os.symlink(chance.choice(("/etc/passwd", "/dev/zero", "/proc/self/environ")), source / "system.txt")
    return ["good.txt"], ["link.txt", "way/secret.txt", "system.txt"]


def _jsonl(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    size = chance.randint(80, 120) << 20
    hostile: dict[str, Any] = {
        "a line that is a hole": None,
        "lists in lists": b'{"id": "x", "text": "t", "a": ' + b"[" * 200_000,
        "millions of values": b'{"id": "x", "text": "t", "a": [' + b"[]," * 4_000_000 + b"[]]}",
        "an open quote": b'{"id": "x", "text": "' + b'\\"' * 4_000_000,
        "half a character": b'{"id": "x", "text": "\\ud800"}',
        "a number without end": b'{"id": ' + b"9" * 100_000 + b', "text": "t"}',
        "a device for a picture": b'{"id": "x", "image": "/dev/zero"}',
        "a name that is none": b'{"id": "x", "image": "a\\u0000b.png"}',
        "an id too long": b'{"id": "' + b"x" * 10_000 + b'", "text": "t"}',
        KIND: b'{"id": "kind", "text": "t", "year": "late"}',  # the value is left out, the document is not
        "the same id again": b'{"id": "good-0", "text": "t"}',
    }
    with (source / "all.jsonl").open("wb") as file:
        chosen = chance.sample(sorted(hostile), 4)
        for i, kind in enumerate(chosen):
            file.write(json.dumps({"id": f"good-{i}", "text": "a fox", "year": 2020}).encode() + b"\n")
            if hostile[kind] is None:
                file.seek(size, os.SEEK_CUR)
                file.write(b"\n")
            else:
                file.write(hostile[kind] + b"\n")
        file.write(b'{"id": "last", "text": "a fox"}')
    return ["good-0", "good-1", "good-2", "good-3", "last", *(["kind"] if KIND in chosen else [])], ["x"]


def _csv(chance: random.Random, source: Path) -> tuple[list[str], list[str]]:
    endings = {
        "a quote that is not closed": b'bad,"' + b"open\n" * 4_000_000,
        "millions of columns": b"bad" + b"," * 40_000_000 + b"\n",
        "a row that is a hole": b"bad," + bytes(90 << 20),
        "no text": b"bad,\xff\xff\n",
    }
    start = b"\xef\xbb\xbfid,text\n" + b"".join(b"good-%d,a fox\n" % i for i in range(3))
    (source / "all.csv").write_bytes(start + endings[chance.choice(sorted(endings))])
    return ["good-0", "good-1", "good-2"] if b"\xff" not in start[3:] else [], ["bad"]


def suffer(attack: str, folder: Path) -> str:
    """Index it with bad items skipped, and look at what is there and at what was printed."""
    from zipfian import Collection
    from zipfian.cli import main

    _toys(folder)
    records = list((folder / "source").glob("all.*"))
    source = records[0] if records else folder / "source"
    fields = "dense-image" if attack == ATTACKS[0] else "words"
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["index", str(source), "--into", str(folder / "c.zf"), "--fields", fields, *_SKIPPING])
    if found := _STEERING.search(out.getvalue() + err.getvalue()):
        raise WrongAnswer(f"{found[0]!r} was printed")
    expected = json.loads((folder / "expected.json").read_text())
    if code != 0:
        raise WrongAnswer(f"exit code {code}: {err.getvalue()[-200:]}")
    with Collection.open(folder / "c.zf") as collection:
        ids = set(collection.ids())
    if missing := set(expected["good"]) - ids:
        raise WrongAnswer(f"not indexed: {sorted(missing)}; {err.getvalue()[-200:]}")
    if extra := set(expected["bad"]) & ids:
        raise WrongAnswer(f"indexed: {sorted(extra)}")
    json.loads(out.getvalue())
    return f"{len(ids)} documents"


def _toys(folder: Path) -> None:
    """Names of fields mean fields of a toy encoder in this process: real ones take seconds to load."""
    from tests.hostile.sample import ToyImage
    from zipfian.collection import opening
    from zipfian.encode.cache import EncodingCache
    from zipfian.fields import Dense, named

    real = getattr(_toys, "real", None) or named.default_field
    _toys.real = real  # type: ignore[attr-defined]
    image = ToyImage(str(folder))

    class OwnCache(EncodingCache):
        def __init__(self, path: Path | None = None, **options: int) -> None:
            super().__init__(path or folder / "encodings", **options)

    def field(name: str, beside: Any = ()) -> Any:
        return Dense(encoder=image) if name == "dense-image" else real(name, beside)

    named.default_field = field
    vars(opening)["EncodingCache"] = OwnCache
