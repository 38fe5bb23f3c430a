"""Pictures as queries: dropped, pasted and chosen; their patches lit."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.conftest import Visit
from tests.page.test_search import ids

if TYPE_CHECKING:
    from playwright.sync_api import Page

GIVE = """([bytes, type]) => {
  const data = new DataTransfer();
  const content = Uint8Array.from(atob(bytes), (one) => one.charCodeAt(0));
  data.items.add(new File([content], 'cat.png', { type: 'image/png' }));
  const init = { bubbles: true, cancelable: true };
  const event = type === 'drop' ? new DragEvent('drop', { ...init, dataTransfer: data })
                                : new ClipboardEvent('paste', { ...init, clipboardData: data });
  document.querySelector('main').dispatchEvent(event);
}"""


def give(page: Page, picture: Path, how: str) -> None:
    page.evaluate(GIVE, [base64.b64encode(picture.read_bytes()).decode(), how])


@pytest.mark.parametrize("how", ["drop", "paste"])
def test_a_picture_is_given(visit: Visit, pictures: Path, how: str) -> None:
    page = visit("#q", c="photos")
    give(page, pictures / "cat.png", how)
    page.wait_for_selector(".tiles .hit")
    assert ids(page)[0] == "cat.png"
    assert page.locator(".picked img").count() == 1
    page.reload()
    page.wait_for_selector(".tiles .hit")
    assert ids(page)[0] == "cat.png", "the picture is kept under the name in the address"
    page.get_by_role("button", name="Remove the picture").click()
    page.wait_for_selector(".welcome")


def test_pointing_at_a_visual_word_lights_its_patches(visit: Visit, pictures: Path) -> None:
    page = visit("#q", c="photos")
    page.set_input_files(".pick input", pictures / "cat.png")
    page.wait_for_selector(".tiles .hit")
    page.get_by_role("button", name="Why cat.png is here").click()
    page.wait_for_selector(".why .chip a")
    assert page.locator(".pair .patch").count() == 0
    page.locator(".why .chip a").first.hover()
    page.wait_for_selector(".pair .patch", state="attached")
    asked, hit = page.locator(".pair zf-heat-map").all()
    # The picture found is the one asked with: the same patches light on both.
    places = [[one.get_attribute("x"), one.get_attribute("y")] for one in hit.locator(".patch").all()]
    assert len(places) >= 1
    assert [[one.get_attribute("x"), one.get_attribute("y")] for one in asked.locator(".patch").all()] == places


def test_words_find_pictures_in_a_grid_with_thumbnails(visit: Visit) -> None:
    page = visit(".tiles .hit", c="photos", q="a cat")
    assert ids(page)[0] == "cat.png"
    page.wait_for_function(
        "() => [...document.querySelectorAll('.tiles img')].slice(0, 4).every((one) => one.naturalWidth > 100)"
    )


def test_a_collection_of_texts_says_that_it_takes_no_pictures(visit: Visit, pictures: Path) -> None:
    page = visit("#q", c="texts")
    give(page, pictures / "cat.png", "drop")
    page.wait_for_selector(".trouble")
    assert "no field that reads pictures" in page.locator(".trouble").inner_text()


def test_a_file_that_is_no_picture(visit: Visit, tmp_path: Path) -> None:
    page = visit("#q", c="photos")
    (tmp_path / "a.txt").write_text("hello")
    page.set_input_files(".pick input", tmp_path / "a.txt")
    page.wait_for_selector(".trouble")
    assert "a.txt" in page.locator(".trouble").inner_text()
