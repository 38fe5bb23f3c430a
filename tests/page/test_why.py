"""Why a hit is where it is: fields, terms, places; above another; not here."""

from __future__ import annotations

from tests.page.conftest import Visit
from tests.page.test_search import ids, number

QUERY = "words that look alike"
BEST = "difflib.get_close_matches"


def test_reasons_by_field_then_by_term(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    hit = page.locator(f".hit[data-id='{BEST}']")
    printed = number(hit.locator(".score").inner_text())
    hit.get_by_role("button", name="Why").click()
    page.wait_for_selector(".why .document mark")
    assert "why=difflib" in page.url
    fields = [number(one) for one in page.locator(".why-field h3 output").all_inner_texts()]
    assert abs(sum(fields) - printed) < 0.002
    for field, value in zip(page.locator(".why-field").all(), fields, strict=True):
        parts = [number(one) for one in field.locator(".chip .value").all_inner_texts()]
        assert abs(sum(parts) - value) <= 0.0006 * (len(parts) + 1)
    assert page.locator(".why-field.f-latent .chip .label", has_text="similarit").count() > 0


def test_pointing_at_a_term_lights_its_words(visit: Visit) -> None:
    page = visit(".why .document mark", c="texts", q=QUERY, why=BEST)
    assert page.locator(".document mark.lit").count() == 0
    page.locator(".chip .label", has_text="similarities").first.hover()
    page.wait_for_selector(".document mark.lit")
    lit = {one.lower() for one in page.locator(".document mark.lit").all_inner_texts()}
    assert lit & {"similar", "similarity"}
    assert "word" not in lit, "the words of other terms stay as they were"
    assert page.locator(".segment.lit").count() == 1
    inside = "() => [document.querySelector('.document'), document.querySelector('.document mark.lit')].map((one) => "
    frame, mark = page.evaluate(inside + "one.getBoundingClientRect().toJSON())")
    assert frame["top"] <= mark["top"]
    assert mark["bottom"] <= frame["bottom"], "a place further down in the text is brought into its frame"
    page.locator("h1, .brand").first.hover()
    page.wait_for_function("() => !document.querySelector('.document mark.lit')")


def test_a_term_opens_its_page_and_back_returns(visit: Visit) -> None:
    page = visit(".why .chip a", c="texts", q=QUERY, why=BEST)
    link = page.locator(".chip a", has_text="similarities").first
    label = link.inner_text()
    link.click()
    page.wait_for_selector(".term-page")
    assert page.locator("h1").inner_text() == label
    page.go_back()
    page.wait_for_selector(".why .chip a")


def test_why_one_is_above_another(visit: Visit) -> None:
    page = visit(".above select", c="texts", q=QUERY, why=BEST)
    other = ids(page)[1]
    scores = [number(one) for one in page.locator(".hit .score").all_inner_texts()[:2]]
    assert other is not None
    page.select_option(".above select", other)
    page.wait_for_selector(".versus tbody tr")
    total = number(page.locator(".versus tfoot .number").inner_text())
    parts = [number(one) for one in page.locator(".versus tbody .number").all_inner_texts()]
    assert abs(total - (scores[0] - scores[1])) < 0.002
    assert abs(sum(parts) - total) <= 0.0006 * (len(parts) + 1)
    assert f"above={other}" in page.url


def test_muting_and_boosting_rank_anew(visit: Visit) -> None:
    page = visit(".why .chip a", c="texts", q=QUERY, why=BEST)
    score = page.locator(f".hit[data-id='{BEST}'] .score")
    before = number(score.inner_text())
    page.get_by_role("button", name="Mute similarities").first.click()
    page.wait_for_selector(".settings .tag:has-text('muted')")
    page.wait_for_function(f"() => !document.querySelector('.hit.open .score')?.innerText.includes('{before:.3f}')")
    assert number(score.inner_text()) < before
    assert "adjust%3Alatent%3A" in page.url
    assert "similarities" in page.locator(".settings .tag").inner_text(), "a muted term keeps its name"
    page.locator(".settings .tag").click()
    page.wait_for_function(f"() => document.querySelector('.hit.open .score')?.innerText.includes('{before:.3f}')")
    page.get_by_role("button", name="Boost similarities").first.click()
    page.wait_for_selector(".settings .tag:has-text('×2')")
    page.wait_for_selector(".chip.boosted")


def test_why_an_id_is_not_here(visit: Visit) -> None:
    page = visit(".hit", c="texts", q=QUERY)
    page.fill("#absent", "json.dumps")
    page.get_by_role("button", name="Why is it not here?").click()
    page.wait_for_selector(".absent .why")
    said = page.locator(".absent .why").inner_text()
    assert "words lacks" in said.replace("\n", " ")
    assert "similarit" in said
    assert "the last hit has" in said


def test_an_id_that_is_here_after_all_and_one_that_exists_nowhere(visit: Visit, complaints: list[str]) -> None:
    page = visit(".absent .why", c="texts", q=QUERY, absent=BEST)
    assert "It is here: hit 1." in page.locator(".absent .why").inner_text()
    page.fill("#absent", "no.such.document")
    page.press("#absent", "Enter")
    page.wait_for_selector(".absent .problem")
    assert "no.such.document" in page.locator(".absent .problem").inner_text()
    complaints.clear()  # the browser reports the 404
