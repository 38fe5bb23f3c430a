"""What a field is: one way to find the documents of a collection, and the two halves, postings and vectors.

A kind of field is one class in one file. It says what it reads of a document, what it makes of a query, how its terms
are scored and explained, and what a manifest keeps of it. Everything else asks these questions and never which kind it
is, so a kind of your own is a class with the same answers (`docs/own-field.md`).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.encode.registry import EncoderSpec, languages_read
from zipfian.errors import InvalidInput, shown
from zipfian.fields.item import Item, Stored
from zipfian.fields.places import Places, Spread
from zipfian.fields.reader import Reader
from zipfian.fields.terms import check_terms, terms_batch
from zipfian.fuse.confidence import Evidence
from zipfian.index.field import FieldWriteSpec
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Scoring, scoring_from_json
from zipfian.retrieve.statistics import Term
from zipfian.retrieve.validate import check_scoring
from zipfian.types import FieldBatch, Terms, TfKind
from zipfian.vocabulary import Pruning
from zipfian.vocabulary.quantise import check_scale

if TYPE_CHECKING:
    from zipfian.fields.model import FindScalar
    from zipfian.fields.query import Query
    from zipfian.vocabulary.sae import SaeVocabulary

Source = Literal["text", "image"]
Takes = Literal["text", "image", "terms", "vector"]
Vector = npt.NDArray[np.float32]
Weights = Mapping[str, float] | Mapping[int, float]


class Field(ABC):
    """One way to find the documents of a collection: the base of all kinds.

    Make one of a kind: `Words(...)` (the words of the text), `Latent(...)` (latent terms of the text), `Visual(...)`
    (visual words of the picture), `Dense(...)` (pooled vectors), `Sparse(n_terms, ...)` (ready-made sparse vectors),
    `Splade`, `Scalar`, `Aligned`, `Translated`, or one of your own.

    Examples
    --------
    >>> from zipfian.fields import Dense, Words
    >>> [(field.kind, field.reads, field.takes) for field in (Words(), Dense(vector="default"))]
    [('words', 'text', 'text'), ('dense', None, 'vector')]
    """

    kind: ClassVar[str]
    """Its name in manifests and reports."""
    lexical: ClassVar[bool] = False
    """Whether its terms are strings counted in the text: then coverage and TF-IDF mean something."""
    in_presets: ClassVar[bool] = True
    """Whether it takes part in a search that names neither fields nor a method."""

    @property
    @abstractmethod
    def reads(self) -> Source | None:
        """What of a document it reads; None: what comes ready-made with it."""

    @property
    @abstractmethod
    def takes(self) -> Takes:
        """What a query of it is."""

    @property
    def weight(self) -> float:
        """What it counts in the default fusion before the query is looked at. Words and latent terms have 1; a pooled
        vector comes from the same encoder pass as the terms and is the blunter of the two views: half."""
        return 0.5

    @property
    @abstractmethod
    def evidence(self) -> Evidence:
        """What its score says about how likely a document is a right answer."""

    @property
    def alike(self) -> float:
        """Cosine from which two documents are nearly the same, where it has vectors.

        Chosen on photographs of pets and EfficientNet-Lite2: of 36 copies (saved anew at quality 70, at three quarters
        of the size, cropped by a tenth) 35 reach it, of the 4,950 pairs among 100 pictures of four breeds none does;
        the highest has 0.897."""
        return 0.9

    @property
    def across(self) -> bool:
        """Whether it leads from texts to pictures or back."""
        return self.reads is not None and self.reads != self.takes

    @property
    def encoder(self) -> EncoderSpec | None:
        """The encoder that reads its documents; None: it needs none."""
        return None

    @property
    def asked_through(self) -> EncoderSpec | None:
        """The encoder that reads its queries, unless a table takes its place; None: it needs none."""
        return self.encoder

    def needs(self, query: Query) -> EncoderSpec | None:
        """The encoder whose pass over this `query` it will ask for; None: no network is involved."""
        return self.asked_through

    def unseen(self, query: Query) -> tuple[tuple[str, ...], bool]:
        """Words of this `query` that it was never taught, and whether it was taught any other of it."""
        return (), True

    @property
    def languages(self) -> frozenset[str] | None:
        """ISO 639-1 codes of the languages its encoder reads; None: it has none, or the encoder does not say."""
        return None if self.encoder is None else languages_read(self.encoder)

    @property
    def asks_language(self) -> bool:
        """Whether it does something else with a text in another language."""
        return self.languages is not None

    @property
    def by_passage(self) -> bool:
        """Whether a text that its encoder cannot read at once is found by the passages of it."""
        return self.reads == "text" and self.encoder is not None

    @property
    def tokens(self) -> bool:
        """Whether query and document become token vectors of one encoder, so that late interaction compares them."""
        return False

    @property
    def has_table(self) -> bool:
        """Whether a table can read a text query in place of the encoder (`query_encoder="table"`)."""
        return False

    @property
    def has_postings(self) -> bool:
        """Whether it has an inverted index of its own."""
        return False

    @property
    def has_vectors(self) -> bool:
        """Whether it compares vectors."""
        return False

    @property
    def shows_patches(self) -> bool:
        """Whether it says in which patches of a picture, the document's and the query's, its terms stand."""
        return False

    @property
    def takes_ids(self) -> bool:
        """Whether it answers ready-made ids of its terms when it is named."""
        return False

    def reader(self, name: str) -> Reader | None:
        """What it takes of the encoder's pass over a document, as the field `name`; None where it has no encoder."""
        return None

    def report(self, query: Query) -> dict[str, Any]:
        """What results should say of how it read this `query`."""
        return {}

    @property
    def transform(self) -> str | None:
        """Fingerprint of a fitted transform that the collection's own files carry; None: there is none."""
        return None

    def transform_files(self) -> tuple[bytes, bytes]:
        """That transform as two files, arrays and settings."""
        raise InvalidInput(f"a field of kind {self.kind} has no fitted transform to carry")

    def finding(self, find: FindScalar) -> Self:
        """The same field, which will `find` its transform by fingerprint."""
        return self

    def check_beside(self, name: str, fields: Mapping[str, Field]) -> None:  # noqa: B027 - most kinds stand alone
        """Raise `InvalidInput` where, called `name`, it cannot stand beside the other `fields` of a collection."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Plain settings, as a manifest keeps them: its kind, and what `from_json` of the class reads."""

    @classmethod
    @abstractmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        """The field of a `name` from what was `found` in a manifest, which anybody may have written.

        Models are loaded when they are used; `trusted` names those that may be loaded then beside the package's own.
        """

    def settle(self, **parts: Any) -> None:
        """Set the `parts` of a frozen field, defaults where one is missing: for an `__init__` of a kind's own."""
        for part in dataclasses.fields(self):  # type: ignore[arg-type]
            if part.name in parts:
                value = parts[part.name]
            elif part.default_factory is not dataclasses.MISSING:
                value = part.default_factory()
            else:
                value = part.default
            object.__setattr__(self, part.name, value)
        self.check()

    @classmethod
    def restored(cls, **parts: Any) -> Self:
        """A field from its `parts`, as a manifest or another field had them; nothing is loaded."""
        made = object.__new__(cls)
        made.settle(**parts)
        return made

    def changed(self, **parts: Any) -> Self:
        """The same field with other `parts`."""
        known = {part.name: getattr(self, part.name) for part in dataclasses.fields(self)}  # type: ignore[arg-type]
        return self.restored(**known | parts)

    def check(self) -> None:  # noqa: B027 - a kind may have nothing to check
        """Raise `InvalidInput` where its parts do not fit together."""


