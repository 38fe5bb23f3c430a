"""Real texts for the measurements on a GPU, in parts small enough to be carried to a machine that can fetch nothing.

    python -m benchmarks.gpu_texts --out build/gpu-texts --beir CORPUS.jsonl --paragraphs WIKI.txt [--part-mib 12]

`short` texts, about 25 word pieces: those of a BEIR corpus with their titles, then sentences of the paragraphs. `long`
ones, about 120: paragraphs. Every part is JSON lines in xz and can be read alone; `read` takes a folder of them, or of
some of them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

Kind = Literal["short", "long"]

SENTENCE_WORDS = (9, 35)
PARAGRAPH_WORDS = (60, 130)
MIB = 1 << 20
SLICE = 2_000
"""Texts that are compressed together: a part ends at the first slice with which it is full."""

_SENTENCE = re.compile(r'(?<=[.!?])\s+(?=[A-Z"“(])')


def read(folder: Path, kind: Kind, most: int) -> list[str]:
    """The texts of a kind in the parts of a folder, in order."""
    parts = sorted(folder.glob(f"{kind}-*.jsonl.xz"))
    if not parts:
        raise FileNotFoundError(f"{folder} holds no {kind}-*.jsonl.xz: make them with python -m benchmarks.gpu_texts")
    return list(itertools.islice(itertools.chain.from_iterable(map(_lines, parts)), most))


def _lines(part: Path) -> Iterator[str]:
    with lzma.open(part, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


def write(texts: Iterable[str], folder: Path, kind: Kind, part_bytes: int) -> list[Path]:
    """Texts as parts of about so many bytes, never more; each is named when it is whole."""
    folder.mkdir(parents=True, exist_ok=True)
    out: list[Path] = []
    held: list[bytes] = []
    rows = (json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n" for text in texts)
    while some := list(itertools.islice(rows, SLICE)):
        packed = lzma.compress(b"".join(some))  # streams of xz one after the other are a stream of xz
        if held and sum(map(len, held)) + len(packed) > part_bytes:
            out.append(_save(folder, kind, len(out), held))
            held = []
        held.append(packed)
    if held:
        out.append(_save(folder, kind, len(out), held))
    return out


def _save(folder: Path, kind: Kind, number: int, held: Sequence[bytes]) -> Path:
    path = folder / f"{kind}-{number:03d}.jsonl.xz"
    path.write_bytes(b"".join(held))
    return path


def beir_texts(path: Path) -> Iterator[str]:
    """The texts of a BEIR corpus, each after its title."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            yield f"{record['title']}: {record['text']}" if record.get("title") else record["text"]


def sentences(path: Path) -> Iterator[str]:
    """Sentences of some length in a file of paragraphs, one a line."""
    with path.open(encoding="utf-8") as file:
        for line in file:
            yield from (one for one in _SENTENCE.split(line.strip()) if _has(one, SENTENCE_WORDS))


def paragraphs(path: Path) -> Iterator[str]:
    """Paragraphs of some length."""
    with path.open(encoding="utf-8") as file:
        yield from (line.strip() for line in file if _has(line, PARAGRAPH_WORDS))


def _has(text: str, words: tuple[int, int]) -> bool:
    return words[0] <= len(text.split()) <= words[1]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_texts", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--beir", type=Path, help="corpus.jsonl of a BEIR collection with short texts")
    parser.add_argument("--paragraphs", type=Path, required=True, help="a paragraph a line")
    parser.add_argument("--short", type=int, default=1_000_000, help="how many short texts at most")
    parser.add_argument("--long", type=int, default=200_000, help="how many long ones at most")
    parser.add_argument("--part-mib", type=float, default=12.0)
    options = parser.parse_args(arguments)
    short = itertools.chain(beir_texts(options.beir) if options.beir else (), sentences(options.paragraphs))
    chosen: dict[Kind, Iterator[str]] = {
        "short": itertools.islice(short, options.short),
        "long": itertools.islice(paragraphs(options.paragraphs), options.long),
    }
    for kind, texts in chosen.items():
        for part in write(texts, options.out, kind, int(options.part_mib * MIB)):
            print(part, f"{part.stat().st_size / MIB:.1f} MiB", flush=True)


if __name__ == "__main__":
    main()
