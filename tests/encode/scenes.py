"""A small picture whose sides and corners can be told apart, and its bytes in any format."""

from __future__ import annotations

import io
from typing import Any

import pytest

Image = pytest.importorskip("PIL.Image", reason="pillow is not installed: pip install 'zipfian[image]'")


def scene(width: int = 60, height: int = 40) -> Any:
    """Red left half, blue right half, a green top left corner."""
    image = Image.new("RGB", (width, height), (200, 30, 30))
    image.paste((30, 30, 200), (width // 2, 0, width, height))
    image.paste((30, 200, 30), (0, 0, width // 4, height // 4))
    return image


def saved(image: Any, kind: str, **options: Any) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()
