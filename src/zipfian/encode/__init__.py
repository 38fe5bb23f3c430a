"""Frozen encoders: one pass of a network over an item gives the vectors of its tokens and one pooled vector.

Importing this loads neither onnxruntime nor any weights; the first item encoded does.
"""

from __future__ import annotations

from zipfian.encode.base import Encoder
from zipfian.encode.image import ImageEncoder
from zipfian.encode.multilingual import MultilingualEncoder
from zipfian.encode.registry import register
from zipfian.encode.text import TextEncoder

__all__ = ["Encoder", "TextEncoder", "MultilingualEncoder", "ImageEncoder", "register"]
