"""A hit for a person: its place in each field, and the strongest reasons why it was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zipfian.cli._output import BOLD, DIM, paint, printable, width
from zipfian.cli._passage import passage
from zipfian.explain.reasons import Reason, ordinal, reasons_of
from zipfian.explain.spans import spans_of
from zipfian.ingest.items import IMAGE_COLUMN
from zipfian.types import Explanation

if TYPE_CHECKING:
    from zipfian.client import RemoteHit
    from zipfian.collection import Collection, Hit

REASONS = 3
"""Terms named for a hit; `explain` has them all."""
INDENT = " " * 15


def picture_of(metadata: Mapping[str, Any]) -> str | None:
    """The path of a document's picture."""
    found = metadata.get(IMAGE_COLUMN)
    return found if isinstance(found, str) else None


def fields_line(hit: Hit | RemoteHit) -> str:
    """`words 1st +0.62, latent 4th +0.38`: each field's rank and share; nothing where one field did it all."""
    if len(hit.fields) < 2:
        return ""
    parts = []
    for name, seen in hit.fields.items():
        parts.append(f"{name} {ordinal(seen.rank) if seen.rank else '-'} {seen.share:+.3f}")
    moved = f"; {ordinal(hit.first_rank)} before reranking" if hit.first_rank != hit.rank else ""
    return ", ".join(parts) + moved


def has_patches(tree: Explanation) -> bool:
    """Whether the tree says where in a picture anything was found."""
    return any("row" in place for place in tree.evidence) or any(map(has_patches, tree.parts))


def visual_tree(collection: Collection, doc_id: str, image: str | None, tree: Explanation) -> Explanation | None:
    """What the field of visual words says where the tree itself is only about whole vectors, as after reranking."""
    if image is None or has_patches(tree):
        return None
    name = next((name for name, field in collection.fields.items() if field.shows_patches), None)
    return None if name is None else collection.explain(None, doc_id, image=image, fields=name)


def print_hit(hit: Hit | RemoteHit, tree: Explanation | None, visual: Explanation | None = None) -> None:
    """Rank, score, confidence, id, each field's view, a passage or the picture, and why; marked where a tree is given.

    `visual` are the visual words of a picture that was ordered by whole vectors in the end.
    """
    print(f"{hit.rank:>3}  {hit.score:8.4f}  {hit.confidence:4.0%}  {paint(printable(hit.id), BOLD)}")
    seen = fields_line(hit)
    if seen:
        print(INDENT + paint(seen, DIM))
    picture = picture_of(hit.metadata)
    if picture is not None:
        print(INDENT + printable(picture))
    text = hit.text or ""
    if text.strip():
        spans, worth = ([], {}) if tree is None else spans_of(tree)
        print(INDENT + passage(text, spans, worth, (width() - 20) * (1 if tree is None else 2)))
    if tree is not None:
        why = why_line(tree, len(hit.fields) > 1, visual)
        is_picture = picture is not None or getattr(hit, "picture", False)  # a service keeps back where pictures are
        if why and (is_picture or _says_more(tree)):
            print(INDENT + paint(why, DIM))


def why_line(tree: Explanation, name_fields: bool = False, visual: Explanation | None = None) -> str:
    """The strongest reasons in one line, each with its share of all that speaks for the hit."""
    found = reasons_of(tree)[:REASONS]
    if visual is not None:
        found = found[:1] + reasons_of(visual)[: REASONS - 1]
    return printable("why: " + "; ".join(_named(reason, name_fields) for reason in found)) if found else ""


def _named(reason: Reason, name_fields: bool) -> str:
    field = f" [{reason.field}]" if name_fields and reason.field else ""
    return f"{reason.share:.0%} {reason}{field}"


def _says_more(tree: Explanation) -> bool:
    """Whether the reasons are more than the words that are marked in the passage."""
    return any(not isinstance(reason.term, str) or not reason.places for reason in reasons_of(tree)[:REASONS])
