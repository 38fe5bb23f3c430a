"""The sheet that `explain --out` writes, for pictures of any shape."""

from __future__ import annotations

from PIL import Image

from zipfian.cli import _show_patches


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
