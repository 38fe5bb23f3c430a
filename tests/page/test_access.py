"""For everybody: keyboard only, screen readers, dark, a phone's width."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.page.conftest import Visit

if TYPE_CHECKING:
    from playwright.sync_api import Page

AXE = Path(__file__).parent / "axe" / "axe.min.js"
QUERY = "words that look alike"
BEST = "difflib.get_close_matches"

VIEWS = {
    "welcome": ({"c": "texts"}, ".welcome"),
    "search": ({"c": "texts", "q": QUERY}, ".hit"),
    "why": ({"c": "texts", "q": QUERY, "why": BEST, "above": "difflib"}, ".versus"),
    "absent": ({"c": "texts", "q": QUERY, "absent": "json.dumps"}, ".absent .why"),
    "pictures": ({"c": "photos", "q": "a cat", "why": "cat.png"}, ".why .chip"),
    "split": ({"c": "texts", "q": QUERY, "split": "1", "2.method": "words"}, "[data-side=right] .hit"),
    "nothing": ({"c": "texts", "q": "qqqzzzxxx", "method": "words"}, ".note:not(.waiting)"),
    "scores": ({"view": "scores", "c": "texts", "q": QUERY}, ".data tbody tr"),
    "playground": ({"view": "playground", "c": "texts", "q": QUERY}, "zf-play-own .ranking"),
    "vocabulary": ({"view": "vocabulary", "c": "texts"}, ".zipf svg"),
    "term": ({"view": "term", "c": "texts", "field": "words", "term": "word"}, ".term-page"),
}

SETTLED = """() => Promise.all(
  document.getAnimations().filter((one) => one instanceof CSSTransition).map((one) => one.finished.catch(() => 0)))"""
"""Colours that fade are what they will be."""


def findings(page: Page, rules: list[str]) -> list[str]:
    """What axe-core finds serious or critical, by all of its rules or by some."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    how = {"resultTypes": ["violations"]} | ({"runOnly": rules} if rules else {})
    violations = page.evaluate("async (how) => (await axe.run(document, how)).violations", how)
    return [
        f"{one['id']}: {one['help']}: {node['html'][:160]}: {node['failureSummary'][:200]}"
        for one in violations
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"][:3]
    ]


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_for_everybody(visit: Visit, page: Page, view: str) -> None:
    page.emulate_media(color_scheme="light")
    state, wait = VIEWS[view]
    visit(wait, **state)
    assert findings(page, []) == []
    page.emulate_media(color_scheme="dark")
    page.wait_for_selector("[data-theme=dark]")
    page.evaluate(SETTLED)
    assert findings(page, ["color-contrast"]) == []
    page.set_viewport_size({"width": 375, "height": 760})
    page.wait_for_timeout(200)  # charts are drawn anew for the width they have
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_dark_is_what_the_system_says_until_the_reader_chooses(visit: Visit, page: Page) -> None:
    page.emulate_media(color_scheme="dark")
    visit(".welcome", c="texts")
    background = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(background) == "rgb(19, 20, 23)"
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(background) == "rgb(252, 252, 250)"
    page.reload()
    page.wait_for_selector(".welcome")
    assert page.evaluate(background) == "rgb(252, 252, 250)"


FOCUSED = """() => {
  const one = document.activeElement;
  return one.getAttribute('aria-label') || one.innerText || one.id;
}"""


def focused(page: Page) -> str:
    return str(page.evaluate(FOCUSED))


def tab_to(page: Page, name: str, most: int = 60) -> None:
    for _ in range(most):
        page.keyboard.press("Tab")
        if focused(page).startswith(name):
            return
    raise AssertionError(f"{name} is not reached with the keyboard")


def test_all_by_keyboard(visit: Visit, page: Page) -> None:
    visit(".welcome", c="texts")
    page.keyboard.press("/")
    assert focused(page) == "Search"
    page.keyboard.type(QUERY)
    page.keyboard.press("Enter")
    page.wait_for_selector(".hit")
    tab_to(page, "Why")
    page.keyboard.press("Enter")
    page.wait_for_selector(".why .document mark")
    tab_to(page, "similarities")
    page.wait_for_selector(".document mark.lit")
    page.keyboard.press("Enter")
    page.wait_for_selector(".term-page")
    assert "similarities" in page.locator("h1").inner_text()
