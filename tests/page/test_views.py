"""Scores, playground, vocabulary and terms."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.page.conftest import Visit
from tests.page.test_search import number

if TYPE_CHECKING:
    from playwright.sync_api import Page

QUERY = "words that look alike"


def turn(page: Page, dial: str, value: float) -> None:
    page.locator(f"[data-name={dial}] input").fill(str(value))


def column(page: Page, n: int) -> list[float]:
    return [number(one) for one in page.locator(f".data tbody td:nth-child({n})").all_inner_texts()]


def test_scores_are_charted_sorted_and_saved(visit: Visit, tmp_path: Path) -> None:
    page = visit(".data tbody tr", view="scores", c="texts", q=QUERY)
    assert page.locator(".charts svg[role=img]").count() == 3
    told = page.locator(".charts svg").first.get_attribute("aria-label") or ""
    assert told.startswith("Scores of 10 hits")
    shown = page.locator(".snapshot").inner_text().split("\n")
    first, second = column(page, 4)[:2]
    assert abs(number(shown[shown.index("s₁ − s₂") + 1]) - (first - second)) < 0.0015
    page.get_by_role("button", name="latent").click()
    latent = column(page, 7)
    assert latent == sorted(latent, reverse=True)
    with page.expect_download() as saved:
        page.get_by_role("button", name="CSV").click()
    saved.value.save_as(tmp_path / "scores.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "scores.csv").read_text())))
    assert len(rows) == 10
    assert abs(float(rows[0]["words"]) + float(rows[0]["latent"]) - float(rows[0]["score"])) < 1e-9
    with page.expect_download() as saved:
        page.get_by_role("button", name="JSON").click()
    saved.value.save_as(tmp_path / "scores.json")
    content = json.loads((tmp_path / "scores.json").read_text())
    assert content["query"] == QUERY
    assert len(content["hits"]) == 10


def test_saturation_has_the_numbers_of_its_text(visit: Visit) -> None:
    page = visit("zf-play-saturation .readings", view="playground", c="texts")
    readings = page.locator("zf-play-saturation .readings")
    assert readings.locator("dd").all_inner_texts() == ["5.00", "1.92", "2.50"]
    turn(page, "k1", 3)
    assert readings.locator("dd").all_inner_texts() == ["5.00", "2.50", "4.00"]  # 5 * 4 / 8
    turn(page, "tf", 25)
    assert readings.locator("dd").all_inner_texts() == ["25.00", "3.57", "4.00"]  # 25 * 4 / 28


def test_length_has_the_numbers_of_its_text(visit: Visit) -> None:
    page = visit("zf-play-length .readings", view="playground", c="texts")
    readings = page.locator("zf-play-length .readings")
    assert readings.locator("dd").all_inner_texts() == ["600", "2.00 ×", "1.75"]
    turn(page, "b", 0)
    assert readings.locator("dd").all_inner_texts() == ["600", "2.00 ×", "1.00"]
    turn(page, "b", 1)
    turn(page, "length", 3000)
    assert readings.locator("dd").all_inner_texts() == ["600", "5.00 ×", "5.00"]


def test_switching_terms_moves_the_documents(visit: Visit) -> None:
    page = visit("zf-play-vector .ranking", view="playground", c="texts")
    vector = page.locator("zf-play-vector")
    assert vector.locator(".score").all_inner_texts() == ["7.370", "1.620"]  # 3.42 + 1.85 + 2.10
    for name in ("bm25", "sparse", "vector", "database"):
        vector.get_by_role("button", name=name).click()
    assert [one.get_attribute("data-id") for one in vector.locator(".ranking > li").all()] == ["B", "A"]
    assert vector.locator(".score").all_inner_texts() == ["3.100", "0.000"]


def test_k1_and_b_move_the_live_search(visit: Visit) -> None:
    page = visit("zf-play-own .ranking", view="playground", c="texts", q="compare sequences of lines")
    own = page.locator("zf-play-own")
    order = [one.get_attribute("data-id") for one in own.locator(".ranking > li").all()]
    assert "0 hits moved" in own.inner_text()
    turn(page, "own-k1", 0)
    page.wait_for_function("() => !document.querySelector('zf-play-own').innerText.includes('0 hits moved')")
    assert [one.get_attribute("data-id") for one in own.locator(".ranking > li").all()] != order
    assert "k1=0" in page.url
    own.get_by_role("button", name="Use these in the search").click()
    page.wait_for_selector(".hit")
    assert "fields=words" in page.url
    assert page.locator(".tag", has_text="k1 0").count() == 1


def test_the_vocabulary_is_drawn_listed_and_searched(visit: Visit) -> None:
    page = visit(".zipf svg", view="vocabulary", c="texts")
    told = page.locator(".zipf svg").get_attribute("aria-label") or ""
    assert "words:" in told
    assert "latent:" in told
    assert page.locator(".ends section").count() == 2
    head, tail = (page.locator(".ends section").nth(n).locator("small").first.inner_text() for n in (0, 1))
    assert int(head.split()[0].replace(",", "")) > 10
    assert tail == "1 document"
    page.fill("#label", "random")
    page.wait_for_selector(".found .terms a")
    page.locator(".found .terms a", has_text="random").first.click()
    page.wait_for_selector(".term-page .examples mark")
    assert "random" in page.locator("h1").inner_text()


def test_a_visual_word_shows_its_patches(visit: Visit) -> None:
    page = visit(".zipf svg", view="vocabulary", c="photos", field="visual")
    page.locator(".ends .terms a").first.click()
    page.wait_for_selector(".patches .patch", state="attached")
    assert page.locator(".patches li").count() >= 2
