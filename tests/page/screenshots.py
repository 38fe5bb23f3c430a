"""`python -m tests.page.screenshots`: pictures of every view, for `docs/img`.

The texts are the documentation of Python's standard library (PSF licence), the pictures free photographs that packages
of the registry carry: the collections of `make demo`.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from tests.page.stage import browsing, chromium, make_pictures, make_texts, serving
from zipfian.cli import _demo_data

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

INTO = Path("docs/img")
QUERY = "words that look alike"
BEST = "difflib.get_close_matches"
MOST_BYTES = 290_000
"""Of one picture; a larger one gets a palette."""


def nothing(page: Page, pictures: Path) -> None:
    """The view as it opens."""


@dataclass(frozen=True)
class Shot:
    """One picture: the page in some state, and what is done to it first."""

    name: str
    wait: str
    state: dict[str, str]
    act: Callable[[Page, Path], None] = nothing
    size: tuple[int, int] = (1280, 880)
    dark: bool = False


def hover_a_term(page: Page, pictures: Path) -> None:
    page.evaluate("() => document.querySelector('.hit.open').scrollIntoView()")
    page.locator(".why .chip a", has_text="similarities").first.hover()
    page.wait_for_selector(".document mark.lit")


def ask_with_a_picture(page: Page, pictures: Path) -> None:
    page.set_input_files(".pick input", pictures.parent / "query" / "officer.jpg")
    page.wait_for_selector(".tiles .hit")


def light_patches(page: Page, pictures: Path) -> None:
    ask_with_a_picture(page, pictures)
    page.get_by_role("button", name="Why astronaut.png is here").click()
    page.wait_for_selector(".why .chip a")
    page.evaluate("() => document.querySelector('.pair').scrollIntoView()")
    page.locator(".why .chip a").nth(2).hover()
    page.wait_for_selector(".pair .patch", state="attached")


TEXT = {"c": "python", "q": QUERY}
SHOTS = (
    Shot("page-search", ".hit", TEXT),
    Shot("page-pictures", ".tiles .hit", {"c": "photos", "q": "something in space"}, size=(1280, 690)),
    Shot("page-why", ".why .document mark", {**TEXT, "why": BEST}, hover_a_term),
    Shot("page-patches", "#q", {"c": "photos"}, light_patches, size=(1280, 680)),
    Shot("page-side-by-side", "[data-side=right] .hit", {**TEXT, "split": "1", "2.method": "words"}),
    Shot("page-scores", ".data tbody tr", {**TEXT, "view": "scores"}, size=(1280, 1180)),
    Shot("page-playground", "zf-play-own .ranking", {**TEXT, "view": "playground"}, size=(1280, 1330)),
    Shot("page-vocabulary", ".zipf svg", {"c": "python", "view": "vocabulary"}, size=(1280, 1080)),
    Shot("page-term", ".term-page", {"c": "python", "view": "term", "field": "latent", "term": "13263"}),
    Shot("page-phone", ".why .document mark", {**TEXT, "why": BEST}, size=(390, 844)),
    Shot("page-dark", ".why .document mark", {**TEXT, "why": BEST}, dark=True),
)


def take(browser: Browser, address: str, shot: Shot, pictures: Path) -> bytes:
    """The picture as a small PNG."""
    width, height = shot.size
    scheme = "dark" if shot.dark else "light"
    page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme, device_scale_factor=1)
    try:
        page.set_default_timeout(60_000)
        page.goto(f"{address}/?{urlencode(shot.state)}")
        page.wait_for_selector(shot.wait)
        shot.act(page, pictures)
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(500)  # transitions end
        return small(page.screenshot())
    finally:
        page.close()


def small(png: bytes) -> bytes:
    """The same picture, as it is if it is small enough, otherwise with a palette."""
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB")
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    if len(out.getvalue()) > MOST_BYTES:
        out = io.BytesIO()
        image.quantize(256, dither=Image.Dither.FLOYDSTEINBERG).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.page.screenshots", description=__doc__)
    parser.add_argument("--into", type=Path, default=INTO, help="folder for the pictures")
    parser.add_argument("--only", default="", help="only those whose name has this in it")
    parser.add_argument("--demo", type=Path, help="folder that `zipfian demo --into` made; made anew without it")
    args = parser.parse_args(arguments)
    path = chromium()
    if path is None:
        print("no Chromium on the path (Debian, Ubuntu: apt-get install chromium)", file=sys.stderr)
        return 1
    args.into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        folder = args.demo or Path(made)
        if args.demo is None:
            make_texts(folder / "python.zf", None)
            make_pictures(folder / "pictures.zf", folder / "pictures")
            _demo_data.fetch(_demo_data.QUERY, folder / "query")
        places = (f"python={folder / 'python.zf'}", f"photos={folder / 'pictures.zf'}")
        with serving(*places) as address, browsing(path) as browser:
            for shot in SHOTS:
                if args.only in shot.name:
                    content = take(browser, address, shot, folder / "pictures")
                    (args.into / f"{shot.name}.png").write_bytes(content)
                    print(f"{args.into / shot.name}.png  {len(content) / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
