"""What a collection is made of, as stored in its manifest: its fields and the types of its metadata columns."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zipfian import limits
from zipfian.collection.languages import Languages
from zipfian.collection.results import Document
from zipfian.collection.trust import NOTHING, Trust
from zipfian.errors import FormatTooNew, IndexCorrupt, InvalidInput, LimitExceeded, shown
from zipfian.fields.base import Field, PostingField, Takes, VectorField
from zipfian.fields.item import Item, Stored
from zipfian.fields.model import FindScalar
from zipfian.fields.named import check_field, check_field_name, check_together
from zipfian.fields.query import Query
from zipfian.fields.registry import field_from_json
from zipfian.index.metadata import COLUMN_TYPES, ColumnType
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import Scoring

VERSION = 1


@dataclass(frozen=True)
class Settings:
    """Everything in a manifest that is the collection's own."""

    fields: Mapping[str, Field]
    columns: Mapping[str, ColumnType] = dataclasses.field(default_factory=dict)
    languages: Languages = dataclasses.field(default_factory=Languages, compare=False)
    """What its texts are in, as far as some field asks."""
    trust: Trust = dataclasses.field(default=NOTHING, compare=False)
    """What of the world outside the collection may be read; not stored, but said by whoever opens it."""

    def with_columns(self, columns: Mapping[str, ColumnType]) -> Settings:
        return replace(self, columns=columns)

    def with_languages(self, languages: Languages) -> Settings:
        return self if languages is self.languages else replace(self, languages=languages)

    @functools.cached_property
    def ask_languages(self) -> bool:
        """Whether some field does something else with a text in another language."""
        return any(field.asks_language for field in self.fields.values())

    @functools.cached_property
    def taken(self) -> tuple[tuple[str, Field, Takes], ...]:
        """The fields, and what a query must have for each to answer it."""
        return tuple((name, field, field.takes) for name, field in self.fields.items())

    @functools.cached_property
    def across(self) -> Mapping[str, Field]:
        """The fields that lead from texts to pictures or back, by what they were taught."""
        return {name: field for name, field in self.fields.items() if field.across}

    def tell(self, items: Sequence[Item]) -> Settings:
        """Give documents the language of their text where some field asks; what is then known of the collection's."""
        return self.with_languages(self.languages.tell(items)) if self.ask_languages else self

    def read(self, query: Query) -> None:
        """Tell the language of a query that has a text, where some field asks for it."""
        if query.text is not None and query.language is None and self.ask_languages:
            query.language = self.languages.of_query(query.text)

    def stored(self, document: Document) -> Stored:
        """A document for fields that look where their terms stand in it."""
        language = self.languages.of_text(document.text) if document.text and self.ask_languages else None
        return Stored(document.text, lambda: self.trust.picture(document.metadata), language)

    def with_field(self, name: str, field: Field) -> Settings:
        check_field_name(name)
        check_field(name, field)
        if name in self.fields:
            raise InvalidInput(f"the collection has a field {name!r} already")
        if len(self.fields) >= limits.MAX_FIELDS:
            raise LimitExceeded(f"a collection has at most {limits.MAX_FIELDS} fields")
        fields = {**self.fields, name: field}
        check_together(fields)
        return replace(self, fields=fields)

    def finding(self, find: FindScalar) -> Settings:
        """Fields that find their fitted transforms in the files of the collection."""
        return replace(self, fields={name: field.finding(find) for name, field in self.fields.items()})

    def with_scoring(self, scoring: Mapping[str, Scoring]) -> Settings:
        """Other formulas for the time a collection is open."""
        changed: dict[str, Field] = {}
        for name, formula in scoring.items():
            changed[name] = self.postings(name).with_scoring(formula)
        return replace(self, fields={name: changed.get(name, field) for name, field in self.fields.items()})

    @property
    def posting_fields(self) -> dict[str, PostingField]:
        """Fields that have an inverted index of their own."""
        fields = self.fields.items()
        return {name: field for name, field in fields if isinstance(field, PostingField) and field.has_postings}

    @property
    def vector_fields(self) -> dict[str, VectorField]:
        """Fields of vectors."""
        return {name: field for name, field in self.fields.items() if isinstance(field, VectorField)}

    def field(self, name: str) -> Field:
        if not isinstance(name, str) or name not in self.fields:
            raise InvalidInput(f"there is no field {shown(name)}; the collection has: {', '.join(self.fields)}")
        return self.fields[name]

    def postings(self, name: str) -> PostingField:
        """A field that must be one of terms."""
        field = self.field(name)
        if not isinstance(field, PostingField):
            raise InvalidInput(f"field {name!r} is compared by cosine: it has no terms and no scoring to change")
        return field

    def vectors(self, name: str) -> VectorField:
        """A field that must be one of vectors."""
        field = self.field(name)
        if not isinstance(field, VectorField):
            raise InvalidInput(f"field {name!r} is one of terms: it has no vectors to compare")
        return field

    def to_json(self) -> dict[str, Any]:
        # a list, since manifests sort keys: the first field of its kind is the one that a query means
        fields = [{"name": name, **field.to_json()} for name, field in self.fields.items()]
        return {
            "version": VERSION, "fields": fields, "columns": dict(self.columns), "languages": self.languages.to_json(),
        }  # fmt: skip

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: str, trust: Trust = NOTHING) -> Settings:
        """What `to_json` gave, in a manifest that anybody may have written; `trust` is what its reader allows."""
        try:
            found = JsonObject(data, "settings")
            found.version(VERSION)
            fields: dict[str, Field] = {}
            for entry in found.items("fields", limits.MAX_FIELDS):
                field = JsonObject(entry, "a field")
                name = field.value("name")
                check_field_name(name)
                if name in fields:
                    raise InvalidInput(f"the field {name!r} is named twice")
                fields[name] = field_from_json(name, field.left(), trust)
            if not fields:
                raise InvalidInput("it has no fields")
            check_together(fields)
            columns = _columns(found.mapping("columns", limits.MAX_COLUMNS))
            languages = Languages.from_json(found.value("languages"))
            found.end()
        except (InvalidInput, LimitExceeded) as error:
            raise IndexCorrupt(source, f"its collection settings cannot be read: {error}") from error
        except FormatTooNew as error:
            raise FormatTooNew(f"{source}: {error}") from error
        return cls(fields, columns, languages, trust)


def _columns(given: Mapping[str, Any]) -> dict[str, ColumnType]:
    found = JsonObject(given, "the types of metadata")
    out: dict[str, Any] = {}
    for name in given:
        if not 1 <= len(name) <= limits.MAX_NAME_CHARS:
            raise InvalidInput(f"a metadata column named {shown(name)}")
        out[name] = found.choice(name, COLUMN_TYPES)
    return out
