"""The sheet that `explain --out` writes, for pictures of any shape."""

from __future__ import annotations

from PIL import Image

from zipfian.cli import _show_patches
from zipfian.types import Explanation, NodeKind


def test_a_sliver_beside_a_tall_picture_makes_no_huge_sheet() -> None:
    """At equal height a row of pixels would become a million pixels wide."""
    panels = [Image.new("RGB", (1024, 1), "red"), Image.new("RGB", (1, 1024), "blue")]
    sheet = _show_patches._sheet(panels, [], ("#000000",))
    assert sheet.width <= 1024 + _show_patches.GAP + 1
    assert sheet.getpixel((0, 0)) == (255, 0, 0)
    assert sheet.getpixel((1024 + _show_patches.GAP, 1000)) == (0, 0, 255)


def test_ordinary_pictures_are_brought_to_equal_height() -> None:
    panels = [Image.new("RGB", (300, 200), "red"), Image.new("RGB", (400, 400), "blue")]
    sheet = _show_patches._sheet(panels, [], ("#000000",))
    assert sheet.getpixel((599, 399)) == (255, 0, 0)
    assert sheet.width == 600 + _show_patches.GAP + 400


def part(value: float, label: str, row: int, kind: NodeKind = "term", strength: float = 1.0) -> Explanation:
    places = ({"row": row, "column": 0, "rows": 4, "columns": 4, "strength": strength},)
    return Explanation(value, label, (), {}, places, kind, "translated", row)


def test_parts_of_one_name_are_one_and_small_ones_are_left_out() -> None:
    parts = (part(1.0, "beach", 0), part(2.0, "beach", 1), part(95.0, "sea", 2, "patches"), part(2.0, "dog", 3))
    against = part(-50.0, "patches that are unlike it", 0, "against", -1.0)
    found = _show_patches.shown_terms(Explanation(50.0, "fused", (*parts, against)))
    assert [(shown.label, shown.value, shown.cells) for shown in found] == [
        ("sea", 95.0, ((2, 0),)),
        ("beach", 3.0, ((1, 0),)),
    ]


def test_where_all_are_small_the_strongest_are_drawn() -> None:
    parts = tuple(part(1.0 + n / 100, f"t{n}", n % 4) for n in range(60))
    found = _show_patches.shown_terms(Explanation(60.0, "visual", parts))
    assert [shown.label for shown in found] == ["t59", "t58", "t57", "t56", "t55"]
