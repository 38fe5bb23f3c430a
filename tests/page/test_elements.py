"""The widgets in a page of one's own: by the side of the service they can be used, from elsewhere they cannot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.page.stage import serving
from zipfian.collection import Collection

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

OWN = """<!doctype html><title>mine</title>
<link rel="stylesheet" href="SERVICE/style/tokens.css"><link rel="stylesheet" href="SERVICE/style/hit.css">
<zf-score-bar></zf-score-bar>
<script type="module">
import "SERVICE/elements/score-bar.js";
Object.assign(document.querySelector("zf-score-bar"), { value: 3, parts: [
  { label: "words", value: 2, accent: "f-words" }, { label: "<b>latent</b>", value: 1, accent: "f-latent" }] });
</script>"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("small") / "notes.zf"
    with Collection.create(path) as notes:
        notes.add([{"id": "a", "text": "Plants make food from light."}])
        notes.commit()
    with serving(str(path)) as address:
        yield address


def own(page: Page, at: str, service: str) -> None:
    """A page that the service does not have, at an address of its own or of another site."""

    def answer(route: Route) -> None:
        route.fulfill(body=OWN.replace("SERVICE", service), content_type="text/html")

    page.route(f"{at}/own.html", answer)
    page.goto(f"{at}/own.html")


def test_a_page_beside_the_service_draws_a_bar(small: str, page: Page) -> None:
    own(page, small, small)
    page.wait_for_selector("zf-score-bar .segment")
    assert page.locator("zf-score-bar .bar").get_attribute("aria-label") == "3.000 = words 2.000 + <b>latent</b> 1.000"
    widths = page.evaluate("[...document.querySelectorAll('.segment')].map((one) => one.style.width)")
    assert [round(float(width.removesuffix("%"))) for width in widths] == [67, 33]


def test_a_page_of_another_site_gets_none_of_it(small: str, page: Page, complaints: list[str]) -> None:
    own(page, "http://other.example", small)
    page.wait_for_load_state()
    assert page.evaluate("customElements.get('zf-score-bar') === undefined")
    assert page.locator(".segment").count() == 0
    assert complaints
    complaints.clear()
