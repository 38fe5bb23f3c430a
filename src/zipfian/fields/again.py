"""Documents read again to show where something stands in them.

Several fields of a collection may ask about the same document, one after the other: the last passes are kept.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any

from zipfian.encode.cache import content_hash
from zipfian.encode.picture_files import told
from zipfian.encode.registry import EncoderSpec, find
from zipfian.errors import ZipfianError
from zipfian.fields.item import Stored
from zipfian.types import Encoded

KEPT = 4
"""Passes; one over a picture takes about 0.7 MB."""
NO_PICTURE = "the picture was not given as a file, so patches cannot be shown"

_LOCK = threading.Lock()
_PASSES: OrderedDict[tuple[str, str], Encoded] = OrderedDict()


def read_again(spec: EncoderSpec, stored: Stored) -> tuple[Encoded | None, str]:
    """An encoder's pass over a stored document; None, and a note where there is something to say, if there is none."""
    try:
        content: Any = (stored.text or None) if spec.kind == "text" else stored.picture()
        if content is None:
            return None, "" if spec.kind == "text" else NO_PICTURE
        return _pass(spec, content), ""
    except (ZipfianError, OSError) as error:
        return None, f"places cannot be shown: {told(error)}"


def _pass(spec: EncoderSpec, content: Any) -> Encoded:
    key = (spec.fingerprint, content_hash(content, spec.kind))
    with _LOCK:
        if key in _PASSES:
            _PASSES.move_to_end(key)
            return _PASSES[key]
    made: Encoded = find(spec).encode_documents([content])[0]
    with _LOCK:
        _PASSES[key] = made
        while len(_PASSES) > KEPT:
            _PASSES.popitem(last=False)
    return made
