"""Part of `zipfian inspect`: terms of one field of a collection, with their strongest places."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zipfian.cli._collection import folder_of, opened, place, trusted
from zipfian.cli._inspect_page import DEFAULT_TERMS, Example, Page, about, list_lines, page_lines
from zipfian.cli._output import note, print_json
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.collection import Collection
    from zipfian.collection.terms import TermDocument
    from zipfian.fields import PostingField
    from zipfian.retrieve.statistics import Term

EXAMPLES = 5
PATCHES = 4
"""Patches of one picture that are cut out."""

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    path = folder_of(place(args.path), "terms are listed from a folder; inspect the one it came from")
    with opened(path, **trusted(args)) as collection:
        name = _field_name(collection, args.field)
        if args.term is not None:
            return _term(args, collection, name)
        return _list(args, collection, name)


def _field_name(collection: Collection, wanted: str | None) -> str:
    fields = {name: field for name, field in collection.fields.items() if field.has_postings}
    if wanted is None and len(fields) == 1:
        return next(iter(fields))
    if wanted is None or wanted not in fields:
        given = "no field was named" if wanted is None else f"there is no field {wanted!r} with terms"
        raise InvalidInput(f"{given}: use --field {' or --field '.join(fields) or '(none here)'}")
    return wanted


# ---------------------------------------------------------------------- one term


def _term(args: argparse.Namespace, collection: Collection, name: str) -> int:
    field = collection.searcher().settings.postings(name)
    page = _page(args, collection, name, field)
    if args.html is not None:
        from zipfian.cli._inspect_html import write_page

        note(f"page written to {write_page(page, args.html)}")
    if args.json:
        print_json(page.to_dict())
    else:
        print("\n".join(page_lines(page)))
    return 0


def _page(args: argparse.Namespace, collection: Collection, name: str, field: PostingField) -> Page:
    found = collection.term(name, args.term, args.limit or EXAMPLES)
    info = found.info
    rest: dict[str, Any] = {
        "of": f"field {name} of {args.path}",
        "df": info.df,
        "documents": found.n,
        "idf": info.idf if found.n else None,
        "examples": [_example(args, collection, field, document, info.term) for document in found.documents],
    }
    known = field.dictionary()
    if known is not None and isinstance(info.term, int):
        return about(known, info.term, **rest)
    return Page(term=info.term, label=info.label, **rest)


def _example(
    args: argparse.Namespace, collection: Collection, field: PostingField, found: TermDocument, term: Term
) -> Example:
    patches, files = _patches(args, collection, found.places, term, found.id)
    text = found.text if field.reads == "text" else None
    return Example(found.id, found.weight, text, found.places, found.note, patches, files)


def _patches(
    args: argparse.Namespace, collection: Collection, where: Sequence[Any], term: Term, doc_id: str
) -> tuple[Sequence[bytes], Sequence[str]]:
    """Cut-outs of the strongest patches, where somebody wants to see them."""
    cells = [place for place in where if "row" in place][:PATCHES]
    if not cells or (args.out is None and args.html is None):
        return (), ()
    picture = collection.picture(doc_id)
    if picture is None:
        return (), ()
    from zipfian.explain import patches as drawing

    image = drawing.load(picture)
    grid = (cells[0]["rows"], cells[0]["columns"])
    cut = [drawing.png(drawing.crop_patch(image, grid, (c["row"], c["column"]))) for c in cells]
    if args.out is None:
        return cut, ()
    args.out.mkdir(parents=True, exist_ok=True)
    files = []
    for number, data in enumerate(cut, start=1):
        file = args.out / f"term-{term}-{_UNSAFE.sub('_', doc_id)[-60:]}-{number}.png"
        file.write_bytes(data)
        files.append(str(file))
    return cut, files


# ---------------------------------------------------------------------- many terms


def _list(args: argparse.Namespace, collection: Collection, name: str) -> int:
    from zipfian.collection.terms import term_list

    limit = DEFAULT_TERMS if args.limit is None else args.limit or sys.maxsize
    found = term_list(collection.searcher(), name, args.find, limit, 0)
    labelled = collection.searcher().settings.postings(name).labelled
    rows = [
        {"term": i.term, "kind": i.kind, "df": i.df, "idf": i.idf, "label": i.label if labelled else None}
        for i in found.terms
    ]
    if args.json:
        print_json({"of": f"field {name} of {args.path}", "found": found.found, "terms": rows})
        return 0
    print("\n".join(list_lines(rows)))
    if found.found > limit:
        note(f"{found.found - limit:,} more; --limit 0 shows all")
    return 0
