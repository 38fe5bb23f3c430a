"""Why a picture was found, drawn on it: the patches that fired the strongest terms, beside those of the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.errors import InvalidInput
from zipfian.limits import MAX_DRAWN_SIDE
from zipfian.storage.replace import replacing
from zipfian.types import LEAST_SHARE, Explanation

if TYPE_CHECKING:
    from PIL import Image

    from zipfian.encode.images import ImageSource
    from zipfian.fields import Field

TERMS = 5
"""Terms drawn, each in its own colour; more would cover the picture."""
PATCHES = 6
"""Patches of a term at most, and only those at least half as strong as its strongest."""
FAINT = 0.5
LINE = 22
GAP = 12
LABEL_CHARS = 70


@dataclass(frozen=True, slots=True)
class Shown:
    """A term on the picture."""

    term: int | None
    label: str
    value: float
    cells: tuple[tuple[int, int], ...]
    grid: tuple[int, int]


def shown_terms(tree: Explanation) -> list[Shown]:
    """What was found in patches and counts, most first; parts of one name are one, where the strongest of them is.

    As everywhere, what brought less than `LEAST_SHARE` is left out, unless there is nothing else to draw.
    """
    named: dict[tuple[str | None, str], list[Explanation]] = {}
    for node in _patched(tree):
        named.setdefault((node.field, node.label), []).append(node)
    found = sorted(map(_shown, named.values()), key=lambda shown: -shown.value)
    strong = [shown for shown in found if shown.value >= LEAST_SHARE * tree.support]
    return (strong or found)[:TERMS]


def _patched(node: Explanation) -> Iterator[Explanation]:
    for part in node.parts:
        yield from _patched(part)
    if node.value > 0 and any("row" in place for place in node.evidence):
        yield node


def _shown(parts: Sequence[Explanation]) -> Shown:
    """Parts of one name: worth what they are together, drawn where the strongest stands."""
    node = max(parts, key=lambda part: part.value)
    places = [place for place in node.evidence if "row" in place]
    strongest = max(float(place.get("strength", 1.0)) for place in places)
    cells = [
        (int(place["row"]), int(place["column"]))
        for place in places
        if float(place.get("strength", 1.0)) >= FAINT * strongest
    ]
    grid = (int(places[0]["rows"]), int(places[0]["columns"]))
    term = node.term if isinstance(node.term, int) else None
    return Shown(term, node.label, sum(part.value for part in parts), tuple(cells[:PATCHES]), grid)


def write(
    out: Path, tree: Explanation, picture: ImageSource, fields: Mapping[str, Field], asked: str | None = None
) -> list[Shown]:
    """Write a PNG of the picture with its patches outlined, beside the query's where it was a picture too."""
    terms = shown_terms(tree)
    if not terms:
        raise InvalidInput(
            f"nothing to draw for {out}: no visual word of the query was found in patches of this picture; "
            "name the field of visual words with --fields visual"
        )
    from zipfian.explain import patches

    panels = [patches.outline(patches.load(picture), terms[0].grid, [shown.cells for shown in terms])]
    if asked is not None:
        grid, groups = _asked(asked, terms, fields)
        panels.insert(0, patches.outline(patches.load(asked), grid, groups))
    data = patches.png(_sheet(panels, terms, patches.COLOURS))
    with replacing(out.absolute()) as file:
        file.write(data)
    return terms


def _asked(asked: str, terms: list[Shown], fields: Mapping[str, Field]) -> tuple[tuple[int, int], list[Any]]:
    """Where the same terms fired in the query picture."""
    from zipfian.fields import PostingField
    from zipfian.fields.query import Query

    field = next((field for field in fields.values() if field.shows_patches), None)
    if not isinstance(field, PostingField):
        raise InvalidInput("no field of this collection shows the patches of a query: it has no visual words")
    fired = field.query_places(Query(None, asked), [t.term for t in terms if t.term is not None])
    grid, groups = terms[0].grid, []
    for shown in terms:
        places = fired.get(shown.term, []) if shown.term is not None else []
        strong = [p for p in places[:PATCHES] if p["strength"] >= FAINT * places[0]["strength"]]
        grid = (places[0]["rows"], places[0]["columns"]) if places else grid
        groups.append([(int(p["row"]), int(p["column"])) for p in strong])
    return grid, groups


def _sheet(panels: list[Image.Image], terms: list[Shown], colours: tuple[str, ...]) -> Image.Image:
    """Panels side by side at equal height, and below them what each colour stands for."""
    from PIL import Image, ImageDraw, ImageFont

    height = max(panel.height for panel in panels)
    panels = [_as_high(panel, height) for panel in panels]
    across = sum(p.width for p in panels) + GAP * (len(panels) - 1)
    sheet = Image.new("RGB", (max(across, 480), height + GAP + LINE * len(terms)), "white")
    left = 0
    for panel in panels:
        sheet.paste(panel, (left, 0))
        left += panel.width + GAP
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for number, shown in enumerate(terms):
        top = height + GAP // 2 + LINE * number
        draw.rectangle((4, top + 3, 18, top + 17), fill=colours[number % len(colours)])
        draw.text((26, top + 2), f"{shown.value:.3f}  {shown.label}"[:LABEL_CHARS], fill="black", font=font)
    return sheet


def _as_high(panel: Image.Image, height: int) -> Image.Image:
    """Enlarged to a height; one that would become wider than a drawing may be stays lower, on white."""
    from PIL import Image

    factor = min(height / panel.height, max(1.0, MAX_DRAWN_SIDE / panel.width))
    sized = panel.resize((max(1, round(panel.width * factor)), max(1, round(panel.height * factor))))
    if sized.height == height:
        return sized
    out = Image.new("RGB", (sized.width, height), "white")
    out.paste(sized)
    return out
