"""Patches of a picture made visible: outlined where they are, or cut out with what is around them.

A patch is a cell (row, column) of the grid that an image encoder laid over the picture. Needs Pillow.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zipfian import limits
from zipfian.encode.images import ImageSource, decode
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from PIL import Image

Cell = tuple[int, int]
Grid = tuple[int, int]
Box = tuple[int, int, int, int]

COLOURS = ("#e6194b", "#3cb44b", "#4363d8", "#f58231", "#911eb4", "#42d4f4", "#f032e6", "#bfef45", "#fabed4", "#469990")
"""Easy to tell apart; the first terms get the first ones."""

CROP_SIDE = 192
"""A cut-out is enlarged to at least this many pixels, so that a patch of 32 can be seen."""


def load(source: ImageSource, *, at_least: int = 1) -> Image.Image:
    """The picture upright in RGB, its longer side between `at_least` and `limits.MAX_DRAWN_SIDE` pixels."""
    image = decode(source, reduce_to=limits.MAX_DRAWN_SIDE)
    longer = max(image.size)
    wanted = min(max(longer, at_least), limits.MAX_DRAWN_SIDE)
    if longer != wanted:
        width, height = (max(1, round(side * wanted / longer)) for side in image.size)
        image = image.resize((width, height))
    return image


def cell_box(size: tuple[int, int], grid: Grid, cell: Cell, area: Box | None = None) -> Box:
    """Pixels (left, top, right, bottom) of a cell; neighbouring cells share no pixel and leave none out.

    `area` is the part of the picture that the encoder saw; by default all of it.
    """
    rows, columns = grid
    row, column = cell
    if rows < 1 or columns < 1:
        raise InvalidInput(f"a grid has at least one row and one column, not {grid!r}")
    if not (0 <= row < rows and 0 <= column < columns):
        raise InvalidInput(f"the cell {cell!r} is not inside a grid of {rows} x {columns}")
    left, top, right, bottom = area or (0, 0, *size)
    width, height = right - left, bottom - top
    return (
        left + column * width // columns,
        top + row * height // rows,
        left + (column + 1) * width // columns,
        top + (row + 1) * height // rows,
    )


def outline(
    image: Image.Image,
    grid: Grid,
    groups: Mapping[str, Iterable[Cell]] | Sequence[Iterable[Cell]],
    *,
    area: Box | None = None,
    colours: Sequence[str] = COLOURS,
) -> Image.Image:
    """A copy with the cells of each group in that group's colour.

    Where several groups have a cell, each later frame is drawn inside the one before. Edges between cells of one
    group are left out, so that a connected patch has one outline.
    """
    from PIL import ImageDraw

    copy = image.copy()
    draw = ImageDraw.Draw(copy)
    width = max(2, round(min(image.size) / 150))
    taken: dict[Cell, int] = {}
    for number, cells in enumerate(groups.values() if isinstance(groups, Mapping) else groups):
        mine = set(cells)
        colour = colours[number % len(colours)]
        for cell in sorted(mine):
            inset = taken.get(cell, 0) * (width + 1)
            taken[cell] = taken.get(cell, 0) + 1
            _frame(draw, cell_box(image.size, grid, cell, area), inset, width, colour, _open_sides(cell, mine))
    return copy


def _open_sides(cell: Cell, mine: set[Cell]) -> tuple[bool, bool, bool, bool]:
    """Whether left, top, right and bottom border on something outside the group."""
    row, column = cell
    near = ((row, column - 1), (row - 1, column), (row, column + 1), (row + 1, column))
    left, top, right, bottom = (other not in mine for other in near)
    return left, top, right, bottom


def _frame(draw: Any, box: Box, inset: int, width: int, colour: str, sides: tuple[bool, bool, bool, bool]) -> None:
    left, top, right, bottom = box
    left, top, right, bottom = left + inset, top + inset, right - 1 - inset, bottom - 1 - inset
    if right - left < 1 or bottom - top < 1:
        return
    w = width - 1
    lines = (
        (left, top, min(left + w, right), bottom),
        (left, top, right, min(top + w, bottom)),
        (max(right - w, left), top, right, bottom),
        (left, max(bottom - w, top), right, bottom),
    )
    for line, wanted in zip(lines, sides, strict=True):
        if wanted:
            draw.rectangle(line, fill=colour)


def crop_patch(
    image: Image.Image, grid: Grid, cell: Cell, *, around: int = 1, area: Box | None = None, colour: str = COLOURS[0]
) -> Image.Image:
    """A patch cut out with `around` cells on each side, the patch itself outlined; enlarged so that it can be seen."""
    if around < 0:
        raise InvalidInput(f"around must be 0 or more cells, not {around}")
    rows, columns = grid
    row, column = cell
    marked = outline(image, grid, [[cell]], area=area, colours=(colour,)) if around else image
    left, top, _, _ = cell_box(image.size, grid, (max(0, row - around), max(0, column - around)), area)
    last = (min(rows - 1, row + around), min(columns - 1, column + around))
    _, _, right, bottom = cell_box(image.size, grid, last, area)
    cell_box(image.size, grid, cell, area)  # the cell itself must be inside
    part = marked.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    shorter = min(part.size)
    if shorter < CROP_SIDE:
        factor = min(CROP_SIDE / shorter, max(1.0, limits.MAX_DRAWN_SIDE / max(part.size)))
        part = part.resize((max(1, round(part.width * factor)), max(1, round(part.height * factor))))
    return part


def png(image: Image.Image) -> bytes:
    """The picture as a PNG file."""
    out = io.BytesIO()
    image.save(out, format="PNG", optimize=True)
    return out.getvalue()
