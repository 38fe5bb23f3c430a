"""The documentation site: built strictly, complete, and whole by itself.

A page that fetched a font or a script from elsewhere would tell another host who reads it, and break without a network.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from tests.tools.loading import load

ROOT = Path(__file__).resolve().parent.parent

LOADS = {
    "script": "src",
    "link": "href",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
}
"""Elements that make a browser fetch something, and the attribute that says what."""
STYLE_URL = re.compile(r"""(?:url\(|@import )\s*["']?([^"')\s]+)""")


class Page(HTMLParser):
    """What a page fetches, where it leads, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag in LOADS and (url := found.get(LOADS[tag])):
            self.loads.append(url)
        if tag == "a" and (url := found.get("href")):
            self.links.append(url)
        if name := found.get("id"):
            self.anchors.add(name)


def foreign(url: str) -> bool:
    """Whether it leads to another host."""
    return bool(urlsplit(url).netloc)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(out)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "src"))
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[str, Page]:
    found = {path.relative_to(site).as_posix(): Page(path.read_text("utf-8")) for path in site.rglob("*.html")}
    assert "index.html" in found
    return found


def test_nothing_is_fetched_from_another_host(site: Path, pages: dict[str, Page]) -> None:
    assert {url for page in pages.values() for url in page.loads if foreign(url)} == set()
    styles = "".join(path.read_text("utf-8") for path in site.rglob("*.css"))
    urls = STYLE_URL.findall(styles)
    assert any(url.startswith("fonts/") for url in urls)
    assert [url for url in urls if foreign(url)] == []


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://cdn.example/x.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ('<img src="../img/zipf.svg">', False),
        ('<a href="https://example.org">read on</a>', False),
    ],
)
def test_what_another_host_would_give_is_found(html: str, found: bool) -> None:
    assert any(map(foreign, Page(html).loads)) is found


def test_what_a_style_fetches_is_found() -> None:
    assert STYLE_URL.findall("@import '//a/b.css'; x{src:url(\"https://c/d\")}") == ["//a/b.css", "https://c/d"]


def test_every_link_leads_somewhere(site: Path, pages: dict[str, Page]) -> None:
    lost = []
    for name, page in pages.items():
        for url in page.loads + page.links:
            parts = urlsplit(urljoin(f"http://site/{name}", url))
            if parts.netloc != "site" or parts.scheme != "http" or name == "404.html":
                continue
            path = unquote(parts.path).lstrip("/")
            target = path + "index.html" if path == "" or path.endswith("/") else path
            if not (site / target).is_file():
                lost.append(f"{name}: {url}")
            elif parts.fragment and target in pages and parts.fragment not in pages[target].anchors:
                lost.append(f"{name}: {url} has no such place")
    assert lost == []


def test_every_public_name_has_its_place(pages: dict[str, Page]) -> None:
    (tool,) = load("docs_site")
    names = tool.public_names()
    assert {"Collection", "SparseIndex"} <= set(names["zipfian"])
    for module, public in names.items():
        shown = pages[f"reference/{module}/index.html"].anchors
        assert [name for name in public if f"{module}.{name}" not in shown] == []


def test_guides_and_rules_are_there(pages: dict[str, Page]) -> None:
    guides = {path.stem for path in (ROOT / "docs").glob("*.md")} - {"index"}
    assert {f"{name}/index.html" for name in guides} <= set(pages)
    assert {"about/readme/index.html", "about/architecture/index.html", "about/security/index.html"} <= set(pages)


@pytest.mark.parametrize(
    ("page", "link", "becomes"),
    [
        ("docs/index.md", "[r](../README.md)", "[r](about/readme.md)"),
        ("README.md", "[r](docs/results.md#pets)", "[r](../results.md#pets)"),
        ("README.md", "[s](SECURITY.md)", "[s](security.md)"),
        ("docs/results.md", "![f](../results/a.svg)", "![f](results/a.svg)"),
        ("README.md", "[examples](examples)", "examples"),
        ("docs/index.md", "[w](https://example.org/x)", "[w](https://example.org/x)"),
        ("docs/index.md", "[gone](nowhere.md)", "[gone](nowhere.md)"),
    ],
)
def test_links_of_the_repository_become_links_of_the_site(page: str, link: str, becomes: str) -> None:
    (tool,) = load("docs_site")
    uris = {"index.md", "results.md", "about/readme.md", "about/security.md", "results/a.svg"}
    assert tool.site_links(page, f"see {link}.", uris) == f"see {becomes}."
