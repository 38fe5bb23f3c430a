"""Where the terms of a field stand in a document: words of its text, or patches of its picture."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from zipfian.collection.alignment import Alignment
from zipfian.collection.fields import Field
from zipfian.collection.items import Item, store_terms
from zipfian.collection.query import Query
from zipfian.collection.results import Document
from zipfian.collection.trust import NOTHING, Trust
from zipfian.errors import ZipfianError
from zipfian.retrieve.statistics import Term
from zipfian.types import Encoded, Token

Places = dict[Term, list[Mapping[str, Any]]]

CHANGED = "the {what} is no longer what was indexed, so places cannot be shown"


def places(
    field: Field, document: Document, wanted: Collection[Term], stored: Mapping[Term, float], trust: Trust = NOTHING
) -> tuple[Places, str]:
    """Where each wanted term of a document fired, and a note when that cannot be told.

    `stored` are the weights in the index: a picture that has changed since is recognised by them. `trust` says which
    picture files may be opened.
    """
    if field.kind == "words":
        return _words(field, document.text or "", wanted), ""
    if field.kind == "translated" and field.align is not None:
        return _translated(field.align, document.text or "", wanted), ""
    if field.model is None or field.has_vectors or field.kind == "scalar":  # of the whole item: no places
        return {}, ""
    try:
        content = document.text if field.source == "text" else trust.picture(document.metadata)
        if not content:
            return (
                {},
                "" if field.source == "text" else "the picture was not given as a file, so patches cannot be shown",
            )
        encoded = field.model.load_encoder().encode_documents([content])[0]
    except (ZipfianError, OSError) as error:
        return {}, f"places cannot be shown: {error}"
    vocabulary = field.model.load_reader()
    again = Item("", None, {}, {}, {}, 0)
    store_terms(again, "again", field, vocabulary.terms(encoded))
    now = dict(zip(*(a.tolist() for a in again.terms["again"]), strict=True))
    if any(abs(now.get(term, 0) / field.scale - weight) > 1.5 / field.scale for term, weight in stored.items()):
        return {}, CHANGED.format(what="picture" if field.source == "image" else "text")
    fired = vocabulary.evidence(encoded, [int(t) for t in wanted])
    return {term: shown(encoded, rows, document.text) for term, rows in fired.items()}, ""


def query_words(field: Field, question: Query, wanted: Collection[Term]) -> Mapping[Term, list[str]]:
    """Which words of the query brought in each latent term, strongest first."""
    if field.kind == "translated" and field.align is not None and question.text is not None:
        behind = field.align.words_behind(question.text, [int(t) for t in wanted])
        return {term: list(words) for term, words in behind.items()}
    if field.kind != "latent" or field.model is None or question.text is None:
        return {}
    if question.mode_of(field) == "table":
        return {}
    encoded = question.encoded(field)
    fired = field.model.load_vocabulary().evidence(encoded, [int(t) for t in wanted])
    out: dict[Term, list[str]] = {}
    for term, rows in fired.items():
        words = (_word(question.text, *encoded.places[token].tolist()) for token, _ in rows)
        out[term] = list(dict.fromkeys(question.text[a:b] for a, b in words))
    return out


def tokens(found: Places) -> list[Token]:
    """The same places as tokens of a text, for highlighting."""
    return [Token(str(term), place["start"], place["end"]) for term, rows in found.items() for place in rows]


def _words(field: Field, text: str, wanted: Collection[Term]) -> Places:
    found: Places = {}
    for token in field.vocabulary.spans(text, frozenset(map(str, wanted))):
        place = {"start": token.start, "end": token.end, "text": text[token.start : token.end]}
        found.setdefault(token.term, []).append(place)
    return found


def _translated(align: Alignment, text: str, wanted: Collection[Term]) -> Places:
    found: Places = {}
    for term, rows in align.tokens_behind(text, [int(t) for t in wanted]).items():
        found[term] = [
            {"start": t.start, "end": t.end, "text": text[t.start : t.end], "strength": strength}
            for t, strength in rows
        ]
    return found


def shown(encoded: Encoded, rows: list[tuple[int, float]], text: str | None) -> list[Mapping[str, Any]]:
    """Places of some tokens, strongest first: words around the pieces of a text, or cells of a picture's grid."""
    out: dict[Any, dict[str, Any]] = {}
    for token, strength in rows:
        first, second = encoded.places[token].tolist()
        if encoded.grid is not None:
            height, width = encoded.grid
            place: dict[str, Any] = {"row": first, "column": second, "rows": height, "columns": width}
        elif text is not None and first < second <= len(text):  # an expansion by the model has no place of its own
            start, end = _word(text, first, second)
            place = {"start": start, "end": end, "text": text[start:end]}
        else:
            continue
        known = out.setdefault((*place.values(),), {**place, "strength": 0.0})
        known["strength"] += strength  # pieces of one word are one place
    return sorted(out.values(), key=lambda place: -place["strength"])


def _word(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole word around a piece of it."""
    while start > 0 and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return start, end
