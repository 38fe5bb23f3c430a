"""What every encoder must keep to, as one check for the tests of whoever writes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from zipfian.encode.base import Encoder
from zipfian.errors import InvalidInput
from zipfian.types import Encoded


def check_encoder(encoder: Encoder[Any], items: Sequence[Any], *, tolerance: float = 1e-5) -> None:
    """Check that an encoder keeps the promises that vocabularies and fields rely on.

    Parameters
    ----------
    encoder
        Any object with the methods of `Encoder`.
    items
        At least two different texts or pictures that it can read.
    tolerance
        How far numbers may differ between an item encoded alone and among others.

    Raises
    ------
    InvalidInput
        The first promise that is broken, in a sentence.

    Examples
    --------
    >>> from zipfian.encode import TextEncoder
    >>> check_encoder(TextEncoder(), ["Plants make food.", "Cats sleep."])
    """
    _expect(isinstance(encoder, Encoder), "it lacks a method of zipfian.encode.Encoder")
    _expect(encoder.kind in ("text", "image"), f"kind is 'text' or 'image', not {encoder.kind!r}")
    _expect(bool(encoder.fingerprint), "its fingerprint is empty")
    _expect(len(items) >= 2, "give at least two items")
    together = encoder.encode_documents(items)
    _expect(len(together) == len(items), f"{len(items)} items became {len(together)} results")
    counted = encoder.count_tokens(items)
    for i, (item, one) in enumerate(zip(items, together, strict=True)):
        _check(encoder, item, one, i)
        (alone,) = encoder.encode_documents([item])
        near = np.allclose(alone.vectors, one.vectors, atol=tolerance) and np.allclose(
            alone.pooled, one.pooled, atol=tolerance
        )
        _expect(near, f"item {i} has other vectors alone than among others")
        _expect(counted[i] >= 0, f"count_tokens says {counted[i]} for item {i}")
    tried = encoder.try_documents(items)
    _expect(all(isinstance(outcome, Encoded) for outcome in tried), "try_documents refuses what encode_documents takes")
    asked = encoder.encode_queries(items[:1])
    _expect(len(asked) == 1 and asked[0].pooled.shape == (encoder.pooled_dim,), "a query has another pooled size")
    _expect(encoder.encode_documents([]) == [], "no items must give no results")
    done: list[tuple[int, int]] = []
    encoder.encode_documents(items, progress=lambda *step: done.append(step))
    _expect(not done or done[-1] == (len(items), len(items)), f"progress ended at {done[-1:]}, not with all items done")


def _check(encoder: Encoder[Any], item: Any, one: Encoded, i: int) -> None:
    n = len(one.vectors)
    _expect(one.vectors.shape == (n, encoder.dim), f"item {i}: vectors of shape {one.vectors.shape}")
    _expect(one.pooled.shape == (encoder.pooled_dim,), f"item {i}: a pooled vector of shape {one.pooled.shape}")
    _expect(one.places.shape == (n, 2) and one.pieces.shape == (n,), f"item {i}: not one place and piece per token")
    _expect(bool(np.isfinite(one.vectors).all() and np.isfinite(one.pooled).all()), f"item {i}: numbers not finite")
    if encoder.kind == "text":
        inside = (one.places >= 0).all() and (one.places[:, 0] <= one.places[:, 1]).all()
        _expect(bool(inside and (one.places <= len(item)).all()), f"item {i}: places outside of the text")
    else:
        _expect(one.grid is not None, f"item {i}: a picture has a grid")
        _expect(
            bool(((one.places >= 0) & (one.places < np.array(one.grid))).all()), f"item {i}: places outside the grid"
        )


def _expect(kept: bool, problem: str) -> None:
    if not kept:
        raise InvalidInput(f"this encoder does not keep its promises: {problem}")