@dataclass(frozen=True, kw_only=True)
class PostingField(Field):
    """A field with an inverted index: terms, weights, and a formula that scores them.

    A kind of your own derives from it and says `kind`, `reads`, `takes`, `to_terms` (a document's text) and `project`
    (a query). Where terms are strings, derive from `LexicalField`, which needs less.

    Raises
    ------
    InvalidInput
        A formula, pruning or scale that is none.

    Examples
    --------
    >>> from zipfian.fields import Sparse
    >>> isinstance(Sparse(18_432), PostingField)
    True
    """

    scoring: Scoring = dataclasses.field(default_factory=BM25)
    """The formula of its scores."""
    pruning: Pruning = dataclasses.field(default_factory=Pruning)
    """Which of a document's terms are kept."""
    tf: TfKind = "count"
    """How weights are stored."""
    scale: float = 1.0
    """Steps of a weight of 1, where they are stored as 16-bit steps."""
    n_terms: int = 0
    """Size of the term space, where terms are numbers."""

    located: ClassVar[bool] = False
    """Whether its terms stand at places: spans of a text, patches of a picture."""
    labelled: ClassVar[bool] = False
    """Whether its terms are numbers that have names."""

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        check_scoring(self.scoring)
        if not isinstance(self.pruning, Pruning):
            raise InvalidInput(f"pruning must be Pruning(...), not {shown(self.pruning)}")
        check_scale(self.scale)

    @property
    def of(self) -> str | None:
        """The field whose postings it borrows; None: it has its own."""
        return None

    @property
    def has_postings(self) -> bool:
        return self.of is None

    @property
    def evidence(self) -> Evidence:
        """That of latent terms, for a kind that was not measured."""
        return Evidence(base=-5.0, share=6.0, lead=6.0)

    @property
    def shows_patches(self) -> bool:
        return self.located and self.reads == "image" and self.takes == "image"

    @property
    def takes_ids(self) -> bool:
        return self.n_terms > 0 and self.of is None

    @property
    def write_spec(self) -> FieldWriteSpec:
        """How its postings are written; stored lengths follow the field's own phi."""
        return FieldWriteSpec(self.tf, self.scale, str(self.scoring.phi))

    # ------------------------------------------------------------------ documents

    @property
    def reads_plain_text(self) -> bool:
        """Whether `to_terms` makes its terms of a text as it stands, without an encoder."""
        return self.reads == "text" and self.encoder is None and self.of is None and not self.lexical

    def to_terms(self, text: str) -> Terms:
        """The terms of a document's `text`, of a field that reads it without an encoder."""
        raise InvalidInput(f"a field of kind {self.kind} makes no terms of a text by itself")

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        """The postings of some documents, `items`, in the field `name`."""
        return terms_batch(name, self.tf, items)

    # ------------------------------------------------------------------ queries

    def terms_of(self, query: Query) -> Weights:
        """The terms of a `query` and their weights, in the order in which a score is summed."""
        if query.terms is not None:
            terms = check_terms(query.terms, self.n_terms)
            if not len(terms):
                raise InvalidInput("the query has no terms")
        else:
            terms = self.project(query)
        return dict(zip(terms.ids.tolist(), terms.weights.astype(np.float64).tolist(), strict=True))

    def terms_under(self, query: Query, scoring: Scoring) -> Weights | None:
        """The terms of a `query` that the formula `scoring` compares in place of `terms_of`; None: those."""
        return None

    def project(self, query: Query) -> Terms:
        """The terms of a `query` that is no list of terms already."""
        raise InvalidInput(f"this field takes ready-made terms, not {query.describe()}")

    # ------------------------------------------------------------------ explanations

    def label(self, term: Term) -> str:
        """What to call a `term`."""
        return str(term)

    def words_behind(self, query: Query, wanted: Collection[Term]) -> Mapping[Term, list[str]]:
        """Which words of the `query` brought in each `wanted` term, strongest first."""
        return {}

    def places(
        self, stored: Stored, wanted: Collection[Term], weights: Mapping[Term, float]
    ) -> tuple[Places, str]:  # fmt: skip
        """Where each `wanted` term stands in a `stored` document, and a note where that cannot be told.

        `weights` are those in the index: a text or picture that has changed since is recognised by them.
        """
        return {}, ""

    def query_places(self, query: Query, wanted: Collection[Term]) -> Places:
        """Where each `wanted` term stands in the `query` itself."""
        return {}

    def dictionary(self) -> SaeVocabulary | None:
        """What is known of its terms beside their names: labels to search, neighbours; None: nothing is."""
        return None

    # ------------------------------------------------------------------ settings

    def with_scoring(self, scoring: Scoring) -> Self:
        """The same field under another formula, `scoring`."""
        return self.changed(scoring=check_scoring(scoring))

    def to_json(self) -> dict[str, Any]:
        return {
            "kind": self.kind, "scoring": self.scoring.to_json(), "pruning": self.pruning.to_json(),
            "tf": self.tf, "scale": self.scale, "n_terms": self.n_terms,
        }  # fmt: skip

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        return cls.restored(**cls.common(found))

    @classmethod
    def common(cls, found: JsonObject) -> dict[str, Any]:
        """The parts that all posting fields have, from what was `found` in a manifest."""
        return {
            "scoring": scoring_from_json(found.value("scoring")),
            "pruning": Pruning.from_json(found.value("pruning")),
            "tf": found.choice("tf", get_args(TfKind)),
            "scale": found.number("scale"),
            "n_terms": found.whole("n_terms", 0, limits.MAX_TERMS),
        }


