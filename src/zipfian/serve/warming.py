"""The first search loads encoders and compiles kernels: it is made before anybody waits for it."""

from __future__ import annotations

import io
import logging
import threading
import time

from zipfian.collection import Collection
from zipfian.errors import ZipfianError
from zipfian.serve.shelf import Shelf

log = logging.getLogger("zipfian.serve")

QUERY = "how do plants make food from light?"
SIDE = 64


def warm_up(shelf: Shelf, done: threading.Event) -> None:
    """Search each collection once in every way it can be searched. What fails will fail again, and say so then."""
    start = time.perf_counter()
    for one in shelf:
        try:
            takes = {field.takes for field in one.collection.fields.values()}
            if "text" in takes:
                _search(one.collection, text=QUERY)
            if "image" in takes:
                _search(one.collection, image=_picture())
        except (ZipfianError, OSError) as error:
            log.warning("cannot warm up", extra={"collection": one.name, "error": repr(error)})
    done.set()
    log.info("ready", extra={"seconds": round(time.perf_counter() - start, 2)})


def _search(collection: Collection, text: str | None = None, image: bytes | None = None) -> None:
    found = collection.search(text, 10, image=image)
    for hit in found[:1]:
        found.explain(hit)


def _picture() -> bytes:
    """A small picture, of nothing."""
    from PIL import Image

    out = io.BytesIO()
    Image.linear_gradient("L").resize((SIDE, SIDE)).convert("RGB").save(out, format="PNG")
    return out.getvalue()
