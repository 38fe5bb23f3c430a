"""Words translated into visual words by a table, without any network."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zipfian.encode.registry import EncoderSpec
from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.fields.alignment import Alignment, check_source, make_alignment
from zipfian.fields.base import Field, PostingField, Source, Takes
from zipfian.fields.item import Stored
from zipfian.fields.naming import visual_label
from zipfian.fields.places import Places, span
from zipfian.fields.visual import Visual
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.retrieve.statistics import Term
from zipfian.types import Terms
from zipfian.vocabulary import Pruning

if TYPE_CHECKING:
    from zipfian.fields.query import Query


@dataclass(frozen=True, init=False)
class Translated(PostingField):
    """Words translated into visual words by a table, without any network.

    Over pictures it searches the postings of a visual field with the words of a text; over texts it has its own, which
    a picture's visual words search.

    Parameters
    ----------
    source
        What of a document it reads: `image` or `text`.
    model
        A folder with a table; by default the one that ships.
    of
        The visual field whose postings it searches, over pictures.
    scoring
        The formula of its scores, the vocabulary's unless given.
    scale
        Steps of a weight of 1, over texts.
    encoders
        Other encoders than the default ones: `text=`, `image=`.

    Raises
    ------
    InvalidInput
        Another source, or a table that does not say which visual words it uses.

    Examples
    --------
    >>> Translated().of, Translated().takes, Translated("text").takes
    ('visual', 'text', 'image')
    """

    align: Alignment
    """What leads from texts to pictures and back."""
    of: str | None = None
    """The visual field whose postings it borrows, over pictures."""

    kind: ClassVar[str] = "translated"
    # The table adds little to the heads: of 0.05, 0.1, 0.25 and 0.5 the first was best on dev queries of Flickr8k with
    # an even sha1, by the sum of R@1, 5 and 10 in both directions (3.497, 3.494, 3.492, 3.395; without it 3.459).
    labelled: ClassVar[bool] = True
    located: ClassVar[bool] = True

    @property
    def weight(self) -> float:
        return 0.05

    def __init__(
        self, source: Source = "image", *, model: str | None = None, of: str = "visual", scoring: Scoring | None = None,
        scale: float = 100.0, **encoders: Any,
    ) -> None:  # fmt: skip
        check_source(source, "a translated field")
        align = make_alignment(model, "translated", encoders)
        loaded = align.picture.load_vocabulary()
        parts: dict[str, Any] = {"align": align, "scoring": scoring or BM25(**loaded.defaults.bm25)}
        if source == "image":
            parts["of"] = of
        else:
            parts |= {"pruning": Pruning(), "tf": "fixed", "scale": scale, "n_terms": loaded.n_terms}
        self.settle(**parts)

    @property
    def reads(self) -> Source:
        return "text" if self.of is None else "image"

    @property
    def takes(self) -> Takes:
        return "image" if self.of is None else "text"

    def unseen(self, query: Query) -> tuple[tuple[str, ...], bool]:
        """The words that no caption of its training had; `query` as for `Field`."""
        if self.takes != "text" or query.text is None:
            return (), True
        return self.align.unseen(query.text, self.align.table().words)

    @property
    def asked_through(self) -> EncoderSpec | None:
        return self.align.picture.encoder if self.takes == "image" else None

    def to_terms(self, text: str) -> Terms:
        return self.align.translate(text)

    def project(self, query: Query) -> Terms:
        """Visual words of a `query`: of its text through the table, or its picture's own."""
        picture = self.align.picture
        if self.takes == "text":
            return self.align.translate(query.text or "")
        key = (str(picture.fingerprint), "")  # as a visual field of the same vocabulary asks
        return query.once(key, lambda: picture.load_vocabulary().query(query.encoded(picture.encoder)))

    def label(self, term: Term) -> str:
        return visual_label(self.align.picture.load_vocabulary(), int(term), self.align.table())

    def words_behind(self, query: Query, wanted: Collection[Term]) -> Mapping[Term, list[str]]:
        if query.text is None:
            return {}
        behind = self.align.words_behind(query.text, [int(t) for t in wanted])
        return {term: list(words) for term, words in behind.items()}

    def places(self, stored: Stored, wanted: Collection[Term], weights: Mapping[Term, float]) -> tuple[Places, str]:
        text, found = stored.text or "", Places()
        for term, rows in self.align.tokens_behind(text, [int(t) for t in wanted]).items():
            found[term] = [
                {**span(text, t.start, t.end, stored.language), "strength": strength} for t, strength in rows
            ]
        return found, ""

    def check_beside(self, name: str, fields: Mapping[str, Field]) -> None:
        """The field it borrows from must be there, over visual words that mean the same; arguments as for `Field`."""
        if self.of is None:
            return
        lender = fields.get(self.of)
        if not isinstance(lender, Visual):
            raise InvalidInput(
                f"field {name!r} searches the postings of the visual field {self.of!r}, which is not there"
            )
        if lender.model.weights_sha256 != self.align.picture.weights_sha256:
            raise FingerprintMismatch(
                f"field {name!r} speaks the visual words {self.align.picture.fingerprint}, field {self.of!r} those of "
                f"{lender.model.fingerprint}: make both with the same vocabulary"
            )

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "align": self.align.to_json(), "of": self.of}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        align = Alignment.from_json(found.value("align"), trusted)
        of = found.text("of") if found.has("of") else None
        return cls.restored(**cls.common(found), align=align, of=of)
