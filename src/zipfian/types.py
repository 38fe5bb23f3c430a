"""The value types that cross a stage boundary. Nothing else is exchanged between stages.

They are plain frozen dataclasses over numpy arrays and built-ins; they do no work.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.int32]
FloatArray = npt.NDArray[np.float32]

TfKind = Literal["count", "fixed", "float32"]
"""How a field stores term weights.

`count`: integers (words). `fixed`: uint16 steps of 1/scale, the default of latent fields (hundredths).
`float32`: as given.
"""


@dataclass(frozen=True, slots=True)
class Terms:
    """A sparse vector: term ids and their weights.

    Parameters
    ----------
    ids
        Term ids, int32, strictly ascending.
    weights
        Their weights, float32, above 0.

    Examples
    --------
    >>> terms = Terms(np.array([2, 7], np.int32), np.array([1.0, 0.5], np.float32))
    >>> len(terms)
    2
    """

    ids: IntArray
    weights: FloatArray

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class Token:
    """One occurrence of a term in a text: the term and the characters [start, end) it came from."""

    term: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Encoded:
    """One item after a frozen encoder's pass: what each of its tokens (word pieces, image patches) became.

    Only tokens that may yield terms are here: no padding, no special tokens, no task prefix.
    """

    vectors: FloatArray
    """(tokens, dim): hidden states."""
    places: IntArray
    """(tokens, 2): characters [start, end) of the text, or (row, column) of the image grid."""
    pieces: IntArray
    """(tokens,): word-piece ids; -1 for image patches."""
    pooled: FloatArray
    """(pooled_dim,): one vector for the whole item, of length 1 where the encoder normalises."""
    grid: tuple[int, int] | None = None
    """Rows and columns of the patch grid of an image."""


@dataclass(frozen=True, slots=True, eq=False)
class Passages:
    """Where the rows of a field come from that are not documents but passages: parts of the texts of documents.

    Every document has at least one. A passage from 0 to 0 is the whole text, if there is one.
    """

    first: npt.NDArray[np.int64]
    """(documents + 1,): the first passage of each document, and how many there are."""
    starts: npt.NDArray[np.int64]
    """(passages,): the character of the document's text at which each begins."""
    ends: npt.NDArray[np.int64]
    """(passages,): the character before which it ends."""

    @classmethod
    def of(cls, counts: Sequence[int], spans: Sequence[tuple[int, int]]) -> Passages | None:
        """How many rows each document has, and where each row stands; None where every document is one row."""
        if len(spans) == len(counts):
            return None
        places = np.array(spans, np.int64)
        return cls(np.concatenate([[0], np.cumsum(counts)]).astype(np.int64), places[:, 0], places[:, 1])


@dataclass(frozen=True, slots=True)
class FieldBatch:
    """The postings of one field for n documents, by document (CSR), ready to be written.

    Where there are `passages`, a row is one of them instead of a document.

    `terms` is sorted and unique: words in UTF-8 byte order, or an int64 array of term ids.
    `indices` (int32) point into `terms`, ascending within a document. `tf` holds what is stored:
    uint32 for `count` and `fixed` (steps), float32 for `float32`.
    """

    indptr: npt.NDArray[np.int64]
    terms: Sequence[str] | npt.NDArray[np.int64]
    indices: IntArray
    tf: npt.NDArray[np.uint32] | npt.NDArray[np.float32]
    passages: Passages | None = None


@dataclass(frozen=True, slots=True)
class SegmentBatch:
    """Everything a new segment is made of; all sequences have one entry per document."""

    ids: Sequence[str]
    texts: Sequence[str | None]
    metadata: Sequence[Mapping[str, Any]]
    fields: Mapping[str, FieldBatch]
    vectors: Mapping[str, npt.NDArray[np.float32]] = dataclasses.field(default_factory=dict)
    """Pooled vectors (n, dim) by name; a row of NaN means that the document has none."""
    vector_passages: Mapping[str, Passages] = dataclasses.field(default_factory=dict)
    """Where the rows of some of these vectors are passages instead of documents."""


NodeKind = Literal[
    "score", "fusion", "rerank", "field", "term", "cosine", "patches", "against", "constant", "signal", "token",
    "baseline", "bonus", "coverage", "difference", "correction",
]  # fmt: skip
"""What a node of an explanation is.

`score`: a number about which no more is known. `fusion`: several fields' shares, added. `rerank`: what a second stage
made of a candidate. `field`: what one field gave. `term`: a word, latent term or visual word of a field. `cosine`: the
likeness of whole vectors. `patches`: what of it lies in the patches of a picture that are like the query, `against` in
those that are unlike it, `constant` in none of them. `signal`: one of the numbers that the training-free reranker
weighs. `token`: a token of the query and the most similar one of the document. `baseline`: where a field's scores are
counted from, with its minus sign. `bonus`: a reward for an exact match. `coverage`: one for the words of the query that
a document has and others have not. `difference`: how far two documents are apart. `correction`: what floating point
lost or added on the way; it makes a sum exact and is no reason for anything.
"""

LEAST_SHARE = 0.03
"""A part that brought less than this share of all that speaks for a document is not shown as a reason for it."""

_WEAK = 0.6
"""Of the places at which a latent term fired, those with less than this share of the strongest are not marked."""


