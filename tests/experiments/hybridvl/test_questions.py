"""JudgedQuery pictures come from the encode cache."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.hybridvl.questions import ready
from tests.toys import ToyImage
from zipfian.encode.cache import EncodingCache
from zipfian.errors import ImageUnreadable
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture
from zipfian.fields import Dense
from zipfian.fields.query import Query


def test_query_pictures_come_from_the_encode_cache(tmp_path: Path) -> None:
    from PIL import Image

    encoder = ToyImage()
    field = Dense(encoder=encoder)
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
        assert np.array_equal(field.vector_of(again[key]), field.vector_of(first[key]))
        assert np.allclose(field.vector_of(first[key]), field.vector_of(Query(None, image=path)), atol=1e-7)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    bad = Dataset("p", "image", lambda: iter(()), frozenset({"d"}),
                  {"b": JudgedQuery("b", image=Picture(tmp_path / "broken.png"))}, {"b": {"d": 1}})  # fmt: skip
    with pytest.raises(ImageUnreadable, match=r"broken\.png"):
        ready(bad, field, cache)
