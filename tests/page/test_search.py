"""Searching texts: hits, bars, facets, what cannot be found, and a state that lives in the address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.page.conftest import Visit
from tests.page.stage import SCRIPT

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUERY = "split a string using shell-like syntax"


def number(text: str | None) -> float:
    return float((text or "").replace("−", "-").replace("+", "").strip())


def ids(page: Page, side: str = "") -> list[str | None]:
    return [hit.get_attribute("data-id") for hit in page.locator(f"{side} .hit").all()]


def test_a_text_is_typed_and_found(visit: Visit) -> None:
    page = visit("#q", c="texts")
    page.fill("#q", QUERY)
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    assert ids(page)[0] == "shlex.split"
    assert "q=split+a+string" in page.url
    assert page.locator(".hit").first.locator(".passage mark").count() > 0
    assert re.search(r"10 hits\s+in", page.locator(".summary").inner_text())


def test_the_parts_of_every_bar_sum_to_the_printed_score(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    for hit in page.locator(".hit").all():
        printed = number(hit.locator(".score").inner_text())
        parts = [number(part) for part in hit.locator(".sum b").all_inner_texts()]
        assert abs(sum(parts) - printed) <= 0.0006 * (len(parts) + 1)
    first = page.locator(".hit").first
    bar = first.locator(".bar").bounding_box()
    segments = [box for one in first.locator(".segment").all() if (box := one.bounding_box())]
    assert bar is not None
    assert len(segments) == 2
    assert abs(segments[0]["x"] - bar["x"]) < 1
    assert abs(segments[0]["x"] + segments[0]["width"] - segments[1]["x"]) < 1, "one begins where the other ends"
    # The first hit's bar is full: its fields share it as they share the score.
    parts = [number(part) for part in first.locator(".sum b").all_inner_texts()]
    for segment, part in zip(segments, parts, strict=True):
        assert abs(segment["width"] / bar["width"] - part / sum(parts)) < 0.005


def test_facets_narrow_the_search_and_say_how_many(visit: Visit) -> None:
    page = visit(".facet", c="texts", q=QUERY)
    label = page.locator(".facet label", has_text="class").first
    count = int(label.locator("small").inner_text().replace(",", ""))
    assert count > 5
    columns = page.locator(".facet legend").all_inner_texts()
    with page.expect_response(lambda answer: answer.url.endswith("/facets")):
        label.locator("input").check()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.hit .facts')].every(one => one.textContent.includes('class'))"
    )
    assert "where.kind" in page.url
    label = page.locator(".facet label", has_text="class").first
    assert label.locator("input").is_checked()
    assert page.locator(".facet legend").all_inner_texts() == columns, (
        "no column moves: the next click is under the pointer"
    )
    assert page.locator(".facet label", has_text="function").count() > 0, "other values of the column stay on offer"


def test_what_a_stranger_wrote_is_shown_and_never_run(visit: Visit) -> None:
    page = visit(".hit", c="texts", q="shell syntax", method="words")
    hostile = page.locator(".hit", has_text="onerror=alert").first
    assert hostile.locator("h2").inner_text().startswith("<img src=x")
    hostile.get_by_role("button", name="Why").click()
    page.wait_for_selector(".why .chip")
    assert page.locator("main img, main script").count() == 0
    assert page.locator(".facet label", has_text=SCRIPT[:20]).count() == 1


def test_nothing_shares_a_term(visit: Visit) -> None:
    page = visit(".note:not(.waiting)", c="texts", q="qqqzzzxxx", method="words")
    assert "Nothing shares a term" in page.locator(".note").inner_text()


def test_an_error_is_said_in_words(visit: Visit, complaints: list[str]) -> None:
    page = visit(".problem", c="texts", q="json", method="nonsense")
    said = page.locator(".problem").inner_text()
    assert "nonsense" in said
    assert "request" in said
    assert "Traceback" not in said
    complaints.clear()  # the browser reports the 422


def test_a_collection_that_is_not_served(visit: Visit) -> None:
    page = visit(".note:not(.waiting)", c="nowhere")
    assert "There is no collection “nowhere”" in page.locator(".note").inner_text()


def test_back_and_reload_bring_the_same_hits(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    before = ids(page)
    page.select_option("#left-method", "m:words")
    page.wait_for_function("() => document.querySelector('.summary').textContent.includes('Only words')")
    assert "method=words" in page.url
    after = ids(page)
    page.reload()
    page.wait_for_selector(".hit")
    assert ids(page) == after
    page.go_back()
    page.wait_for_function("() => document.querySelector('.summary')?.textContent.includes('Hybrid')")
    assert ids(page) == before
    assert page.locator("#left-method").input_value() == ""


def test_a_cut_off_hides_hits_and_says_so(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    second = number(page.locator(".score").nth(1).inner_text())
    page.fill("#left-min", str(second - 0.01))
    page.press("#left-min", "Enter")
    page.wait_for_function("() => document.querySelectorAll('.hit').length === 2")
    assert "(8 below the cut-off)" in page.locator(".summary").inner_text()


def test_suggestions_are_labels_and_what_was_asked_before(visit: Visit) -> None:
    page = visit("#q", c="texts")
    page.fill("#q", "random numbers")
    page.press("#q", "Enter")
    page.wait_for_selector(".hit")
    page.fill("#q", "rand")
    page.wait_for_selector("#suggestions li:has-text('term')")
    options = page.locator("#suggestions li").all_inner_texts()
    assert "random numbers" in options[0]
    assert "asked before" in options[0]
    assert any("words term" in one or "latent term" in one for one in options)
    page.press("#q", "ArrowDown")
    page.press("#q", "Enter")
    page.wait_for_function("() => new URLSearchParams(location.search).get('q') === 'random numbers'")


def test_weights_of_fields_move_the_shares(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    before = page.locator(".hit").first.locator(".sum").inner_text()
    page.locator(".fields summary").click()
    page.get_by_label("Weight of words").fill("3")
    page.wait_for_function(f"() => document.querySelector('.hit .sum').innerText !== {before!r}")
    assert "weight%3Awords=3" in page.url


def test_more_like_one(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    page.locator(".hit").first.get_by_role("button", name="More like this").click()
    page.wait_for_selector(".like")
    page.wait_for_selector(".hit[data-id='shlex.join']")
    page.wait_for_selector(".hit[data-id='shlex.split']", state="detached")
    assert "shlex.split" in page.locator(".like").inner_text()


def test_two_settings_side_by_side(visit: Visit) -> None:
    page = visit(".hit", c="texts", q="words that look alike")
    page.get_by_role("button", name="Side by side").click()
    page.wait_for_selector("[data-side=right] .hit")
    left, right = ids(page, ".side[data-side=left]"), ids(page, ".side[data-side=right]")
    assert left != right
    new = [hit.get_attribute("data-id") for hit in page.locator(".side[data-side=right] .hit.new").all()]
    assert new == [one for one in right if one not in left]
    moved = 0
    for at, one in enumerate(right):
        if one in left and left.index(one) != at:
            by = left.index(one) - at
            said = page.locator(".side[data-side=right] .hit").nth(at).locator(".change").inner_text()
            assert said == f"{'▲' if by > 0 else '▼'} {abs(by)}"
            moved += 1
    assert moved > 0
    page.select_option("#right-method", "m:latent")
    page.wait_for_function(
        "() => document.querySelector('.side[data-side=right] .summary').textContent.includes('Only latent')"
    )
    assert "2.method=latent" in page.url
    assert page.locator("#left-method").input_value() == ""