def marked(places: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those of a term's places that a reader should look at: no faint ones, no punctuation, no function words."""
    strongest = max((float(place.get("strength", 1.0)) for place in places), default=0.0)
    return [
        place
        for place in places
        if place.get("mark", True) and float(place.get("strength", strongest)) >= _WEAK * strongest
    ]


_PARTS, _PLACES = 5, 3
"""Parts of a node, and places of a part, that a printed explanation names at most."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A score as a tree: `value` is the sum of the parts' values wherever there are parts.

    Parameters
    ----------
    value
        What this node adds to the score.
    label
        What the node is.
    parts
        The nodes that it is the sum of.
    details
        The numbers behind it, by name.
    evidence
        Where it was found: places in a text or a picture.
    kind
        What sort of node it is. Programs go by this, `field` and `term`; labels are for people.
    field
        The field that it is about, by name.
    term
        The term that it is about: a word as it is indexed, or the number of a latent term.

    Examples
    --------
    >>> plant = Explanation(0.5, "plant", kind="term", field="words", term="plant")
    >>> food = Explanation(0.25, "food", kind="term", field="words", term="food")
    >>> words = Explanation(0.75, "words: BM25", (plant, food), kind="field", field="words")
    >>> print(words)
    0.7500  words: BM25
      0.5000  plant
      0.2500  food
    >>> [part.term for part in words.parts if part.kind == "term"]
    ['plant', 'food']
    """

    value: float
    label: str
    parts: tuple[Explanation, ...] = ()
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    evidence: tuple[Mapping[str, Any], ...] = ()
    kind: NodeKind = "score"
    field: str | None = None
    term: str | int | None = None

    @property
    def reasons(self) -> tuple[Explanation, ...]:
        """The parts that say something: all but corrections of rounding."""
        return tuple(part for part in self.parts if part.kind != "correction")

    @property
    def support(self) -> float:
        """All that speaks for the document: the sum of the leaves above 0. A likeness counts as a whole, and where a
        field counts from says nothing about one document."""
        if self.parts and self.kind != "cosine":
            return sum(part.support for part in self.parts)
        return 0.0 if self.kind in ("baseline", "correction") else max(0.0, self.value)

    def to_dict(self, places: bool = True) -> dict[str, Any]:
        """The tree as plain JSON values; without `places`, it says nothing of where."""
        out: dict[str, Any] = {"value": self.value, "label": self.label, "kind": self.kind}
        if self.field is not None:
            out["field"] = self.field
        if self.term is not None:
            out["term"] = self.term
        if self.details:
            out["details"] = dict(self.details)
        if places and self.evidence:
            out["evidence"] = [dict(e) for e in self.evidence]
        if self.parts:
            out["parts"] = [p.to_dict(places) for p in self.parts]
        return out

    def full(self) -> str:
        """Every node with all its numbers and places, a line each.

        Examples
        --------
        >>> plant = Explanation(0.5, "plant", (), {"tf": 2.0}, ({"start": 0, "end": 6},), kind="term")
        >>> print(Explanation(0.5, "words: BM25", (plant,)).full())
        0.5000  words: BM25
          0.5000  plant  (tf=2)
            @ start=0, end=6
        """
        return "\n".join(self._every(0))

    def _every(self, depth: int) -> list[str]:
        shown = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in self.details.items())
        lines = [f"{'  ' * depth}{self.value:.4f}  {self.label}" + (f"  ({shown})" if shown else "")]
        for e in self.evidence:
            lines.append(f"{'  ' * (depth + 1)}@ " + ", ".join(f"{k}={v!r}" for k, v in e.items()))
        for p in self.reasons:
            lines.extend(p._every(depth + 1))
        return lines

    def __str__(self) -> str:
        """What counts, most first: parts of less than `LEAST_SHARE` are one line together. `full()` has everything."""
        return "\n".join(self._lines(0, LEAST_SHARE * self.support))

    def _lines(self, depth: int, least: float) -> list[str]:
        lines = [f"{'  ' * depth}{self.value:.4f}  {self.label}{self._places()}{self._note()}"]
        shown: list[Explanation] = []
        left: list[Explanation] = []
        for part in sorted(self.reasons, key=lambda part: -abs(part.value)):
            counts = part.kind != "term" or abs(part.value) >= least
            (shown if counts and len(shown) < _PARTS else left).append(part)
        if len(left) == 1:
            shown.append(left.pop())
        for part in shown:
            lines.extend(part._lines(depth + 1, least))
        if left:
            lines.append(f"{'  ' * (depth + 1)}{sum(part.value for part in left):.4f}  {len(left):,} more, together")
        return lines

    def _note(self) -> str:
        """What a reader should know, such as why there are no places."""
        return f"  ({self.details['note']})" if self.details.get("note") else ""

    def _places(self) -> str:
        """The words at which a term stands, each once; or where in a picture."""
        seen = marked(self.evidence)
        words = list(dict.fromkeys(str(place["text"]) for place in seen if "text" in place))
        cells = [f"({place['row'] + 1}, {place['column'] + 1})" for place in seen if "row" in place]
        named = [repr(word) for word in words[:_PLACES]] + cells[:_PLACES]
        if not named:
            return ""
        where = "  at row, column " if cells else "  at "
        return where + ", ".join(named) + (" ..." if len(words) + len(cells) > _PLACES else "")
