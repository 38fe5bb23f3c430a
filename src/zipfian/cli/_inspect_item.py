"""Part of `zipfian inspect`: the terms of one text or picture, with labels, weights and positions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zipfian.cli._output import note, print_json, printable, table
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.types import Encoded
    from zipfian.vocabulary.sae import SaeVocabulary

SHOWN = 20
OUTLINED = 6
"""Terms whose patches are drawn: more frames only hide the picture."""
DRAWN_SIDE = 640
"""A smaller picture is enlarged, so that frames do not cover it."""
STRONG = 0.6
"""Patches are drawn that fire a term at least this strongly, compared with its strongest patch."""


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.text is not None and args.image is not None:
        raise InvalidInput("give --text or --image, not both")
    if args.path is not None:
        raise InvalidInput(f"--text and --image look at one item: leave out {args.path}, or name a --vocabulary")
    source: Literal["text", "image"] = "text" if args.text is not None else "image"
    item = args.text if source == "text" else str(args.image)
    if source == "text" and not item.strip():
        raise InvalidInput("--text is empty: there is nothing to look at")
    if args.out is not None and source == "text":
        raise InvalidInput("--out draws the patches of a picture: it goes with --image")
    from zipfian.fields.model import sae_model

    model, vocabulary = sae_model(source, args.vocabulary or default_vocabulary(source), None, {})
    encoded = model.load_encoder().encode_documents([item])[0]
    rows = terms_of(vocabulary, encoded, args.text)
    limit = SHOWN if args.limit is None else args.limit or len(rows)
    if args.out is not None:
        note(f"patches outlined in {_draw(args.image, encoded, rows[: min(limit, OUTLINED)], args.out)}")
    if args.json:
        told = {"vocabulary": vocabulary.name, "tokens": len(encoded.vectors), "found": len(rows)}
        print_json({**told, "terms": rows[:limit]})
        return 0
    colours = _colours(rows[: min(limit, OUTLINED)]) if args.out is not None else {}
    print(_table(rows[:limit], source, colours))
    note(f"{len(rows):,} terms of {vocabulary.name} from {len(encoded.vectors):,} tokens")
    return 0


def default_vocabulary(source: str) -> str:
    """The first shipped vocabulary whose encoder reads such items."""
    from zipfian.vocabulary._sae_weights import SETTINGS_FILE
    from zipfian.vocabulary.models import SHIPPED, shipped

    for name in shipped():
        settings = json.loads((SHIPPED / name / SETTINGS_FILE).read_text(encoding="utf-8"))
        encoder = (settings.get("info") or {}).get("encoder")
        if isinstance(encoder, Mapping) and encoder.get("kind") == source:
            return name
    raise InvalidInput(f"no vocabulary for {source}s ships with this installation: name a folder with --vocabulary")


def terms_of(vocabulary: SaeVocabulary, encoded: Encoded, text: str | None) -> list[dict[str, Any]]:
    """The item's terms, heaviest first, each with the places that fired it, strongest first."""
    terms = vocabulary.terms(encoded)
    fired = vocabulary.evidence(encoded, terms.ids.tolist())
    labels = vocabulary.label_table
    rows = []
    for term, weight in zip(terms.ids.tolist(), terms.weights.tolist(), strict=True):
        rows.append({
            "term": term,
            "label": vocabulary.label(term),
            "kind": None if labels is None else labels.kind(term),
            "weight": weight,
            "places": [_place(encoded, token, strength, text) for token, strength in fired.get(term, [])],
        })  # fmt: skip
    return sorted(rows, key=lambda row: (-row["weight"], row["term"]))


def _place(encoded: Encoded, token: int, strength: float, text: str | None) -> dict[str, Any]:
    first, second = encoded.places[token].tolist()
    if text is None:
        return {"row": first, "column": second, "strength": strength}
    while first > 0 and text[first - 1].isalnum() and text[first].isalnum():  # a piece stands for its whole word
        first -= 1
    while second < len(text) and text[second].isalnum() and text[second - 1].isalnum():
        second += 1
    return {"start": first, "end": second, "text": text[first:second], "strength": strength}


def _table(rows: list[dict[str, Any]], source: str, colours: Mapping[int, str]) -> str:
    cells = []
    for row in rows:
        label = printable(row["label"]) + (f"  [{colours[row['term']]}]" if row["term"] in colours else "")
        cells.append([f"{row['weight']:.2f}", row["term"], row["kind"] or "-", label, _where(row["places"], source)])
    return table(["weight", "term", "kind", "label", "where"], cells, right=[0, 1])


def _where(places: list[dict[str, Any]], source: str) -> str:
    if source == "image":
        shown = [f"({p['row']},{p['column']})" for p in places[:4]]
    else:
        shown = list(dict.fromkeys(f"{' '.join(p['text'].split())}@{p['start']}" for p in places))[:4]
    more = f" +{len(places) - 4}" if len(places) > 4 else ""
    return printable(" ".join(shown)) + more


def _colours(rows: list[dict[str, Any]]) -> dict[int, str]:
    from zipfian.explain.patches import COLOURS

    return {row["term"]: COLOURS[number % len(COLOURS)] for number, row in enumerate(rows)}


def _draw(picture: Path, encoded: Encoded, rows: list[dict[str, Any]], path: Path) -> Path:
    """The picture with the patches of each term in its colour."""
    from zipfian.explain import patches

    if path.suffix.lower() != ".png":
        raise InvalidInput(f"patches are drawn into a .png file, not {path.name!r}")
    grid = encoded.grid or (1, 1)
    groups = [_strong_cells(row["places"]) for row in rows]
    path.write_bytes(patches.png(patches.outline(patches.load(str(picture), at_least=DRAWN_SIDE), grid, groups)))
    return path


def _strong_cells(places: list[dict[str, Any]]) -> list[tuple[int, int]]:
    least = STRONG * max((place["strength"] for place in places), default=0.0)
    return [(place["row"], place["column"]) for place in places if place["strength"] >= least]
