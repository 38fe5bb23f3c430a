"""What a search returns. Everything in it belongs to the snapshot it was made on."""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np

from zipfian.collection import tables
from zipfian.collection.languages import named
from zipfian.collection.notebook import to_html
from zipfian.errors import InvalidInput, shown
from zipfian.explain.highlight import Snippet
from zipfian.explain.terms import compare
from zipfian.fuse.ranking import Ranking
from zipfian.types import Explanation

NAMED = 5
"""Words that a note names; the others are counted."""

POOR = 0.1
"""Where no hit has this confidence, nothing good was found."""


@dataclass(frozen=True, slots=True)
class FieldHit:
    """How one field saw a hit."""

    rank: int | None
    """1 for its best document; None where the document is not in the list the field was asked for."""
    score: float
    """The field's own, exact score."""
    share: float
    """What of the hit's score came from this field, in the score's own unit; a hit's shares add up to its score."""
    normalised: float | None = None
    """The score on the scale that fields were fused on; None where one field answered alone."""


EXACT = "exact match"
"""Whose share the bonus for an exact match is; no field can have a name with a space in it."""


_KEPT_CHARS = 1 << 20
"""Characters of a text that results keep once it was read: there may be thousands of hits."""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document; `Collection.get` gives one.

    Parameters
    ----------
    id
        Its name in the collection.
    text
        Its text, None where it has none.
    metadata
        Its metadata, by field.

    Examples
    --------
    >>> Document("a", "Plants make food from light.", {"lang": "en"}).metadata["lang"]
    'en'
    """

    id: str
    text: str | None
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What the hits of one search share: they are made, and their parts worked out, when somebody asks."""

    ids: Sequence[str]
    """Of the ranking's documents behind the offset."""
    offset: int
    ranking: Ranking
    read: Callable[[int], Document]
    """Gives a stored document by its number."""
    assess: Callable[[], Mapping[int, float]]
    """Gives the confidence of every document of the ranking, by its number."""
    least: float = 0.0
    """Documents that are less likely to be right are no hits."""
    _kept: dict[int, Document] = dataclasses.field(default_factory=dict)
    _assessed: dict[int, float] = dataclasses.field(default_factory=dict)

    def hits(self) -> tuple[Hit, ...]:
        """All of them."""
        docs, scores = self.ranking.docs[self.offset :].tolist(), self.ranking.scores[self.offset :].tolist()
        numbered = enumerate(zip(self.ids, scores, docs, strict=True), self.offset + 1)
        every = (Hit(doc_id, score, rank, number, self) for rank, (doc_id, score, number) in numbered)
        return tuple(hit for hit in every if hit.confidence >= self.least) if self.least else tuple(every)

    def confidence(self, number: int) -> float:
        """How likely a document is a right answer; worked out for all when first asked for."""
        if not self._assessed:
            self._assessed.update(self.assess())
        return self._assessed[number]

    def most_likely(self) -> float:
        """The best confidence of the documents behind the offset, 0 where there are none."""
        return max(map(self.confidence, self.ranking.docs[self.offset :].tolist()), default=0.0)

    def fields(self, row: int) -> dict[str, FieldHit]:
        """How each field saw a document, and what it gave to the score: the shares add up to it."""
        out: dict[str, FieldHit] = {}
        for name, raw, ranks, shares, scaled in self.ranking.columns:
            share = shares[row]
            if share == share:  # not NaN: the field was asked about this document
                normalised = None if scaled is None or math.isnan(scaled[row]) else scaled[row]
                out[name] = FieldHit(ranks[row] or None, raw[row], share, normalised)
        return out

    def document(self, number: int) -> Document:
        """A stored document, read when first asked for and kept unless it is large."""
        found = self._kept.get(number)
        if found is None:
            found = self.read(number)
            if len(found.text or "") <= _KEPT_CHARS:
                self._kept[number] = found
        return found


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hit:
    """A document that was found. Text and metadata are read from the snapshot when first asked for.

    Examples
    --------
    >>> import tempfile, zipfian as zf
    >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
    >>> _ = notes.add([{"id": "a", "text": "Plants make food from light.", "metadata": {"lang": "en"}}])
    >>> _ = notes.commit()
    >>> hit = notes.search("food for plants")[0]
    >>> hit.rank, hit.id, hit.metadata["lang"]
    (1, 'a', 'en')
    >>> hit.score == hit.fields["words"].share
    True
    """

    id: str
    """The document's id."""
    score: float
    """What it was ranked by."""
    rank: int
    """1 for the best."""
    number: int
    """The document's number in the snapshot that was searched."""
    _found: Found

    @property
    def confidence(self) -> float:
        """How likely it is a right answer, 0 to 1: what the fields that were asked say of it (`docs/confidence.md`).

        Worked out for all hits when first asked for. Unlike scores, it can be compared between queries."""
        return self._found.confidence(self.number)

    @property
    def fields(self) -> Mapping[str, FieldHit]:
        """How each field saw it, by the field's name; `late` stands for what tokens gave, `exact match` for a bonus."""
        return self._found.fields(self.rank - 1)

    @property
    def first_rank(self) -> int:
        """Rank before reranking; the same as `rank` where nobody reranked."""
        return self._found.ranking.first.rows[self.number] + 1

    @property
    def exact_match(self) -> bool:
        """Whether its text is the query itself, and that was rewarded (`exact_match_bonus`)."""
        return EXACT in self._found.ranking.fields and EXACT in self.fields

    @property
    def text(self) -> str | None:
        """The stored text, None where the document has none."""
        return self._found.document(self.number).text

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The stored metadata, by field."""
        return self._found.document(self.number).metadata

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Hit):
            return NotImplemented
        if (self.id, self.score, self.rank, self.number) != (other.id, other.score, other.rank, other.number):
            return False
        return self._found is other._found or (self.fields, self.first_rank) == (other.fields, other.first_rank)

    def __hash__(self) -> int:
        return hash((self.id, self.score, self.rank, self.number))

    def __repr__(self) -> str:
        return f"Hit(id={self.id!r}, score={self.score!r}, rank={self.rank!r}, fields={self.fields!r})"


@dataclass(frozen=True, eq=False)
class Results(Sequence[Hit]):
    """Hits, best first, and how they were found: a sequence of `Hit`.

    Examples
    --------
    >>> import tempfile, zipfian as zf
    >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
    >>> _ = notes.add([{"id": "a", "text": "Plants make food."}, {"id": "b", "text": "Cats like food."}])
    >>> _ = notes.commit()
    >>> found = notes.search("food for cats")
    >>> [hit.id for hit in found]
    ['b', 'a']
    >>> found.explain(found[0]).value == found[0].score
    True
    >>> found.highlight(found[0])[0].render()
    '**Cats** like **food**.'
    """

    query: Any
    """What was asked."""
    generation: int
    """The commit that was searched."""
    timings: Mapping[str, float]
    """Seconds: prepare (query to terms; encode, the neural network, is part of it), filter, search, total."""
    _found: Found = dataclasses.field(repr=False)
    _settings: Callable[[], Mapping[str, Any]] = dataclasses.field(repr=False)
    _explain: Callable[[int, bool], Explanation] = dataclasses.field(repr=False)
    _highlight: Callable[[int, dict[str, Any]], list[Snippet]] = dataclasses.field(repr=False)
    _picture: Callable[[Mapping[str, Any]], bytes | None] = dataclasses.field(repr=False)
    _passage: Callable[[int], tuple[int, int] | None] = dataclasses.field(repr=False)

    @cached_property
    def hits(self) -> tuple[Hit, ...]:
        """Best first."""
        return self._found.hits()

    @cached_property
    def settings(self) -> Mapping[str, Any]:
        """Field, scoring, k and filter of this search."""
        return self._settings()

    def __len__(self) -> int:
        return len(self.hits if self._found.least else self._found.ids)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    @property
    def notes(self) -> list[str]:
        """What the reader of these hits should know: fields that could not read the query, and hits that are hardly
        right."""
        out = []
        unread, language = self.settings.get("unread"), self.settings.get("language")
        if unread:
            whose = "its encoder does" if len(unread) == 1 else "their encoders do"
            out.append(f"{' and '.join(unread)} took no part: {whose} not read {named(str(language))}")
        out += _unseen(self.settings)
        found, least = len(self._found.ids), self._found.least
        nothing = f"nothing good was found: of {found} document{'s' * (found != 1)}"
        if found and not len(self):
            out.append(f"{nothing} none has a confidence of {least:g}; the best has {self._found.most_likely():.2f}")
        elif found > len(self):
            out.append(f"{found - len(self)} of {found} documents were left out: their confidence is below {least:g}")
        elif found and not self._found.offset and (best := self._found.most_likely()) < POOR:
            out.append(f"{nothing} the best has a confidence of {best:.2f}")
        return out

    def explain(self, hit: Hit, places: bool = True) -> Explanation:
        """The score of `hit` as a tree whose parts sum to it, from the same snapshot and settings.

        Without `places`, it says nothing of where, and the text or picture of the hit is not read again for it.
        """
        return self._explain(self._own(hit).number, places)

    def why(self, a: Hit, b: Hit) -> Explanation:
        """Which terms put hit `a` above hit `b` (or `b` above `a`): the difference of their scores, term by term."""
        return compare(self.explain(a), self.explain(b), a.id, b.id)

    def highlight(self, hit: Hit, **options: Any) -> list[Snippet]:
        """The best passages of the text of `hit` with the matching words marked; `options` of `explain.highlight`."""
        return self._highlight(self._own(hit).number, options)

    def without(self, id: str, k: int, offset: int = 0) -> Results:
        """The hits without the document `id`, those behind it one rank higher: `k` of them behind the first `offset`.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Plants make food."}, {"id": "b", "text": "Cats like food."}])
        >>> _ = notes.commit()
        >>> [(hit.rank, hit.id) for hit in notes.search("food for cats").without("b", k=5)]
        [(1, 'a')]
        """
        found = self._found
        kept = np.array([row for row, other in enumerate(found.ids, found.offset) if other != id], np.int64)
        others = found.ranking.reordered(kept, found.ranking.scores[kept], {}).top(offset + k)
        ids = [other for other in found.ids if other != id][offset : offset + k]
        shown = dataclasses.replace(found, ids=ids, offset=offset, ranking=others, _kept={}, _assessed={})
        settings = self._settings
        return dataclasses.replace(self, _found=shown, _settings=lambda: {**settings(), "k": k, "offset": offset})

    def passage(self, hit: Hit) -> tuple[int, int] | None:
        """Where the passage of a long text stands that `hit` was found by: characters [start, end) of `hit.text`.

        None where no field reads its text passage by passage: it is short, or was found by its words.
        """
        return self._passage(self._own(hit).number)

    def picture(self, hit: Hit) -> bytes | None:
        """The file of the picture of `hit`, None where it has none; an error where it may not be opened."""
        return self._picture(self._own(hit).metadata)

    def to_dict(self, documents: bool = False) -> dict[str, Any]:
        """The search as plain JSON values: query, hits with what each field gave, settings and seconds.

        With `documents`, hits have their stored text and metadata, too. Numbers that are not finite become None.

        Examples
        --------
        >>> import json, tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Plants make food."}])
        >>> _ = notes.commit()
        >>> found = json.loads(json.dumps(notes.search("food").to_dict(documents=True)))
        >>> found["query"], found["hits"][0]["id"], found["hits"][0]["text"]
        ('food', 'a', 'Plants make food.')
        """
        return tables.values_of(self, documents)

    def to_arrow(self, documents: bool = False) -> Any:
        """The hits as a `pyarrow.Table` (extra `parquet`), a row each: rank, id, score, confidence, and three columns
        for each field.

        With `documents`, there are columns for text and for metadata, which is JSON.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Plants make food."}])
        >>> _ = notes.commit()
        >>> notes.search("food").to_arrow().column_names
        ['rank', 'id', 'score', 'confidence', 'words.rank', 'words.score', 'words.share']
        """
        return tables.arrow_table(self, documents)

    def to_pandas(self, documents: bool = False) -> Any:
        """The table of `to_arrow` as a pandas data frame (extra `pandas`), with `documents` as there."""
        return tables.pandas_frame(self, documents)

    def _repr_html_(self) -> str:
        """What a notebook shows: hits with marked passages, thumbnails and reasons. All text is escaped."""
        return to_html(self)

    def _own(self, hit: Hit) -> Hit:
        """Numbers mean something in one snapshot only: a hit of other results is refused."""
        at = bisect_left(self.hits, hit.rank, key=lambda one: one.rank) if isinstance(hit, Hit) else len(self.hits)
        if hit not in self.hits[at : at + 1]:
            raise InvalidInput(f"not a hit of these results: {shown(hit)}")
        return hit


def _unseen(settings: Mapping[str, Any]) -> list[str]:
    """What the model behind pictures was never taught, and what follows from it."""
    words = settings.get("unseen")
    if not words:
        return []
    named_words = ", ".join(words[:NAMED]) + (f" and {len(words) - NAMED} more" if len(words) > NAMED else "")
    untaught = settings.get("untaught") or ()
    out = f"not known to the picture model: {named_words}"
    if untaught:
        asking = f"to ask all the same: fields={untaught[0]!r}, --fields {untaught[0]}"
        out += f"; {' and '.join(untaught)} took no part ({asking})"
    return [out]
