from __future__ import annotations

import io

import numpy as np
import pytest

from zipfian import limits
from zipfian.errors import InvalidInput
from zipfian.explain import patches

Image = pytest.importorskip("PIL.Image")

RED = "#ff0000"


def grey(width: int = 120, height: int = 80):  # type: ignore[no-untyped-def]
    return Image.new("RGB", (width, height), (128, 128, 128))


def reds(image) -> np.ndarray:  # type: ignore[no-untyped-def]
    return (np.asarray(image) == (255, 0, 0)).all(axis=2)


@pytest.mark.parametrize("size", [(120, 80), (121, 83), (5, 7), (1, 1)])
def test_cells_cover_the_picture_without_overlap(size: tuple[int, int]) -> None:
    grid = (4, 5)
    covered = np.zeros((size[1], size[0]), int)
    for row in range(4):
        for column in range(5):
            left, top, right, bottom = patches.cell_box(size, grid, (row, column))
            covered[top:bottom, left:right] += 1
    assert (covered == 1).all()


def test_a_cell_of_a_part_of_the_picture() -> None:
    assert patches.cell_box((100, 100), (2, 2), (1, 0), area=(20, 20, 80, 80)) == (20, 50, 50, 80)


@pytest.mark.parametrize(("grid", "cell"), [((2, 2), (2, 0)), ((2, 2), (0, -1)), ((0, 2), (0, 0))])
def test_cells_outside_are_refused(grid: tuple[int, int], cell: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput):
        patches.cell_box((10, 10), grid, cell)


def test_an_outline_stays_inside_its_cell_and_leaves_the_middle() -> None:
    drawn = reds(patches.outline(grey(), (4, 4), [[(1, 2)]], colours=(RED,)))
    left, top, right, bottom = patches.cell_box((120, 80), (4, 4), (1, 2))
    inside = np.zeros_like(drawn)
    inside[top:bottom, left:right] = True
    assert drawn[inside].any()
    assert not drawn[~inside].any()
    assert drawn[top, left:right].all() and drawn[top:bottom, right - 1].all()
    assert not drawn[(top + bottom) // 2, (left + right) // 2]


def test_neighbours_of_one_group_share_one_outline() -> None:
    together = reds(patches.outline(grey(), (4, 4), [[(1, 1), (1, 2)]], colours=(RED,)))
    _, top, right, bottom = patches.cell_box((120, 80), (4, 4), (1, 1))
    middle = slice(top + 6, bottom - 6)
    assert not together[middle, right - 3 : right + 3].any()


def test_two_groups_in_one_cell_are_both_seen_and_the_original_is_kept() -> None:
    image = grey()
    drawn = np.asarray(patches.outline(image, (2, 2), {"a": [(0, 0)], "b": [(0, 0)]}, colours=(RED, "#0000ff")))
    assert (drawn == (255, 0, 0)).all(axis=2).any()
    assert (drawn == (0, 0, 255)).all(axis=2).any()
    assert (np.asarray(image) == 128).all()


def test_a_patch_is_cut_out_with_its_neighbourhood_and_enlarged() -> None:
    part = patches.crop_patch(grey(), (4, 4), (1, 1), colour=RED)
    assert part.size == (288, 192)
    seen = np.asarray(part).astype(int)  # enlarged with soft edges: 90 x 60 pixels become 288 x 192
    marked = (seen[..., 0] > 160) & (seen[..., 1] < 96)
    rows, columns = np.flatnonzero(marked.any(axis=1)), np.flatnonzero(marked.any(axis=0))
    assert (rows[0], rows[-1]) == (63, 128) and (columns[0], columns[-1]) == (95, 192), "the middle ninth"
    assert not marked[72:120, 104:184].any(), "a frame, not a filled cell"
    corner = patches.crop_patch(grey(), (4, 4), (0, 0))
    assert corner.size == (288, 192)
    assert not reds(patches.crop_patch(grey(), (4, 4), (1, 1), around=0, colour=RED)).any()


def test_a_patch_of_a_picture_smaller_than_its_grid() -> None:
    assert min(patches.crop_patch(grey(1, 1), (12, 12), (11, 11)).size) >= 1
    with pytest.raises(InvalidInput):
        patches.crop_patch(grey(), (4, 4), (4, 0))
    with pytest.raises(InvalidInput):
        patches.crop_patch(grey(), (4, 4), (0, 0), around=-1)


def test_large_pictures_are_shrunk_and_written_as_png() -> None:
    image = patches.load(np.zeros((30, 3_000, 3), np.uint8))
    assert image.size[0] == limits.MAX_DRAWN_SIDE
    assert patches.load(np.zeros((10, 20, 3), np.uint8), at_least=200).size == (200, 100)
    assert patches.load(np.zeros((10, 20, 3), np.uint8)).size == (20, 10)
    data = patches.png(image)
    assert Image.open(io.BytesIO(data)).format == "PNG"


@pytest.mark.parametrize("size", [(1, 1024), (1024, 1), (3, 900)])
def test_a_cut_out_of_a_sliver_stays_small(size: tuple[int, int]) -> None:
    part = patches.crop_patch(Image.new("RGB", size), (1, 1), (0, 0))
    assert max(part.size) <= 1024
