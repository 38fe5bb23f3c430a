"""Pictures of documents for a page: decoded by the one decoder and made anew, so that no byte of a file goes along."""

from __future__ import annotations

import io

from zipfian.encode.images import decode


def thumbnail(data: bytes, side: int) -> bytes:
    """A small JPEG of a picture; profiles, comments and places where it was taken stay behind."""
    image = decode(data, reduce_to=side)
    image.thumbnail((side, side))
    image.info = {}
    out = io.BytesIO()
    image.convert("RGB").save(out, format="JPEG", quality=85)
    return out.getvalue()
