"""Documents as callers hand them in: checked one by one, before anything is kept."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sized
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.collection.settings import Settings
from zipfian.collection.trust import IMAGE_COLUMN
from zipfian.encode.images import ImageSource
from zipfian.encode.picture_files import Stamp
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.base import VectorField
from zipfian.fields.item import Item
from zipfian.fields.lexical import LexicalField
from zipfian.fields.terms import store_terms
from zipfian.index.lengths import posting_lengths
from zipfian.index.metadata import ColumnType, check_metadata, encode_metadata

KEYS = ("id", "text", "image", "terms", "vector", "metadata")

OBJECT_BYTES = 400
_COLUMN_BYTES = 150
_ARRAYS_BYTES = 400
_TOKEN_SHARE = 6
_COUNTED_BYTES = 160
"""What a waiting document costs beside its data, measured: the object and its id, a metadata column, the arrays of a
field
or a vector; the bytes per character of its text until its words are counted; and a counted word of a long text."""


def check_id(value: Any) -> str:
    """A usable document id."""
    if not isinstance(value, str):
        raise InvalidInput(f"a document id must be a string, not {type(value).__name__} ({shown(value)})")
    if not value:
        raise InvalidInput("a document id must not be empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidInput(f"the document id {value!r} is not valid Unicode") from None
    if size > limits.MAX_ID_BYTES:
        raise LimitExceeded(f"a document id of {size} bytes ({value[:40]!r} ...), the limit is {limits.MAX_ID_BYTES}")
    return value


def check_vector_name(name: Any) -> str:
    """The name that a vector may be stored under."""
    if not isinstance(name, str):
        raise InvalidInput(f"a vector's name must be a string, not {shown(name)}")
    return name


def given_id(raw: Any) -> str | None:
    """The id of a document that was refused, to name it by; None where it has none."""
    doc_id = raw.get("id") if isinstance(raw, Mapping) else None
    return doc_id if isinstance(doc_id, str) else None


def check_item(
    raw: Any, settings: Settings, columns: Mapping[str, ColumnType], dims: Mapping[str, int]
) -> tuple[Item, Mapping[str, ColumnType]]:
    """A document, and the metadata types with it; every complaint names the document.

    `columns` and `dims` (components of each vector) are what is known so far; they are not changed here, since the
    document may yet be refused for another reason.
    """
    if not isinstance(raw, Mapping):
        raise InvalidInput(f"a document must be a mapping with an 'id', not {type(raw).__name__}")
    if "id" not in raw:
        raise InvalidInput(f"a document without 'id' (it has {', '.join(map(shown, list(raw)[:8]))})")
    doc_id = check_id(raw["id"])
    try:
        unknown = [key for key in raw if key not in KEYS]
        if unknown:
            raise InvalidInput(
                f"unknown key {shown(unknown[0])}; a document has {', '.join(KEYS)}; other values go into 'metadata'"
            )
        text = _check_text(raw.get("text"))
        image = _check_image(raw.get("image"), settings)
        given = _with_image(_mapping(raw.get("metadata"), "metadata"), image, settings)
        metadata, columns = check_metadata(given, columns)
        size = len(encode_metadata(metadata))
        vectors = _check_vectors(raw.get("vector"), dims)
        for name, made in settings.fields.items() if vectors else ():
            if isinstance(made, VectorField) and made.encoder is not None and made.stored_as(name) in vectors:
                raise InvalidInput(f"vector {made.stored_as(name)!r} is made by the field {name!r}; do not give one")
        item = Item(doc_id, text, {}, vectors, metadata, 0, image=image)
        _count_long(item, settings)
        for field, terms in _mapping(raw.get("terms"), "terms").items():
            add_terms(item, field, terms, settings)
    except (InvalidInput, LimitExceeded) as e:
        raise type(e)(f"document {doc_id!r}: {e}") from None
    item.nbytes = waiting_nbytes(item, size)
    return item, columns


def waiting_nbytes(item: Item, metadata_bytes: int | None = None) -> int:
    """Bytes of a document while it waits."""
    size = len(encode_metadata(item.metadata)) if metadata_bytes is None else metadata_bytes
    own = OBJECT_BYTES + len(item.id) + size + _COLUMN_BYTES * len(item.metadata) + _TOKEN_SHARE * len(item.text or "")
    return own + arrays_nbytes(item) + _COUNTED_BYTES * sum(map(len, item.counts.values()))


def arrays_nbytes(item: Item) -> int:
    """Bytes of a document's terms and vectors while it waits."""
    total = 0
    for ids, weights in item.terms.values():
        total += ids.nbytes + weights.nbytes + _ARRAYS_BYTES
    for vector in item.vectors.values():
        total += vector.nbytes + _ARRAYS_BYTES
    if item.passages:
        shared = {id(rows): rows for rows in item.passages.values()}  # fields of one encoder have them in common
        total += sum(OBJECT_BYTES + arrays_nbytes(row) for rows in shared.values() for row in rows)
    return total


def terms_item(doc_id: str, field: str, terms: Any, settings: Settings) -> Item:
    """A document of which only the terms of one field matter; None: it has none."""
    item = Item(doc_id, None, {}, {}, {}, 0)
    if terms is not None:
        try:
            add_terms(item, field, terms, settings)
        except (InvalidInput, LimitExceeded) as e:
            raise type(e)(f"document {doc_id!r}: {e}") from None
    return item


