"""Part of `zipfian inspect`: terms of one field of a collection, with their strongest places."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zipfian.cli._collection import folder_of, opened, place, trusted
from zipfian.cli._inspect_page import DEFAULT_TERMS, Example, Page, about, list_lines, page_lines
from zipfian.cli._inspect_vocabulary import term_number
from zipfian.cli._output import note, print_json
from zipfian.encode.passages import Reading
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.collection import Collection
    from zipfian.fields import LexicalField, PostingField
    from zipfian.retrieve.statistics import FieldStatistics

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


def _statistics(collection: Collection, name: str) -> FieldStatistics:
    return collection.searcher().field_searcher(name).statistics()


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
    statistics = _statistics(collection, name)
    term = _chosen(args.term, field, collection)
    df = statistics.df(term)
    from zipfian.evaluate.zipf import smoothed_idf

    rest: dict[str, Any] = {
        "of": f"field {name} of {args.path}",
        "df": df,
        "documents": statistics.n_live,
        "idf": float(smoothed_idf([df], statistics.n_live)[0]) if statistics.n_live else None,
        "examples": _examples(args, collection, name, field, statistics, term),
    }
    known = field.dictionary()
    if known is not None and isinstance(term, int):
        return about(known, term, **rest)
    return Page(term=term, label=field.label(term), **rest)


def _words(given: str, field: LexicalField, collection: Collection) -> list[str]:
    """The terms of some words, read in the language that a query of them would be in."""
    from zipfian.fields.item import Item

    language = collection.searcher().settings.languages.of_query(given)
    return list(field.counts_of(Item("", given, {}, {}, {}, 0, language=language)))


def _chosen(given: str, field: PostingField, collection: Collection) -> str | int:
    """A term by its number, or by a word."""
    from zipfian.fields import LexicalField

    if not isinstance(field, LexicalField):
        return term_number(given, field.n_terms)
    terms = _words(given, field, collection)
    if len(terms) != 1:
        raise InvalidInput(f"--term of a field of words is one word, not {given!r}")
    return terms[0]


def _examples(
    args: argparse.Namespace, collection: Collection, name: str, field: PostingField, statistics: FieldStatistics,
    term: str | int,
) -> Sequence[Example]:  # fmt: skip
    """The documents, or passages of them, in which the term weighs most, and where it is in them."""
    import numpy as np

    count = EXAMPLES if args.limit is None else args.limit
    docs, weights = statistics.postings(term)
    best = np.lexsort((docs, -weights))[:count]
    searcher = collection.searcher()
    out = []
    passages = searcher.passages(name)
    for row, weight in zip(docs[best].tolist(), weights[best].tolist(), strict=True):
        document = searcher.document(row if passages is None else passages.document(row))
        stored, span = searcher.settings.stored(document), None if passages is None else passages.span(row)
        if span is not None:
            stored = replace(stored, text=Reading.of(stored.text or "", span).text)
        found, problem = field.places(stored, [term], {term: weight})
        where = found.get(term, [])
        patches, files = _patches(args, collection, where, term, document.id)
        shown = stored.text if field.reads == "text" else None
        out.append(Example(document.id, weight, shown, where, problem, patches, files))
    return out


def _patches(
    args: argparse.Namespace, collection: Collection, where: Sequence[Any], term: str | int, doc_id: str
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
    from zipfian.evaluate.zipf import smoothed_idf
    from zipfian.fields import LexicalField

    field = collection.searcher().settings.postings(name)
    statistics = _statistics(collection, name)
    terms, df = statistics.vocabulary
    known = field.dictionary()
    labels = None if known is None else known.label_table
    order = sorted(range(len(terms)), key=lambda i: (-int(df[i]), i))
    if args.find is not None:
        if isinstance(field, LexicalField):
            beginnings = tuple(_words(args.find, field, collection))
            order = [i for i in order if beginnings and str(terms[i]).startswith(beginnings)]
        elif labels is None:
            raise InvalidInput(f"the vocabulary of field {name} has no labels to search: list it with --terms")
        else:
            place = {term: i for i, term in enumerate(terms)}
            order = [place[term] for term in labels.find(args.find) if term in place]
    limit = DEFAULT_TERMS if args.limit is None else args.limit or len(order)
    rows = []
    for i in order[:limit]:
        term = terms[i]
        label = field.label(term) if field.labelled else None
        kind = None if labels is None else labels.kind(int(term))
        idf = float(smoothed_idf([int(df[i])], statistics.n_live)[0])
        rows.append({"term": term, "kind": kind, "df": int(df[i]), "idf": idf, "label": label})
    if args.json:
        print_json({"of": f"field {name} of {args.path}", "found": len(order), "terms": rows})
        return 0
    print("\n".join(list_lines(rows)))
    if len(order) > limit:
        note(f"{len(order) - limit:,} more; --limit 0 shows all")
    return 0
