"""Patches of a picture that was asked with, beside those of the hit: where a reason stands in either of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from zipfian.fields.base import Field, PostingField
from zipfian.fields.places import Places
from zipfian.fields.query import Query
from zipfian.limits import MAX_EVIDENCE
from zipfian.types import Explanation


def with_asked_places(tree: Explanation, query: Query, fields: Mapping[str, Field]) -> Explanation:
    """The same tree; terms of fields that know patches have those of the query as well, `in: "query"`."""
    if query.image is None:
        return tree
    found: dict[str, Places] = {}
    for name, terms in _terms(tree).items():
        field = fields.get(name)
        if isinstance(field, PostingField) and field.shows_patches:
            found[name] = field.query_places(query, terms)
    return _extended(tree, found)


def _terms(tree: Explanation) -> dict[str, set[str | int]]:
    """Terms of the tree by field."""
    out: dict[str, set[str | int]] = {}
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        waiting += node.parts
        if node.kind == "term" and node.field is not None and node.term is not None:
            out.setdefault(node.field, set()).add(node.term)
    return out


def _extended(node: Explanation, found: Mapping[str, Places]) -> Explanation:
    parts = tuple(_extended(part, found) for part in node.parts)
    asked = found.get(node.field or "", {}).get(node.term, ()) if node.term is not None else ()
    here = tuple({**place, "in": "query"} for place in asked[:MAX_EVIDENCE])
    return dataclasses.replace(node, parts=parts, evidence=(*node.evidence, *here))
