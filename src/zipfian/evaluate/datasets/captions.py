"""Pictures with captions: our JSONL, COCO captions JSON, Karpathy split JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import check_folder

NO_SPLIT = "all"
"""The split of a file that has none (COCO publishes one file per split)."""


@dataclass(frozen=True, slots=True)
class Captioned:
    """One picture: its id (the file name), its file, and its captions in their published order."""

    id: str
    path: Path
    captions: tuple[str, ...]


@dataclass(frozen=True)
class CaptionSet:
    """The pictures of one split."""

    name: str
    split: str
    pictures: tuple[Captioned, ...]


def load_captions(source: str | Path, images: str | Path, split: str | None = None) -> CaptionSet:
    """The pictures of `split` that have captions; without `split`: 'test' where there are splits, else all.

    `images` is the folder the file names are relative to, or the folder that holds the files themselves.
    """
    path, folder = Path(source), check_folder(Path(images), "the pictures that the captions describe")
    rows = list(_read(path))
    if not rows:
        raise InvalidInput(f"{path}: holds no picture with captions")
    there = sorted({row[1] for row in rows})
    wanted = split if split is not None else NO_SPLIT if there == [NO_SPLIT] else "test"
    chosen = [row for row in rows if wanted in (NO_SPLIT, row[1])]
    if not chosen:
        raise InvalidInput(f"{path}: the split {wanted!r} is empty; there are: {', '.join(there)}")
    seen: set[str] = set()
    pictures = []
    flat = not (folder / chosen[0][0]).is_file()  # one rule for all: names as given, or their last part
    for name, _, captions in chosen:
        if name in seen:
            raise InvalidInput(f"{path}: the picture {name!r} is there twice")
        if not captions:
            raise InvalidInput(f"{path}: the picture {name!r} has no caption")
        seen.add(name)
        file = folder / (Path(name).name if flat else name)
        if not file.is_file():
            raise InvalidInput(f"{file}: no such file, but {path} has captions for it; is --images the right folder?")
        pictures.append(Captioned(name, file, captions))
    return CaptionSet(path.stem, wanted, tuple(pictures))


Row = tuple[str, str, tuple[str, ...]]


def _read(path: Path) -> Iterator[Row]:
    """(file name, split, captions) from any of the three formats."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        yield from _own(path, text)
        return
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
    if not isinstance(data, dict) or not isinstance(data.get("images"), list):
        raise InvalidInput(f"{path}: neither COCO captions nor a Karpathy split: a list 'images' was expected")
    try:
        yield from _coco(data) if "annotations" in data else _karpathy(data)
    except (KeyError, TypeError) as error:
        raise InvalidInput(f"{path}: a field is missing or of the wrong kind ({error!r})") from None


def _own(path: Path, text: str) -> Iterator[Row]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            captions = tuple(str(c) for c in row["captions"])
            yield str(row["image"]), str(row.get("split", NO_SPLIT)), captions
        except (ValueError, KeyError, TypeError) as error:
            problem = f'{{"image", "split", "captions"}} was expected ({error!r})'
            raise InvalidInput(f"{path}:{number}: {problem}") from None


def _coco(data: Mapping[str, Any]) -> Iterator[Row]:
    names = {row["id"]: str(row["file_name"]) for row in data["images"]}
    captions: dict[Any, list[str]] = {}
    for row in sorted(data["annotations"], key=lambda r: r.get("id", 0)):
        captions.setdefault(row["image_id"], []).append(str(row["caption"]).strip())
    for key, name in names.items():
        if captions.get(key):
            yield name, NO_SPLIT, tuple(captions[key])


def _karpathy(data: Mapping[str, Any]) -> Iterator[Row]:
    """`restval` belongs to the training part, as everybody uses it."""
    for row in data["images"]:
        name = f"{row['filepath']}/{row['filename']}" if row.get("filepath") else str(row["filename"])
        split = {"restval": "train"}.get(row["split"], str(row["split"]))
        yield name, split, tuple(str(s["raw"]).strip() for s in row["sentences"])