def add_terms(item: Item, field_name: Any, value: Any, settings: Settings) -> None:
    """Give a checked document its terms in one field, in their stored form."""
    field = settings.field(field_name)
    if field.takes != "terms":
        raise InvalidInput(f"field {field_name!r} takes its terms from the {field.reads or 'vectors'}; do not give any")
    field = settings.postings(field_name)
    store_terms(item, field_name, field, value)


def _mapping(value: Any, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{what} must be a mapping, not {type(value).__name__}")
    return value


def _check_text(text: Any) -> str | None:
    if text is None:
        return None
    if not isinstance(text, str):
        raise InvalidInput(f"text must be a string, not {type(text).__name__}")
    if len(text) > limits.MAX_TEXT_CHARS:
        raise LimitExceeded(f"a text of {len(text):,} characters, the limit is {limits.MAX_TEXT_CHARS:,}: split it")
    try:
        text.encode()
    except UnicodeEncodeError as e:
        raise InvalidInput(f"the text is not valid Unicode (character {e.start})") from None
    return text


def _count_long(item: Item, settings: Settings) -> None:
    """Count the words of a text that may have too many terms, or one too often; shorter ones cannot."""
    if item.text is None or len(item.text) <= limits.MAX_DOCUMENT_TERMS // 2:
        return
    if settings.ask_languages:
        item.language = settings.languages.of_text(item.text)
    counts: dict[str, Mapping[str, int]] = {}
    for name, field in settings.fields.items():
        if isinstance(field, LexicalField):
            counts[name] = field.counts_of(item)
            most = max(counts[name].values(), default=1)
            posting_lengths(np.array([most], np.uint32), field.tf, field.scale, str(field.scoring.phi))
    item.counts = counts


def _check_image(image: Any, settings: Settings) -> ImageSource | None:
    """A picture that some field will look at: a path, the bytes of a file, or pixels."""
    if image is None:
        return None
    if not isinstance(image, str | os.PathLike | bytes | np.ndarray):
        raise InvalidInput(f"image must be a path, bytes or an array of pixels, not {type(image).__name__}")
    if not looks_at_pictures(settings):
        raise InvalidInput(
            "no field of this collection looks at pictures: create it with fields=['visual', ...], or add one with "
            "add_field('visual', Visual())"
        )
    return image


def _with_image(metadata: Mapping[str, Any], image: ImageSource | None, settings: Settings) -> Mapping[str, Any]:
    """Metadata that say where the picture is, when it is a file, and what it held: by that it is known again."""
    if isinstance(image, bytes | np.ndarray):
        return metadata
    named = metadata.get(IMAGE_COLUMN)
    if image is not None and named not in (None, os.fspath(image)):
        raise InvalidInput(f"the metadata column {IMAGE_COLUMN!r} keeps the path of the picture; name yours otherwise")
    path = named if image is None else os.fspath(image)
    if not isinstance(path, str) or not looks_at_pictures(settings):
        return metadata
    stamp = Stamp.take(path)
    return {**metadata, IMAGE_COLUMN: path, **({} if stamp is None else stamp.metadata())}


def looks_at_pictures(settings: Settings) -> bool:
    """Whether some field reads the pictures of documents."""
    return any(field.reads == "image" for field in settings.fields.values())


def _check_vectors(value: Any, dims: Mapping[str, int]) -> dict[str, npt.NDArray[np.float32]]:
    """One vector, or several by name; all vectors of a name have the same number of components."""
    if value is None:
        return {}
    named = value if isinstance(value, Mapping) else {"default": value}
    out: dict[str, npt.NDArray[np.float32]] = {}
    for name, raw in named.items():
        _check_vector_name(name)
        if isinstance(raw, Sized) and len(raw) > limits.MAX_VECTOR_DIM:
            raise LimitExceeded(f"vector {name!r} has {len(raw):,} numbers, the limit is {limits.MAX_VECTOR_DIM:,}")
        try:
            given = np.asarray(raw)
        except (TypeError, ValueError):
            raise InvalidInput(f"vector {name!r} must be a sequence of numbers") from None
        if given.dtype.kind not in "fiu":
            raise InvalidInput(f"vector {name!r} must be a sequence of numbers, not {shown(raw)}")
        with np.errstate(over="ignore"):  # too large for 32 bits becomes infinite, and is refused below
            vector = np.array(given, np.float32)  # a copy: callers reuse their buffers
        if vector.ndim != 1 or not 1 <= len(vector) <= limits.MAX_VECTOR_DIM:
            raise InvalidInput(
                f"vector {name!r} must have 1 to {limits.MAX_VECTOR_DIM:,} numbers, not shape {vector.shape}"
            )
        if not np.isfinite(vector).all():
            raise InvalidInput(f"vector {name!r} holds a number that is not finite, or too large for 32 bits")
        if len(vector) != dims.get(name, len(vector)):
            raise InvalidInput(f"vector {name!r} has {len(vector)} numbers where others have {dims[name]}")
        out[name] = vector
    if len({*dims, *out}) > limits.MAX_VECTORS:
        raise LimitExceeded(f"a collection has at most {limits.MAX_VECTORS} kinds of vectors")
    return out


def _check_vector_name(name: Any) -> None:
    if not isinstance(name, str) or not 1 <= len(name) <= limits.MAX_NAME_CHARS or not name.isprintable():
        raise InvalidInput(f"a vector's name has 1 to {limits.MAX_NAME_CHARS} printable characters; got {name!r:.200}")
