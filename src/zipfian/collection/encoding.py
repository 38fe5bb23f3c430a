"""Documents through the encoders of a collection's fields: one pass per encoder, whatever reads it.

What an item was turned into is kept in the encode cache by content, so that a run that was interrupted, a document that
moved, or a field that is added later costs no second pass.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from zipfian.collection.ahead import Ahead, Waiting
from zipfian.collection.items import OBJECT_BYTES, arrays_nbytes
from zipfian.collection.languages import listed, named, readable
from zipfian.collection.trust import IMAGE_COLUMN, Trust
from zipfian.encode.base import Encoder, at_once, cache_key, groups, kept_form, languages_of
from zipfian.encode.cache import EncodingCache, content_hash
from zipfian.encode.passages import Reading, fitting, passages
from zipfian.encode.registry import find
from zipfian.encode.session import side_by_side
from zipfian.encode.shards import Form
from zipfian.errors import DeviceFailed, DeviceMemory, UnreadTexts, ZipfianError
from zipfian.fields.base import Field, PostingField
from zipfian.fields.item import Item
from zipfian.fields.reader import Arrays, Maker, Reader
from zipfian.fields.terms import store_terms
from zipfian.types import Encoded

Problem = ZipfianError | OSError


class Kept(Protocol):
    """Where arrays may be found, and those just made are taken: an encode cache, or what stands in front of one."""

    def get(self, fingerprint: str, content: str) -> Arrays | None:
        """The arrays of a content, or None."""

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Arrays) -> None:
        """Take what was made of a content."""


@dataclass(frozen=True, slots=True)
class _Pass:
    """One encoder and the fields that read what it makes of a document, or of the passages of its text."""

    encoder: Encoder[Any]
    by_passage: bool
    readers: dict[str, Reader]
    """By field."""

    @property
    def makers(self) -> dict[str, Maker]:
        """What some field needs, by the name of its form."""
        return {form: make for reader in self.readers.values() for form, make in reader.makers.items()}


class Encoding:
    """The encoders of some fields, ready to be applied to documents."""

    def __init__(
        self, fields: Mapping[str, Field], cache: EncodingCache | None, stored: Trust | None = None,
        by_passage: bool = True,
    ) -> None:  # fmt: skip
        """`stored`: the documents come out of a collection, and this says which of their pictures may be opened.

        Long texts are read passage by passage, unless an engine keeps documents whole and says so (`by_passage`).
        """
        self._ahead = Ahead(cache)
        self._stored = stored
        self._plain: dict[str, PostingField] = {}
        """Fields that need no encoder to make terms of a text."""
        self._passes: dict[tuple[str, bool], _Pass] = {}
        self._told: set[tuple[str, str]] = set()
        """Encoders and languages of which it was said that they do not go together."""
        for name, field in fields.items():
            if isinstance(field, PostingField) and field.reads_plain_text:
                self._plain[name] = field
            if field.encoder is not None and (reader := field.reader(name)) is not None:
                encoder, parted = find(field.encoder), by_passage and field.by_passage
                own = self._passes.setdefault((encoder.fingerprint, parted), _Pass(encoder, parted, {}))
                own.readers[name] = reader

    def __bool__(self) -> bool:
        return bool(self._passes or self._plain)

    @property
    def at_once(self) -> int:
        """How many times as many items as usual are worth handing over together."""
        return max((at_once(own.encoder) for own in self._passes.values()), default=1)

    @property
    def forms(self) -> list[Form]:
        """What is asked of the cache: every encoder with every kind of arrays that some field needs of it."""
        wanted = {
            (own.encoder.fingerprint, own.encoder.kind, kept_form(own.encoder, form)): None
            for own in self._passes.values()
            for form in sorted({form for reader in own.readers.values() for form in reader.makers})
        }
        return [Form(*one) for one in wanted]

    def fill(self, items: Sequence[Item]) -> dict[int, Problem]:
        """Give every item the terms and vectors that its text and picture have; what failed, by place in `items`."""
        problems: dict[int, Problem] = {}
        for own in self._passes.values():
            rows: list[tuple[int, Item]] = []
            readers, makers = list(own.readers.values()), own.makers
            for group in groups(self._contents(items, own, rows, problems), at_once(own.encoder)):
                chosen, rows[:] = rows[: len(group)], rows[len(group) :]
                for (i, row), outcome in zip(chosen, arrays_of(own.encoder, makers, group, self._ahead), strict=True):
                    if isinstance(outcome, Problem):
                        problems[i] = outcome
                    else:
                        _fill(items[i], row, partial(_give, readers, outcome), problems, i)
        for name, field in self._plain.items():
            for i, item in enumerate(items):
                if i not in problems and item.text:
                    _fill(item, item, partial(_read, name, field), problems, i)
        return problems

    def ahead(self, texts: Sequence[str]) -> Waiting:
        """Have the encoders on a GPU read texts now; `fill` finds the results until what is returned is closed.

        Safe on any thread. What is wrong with a text, `fill` says when it comes to it; languages are not asked for.
        """
        waiting = self._ahead.begin()
        items = [Item("", text, {}, {}, {}, 0) for text in texts]
        for own in self._passes.values():
            if own.encoder.kind == "text" and at_once(own.encoder) > 1:
                for group in groups(self._contents(items, own, [], {}), at_once(own.encoder)):
                    arrays_of(own.encoder, own.makers, group, waiting)
        self._ahead.hold(waiting)
        return waiting

    def _contents(
        self, items: Sequence[Item], own: _Pass, rows: list[tuple[int, Item]], problems: dict[int, Problem]
    ) -> Iterator[Any]:
        """What of each item an encoder reads, and in `rows` what that is: the item, or a passage of it.

        A text in a language that it does not read is left to the fields that do, as a picture without a caption is.
        """
        encoder = own.encoder
        languages = languages_of(encoder) if encoder.kind == "text" else None
        by_passage = own.by_passage and encoder.kind == "text"
        whole = fitting(encoder, [item.text or "" for item in items]) if by_passage else [True] * len(items)
        for i, item in enumerate(items):
            if i in problems:
                continue
            if not readable(languages, item.language):
                self._unread(own, item.language or "")
                continue
            try:
                content = _content(item, encoder, self._stored)
                parts = [] if content is None or whole[i] else passages(encoder, content)
            except (ZipfianError, OSError) as error:
                problems[i] = error
                continue
            if len(parts) > 1:
                made = [Item(item.id, None, {}, {}, {}, 0, language=item.language, span=span) for span in parts]
                item.passages |= dict.fromkeys(own.readers, made)
                for row in made:
                    rows.append((i, row))
                    yield Reading.of(content, row.span).text
            elif content is not None:
                rows.append((i, item))
                yield content

    def _unread(self, own: _Pass, language: str) -> None:
        encoder, names = own.encoder, list(own.readers)
        if (encoder.fingerprint, language) not in self._told:
            self._told.add((encoder.fingerprint, language))
            warnings.warn(
                f"texts in {named(language)} are left out of the field{'s' * (len(names) > 1)} {' and '.join(names)}, "
                f"whose encoder reads {listed(languages_of(encoder) or ())} only; the words find them, and so does a "
                "field 'multilingual' if it reads the language",
                UnreadTexts, stacklevel=9,
            )  # fmt: skip


def arrays_of(
    encoder: Encoder[Any], makers: Mapping[str, Maker], contents: Sequence[Any], cache: Kept | None
) -> Iterator[dict[str, Arrays] | Problem]:
    """The arrays of each content by form, in order: from the cache, or made now and kept there."""
    keys = {form: cache_key(encoder, form) for form in makers}
    made: dict[int, dict[str, Arrays] | Problem] = {}
    hashes: dict[int, str] = {}
    for i, content in enumerate(contents):
        try:
            hashes[i] = content_hash(content, encoder.kind)
        except (ZipfianError, OSError) as error:
            made[i] = error
            continue
        known = _known(keys, hashes[i], cache)
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
        except (DeviceFailed, DeviceMemory):
            raise  # no fault of the item: skipped as if it were, all that come after it would be, too
        except ZipfianError as error:
            return i, error

    # What a GPU made of all of them is here: cutting out one's part takes less time than handing it to a thread.
    threads = getattr(encoder, "threads", 1) if at_once(encoder) == 1 else 1
    for i, result in side_by_side(read, list(zip(missing, outcomes, strict=True)), threads):
        made[i] = result
        if cache is not None and isinstance(result, dict):
            for form, arrays in result.items():
                cache.keep(encoder, keys[form], hashes[i], arrays)
    return (made[i] for i in range(len(contents)))


def _known(keys: Mapping[str, str], content: str, cache: Kept | None) -> dict[str, Arrays] | None:
    if cache is None:
        return None
    found: dict[str, Arrays] = {}
    for form, key in keys.items():
        arrays = cache.get(key, content)
        if arrays is None:
            return None
        found[form] = arrays
    return found


def _fill(item: Item, row: Item, give: Callable[[Item], None], problems: dict[int, Problem], i: int) -> None:
    """Give an item, or the `row` that is a passage of it, terms or vectors, and count what they take; where they are
    no good, that is a problem of item `i`."""
    before = arrays_nbytes(row), row.clipped, row.zeroed
    try:
        give(row)
    except ZipfianError as error:
        problems[i] = error
        return
    item.nbytes += arrays_nbytes(row) - before[0]
    if row is not item:
        item.nbytes += OBJECT_BYTES if not before[0] else 0
        item.clipped += row.clipped - before[1]
        item.zeroed += row.zeroed - before[2]


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
