"""Folder-per-class picture sets: DIR/gallery/CLASS/*, DIR/query/CLASS/*. Relevant = of the same class."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture, check_folder, judged, picture_files


def load_class_folders(folder: str | Path, distractors: str | Path | None = None) -> Dataset:
    """The gallery's pictures as documents, the query pictures as queries.

    A gallery picture with the same bytes as a query is taken out of that query's ranking: a query picture is never in
    its own gallery. `distractors` is a folder of pictures that belong to no class and only make the gallery larger.
    """
    root = Path(folder)
    gallery = _by_class(check_folder(root / "gallery", "pictures to search: gallery/CLASS/*"), "gallery")
    queries = _by_class(check_folder(root / "query", "pictures to search with: query/CLASS/*"), "query")
    if distractors is not None:
        extra = picture_files(check_folder(Path(distractors), "distractor pictures"))
        if not extra:
            raise InvalidInput(f"{distractors}: holds no readable picture")
        gallery |= {f"distractor/{p.relative_to(distractors).as_posix()}": (None, p) for p in extra}
    members: dict[str, dict[str, int]] = {}
    by_content: dict[bytes, list[str]] = {}
    for doc, (label, path) in gallery.items():
        if label is not None:
            members.setdefault(label, {})[doc] = 1
        by_content.setdefault(_digest(path), []).append(doc)
    ignore: dict[str, frozenset[str]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for query, (label, path) in queries.items():
        own = frozenset(by_content.get(_digest(path), ()))
        if own:
            ignore[query] = own
        qrels[query] = {d: g for d, g in members.get(label or "", {}).items() if d not in own}
    made = {q: JudgedQuery(q, image=Picture(path)) for q, (_, path) in queries.items()}
    kept, graded, notes = judged(root.name, made, qrels, gallery.keys(), str(root))
    if ignore:
        notes += (f"{len(ignore)} query pictures also lie in the gallery and are left out of their own rankings",)

    def documents() -> Iterator[dict[str, Any]]:
        for doc, (label, path) in gallery.items():
            item: dict[str, Any] = {"id": doc, "image": path}
            if label is not None:
                item["metadata"] = {"class": label}
            yield item

    return Dataset(root.name, "image", documents, frozenset(gallery), kept, graded, ignore, notes)


def _by_class(folder: Path, prefix: str) -> dict[str, tuple[str | None, Path]]:
    """Id ('gallery/CLASS/name') -> class and file."""
    out: dict[str, tuple[str | None, Path]] = {}
    for path in picture_files(folder):
        inner = path.relative_to(folder)
        if len(inner.parts) < 2:
            raise InvalidInput(f"{path}: lies in no class folder; {folder.name}/CLASS/{path.name} was expected")
        out[f"{prefix}/{inner.as_posix()}"] = (inner.parts[0], path)
    if not out:
        raise InvalidInput(f"{folder}: holds no readable picture (JPEG, PNG or WebP in one folder per class)")
    return out


def _digest(path: Path) -> bytes:
    return hashlib.sha256(path.read_bytes()).digest()
