"""Checked documents as the lines of a bulk request."""

from __future__ import annotations

import base64
import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.collection.results import Document
from zipfian.engines.opensearch.codes import FieldCode, token, weights_of
from zipfian.engines.opensearch.columns import document_columns, properties
from zipfian.engines.opensearch.mapping import SEQUENCE, STORED, WORDS, index_field, vector_field, vector_property
from zipfian.errors import IndexCorrupt
from zipfian.fields.base import PostingField
from zipfian.fields.item import Item
from zipfian.fields.lexical import LexicalField
from zipfian.index.metadata import decode_metadata, encode_metadata
from zipfian.index.phi import apply_phi
from zipfian.retrieve.scoring import BM25

Action = Literal["index", "create", "delete"]


@dataclass(slots=True)
class Operation:
    """One line or two of a bulk request."""

    id: str
    action: Action
    lines: bytes
    sequence: int = 0


@dataclass(slots=True)
class Loss:
    """What turning weights into whole frequencies cost, over all postings sent by one collection object."""

    postings: int = 0
    error: float = 0.0
    """Sum of relative errors."""

    @property
    def mean(self) -> float:
        """Mean relative error of a weight."""
        return self.error / self.postings if self.postings else 0.0


@dataclass(slots=True)
class Writer:
    """Makes operations of documents; remembers which columns the mapping must have first."""

    fields: Mapping[str, PostingField]
    codes: Mapping[str, FieldCode]
    losses: dict[str, Loss] = dataclasses.field(default_factory=dict)

    def operation(self, item: Item, action: Action, sequence: int) -> tuple[Operation, dict[str, dict[str, Any]]]:
        """The document as an operation, and the mapping entries it needs."""
        source, needed = self.source(item, sequence)
        return Operation(item.id, action, _head(action, item.id) + _line(source), sequence), needed

    def source(self, item: Item, sequence: int) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """The document as the index stores it."""
        values, types = document_columns(item.metadata)
        needed = {n: properties({"x": t}).popitem()[1] for n, t in types.items()}
        stored: dict[str, Any] = {}
        if item.text is not None:
            stored["text"] = item.text
        if item.metadata:
            stored["meta"] = encode_metadata(item.metadata).decode()
        source: dict[str, Any] = {SEQUENCE: sequence, STORED: stored, **values}
        for name, field in self.fields.items():
            tokens, weights = self._terms(name, field, item)
            if field.lexical and WORDS not in source:
                source[WORDS] = float(apply_phi(weights, str(field.scoring.phi)).sum())
            if not tokens and isinstance(field.scoring, BM25):
                source[index_field(name)] = self.codes[name].nothing
            if tokens:
                source[index_field(name)], error = self.codes[name].sent(field, tokens, weights)
                loss = self.losses.setdefault(name, Loss())
                loss.postings += len(tokens)
                loss.error += error
        for name, vector in item.vectors.items():
            source[vector_field(name, len(vector))] = pack(vector)
            needed[vector_field(name, len(vector))] = vector_property()
        return source, needed

    def _terms(self, name: str, field: PostingField, item: Item) -> tuple[list[str], npt.NDArray[np.float64]]:
        if isinstance(field, LexicalField):
            counts = field.kept(item)
            return [token(word) for word in counts], np.fromiter(counts.values(), np.float64, len(counts))
        found = item.terms.get(name)
        if found is None:
            return [], np.empty(0)
        return [str(term) for term in found[0].tolist()], weights_of(field, found[1])


def deletion(doc_id: str) -> Operation:
    """Remove a document."""
    return Operation(doc_id, "delete", _head("delete", doc_id))


def document(doc_id: str, source: Mapping[str, Any], where: str) -> Document:
    """The stored document."""
    stored = source.get(STORED, {})
    try:
        metadata = decode_metadata(stored["meta"].encode()) if "meta" in stored else {}
    except (ValueError, AttributeError) as e:
        raise IndexCorrupt(where, f"the metadata of document {doc_id!r} cannot be read ({e})") from e
    return Document(doc_id, stored.get("text"), metadata)


def pack(vector: npt.NDArray[np.float32]) -> str:
    """A vector as base64 of little-endian floats."""
    return base64.b64encode(np.ascontiguousarray(vector, "<f4").tobytes()).decode()


def unpack(text: str) -> npt.NDArray[np.float32]:
    """The inverse of `pack`; servers give it back without padding."""
    return np.frombuffer(base64.b64decode(text + "=" * (-len(text) % 4)), "<f4").astype(np.float32)


_JSON = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, check_circular=False)
"""Made once: `json.dumps` with settings makes one for every line."""


def _head(action: Action, doc_id: str) -> bytes:
    return f'{{"{action}":{{"_id":{_JSON.encode(doc_id)}}}}}\n'.encode()


def _line(value: Mapping[str, Any]) -> bytes:
    return _JSON.encode(value).encode() + b"\n"
