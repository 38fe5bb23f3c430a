"""Photos asked for in words: the judgements that are kept, what is made of them, and the table that shows it."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean

import pytest

from experiments.photo_queries import QUERIES, draw_unjudged, measured, read_judgements
from zipfian.errors import InvalidInput

ROOT = Path(__file__).parents[2]
HEADER = "kind\tquery\tpicture\tright\n"
ALL = [query for queries in QUERIES.values() for query in queries]


def test_there_are_25_queries_of_four_kinds() -> None:
    assert len(set(ALL)) == len(ALL) == 25
    assert list(QUERIES) == ["objects", "colours", "numbers", "actions"]


def test_what_is_not_judged_or_not_found_is_wrong() -> None:
    """Of the first kind, 3 of 35 are right; one of the others' found pictures is judged wrong, one not at all."""
    first, second, other = "a bicycle", "a pizza", "two dogs"
    judged = {(first, "a"): True, (first, "b"): True, (second, "a"): True, (other, "a"): False, (other, "c"): True}
    nothing: dict[str, list[str]] = {query: [] for query in ALL}
    found = nothing | {first: ["a", "b", "x"], second: ["a"], other: ["a", "b"]}
    assert measured(judged, found) == {
        "P@5 objects": pytest.approx(3 / 35),
        "P@5 colours": 0.0,
        "P@5 numbers": 0.0,
        "P@5 actions": 0.0,
        "P@5 all": pytest.approx(3 / 125),
        "unjudged": 2,
    }


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("objects\ta bicycle\tx\t2\n", "line 2.*0 or 1"),
        ("colours\ta bicycle\tx\t1\n", "line 2.*of a query in QUERIES"),
        ("objects\ta bicycle\tx\t1\nobjects\ta bicycle\tx\t0\n", "line 3.*there twice"),
        ("objects\ta bicycle\n", "line 2.*is no judgement"),
    ],
)
def test_a_line_that_is_no_judgement_is_named(tmp_path: Path, lines: str, problem: str) -> None:
    path = tmp_path / "judgements.tsv"
    path.write_text(HEADER + lines, "utf-8")
    with pytest.raises(InvalidInput, match=problem):
        read_judgements(path)


def test_only_what_nobody_judged_is_drawn_each_picture_once(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="NO PILLOW: sheets are drawn with it")
    pictures = {}
    for name, colour in (("a", "red"), ("b", "green"), ("c", "blue")):
        pictures[name] = tmp_path / f"{name}.png"
        image.new("RGB", (40, 20), colour).save(pictures[name])
    nothing: dict[str, list[str]] = {query: [] for query in ALL}
    ways = {"one": nothing | {"two dogs": ["c", "a"]}, "other": nothing | {"two dogs": ["b", "c"]}}
    draw_unjudged({("two dogs", "b"): True}, ways, pictures, tmp_path / "sheets")
    lines = (tmp_path / "sheets" / "unjudged.tsv").read_text("utf-8").splitlines()
    assert lines == ["numbers\ttwo dogs\ta\t", "numbers\ttwo dogs\tc\t"]
    assert [path.name for path in (tmp_path / "sheets").glob("*.png")] == ["sheet-14.png"]
    with image.open(tmp_path / "sheets" / "sheet-14.png") as sheet:
        assert (sheet.getpixel((5, 30)), sheet.getpixel((305, 30))) == ((255, 0, 0), (0, 0, 255))


def test_the_page_shows_what_the_judgements_come_to() -> None:
    """The stored hits, judged by what is kept, give the stored figures and those of docs/photos.md."""
    file = ROOT / "results" / "photos" / "photo-queries.json"
    if not file.is_file():
        pytest.skip("the results are not part of this package")
    stored = json.loads(file.read_text("utf-8"))
    judged, page = read_judgements(), (ROOT / "docs" / "photos.md").read_text("utf-8")
    kinds = {query: kind for kind, queries in QUERIES.items() for query in queries}
    assert {kinds[query] for query, _ in judged} == set(QUERIES)
    for row in stored["rows"]:
        found = stored["settings"]["found"][row["way"]]
        assert list(found) == ALL
        values = measured(judged, found)
        assert {"way": row["way"], **values} == row
        assert values["unjudged"] == 0
        cells = [f"{values[name]:.2f}".removeprefix("0") for name in values if name != "unjudged"]
        assert f"| {row['way']} | {' | '.join(cells)} |" in page


def test_the_page_shows_what_the_trials_of_captions_gave() -> None:
    file = ROOT / "results" / "photos" / "caption-trials.json"
    if not file.is_file():
        pytest.skip("the results are not part of this package")
    stored, page = json.loads(file.read_text("utf-8")), (ROOT / "docs" / "photos.md").read_text("utf-8")
    assert stored["trials"]
    for trial in stored["trials"]:
        found = {way: [trial["dev"][way][f"r@{k}"] for k in (1, 5, 10)] for way in ("t2i", "i2t")}
        mean = fmean(value for values in found.values() for value in values)
        cells = [" / ".join(map(shown, values)) for values in found.values()]
        cells += [shown(mean), shown(trial["words_p@5"]), shown(trial["unseen_p@5"])]
        assert f"| {trial['name']} | {' | '.join(cells)} |" in page


def shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}".removeprefix("0")
