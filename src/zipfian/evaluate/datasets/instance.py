"""Instance retrieval: ROxford5k / RParis6k (Radenovic et al. 2018) and Holidays (Jegou et al. 2008).

The revisited sets are published with pickled ground truth, which could run any code on opening; a JSON conversion is
read instead: {"imlist": [...], "qimlist": [...], "gnd": [{"easy": [...], "hard": [...], "junk": [...], "bbx": [...]}]}
with the same fields, positions in `imlist` and boxes as in the original.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture, check_folder, judged, picture_files

Level = Literal["easy", "medium", "hard"]

LEVELS: Mapping[Level, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "easy": (("easy",), ("hard", "junk")),
    "medium": (("easy", "hard"), ("junk",)),
    "hard": (("hard",), ("easy", "junk")),
}
"""Which lists are relevant and which are ignored at each level."""


def load_revisited(
    ground_truth: str | Path, images: str | Path, level: Level = "medium", distractors: str | Path | None = None
) -> Dataset:
    """ROxford5k or RParis6k at one level; junk is taken out of the rankings, queries are cropped to their boxes."""
    source, folder = Path(ground_truth), check_folder(Path(images), "the pictures of the gallery and the queries")
    if level not in LEVELS:
        raise InvalidInput(f"level must be one of {', '.join(LEVELS)}, not {level!r}")
    if source.suffix.lower() in (".pkl", ".pickle"):
        raise InvalidInput(
            f"{source}: a pickle can run any code when it is opened, so it is not read. Convert it once, where you "
            "trust it, to JSON with the same fields (imlist, qimlist, gnd) and give that file"
        )
    data = _read_json(source)
    try:
        names, query_names, truths = list(data["imlist"]), list(data["qimlist"]), list(data["gnd"])
    except (KeyError, TypeError):
        raise InvalidInput(f"{source}: the fields imlist, qimlist and gnd were expected") from None
    if len(query_names) != len(truths):
        raise InvalidInput(f"{source}: {len(query_names)} queries but {len(truths)} ground truths")
    files = _stems(folder)
    gallery = {str(name): _find(files, str(name), source) for name in names}
    extra = _distractors(distractors)
    positive, ignored = LEVELS[level]
    queries: dict[str, JudgedQuery] = {}
    qrels: dict[str, dict[str, int]] = {}
    ignore: dict[str, frozenset[str]] = {}
    for name, truth in zip(map(str, query_names), truths, strict=True):
        box = truth.get("bbx")
        picture = Picture(_find(files, name, source), _box(box, source, name) if box is not None else None)
        queries[name] = JudgedQuery(name, image=picture)
        qrels[name] = {_at(names, i, source): 1 for key in positive for i in truth.get(key, ())}
        junk = {_at(names, i, source) for key in ignored for i in truth.get(key, ())}
        ignore[name] = frozenset(junk | ({name} & gallery.keys()))
        for own in ignore[name]:
            qrels[name].pop(own, None)
    everything = {**gallery, **extra}
    kept, graded, notes = judged(source.stem, queries, qrels, everything.keys(), str(source))
    return Dataset(
        f"{source.stem}-{level}", "image", lambda: _items(everything), frozenset(everything), kept, graded, ignore,
        (*notes, f"level {level}: {', '.join(ignored)} ignored; query pictures cropped to their boxes"),
    )  # fmt: skip


def load_holidays(images: str | Path, distractors: str | Path | None = None) -> Dataset:
    """INRIA Holidays: files are numbers, the first of each hundred is the query for the rest of its hundred."""
    folder = check_folder(Path(images), "the Holidays pictures, named 100000.jpg, 100001.jpg ...")
    files = {p.stem: p for p in picture_files(folder) if p.stem.isdigit()}
    if not files:
        raise InvalidInput(f"{folder}: holds no readable picture named with a number, as the Holidays set has them")
    groups: dict[int, list[str]] = {}
    for stem in files:
        groups.setdefault(int(stem) // 100, []).append(stem)
    queries: dict[str, JudgedQuery] = {}
    qrels: dict[str, dict[str, int]] = {}
    ignore: dict[str, frozenset[str]] = {}
    for members in groups.values():
        first = next((m for m in members if int(m) % 100 == 0), None)
        if first is not None:
            queries[first] = JudgedQuery(first, image=Picture(files[first]))
            qrels[first] = {m: 1 for m in members if m != first}
            ignore[first] = frozenset({first})
    everything = {**files, **_distractors(distractors)}
    kept, graded, notes = judged("holidays", queries, qrels, everything.keys(), str(folder))
    return Dataset("holidays", "image", lambda: _items(everything), frozenset(everything), kept, graded, ignore, notes)


def _items(files: Mapping[str, Path]) -> Iterator[dict[str, Any]]:
    for doc, path in files.items():
        yield {"id": doc, "image": path}


def _distractors(folder: str | Path | None) -> dict[str, Path]:
    if folder is None:
        return {}
    root = check_folder(Path(folder), "distractor pictures")
    found = {f"distractor/{p.relative_to(root).as_posix()}": p for p in picture_files(root)}
    if not found:
        raise InvalidInput(f"{root}: holds no readable picture")
    return found


def _stems(folder: Path) -> dict[str, Path]:
    found = {p.stem: p for p in picture_files(folder)}
    if not found:
        raise InvalidInput(f"{folder}: holds no readable picture")
    return found


def _find(files: Mapping[str, Path], name: str, source: Path) -> Path:
    if name not in files:
        raise InvalidInput(f"{source}: names the picture {name!r}, which is not in the folder of pictures")
    return files[name]


def _at(names: list[Any], position: Any, source: Path) -> str:
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position < len(names):
        raise InvalidInput(f"{source}: position {position!r} lies outside imlist (0 .. {len(names) - 1})")
    return str(names[position])


def _box(value: Any, source: Path, name: str) -> tuple[float, float, float, float]:
    try:
        left, upper, right, lower = (float(v) for v in value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{source}: the box of query {name!r} must be four numbers, not {value!r}") from None
    if not (left < right and upper < lower):
        raise InvalidInput(f"{source}: the box of query {name!r} is empty: {value!r}")
    return left, upper, right, lower


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise InvalidInput(f"{path}: {error.strerror or error}") from None
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
