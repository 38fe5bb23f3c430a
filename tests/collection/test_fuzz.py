"""Whatever is thrown at a collection, it answers or says what is wrong; and it can always be committed afterwards."""

from __future__ import annotations

import math
import shutil
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import zipfian as zf
from tests.equality.places import quick_folder
from zipfian.errors import ZipfianError
from zipfian.fields import Sparse, Words

text = st.text(max_size=8)
numbers = st.one_of(
    st.integers(-3, 12),
    st.integers(),
    st.floats(),
    st.sampled_from([2**31, 2**63, -(2**63), 2**64, 1e-46, 1e300, True]),
)
arrays = st.sampled_from(
    [
        np.array([1, 2]),
        np.array([1.5, 2.0]),
        np.array([], np.int64),
        np.array(3),
        np.array(["a"]),
        np.zeros((2, 2)),
        np.array([1, 2], np.uint8),
        np.array([1 + 2j]),
        np.array([None]),
        np.array([1, 2], ">i4"),
        np.array([True, False]),
    ]
)
dates = st.one_of(
    st.dates(),
    st.datetimes(),
    st.sampled_from([datetime.min, datetime.max, date.min, date.max]),
    st.sampled_from([datetime.max.replace(tzinfo=timezone(timedelta(hours=-14))), datetime.min.replace(tzinfo=UTC)]),
    st.just(datetime.min.replace(tzinfo=timezone(timedelta(hours=14)))),
)
scalars = st.one_of(st.none(), st.booleans(), numbers, text, st.binary(max_size=4), dates, arrays, st.just(object()))
anything = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner, inner),
        st.dictionaries(st.one_of(text, st.integers(0, 9)), inner, max_size=3),
    ),
    max_leaves=6,
)
weights = st.dictionaries(st.integers(-1, 10), st.one_of(st.floats(0.001, 9), numbers), max_size=4)
pairs = st.tuples(
    st.lists(st.one_of(st.integers(0, 9), numbers), max_size=4),
    st.lists(st.one_of(st.floats(0.1, 2), numbers), max_size=4),
)
raws = st.one_of(
    anything,
    st.fixed_dictionaries(
        {"id": st.one_of(st.sampled_from(["a", "b", "c"]), text)},
        optional={
            "text": st.one_of(text, st.sampled_from(["plants make food", "light"]), anything),
            "metadata": st.one_of(
                st.dictionaries(st.sampled_from(["x", "y", "and", "é"]), scalars, max_size=3), anything
            ),
            "vector": st.one_of(
                st.lists(st.floats(width=32), max_size=3), st.dictionaries(text, arrays, max_size=2), anything
            ),
            "terms": st.one_of(
                st.dictionaries(
                    st.sampled_from(["latent", "exact", "words", "no"]), st.one_of(weights, pairs, anything), max_size=2
                ),
                anything,
            ),
        },
    ),
)
queries = st.one_of(text, st.sampled_from(["plants", "light food"]), weights, pairs, anything)
wheres = st.one_of(
    st.none(),
    anything,
    st.dictionaries(
        st.sampled_from(["x", "y", "or", "not", "and"]),
        st.one_of(
            scalars, st.dictionaries(st.sampled_from(["==", "<", ">=", "in", "exists", "~"]), anything, max_size=2)
        ),
        max_size=2,
    ),
)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.sampled_from(["add", "upsert", "delete", "commit"]), st.lists(raws, max_size=3)), max_size=6),
    st.lists(st.tuples(queries, wheres, st.one_of(st.integers(-1, 20), scalars)), max_size=6),
)
def test_only_our_errors_and_no_poison(steps: list[tuple[str, list[Any]]], asked: list[tuple[Any, Any, Any]]) -> None:
    folder = quick_folder()
    fields = {
        "words": Words(),
        "latent": Sparse(10),
        "exact": Sparse(10, tf="float32", scoring=zf.Dot()),
    }
    try:
        with zf.Collection.create(folder / "c", fields) as c:
            for verb, batch in steps:
                try:
                    if verb == "commit":
                        c.commit(user={"steps": batch} if len(batch) == 1 else None)
                    else:
                        getattr(c, verb)(batch if verb != "delete" else ["a", *batch])
                except ZipfianError as e:
                    assert str(e)
            c.commit()
            c.add([{"id": "certain", "text": "plants need light", "terms": {"latent": {3: 1.0}}}], existing="replace")
            c.commit()
            for query, where, k in asked:
                for field in (None, "latent"):
                    try:
                        found = c.search(query, k, where, fields=field)
                        assert all(math.isfinite(hit.score) and hit.score > 0.0 for hit in found)
                        assert all(found.explain(hit).value == hit.score for hit in found)
                    except ZipfianError as e:
                        assert str(e)
            assert "certain" in [hit.id for hit in c.search("plants", 1_000)]
            c.merge()
            c.commit()
            assert c.check().ok
            assert "certain" in [hit.id for hit in c.search("light", 1_000)]
    finally:
        shutil.rmtree(folder)
