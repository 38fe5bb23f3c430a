"""Bodies of answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from zipfian.serve.schemas.base import Answer


class Part(BaseModel):
    """What stands inside an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Term = str | int
"""A word as it is indexed, or the number of a latent or visual term."""


class FieldInfo(Part):
    """A field of a collection: one way to find a document."""

    name: str
    kind: str = Field(examples=["words"])
    reads: str | None = Field(description="What of a document it reads: text, image, or null for ready-made terms.")
    takes: str = Field(description="What a query of it is: text, image, terms or vector.")
    terms: bool = Field(description="Whether it has terms, which can be listed, muted and boosted.")
    labels: bool = Field(description="Whether its terms are numbers that have names.")
    patches: bool = Field(description="Whether it says in which patches of a picture its terms stand.")
    scoring: dict[str, Any] | None = Field(description="The formula of its scores; null for vectors.")


class CollectionInfo(Part):
    """What a collection holds."""

    name: str
    documents: int
    generation: int = Field(description="Number of the commit that searches see.")
    fields: list[FieldInfo]
    columns: dict[str, str] = Field(description="Metadata columns and their types.", examples=[{"lang": "string"}])
    methods: list[str] = Field(description="Methods of a search.")
    presets: list[str]
    pictures: bool = Field(description="Whether documents may have pictures.")
    writable: bool
    engine: str = Field(description="folder or opensearch.")


class CollectionsAnswer(Answer):
    collections: list[CollectionInfo]


class CollectionAnswer(Answer):
    collection: CollectionInfo


class FieldShare(Part):
    """How one field saw a hit."""

    rank: int | None = Field(description="1 for its best document; null where it is not in the field's list.")
    score: float | None = Field(description="The field's own, exact score.")
    share: float | None = Field(description="What of the hit's score came from it; a hit's shares add up to its score.")
    normalised: float | None = Field(description="The score on the scale that fields were fused on.")


class Node(Part):
    """A node of an explanation: its value is the sum of its parts' values, wherever it has parts."""

    value: float | None
    label: str
    kind: str = Field(
        description="score, fusion, rerank, field, term, cosine, patches, against, constant, signal, token, baseline, "
        "bonus, coverage, difference, correction"
    )
    field: str | None = None
    term: Term | None = None
    details: dict[str, Any] = Field(default={}, description="The numbers behind it, by name.")
    evidence: list[dict[str, Any]] = Field(
        default=[],
        description="Where it was found: start, end and text in a text; row and column of rows x columns in a picture; "
        "each with its strength where it has one, and mark: false where it shows a reader nothing (punctuation, "
        "function words).",
    )
    parts: list[Node] = []


class Snippet(Part):
    """A passage of a text; offsets count characters (code points) of the whole text."""

    text: str
    start: int
    end: int
    marks: list[tuple[int, int]]
    more_before: bool
    more_after: bool


QueryPlaces = Annotated[
    dict[str, dict[str, list[dict[str, Any]]]] | None,
    Field(
        description="With explain: places: where the terms stand in the query itself, by field and term; words of its "
        "text, or patches of its picture."
    ),
]


class HitAnswer(Part):
    """A document that was found."""

    rank: int
    id: str
    score: float | None
    confidence: float = Field(description="How likely it is a right answer, 0 to 1; comparable between queries.")
    first_rank: int = Field(description="Rank before reranking.")
    exact_match: bool
    fields: dict[str, FieldShare] | None = Field(default=None, description="With explain: fields and more.")
    passage: tuple[int, int] | None = Field(
        default=None,
        description="With explain: fields and more, of a long text: where the passage stands that it was found by.",
    )
    explanation: Node | None = Field(default=None, description="With explain: terms and places.")
    snippets: list[Snippet] | None = Field(default=None, description="With highlight.")
    text: str | None = Field(default=None, description="With documents.")
    text_cut: bool = Field(default=False, description="Whether the text goes on: GET the document for more.")
    metadata: dict[str, JsonValue] | None = Field(default=None, description="With documents.")
    picture: bool = Field(default=False, description="Whether the document names a picture: GET its thumbnail.")


class FacetValue(Part):
    value: JsonValue
    count: int


