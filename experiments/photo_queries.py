"""25 queries in words over photos that the heads never saw: the precision of the first five, by kind of query.

Whether a picture is what a query says was judged by looking, and is kept in `results/photos/judgements.tsv`. Pictures
that nobody has judged count as wrong and are counted apart; with `--work` they are drawn on numbered sheets, all ways
mixed, so that whoever judges does not know which way found what.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import zipfian as zf
from experiments.base import Context, Made, Table
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_captions
from zipfian.ingest.items import PICTURE_SUFFIXES

JUDGEMENTS = Path(__file__).parents[1] / "results" / "photos" / "judgements.tsv"
COLUMNS = ("kind", "query", "picture", "right")
QUERIES: Mapping[str, tuple[str, ...]] = {
    "objects": (
        "a bicycle", "a sailing boat", "an airplane", "a guitar", "a pizza", "a sunflower", "an elephant",
    ),
    "colours": (
        "a red car", "a brown dog", "a person in a yellow jacket", "a girl in a pink dress", "a boy in a blue shirt",
        "a black and white dog",
    ),
    "numbers": ("two dogs", "three dogs", "two children", "three people", "four people", "one boy alone"),
    "actions": (
        "a dog jumping", "a man climbing a rock", "a child swimming", "people dancing", "a man riding a motorcycle",
        "a person surfing",
    ),
}  # fmt: skip
"""By kind; written down before anything was searched for."""
WAYS: Mapping[str, str | None] = {"heads alone": "aligned", "search": None}
"""Which field answers; None: the default search."""
FIRST = 5
TILE, ACROSS, MARGIN = 300, 5, 22
"""Pixels of a picture on a sheet, pictures in a row, and pixels for its number."""

Found = Mapping[str, Sequence[str]]
"""The first pictures of every query."""


Judged = Mapping[tuple[str, str], bool]
"""Whether a picture is what a query says, by query and picture; a pair that is not here was never looked at."""


def read_judgements(path: Path = JUDGEMENTS) -> Judged:
    """What was judged by looking, each pair once."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    judged: dict[tuple[str, str], bool] = {}
    for number, row in enumerate(rows, start=2):
        if tuple(row) != COLUMNS or row["query"] not in QUERIES.get(row["kind"], ()) or row["right"] not in ("0", "1"):
            raise InvalidInput(
                f"{path}, line {number}: {row} is no judgement of a query in QUERIES: write {', '.join(COLUMNS)} "
                "(0 or 1)"
            )
        pair = row["query"], row["picture"]
        if pair in judged:
            raise InvalidInput(f"{path}, line {number}: {pair} is there twice: leave one line")
        judged[pair] = row["right"] == "1"
    return judged


def photo_queries(context: Context) -> Made:
    """P@5 of each way: by kind of query, and of all."""
    judged, pictures = read_judgements(), _pictures(context)
    ways = _ask(pictures)
    if context.work is not None:
        draw_unjudged(judged, ways, pictures, context.work)
    rows = [{"way": way, **measured(judged, found)} for way, found in ways.items()]
    queries = sum(map(len, QUERIES.values()))
    notes = (
        f"{len(pictures):,} pictures without captions: Flickr8k's test split and the gallery of Caltech-101; {queries} "
        f"queries, {len(judged)} judgements by looking; what is missing of five counts as wrong",
        "heads alone: the field `aligned`, whether it knows the words or not; search: the default",
    )
    return Made("photo-queries", "Photos asked for in words", list(rows[0]), rows, notes, settings={"found": ways})


def measured(judged: Judged, found: Found) -> dict[str, Any]:
    """The precision of the first five by kind and over all queries, and how many pictures nobody has judged."""
    means = {}
    values = {query: sum(judged.get((query, one), False) for one in found[query]) / FIRST for query in found}
    for kind, queries in QUERIES.items():
        means[f"P@{FIRST} {kind}"] = fmean(values[query] for query in queries)
    unjudged = sum((query, one) not in judged for query, pictures in found.items() for one in pictures)
    return {**means, f"P@{FIRST} all": fmean(values.values()), "unjudged": unjudged}


def draw_unjudged(judged: Judged, ways: Mapping[str, Found], pictures: Mapping[str, Path], folder: Path) -> None:
    """A sheet for every query that has pictures to judge, and `unjudged.tsv`: lines to fill in, in their order."""
    from PIL import Image, ImageDraw

    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    asked = [(kind, query) for kind, queries in QUERIES.items() for query in queries]
    for place, (kind, query) in enumerate(asked, start=1):
        pool = {one for found in ways.values() for one in found[query] if (query, one) not in judged}
        if not pool:
            continue
        sheet = Image.new("RGB", (ACROSS * TILE, -(-len(pool) // ACROSS) * (TILE + MARGIN)), "white")
        pen = ImageDraw.Draw(sheet)
        for number, name in enumerate(sorted(pool)):  # the order of names says nothing of who found what
            top, left = (TILE + MARGIN) * (number // ACROSS), TILE * (number % ACROSS)
            with Image.open(pictures[name]) as image:
                small = image.convert("RGB")
            small.thumbnail((TILE - 4, TILE))
            sheet.paste(small, (left, top + MARGIN))
            pen.text((left + 4, top + 4), f"{place}.{number + 1} {query}", "black")
            lines.append("\t".join((kind, query, name, "")))
        sheet.save(folder / f"sheet-{place:02d}.png")
    (folder / "unjudged.tsv").write_text("\n".join(lines) + "\n", "utf-8")


def _pictures(context: Context) -> dict[str, Path]:
    """Flickr8k's test pictures and the gallery of Caltech-101, by names that say which."""
    test = load_captions(context.path("captions"), context.path("images"), "test").pictures
    objects = context.path("caltech")
    paths = sorted(path for path in objects.rglob("*") if path.suffix.lower() in PICTURE_SUFFIXES)
    found = {f"flickr8k/{one.path.name}": one.path for one in test}
    return found | {f"caltech101/{path.relative_to(objects).as_posix()}": path for path in paths}


def _ask(pictures: Mapping[str, Path]) -> dict[str, dict[str, list[str]]]:
    """By way and query, the ids of the first pictures."""
    with tempfile.TemporaryDirectory() as folder:
        fields = ["visual", "dense", "aligned", "translated"]
        queries = [query for of in QUERIES.values() for query in of]
        with zf.Collection.create(Path(folder) / "photos.zf", fields) as photos:
            photos.add({"id": name, "image": path} for name, path in pictures.items())
            photos.commit()
            return {
                way: {query: [hit.id for hit in photos.search(query, FIRST, fields=field)] for query in queries}
                for way, field in WAYS.items()
            }


TABLES = (Table("photo-queries", "photos asked for in words", ("captions", "images", "caltech"), photo_queries),)