@dataclass(frozen=True, kw_only=True)
class VectorField(Field):
    """A field of vectors, one for a document, compared by cosine.

    Examples
    --------
    >>> from zipfian.fields import Dense
    >>> isinstance(Dense(vector="default"), VectorField)
    True
    """

    pooled: ClassVar[bool] = False
    """Whether query and document are whole items of one encoder: then it may rerank what other fields found."""

    @property
    def evidence(self) -> Evidence:
        """That of the default encoder of texts, for one that was not measured."""
        return Evidence(base=-8.0, share=12.5, lead=8.0)

    @property
    def has_vectors(self) -> bool:
        return True

    def stored_as(self, name: str) -> str:
        """What the vectors of the field `name` are called in the index."""
        return name

    def vector_of(self, query: Query) -> Vector:
        """The vector that documents are compared with for this `query`."""
        return self.embed(query) if query.vector is None else query.vector

    @abstractmethod
    def embed(self, query: Query) -> Vector:
        """The vector of a `query` that is none already."""

    def spread(self, stored: Stored, vector: Vector) -> tuple[Spread | None, str]:
        """How the cosine of a `stored` document and a query's `vector` comes apart over the document's places, and a
        note where that cannot be told; None where the kind does not know."""
        return None, ""


__all__ = ["Field", "PostingField", "Source", "Takes", "Vector", "VectorField", "Weights"]
