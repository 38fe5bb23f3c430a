"""JudgedQuery pictures come from the encode cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.hybridvl.questions import ready
from tests.toys import ToyImage
from zipfian import Field
from zipfian.collection.query import Query
from zipfian.encode.cache import EncodingCache
from zipfian.errors import ImageUnreadable
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture


def test_query_pictures_come_from_the_encode_cache(tmp_path: Path) -> None:
    from PIL import Image

    encoder = ToyImage()
    field = Field.dense(encoder=encoder)
    paths = []
    for i, colour in enumerate(((255, 0, 0), (0, 255, 0))):
        paths.append(tmp_path / f"{i}.png")
        Image.new("RGB", (8, 8), colour).save(paths[-1])
    queries = {p.name: JudgedQuery(p.name, image=Picture(p)) for p in paths}
    data = Dataset("p", "image", lambda: iter(()), frozenset({"d"}), queries, {q: {"d": 1} for q in queries})
    cache = EncodingCache(tmp_path / "cache")
    first = ready(data, field, cache)
    assert len(encoder.seen) == 2
    again = ready(data, field, cache)
    assert len(encoder.seen) == 2  # nothing is encoded twice
    for key, path in zip(queries, paths, strict=True):
        assert np.array_equal(again[key].pooled(field), first[key].pooled(field))
        assert np.allclose(first[key].pooled(field), Query(None, image=path).pooled(field), atol=1e-7)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    bad = Dataset("p", "image", lambda: iter(()), frozenset({"d"}),
                  {"b": JudgedQuery("b", image=Picture(tmp_path / "broken.png"))}, {"b": {"d": 1}})  # fmt: skip
    with pytest.raises(ImageUnreadable, match=r"broken\.png"):
        ready(bad, field, cache)
