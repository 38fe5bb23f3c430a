"""Documents through the encoders of a collection's fields: one pass per encoder, whatever reads it.

What an item was turned into is kept in the encode cache by content, so that a run that was interrupted, a document that
moved, or a field that is added later costs no second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from zipfian.collection.alignment import Alignment
from zipfian.collection.fields import Field
from zipfian.collection.items import Item, arrays_nbytes, store_terms
from zipfian.collection.model import Model
from zipfian.collection.trust import IMAGE_COLUMN, Trust
from zipfian.encode.base import Encoder, groups
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.encode.session import side_by_side
from zipfian.encode.shards import Form
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.storage.packed import Array
from zipfian.types import Encoded

POOLED = "pooled"

Problem = ZipfianError | OSError
Arrays = Mapping[str, Array]
Maker = Callable[[Encoded], Arrays]


@dataclass(frozen=True, slots=True)
class _Reader:
    """One field that reads an encoder: which arrays it needs of an item, and what it makes of them."""

    makers: Mapping[str, Maker]
    """By the name that the arrays have in the cache."""
    give: Callable[[Item, Mapping[str, Arrays]], None]


class Encoding:
    """The encoders of some fields, ready to be applied to documents."""

    def __init__(self, fields: Mapping[str, Field], cache: EncodingCache | None, stored: Trust | None = None) -> None:
        """`stored`: the documents come out of a collection, and this says which of their pictures may be opened."""
        self._cache = cache
        self._stored = stored
        self._translated = {
            name: field for name, field in fields.items() if field.kind == "translated" and field.of is None
        }
        self._passes: dict[str, tuple[Encoder[Any], list[_Reader]]] = {}
        for name, field in fields.items():
            if field.model is not None:
                encoder = field.model.load_encoder()
                _, readers = self._passes.setdefault(encoder.fingerprint, (encoder, []))
                readers.append(_reader(name, field))

    def __bool__(self) -> bool:
        return bool(self._passes or self._translated)

    @property
    def forms(self) -> list[Form]:
        """What is asked of the cache: every encoder with every kind of arrays that some field needs of it."""
        return [
            Form(fingerprint, encoder.kind, form)
            for fingerprint, (encoder, readers) in self._passes.items()
            for form in sorted({form for reader in readers for form in reader.makers})
        ]

    def fill(self, items: Sequence[Item]) -> dict[int, Problem]:
        """Give every item the terms and vectors that its text and picture have; what failed, by place in `items`."""
        problems: dict[int, Problem] = {}
        for encoder, readers in self._passes.values():
            places: list[int] = []
            for group in groups(self._contents(items, encoder, places, problems)):
                chosen, places[:] = places[: len(group)], places[len(group) :]
                for i, outcome in zip(chosen, self._group(encoder, readers, group), strict=True):
                    problem = outcome if isinstance(outcome, Problem) else _give(items[i], readers, outcome)
                    if problem is not None:
                        problems[i] = problem
        for name, field in self._translated.items():
            for i, item in enumerate(items):
                if i not in problems and item.text and field.align is not None:
                    store_terms(item, name, field, field.align.translate(item.text))
        return problems

    def _contents(
        self, items: Sequence[Item], encoder: Encoder[Any], places: list[int], problems: dict[int, Problem]
    ) -> Iterator[Any]:
        """What of each item an encoder reads, and in `places` which items those are."""
        for i, item in enumerate(items):
            if i in problems:
                continue
            try:
                content = _content(item, encoder, self._stored)
            except (ZipfianError, OSError) as error:
                problems[i] = error
                continue
            if content is not None:
                places.append(i)
                yield content

    def _group(
        self, encoder: Encoder[Any], readers: list[_Reader], contents: Sequence[Any]
    ) -> Iterator[dict[str, Arrays] | Problem]:
        makers = {form: make for reader in readers for form, make in reader.makers.items()}
        return arrays_of(encoder, makers, contents, self._cache)


def arrays_of(
    encoder: Encoder[Any], makers: Mapping[str, Maker], contents: Sequence[Any], cache: EncodingCache | None
) -> Iterator[dict[str, Arrays] | Problem]:
    """The arrays of each content by form, in order: from the cache, or made now and kept there."""
    made: dict[int, dict[str, Arrays] | Problem] = {}
    hashes: dict[int, str] = {}
    for i, content in enumerate(contents):
        try:
            hashes[i] = content_hash(content, encoder.kind)
        except (ZipfianError, OSError) as error:
            made[i] = error
            continue
        known = _known(encoder, makers, hashes[i], cache)
        if known is not None:
            made[i] = known
    missing = [i for i in range(len(contents)) if i not in made]
    outcomes = encoder.try_documents([contents[i] for i in missing]) if missing else []

    def read(job: tuple[int, Any]) -> tuple[int, dict[str, Arrays] | Problem]:
        i, outcome = job
        if not isinstance(outcome, Encoded):
            return i, outcome
        try:
            return i, {form: make(outcome) for form, make in makers.items()}
        except ZipfianError as error:
            return i, error

    threads = getattr(encoder, "threads", 1)
    for i, result in side_by_side(read, list(zip(missing, outcomes, strict=True)), threads):
        made[i] = result
        if cache is not None and isinstance(result, dict):
            for form, arrays in result.items():
                cache.put(f"{encoder.fingerprint}\n{form}", hashes[i], arrays)
    return (made[i] for i in range(len(contents)))


def _known(
    encoder: Encoder[Any], makers: Mapping[str, Maker], content: str, cache: EncodingCache | None
) -> dict[str, Arrays] | None:
    if cache is None:
        return None
    found: dict[str, Arrays] = {}
    for form in makers:
        arrays = cache.get(f"{encoder.fingerprint}\n{form}", content)
        if arrays is None:
            return None
        found[form] = arrays
    return found


def _give(item: Item, readers: list[_Reader], arrays: Mapping[str, Arrays]) -> Problem | None:
    """Each field takes what it needs; what it says when that is no good."""
    before = arrays_nbytes(item)
    try:
        for reader in readers:
            reader.give(item, arrays)
    except ZipfianError as error:
        return error
    item.nbytes += arrays_nbytes(item) - before
    return None


def _reader(name: str, field: Field) -> _Reader:
    model = field.model
    if model is None:
        raise InvalidInput(f"field {name!r} has no encoder")
    if field.align is not None:
        return _aligned_reader(name, field.align, model)
    if field.kind == "dense":
        vector = field.vector or name

        def keep(item: Item, arrays: Mapping[str, Arrays]) -> None:
            item.vectors[vector] = unit(arrays[POOLED][POOLED])

        return _Reader({POOLED: pooled_arrays}, keep)
    vocabulary = model.load_reader()
    form = vocabulary.compact_form
    return _Reader(
        {form: vocabulary.compact},
        lambda item, arrays: store_terms(item, name, field, vocabulary.from_compact(arrays[form])),
    )


def _aligned_reader(name: str, align: Alignment, model: Model) -> _Reader:
    """A document's vector in the space that texts and pictures share."""
    if model.encoder.kind == "text":

        def keep_text(item: Item, arrays: Mapping[str, Arrays]) -> None:
            item.vectors[name] = align.text_vector(arrays[POOLED][POOLED], item.text or "")

        return _Reader({POOLED: pooled_arrays}, keep_text)
    makers: dict[str, Maker] = {POOLED: pooled_arrays}
    vocabulary = align.picture.load_vocabulary() if align.heads().uses_terms else None
    if vocabulary is not None:
        makers[vocabulary.compact_form] = vocabulary.compact

    def keep_picture(item: Item, arrays: Mapping[str, Arrays]) -> None:
        terms = None if vocabulary is None else vocabulary.from_compact(arrays[vocabulary.compact_form])
        item.vectors[name] = align.image_vector(arrays[POOLED][POOLED], terms)

    return _Reader(makers, keep_picture)


def pooled_arrays(encoded: Encoded) -> Arrays:
    """The pooled vector alone, as the cache keeps it."""
    return {POOLED: encoded.pooled}


def unit(vector: Array) -> Array:
    """The vector brought to length 1, so that a dot product is the cosine; zeros stay zeros."""
    length = float(np.linalg.norm(vector.astype(np.float64)))
    return (vector / length).astype(np.float32) if length > 0 else vector.astype(np.float32)


def _content(item: Item, encoder: Encoder[Any], stored: Trust | None) -> Any:
    """What of an item an encoder reads; None: nothing. A blank text has no terms and no direction."""
    if encoder.kind == "text":
        return item.text if item.text and not item.text.isspace() else None
    if stored is not None:
        return stored.picture(item.metadata)
    return item.image if item.image is not None else item.metadata.get(IMAGE_COLUMN)
