"""Part of `zipfian inspect`: what is told about one term, and the terms of a list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from zipfian.cli._output import BOLD, DIM, paint, printable, table
from zipfian.types import Token

if TYPE_CHECKING:
    from zipfian.vocabulary.sae import SaeVocabulary

DEFAULT_TERMS = 50
NEAREST = 8


@dataclass(frozen=True, slots=True)
class Example:
    """A document that has the term, and where the term is in it."""

    id: str
    weight: float
    text: str | None = None
    places: Sequence[Mapping[str, Any]] = ()
    note: str = ""
    patches: Sequence[bytes] = ()
    """PNG files of the patches that fired, strongest first."""
    files: Sequence[str] = ()
    """Where they were written."""

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the pictures themselves are in the files."""
        out: dict[str, Any] = {"id": self.id, "weight": self.weight, "places": list(self.places)}
        if self.note:
            out["note"] = self.note
        if self.files:
            out["files"] = list(self.files)
        return out


@dataclass(frozen=True, slots=True)
class Page:
    """Everything about one term."""

    term: str | int
    of: str
    """The collection or vocabulary it is from."""
    label: str
    kind: str | None = None
    df: int | None = None
    documents: int | None = None
    idf: float | None = None
    pieces: Sequence[tuple[str, float]] = ()
    nearest: Sequence[tuple[int, str, float]] = ()
    examples: Sequence[Example] = field(default_factory=tuple)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "term": self.term,
            "of": self.of,
            "label": self.label,
            "kind": self.kind,
            "df": self.df,
            "documents": self.documents,
            "idf": self.idf,
            "pieces": [{"piece": piece, "share": share} for piece, share in self.pieces],
            "nearest": [{"term": t, "label": label, "cosine": cosine} for t, label, cosine in self.nearest],
            "examples": [example.to_dict() for example in self.examples],
        }


def about(vocabulary: SaeVocabulary, term: int, **rest: Any) -> Page:
    """A page from what ships with a vocabulary; `rest` are fields from a collection, which go first."""
    from zipfian.evaluate.zipf import smoothed_idf
    from zipfian.evaluate.zipf_collection import training_counts

    labels = vocabulary.label_table
    known: dict[str, Any] = {"of": vocabulary.name, "label": vocabulary.label(term)}
    if labels is not None:
        known["kind"] = labels.kind(term)
        if labels.pieces is not None:
            known["pieces"] = labels.pieces[term]
    counts = training_counts(vocabulary)
    if counts is not None:
        df, documents = int(counts[0][term]), counts[1]
        known |= {"df": df, "documents": documents, "idf": float(smoothed_idf([df], documents)[0])}
    near = vocabulary.neighbours(term)[:NEAREST]
    known["nearest"] = [(other, vocabulary.label(other), cosine) for other, cosine in near]
    return Page(term=term, **{**known, **rest})


def page_lines(page: Page) -> Iterator[str]:
    """A page for the terminal."""
    yield paint(f"{printable(str(page.term))}  {printable(page.label)}", BOLD)
    facts = [f"{page.kind} term" if page.kind else "", f"of {page.of}"]
    if page.df is not None:
        facts.append(f"in {page.df:,} of {page.documents or 0:,} documents")
    if page.idf is not None:
        facts.append(f"idf {page.idf:.2f}")
    yield printable(", ".join(fact for fact in facts if fact))
    if page.pieces:
        yield "word pieces  " + printable(", ".join(f"{piece} {share:.0%}" for piece, share in page.pieces))
    if page.nearest:
        yield paint("nearest terms by decoder cosine", DIM)
        for other, label, cosine in page.nearest:
            yield f"  {cosine:.2f}  {other:>6}  {printable(label)}"
    if page.examples:
        yield paint("strongest in the collection", DIM)
    for example in page.examples:
        yield f"  {example.weight:8.2f}  {paint(printable(example.id), BOLD)}"
        if example.note:
            yield f"            {printable(example.note)}"
        if example.text is not None and example.places:
            yield f"            {_strongest_passage(example.text, example.places)}"
        elif example.places:
            cells = ", ".join(f"({p['row']}, {p['column']})" for p in example.places[:8])
            yield f"            patches (row, column): {cells}"
        for file in example.files:
            yield f"            {printable(file)}"


def _strongest_passage(text: str, places: Sequence[Mapping[str, Any]]) -> str:
    """Only strong places are marked, as everywhere else; the strongest decide what part of the text is shown."""
    from zipfian.cli._passage import FAINT, passage

    strengths = [float(place.get("strength", 1.0)) for place in places]
    spans: list[Token] = []
    worth: dict[str, float] = {}
    for place, strength in zip(places, strengths, strict=True):
        if strength >= FAINT * max(strengths):
            spans.append(Token(place["text"], place["start"], place["end"]))
            worth[place["text"]] = max(strength, worth.get(place["text"], 0.0))
    return passage(text, spans, worth)


def list_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Terms as a table."""
    found = list(rows)
    if not found:
        yield "no term has such a label"
        return
    columns = [c for c in ("term", "kind", "df", "idf", "label") if any(row.get(c) is not None for row in found)]
    cells = [[_cell(row.get(c)) for c in columns] for row in found]
    yield table(columns, cells, right=[i for i, c in enumerate(columns) if c in ("df", "idf")])


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value}" if isinstance(value, int) else printable(str(value))
