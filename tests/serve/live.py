"""A service that listens, for as long as a test needs it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from zipfian.serve.app import create_app
from zipfian.serve.server import listen, make_server
from zipfian.serve.settings import ServeSettings
from zipfian.serve.shelf import open_shelf


@contextmanager
def running(path: Path, write: bool = False, **settings: Any) -> Iterator[int]:
    """A server in a thread; its port."""
    chosen = ServeSettings(port=0, **settings)
    with listen(chosen) as taken:
        server = make_server(create_app(open_shelf([str(path)], write=write), chosen), chosen)
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
