"""Documents through the encoders of a collection's fields: one pass per encoder, whatever reads it.

What an item was turned into is kept in the encode cache by content, so that a run that was interrupted, a document that
moved, or a field that is added later costs no second pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from zipfian.collection.items import arrays_nbytes
from zipfian.collection.languages import listed, named, readable
from zipfian.collection.trust import IMAGE_COLUMN, Trust
from zipfian.encode.base import Encoder, groups, languages_of
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.encode.registry import find
from zipfian.encode.session import side_by_side
from zipfian.encode.shards import Form
from zipfian.errors import UnreadTexts, ZipfianError
from zipfian.fields.base import Field, PostingField
from zipfian.fields.item import Item
from zipfian.fields.reader import Arrays, Maker, Reader
from zipfian.fields.terms import store_terms
from zipfian.types import Encoded

Problem = ZipfianError | OSError


class Encoding:
    """The encoders of some fields, ready to be applied to documents."""

    def __init__(self, fields: Mapping[str, Field], cache: EncodingCache | None, stored: Trust | None = None) -> None:
        """`stored`: the documents come out of a collection, and this says which of their pictures may be opened."""
        self._cache = cache
        self._stored = stored
        self._plain: dict[str, PostingField] = {}
        """Fields that need no encoder to make terms of a text."""
        self._passes: dict[str, tuple[Encoder[Any], list[Reader]]] = {}
        self._names: dict[str, list[str]] = {}
        self._told: set[tuple[str, str]] = set()
        """Encoders and languages of which it was said that they do not go together."""
        for name, field in fields.items():
            if isinstance(field, PostingField) and field.reads_plain_text:
                self._plain[name] = field
            if field.encoder is not None and (reader := field.reader(name)) is not None:
                encoder = find(field.encoder)
                _, readers = self._passes.setdefault(encoder.fingerprint, (encoder, []))
                readers.append(reader)
                self._names.setdefault(encoder.fingerprint, []).append(name)

    def __bool__(self) -> bool:
        return bool(self._passes or self._plain)

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
                    if isinstance(outcome, Problem):
                        problems[i] = outcome
                    else:
                        _fill(items[i], partial(_give, readers, outcome), problems, i)
        for name, field in self._plain.items():
            for i, item in enumerate(items):
                if i not in problems and item.text:
                    _fill(item, partial(_read, name, field), problems, i)
        return problems

    def _contents(
        self, items: Sequence[Item], encoder: Encoder[Any], places: list[int], problems: dict[int, Problem]
    ) -> Iterator[Any]:
        """What of each item an encoder reads, and in `places` which items those are.

        A text in a language that it does not read is left to the fields that do, as a picture without a caption is.
        """
        languages = languages_of(encoder) if encoder.kind == "text" else None
        for i, item in enumerate(items):
            if i in problems:
                continue
            if not readable(languages, item.language):
                self._unread(encoder, item.language or "")
                continue
            try:
                content = _content(item, encoder, self._stored)
            except (ZipfianError, OSError) as error:
                problems[i] = error
                continue
            if content is not None:
                places.append(i)
                yield content

    def _unread(self, encoder: Encoder[Any], language: str) -> None:
        if (encoder.fingerprint, language) not in self._told:
            self._told.add((encoder.fingerprint, language))
            names = self._names[encoder.fingerprint]
            warnings.warn(
                f"texts in {named(language)} are left out of the field{'s' * (len(names) > 1)} {' and '.join(names)}, "
                f"whose encoder reads {listed(languages_of(encoder) or ())} only; the words find them, and so does a "
                "field 'multilingual' if it reads the language",
                UnreadTexts, stacklevel=10,
            )  # fmt: skip

    def _group(
        self, encoder: Encoder[Any], readers: list[Reader], contents: Sequence[Any]
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


def _fill(item: Item, give: Callable[[Item], None], problems: dict[int, Problem], i: int) -> None:
    """Give an item terms or vectors, and count their bytes; where they are no good, that is a problem of item `i`."""
    before = arrays_nbytes(item)
    try:
        give(item)
    except ZipfianError as error:
        problems[i] = error
        return
    item.nbytes += arrays_nbytes(item) - before


def _give(readers: list[Reader], arrays: Mapping[str, Arrays], item: Item) -> None:
    """Each field takes what it needs of an encoder's pass."""
    for reader in readers:
        reader.give(item, arrays)


def _read(name: str, field: PostingField, item: Item) -> None:
    """A field that needs no encoder reads the text."""
    store_terms(item, name, field, field.to_terms(item.text or ""))


def _content(item: Item, encoder: Encoder[Any], stored: Trust | None) -> Any:
    """What of an item an encoder reads; None: nothing. A blank text has no terms and no direction."""
    if encoder.kind == "text":
        return item.text if item.text and not item.text.isspace() else None
    if stored is not None:
        return stored.picture(item.metadata)
    return item.image if item.image is not None else item.metadata.get(IMAGE_COLUMN)
