"""Part of `zipfian inspect`: a vocabulary by itself, shipped or in a folder."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from zipfian.cli._inspect_page import DEFAULT_TERMS, about, list_lines, page_lines
from zipfian.cli._output import note, plain, print_json
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.vocabulary.sae import SaeVocabulary


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.vocabulary.sae import SaeVocabulary

    vocabulary = SaeVocabulary.load(args.path)
    if args.term is not None:
        return _term(args, vocabulary)
    if args.terms or args.find is not None:
        return _list(args, vocabulary)
    if args.zipf or args.plot is not None:
        from zipfian.cli._inspect_zipf import show

        return show(args, [_distribution(vocabulary)])
    return _summary(args, vocabulary)


def term_number(given: str, n_terms: int) -> int:
    """What stands after --term, for a vocabulary of numbered terms."""
    try:
        number = int(given)
    except ValueError:
        raise InvalidInput(
            f"terms of this vocabulary are numbers from 0 to {n_terms - 1}, not {given!r}; find one with --find {given}"
        ) from None
    if not 0 <= number < n_terms:
        raise InvalidInput(f"there is no term {number}: terms are 0 to {n_terms - 1}")
    return number


def _term(args: argparse.Namespace, vocabulary: SaeVocabulary) -> int:
    page = about(vocabulary, term_number(args.term, vocabulary.n_terms))
    if args.html is not None:
        from zipfian.cli._inspect_html import write_page

        note(f"page written to {write_page(page, args.html)}")
    if args.json:
        print_json(page.to_dict())
    else:
        print("\n".join(page_lines(page)))
    return 0


def _list(args: argparse.Namespace, vocabulary: SaeVocabulary) -> int:
    from zipfian.evaluate.zipf_collection import training_counts

    labels, counts = vocabulary.label_table, training_counts(vocabulary)
    terms: Sequence[int] = range(vocabulary.n_terms)
    if args.find is not None:
        if labels is None:
            raise InvalidInput(f"the vocabulary {vocabulary.name} has no labels to search: list it with --terms")
        terms = labels.find(args.find)
    elif counts is not None:
        terms = np.lexsort((np.arange(vocabulary.n_terms), -counts[0])).tolist()
    limit = DEFAULT_TERMS if args.limit is None else args.limit or len(terms)
    rows = [_row(vocabulary, term) for term in terms[:limit]]
    if args.json:
        print_json({"of": vocabulary.name, "found": len(terms), "terms": rows})
        return 0
    print("\n".join(list_lines(rows)))
    if len(terms) > limit:
        note(f"{len(terms) - limit:,} more; --limit 0 shows all")
    return 0


def _row(vocabulary: SaeVocabulary, term: int) -> dict[str, Any]:
    page = about(vocabulary, term)
    return {"term": term, "kind": page.kind, "df": page.df, "idf": page.idf, "label": page.label}


def _distribution(vocabulary: SaeVocabulary) -> Any:
    from zipfian.evaluate.zipf_collection import vocabulary_report

    found = vocabulary_report(vocabulary)
    if found is None:
        raise InvalidInput(
            f"the vocabulary {vocabulary.name} came without counts over its training data: inspect a collection that "
            "uses it instead"
        )
    return found


def _summary(args: argparse.Namespace, vocabulary: SaeVocabulary) -> int:
    from zipfian.cli.inspect import outline
    from zipfian.evaluate.zipf_collection import vocabulary_report

    labels = vocabulary.label_table
    told: dict[str, Any] = {
        "vocabulary": vocabulary.name,
        "folder": str(Path(vocabulary.folder)),
        "terms": vocabulary.n_terms,
        "encoder": vocabulary.encoder_info.get("title") or vocabulary.encoder_info.get("name"),
        "dimensions": vocabulary.dim,
        "terms per token": {"trained with": vocabulary.trained_k, "used with": vocabulary.k},
        "terms per item wanted at least": vocabulary.k_least,
        "terms per item at most": vocabulary.k_post,
        "fingerprint": vocabulary.fingerprint,
    }
    if labels is not None:
        told["kinds"] = {kind: f"{n:,} ({n / len(labels):.1%})" for kind, n in labels.counts().items()}
    found = vocabulary_report(vocabulary)
    if args.json:
        print_json({**plain(told), "zipf": None if found is None else found[0]})
        return 0
    print("\n".join(outline(told)))
    if found is not None:
        from zipfian.cli._inspect_zipf import show

        print("\nover its training data")
        show(args, [found])
    return 0
