"""The page's files: small, whole, from nowhere else, and known by their hashes. No browser is needed."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

import zipfian

PAGE = Path(zipfian.__file__).parent / "serve" / "page"
FILES = sorted(path for path in PAGE.rglob("*") if path.is_file())
LOADED = [path for path in FILES if path.suffix in (".html", ".js", ".css", ".svg") and "docs" not in path.parts]
MOST_BYTES = 150_000
"""All of the page, gzipped."""


def test_the_page_is_small() -> None:
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in LOADED) < MOST_BYTES


def test_code_of_others_is_what_its_table_says() -> None:
    rows = re.findall(r"^\| (\S+\.js) .*\| ([0-9a-f]{64}) \|", (PAGE / "vendor" / "README.md").read_text(), re.M)
    assert [name for name, _ in rows] == [
        path.name for path in FILES if path.parent.name == "vendor" and path.suffix == ".js"
    ]
    for name, sha256 in rows:
        assert hashlib.sha256((PAGE / "vendor" / name).read_bytes()).hexdigest() == sha256
        assert (PAGE / "vendor" / name).with_suffix(".LICENSE").exists()
    axe = Path(__file__).parent / "axe"
    assert hashlib.sha256((axe / "axe.min.js").read_bytes()).hexdigest() in (axe / "README.md").read_text()


@pytest.mark.parametrize("path", LOADED, ids=lambda path: path.relative_to(PAGE).as_posix())
def test_a_file_asks_nobody_else_and_has_nothing_inline(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    own = "vendor" not in path.parts
    addresses = [one for one in re.findall(r"https?://[^\s\"'`)]+", text) if not one.startswith("http://www.w3.org/")]
    assert addresses == []
    if path.suffix == ".html":
        assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", text) == []
    if path.suffix == ".js" and own:
        assert re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|unsafeHTML|\beval\(", text) == []
        assert re.findall(r"(?<!\.)\bstyle=\$?[{\"]", text) == [], (
            "the policy forbids style attributes; set the property .style"
        )
        assert len(text.splitlines()) <= 200, "a file has one job"


def imported(start: str) -> set[str]:
    """A module and all that it imports, as paths within the page."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for found in re.findall(r"(?:from|^import) \"(\.[^\"]+)\"", (PAGE / name).read_text(encoding="utf-8"), re.M):
            waiting.append(((PAGE / name).parent / found).resolve().relative_to(PAGE.resolve()).as_posix())
    return seen


def test_what_the_first_view_needs_is_asked_for_at_once() -> None:
    named = re.findall(r'rel="modulepreload" href="([^"]+)"', (PAGE / "index.html").read_text(encoding="utf-8"))
    assert sorted(named) == sorted((imported("app.js") | imported("views/search.js")) - {"app.js"})