class Facet(Part):
    """The values of a column."""

    type: str
    values: list[FacetValue] = Field(description="Most frequent first.")
    more: int = Field(description="Further values that were not listed.")
    missing: int = Field(description="Documents without this column.")
    lowest: JsonValue = Field(default=None, description="Smallest value of a column of numbers or dates.")
    highest: JsonValue = Field(default=None, description="Largest value of one.")
    by: Literal["year", "month"] | None = Field(
        default=None, description="What dates are counted by: years, or months where all lie in one year."
    )


class SearchResult(Part):
    """One search."""

    hits: list[HitAnswer]
    generation: int
    settings: dict[str, Any] = Field(description="How it was searched: method, fields, fusion, what was left out ...")
    timings: dict[str, float | None] = Field(
        description="Seconds: prepare (encode is part of it), filter, search, total."
    )
    notes: list[str] = Field(description="What the reader of these hits should know.")
    query_places: QueryPlaces = None
    facets: dict[str, Facet] | None = None
    scope: int | None = Field(default=None, description="With facets: documents that the filter allows.")


class SearchAnswer(SearchResult, Answer):
    """One search, and the time it took."""


class SearchManyAnswer(Answer):
    results: list[SearchResult]


class ExplainAnswer(Answer):
    id: str
    above: str | None = None
    rank: int | None = Field(description="Its rank among the first k, null where it is not there.")
    score: float | None = Field(description="What it scores, found or not.")
    explanation: Node = Field(description="Of its score; with above, of the difference of the two scores.")
    missing: list[str] = Field(
        description="Where it is not among the first k: why: excluded by the filter, no shared term, fewer points."
    )
    lacking: dict[str, list[str]] = Field(description="Terms of the query that it does not have, by field.")
    cutoff: float | None = Field(default=None, description="Score of the last of the first k hits.")
    query_places: QueryPlaces = None


class DocumentAnswer(Answer):
    id: str
    text: str | None
    text_cut: bool = False
    metadata: dict[str, JsonValue]
    picture: bool
    generation: int


class TermDocument(Part):
    """A document in which a term weighs much."""

    id: str
    weight: float
    text: str | None = Field(description="Some of its text, around the first place.")
    start: int = Field(description="Where that begins in the whole text, which places count in.")
    places: list[dict[str, Any]]
    picture: bool


class Neighbour(Part):
    term: Term
    label: str
    similarity: float


class TermInfo(Part):
    term: Term
    label: str
    kind: str | None = Field(description="What sort of term a labelled one is.")
    df: int = Field(description="Documents that have it.")
    idf: float | None


class TermAnswer(Answer):
    field: str
    term: TermInfo
    documents: list[TermDocument] = Field(description="Strongest first.")
    neighbours: list[Neighbour] = Field(description="Terms of nearly the same direction, nearest first.")
    n: int = Field(description="Documents of the collection.")


class FieldTerms(Part):
    field: str
    terms: list[TermInfo]
    found: int = Field(description="Terms that match, listed or not.")


class TermsAnswer(Answer):
    fields: list[FieldTerms]


class ZipfPoint(Part):
    rank: int
    df: int


class VocabularyAnswer(Answer):
    field: str
    n: int = Field(description="Documents of the collection.")
    terms: int = Field(description="Distinct terms that documents have.")
    postings: int
    curve: list[ZipfPoint] = Field(description="Document frequency by rank, evenly spaced on a logarithmic scale.")
    kinds: dict[str, int] = Field(description="How many terms of each kind, where terms have labels.")


class FacetsAnswer(Answer):
    facets: dict[str, Facet]
    scope: int = Field(description="Documents that the filter allows.")
    generation: int


class CountAnswer(Answer):
    count: int
    generation: int


class AddAnswer(Answer):
    added: int


class UpdateAnswer(Answer):
    updated: int


class DeleteAnswer(Answer):
    deleted: int


class CommitAnswer(Answer):
    generation: int


class StateAnswer(Answer):
    status: Annotated[str, Field(examples=["ok"])]


class Problem(Part):
    """What was wrong."""

    code: str = Field(description="For programs.", examples=["unknown_collection"])
    message: str = Field(description="For people: what was wrong, the value received, what to do next.")
    type: str = Field(description="request, auth, limit, state or server.", examples=["request"])
    request_id: str = Field(description="The same as in the header X-Request-Id and in the log.")


class ErrorAnswer(Part):
    """Every error has this shape."""

    error: Problem
