"""A service that listens, for as long as a test needs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.serve.conftest import PATIENT
from zipfian.serve.app import create_app
from zipfian.serve.server import listen, make_server
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import open_shelf
from zipfian.serve.warming import warm_up


@contextmanager
def running(path: Path, write: bool = False, **settings: Any) -> Iterator[int]:
    """A server in a thread; its port."""
    chosen = ServeSettings(port=0, **{"deadline": PATIENT, **settings})
    with listen(chosen) as taken:
        shelf, warm = open_shelf([str(path)], write=write), threading.Event()
        warm_up(shelf, warm)  # so that what a test measures is not the first search
        server = make_server(create_app(shelf, chosen), chosen)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        try:
            port = int(taken.getsockname()[1])
            while not server.started:
                time.sleep(0.01)
            yield port
        finally:
            server.should_exit = True
            thread.join()
