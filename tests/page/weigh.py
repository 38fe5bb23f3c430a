"""`python -m tests.page.weigh`: how heavy the page is and how soon it is seen, as the table of `docs/page.md`."""

from __future__ import annotations

import gzip
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.page.stage import browsing, chromium, make_texts, serving
from tests.page.test_files import LOADED, PAGE

VISITS = 9
PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime"
GROUPS: tuple[tuple[str, Callable[[Path], bool]], ...] = (
    ("scripts", lambda path: path.suffix == ".js" and "vendor" not in path.parts),
    ("lit-html", lambda path: path.suffix == ".js" and "vendor" in path.parts),
    ("styles", lambda path: path.suffix == ".css"),
    ("page and icon", lambda path: path.suffix in (".html", ".svg")),
    ("all", lambda path: True),
)


def sizes() -> list[tuple[str, int, int, int]]:
    """Files, bytes and gzipped bytes of each group, and of all."""
    rows = []
    for name, belongs in GROUPS:
        contents = [path.read_bytes() for path in LOADED if belongs(path.relative_to(PAGE))]
        rows.append((name, len(contents), sum(map(len, contents)), sum(len(gzip.compress(one, 9)) for one in contents)))
    return rows


def paints(path: str) -> list[float]:
    """Milliseconds until something is seen, each time with an empty cache."""
    with tempfile.TemporaryDirectory() as made:
        make_texts(Path(made) / "texts.zf", ("json", "shlex"))
        with serving(str(Path(made) / "texts.zf")) as address, browsing(path) as browser:
            out = []
            for _ in range(VISITS):
                context = browser.new_context()
                page = context.new_page()
                page.goto(f"{address}/?c=texts")
                page.wait_for_selector(".welcome")
                out.append(float(page.evaluate(PAINT)))
                context.close()
            return out


def main() -> int:
    print("| files | number | bytes | gzipped |\n|---|---|---|---|")
    for name, number, plain, packed in sizes():
        print(f"| {name} | {number} | {plain:,} | {packed:,} |")
    path = chromium()
    if path is None:
        print("no Chromium on the path: nothing was painted", file=sys.stderr)
        return 1
    seen = paints(path)
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    middle = statistics.median(seen)
    print(f"\nfirst paint: median {middle:.0f} ms, {min(seen):.0f} to {max(seen):.0f} ms in {VISITS} visits")
    print(f"(load of the machine: {load:.1f} for each core)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
