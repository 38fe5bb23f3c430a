"""Bodies of requests."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, StringConstraints, model_validator

from zipfian import limits
from zipfian.serve.schemas.base import DocId, Factor, Name, Picture, QueryText, Shape, Where

Explain = Literal["none", "fields", "terms", "places"]
Preset = Literal["latency-first", "balanced", "accuracy-first"]

Adjust = Annotated[
    dict[Name, Annotated[dict[str, Factor], Field(max_length=limits.MAX_SERVED_ADJUSTED)]],
    Field(
        max_length=limits.MAX_SERVED_FIELDS,
        description="Factors of query terms by field: 0 mutes a term, 1 leaves it, 2 doubles it. A term is named as in "
        "an explanation: a word as it is indexed, or the number of a latent or visual term.",
        examples=[{"latent": {"1042": 0.0, "77": 2.0}}],
    ),
]


class Scoring(Shape):
    """Another BM25 for a search of one field; the stored frequencies are scored with it, nothing is indexed again.

    What is not given stays as the field has it.
    """

    k1: Annotated[float | None, Field(ge=0.0, le=1_000.0, allow_inf_nan=False, description="Saturation.")] = None
    b: Annotated[float | None, Field(ge=0.0, le=1.0, allow_inf_nan=False, description="Length normalisation.")] = None
    variant: Literal["zipfian", "lucene", "robertson", "atire", "bm25l", "bm25+"] | None = None
    phi: Annotated[
        str | None,
        Field(
            max_length=20,
            description="What frequencies pass first: identity, sqrt or power:EXPONENT.",
            examples=["sqrt"],
        ),
    ] = None


class Highlight(Shape):
    """Passages of a text with what matched."""

    max_chars: Annotated[int, Field(ge=20, le=2_000)] = 240
    max_snippets: Annotated[int, Field(ge=1, le=10)] = 3


class How(Shape):
    """How to search: shared by searches and explanations, so that the same settings explain what they found."""

    fields: Annotated[
        list[Name] | None,
        Field(
            min_length=1,
            max_length=limits.MAX_SERVED_FIELDS,
            description="Only these fields, as if there were no others.",
        ),
    ] = None
    method: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=limits.MAX_NAME_CHARS,
            description="hybrid (the default), rrf, linear, fusion, two-stage, tfidf, late, latent-table, or a field.",
            examples=["rrf"],
        ),
    ] = None
    preset: Preset | None = None
    weights: Annotated[
        dict[Name, Factor] | None,
        Field(
            min_length=1,
            max_length=limits.MAX_SERVED_FIELDS,
            description="Weights of fields in the fusion. Goes with the methods hybrid (they replace the fields' own), "
            "linear and rrf (a field that is not named has 1).",
            examples=[{"words": 1.0, "latent": 2.0}],
        ),
    ] = None
    adjust: Adjust | None = None
    scoring: Scoring | None = None
    query_encoder: Annotated[
        Literal["encoder", "table"] | None,
        Field(description="How a text becomes latent terms: by the encoder, or by a table without any neural network."),
    ] = None


class Asked(How):
    """What is looked for, and how."""

    text: Annotated[
        QueryText | None, Field(description="What to look for, in words.", examples=["how do plants make food?"])
    ] = None
    image: Picture | None = None

    @model_validator(mode="after")
    def _something(self) -> Asked:
        if self.text is None and self.image is None:
            raise ValueError("nothing to look for: give text, image or both")
        return self


class SearchRequest(Asked):
    """One search."""

    k: Annotated[int, Field(ge=1, le=limits.MAX_SERVED_K, description="Hits at most.")] = 10
    offset: Annotated[int, Field(ge=0, le=limits.MAX_SERVED_OFFSET, description="Hits to pass over.")] = 0
    where: Where | None = None
    rerank_depth: Annotated[
        int | None, Field(ge=1, le=limits.MAX_SERVED_K, description="Candidates to rerank, where the method reranks.")
    ] = None
    exact_match_bonus: Annotated[float, Field(ge=0.0, le=1e6, allow_inf_nan=False)] = 0.0
    min_confidence: Annotated[
        float, Field(ge=0.0, le=1.0, allow_inf_nan=False, description="Hits less likely to be right are left out.")
    ] = 0.0
    exclude_self: Annotated[
        bool, Field(description="Leave the picture that is looked for out, if it is among those indexed.")
    ] = False
    explain: Annotated[
        Explain,
        Field(
            description="none: the score alone. fields: what each field gave. terms: the whole tree, parts sum to "
            "the score. places: the tree with places in texts and patches of pictures."
        ),
    ] = "fields"
    highlight: Annotated[
        Highlight | bool, Field(description="Passages with what matched marked; true for the defaults.")
    ] = False
    documents: Annotated[bool, Field(description="Whether hits have their text and metadata.")] = True
    facets: Annotated[
        list[Name],
        Field(
            max_length=limits.MAX_SERVED_FACETS,
            description="Columns to count values of, among the documents that the filter allows.",
            examples=[["lang"]],
        ),
    ] = []

    model_config = {
        "json_schema_extra": {
            "examples": [
                {"text": "how do plants make food?", "k": 3, "explain": "terms", "highlight": True},
                {"text": "food", "where": {"year": {">=": 2020}}, "facets": ["lang"]},
            ]
        }
    }  # fmt: skip


class SearchManyRequest(How):
    """Many texts searched together: an encoder takes them in one pass, and the searches run side by side."""

    texts: Annotated[
        list[QueryText], Field(min_length=1, max_length=limits.MAX_SERVED_QUERIES, examples=[["plants", "cats"]])
    ]
    k: Annotated[int, Field(ge=1, le=limits.MAX_SERVED_K)] = 10
    offset: Annotated[int, Field(ge=0, le=limits.MAX_SERVED_OFFSET)] = 0
    where: Where | None = None
    explain: Literal["none", "fields"] = "fields"
    documents: bool = False

    model_config = {"json_schema_extra": {"examples": [{"texts": ["plants", "cats"], "k": 3}]}}


class ExplainRequest(Asked):
    """Why a document scores what it scores, found or not; with `above`, why it stands above another."""

    id: Annotated[DocId, Field(description="The document.", examples=["a"])]
    above: Annotated[
        DocId | None,
        Field(description="Another document: the difference of the two scores is explained.", examples=["b"]),
    ] = None
    k: Annotated[
        int, Field(ge=1, le=limits.MAX_SERVED_K, description="The list that the document is looked for in.")
    ] = 10
    where: Where | None = None
    explain: Literal["terms", "places"] = "places"

    model_config = {
        "json_schema_extra": {
            "examples": [{"text": "how do plants make food?", "id": "a"}, {"text": "food", "id": "a", "above": "b"}]
        }
    }


class FacetsRequest(Shape):
    """Values of columns and how many documents have each."""

    columns: Annotated[
        list[Name] | None,
        Field(max_length=limits.MAX_SERVED_FACETS, description="All columns where none is named.", examples=[["lang"]]),
    ] = None
    where: Where | None = None
    limit: Annotated[
        int, Field(ge=1, le=limits.MAX_SERVED_VALUES, description="Values of each column, most frequent first.")
    ] = 20

    model_config = {"json_schema_extra": {"examples": [{"columns": ["lang"], "where": {"year": {">=": 2020}}}]}}


class CountRequest(Shape):
    """How many documents a filter allows."""

    where: Where | None = None

    model_config = {"json_schema_extra": {"examples": [{"where": {"lang": "en"}}]}}


Text = Annotated[str, StringConstraints(max_length=limits.MAX_TEXT_CHARS)]


class NewDocument(Shape):
    """A document to add."""

    id: Annotated[DocId, Field(examples=["a"])]
    text: Annotated[Text | None, Field(examples=["Plants make food from light."])] = None
    image: Picture | None = None
    metadata: Annotated[
        dict[Name, JsonValue], Field(max_length=limits.MAX_COLUMNS, examples=[{"lang": "en", "year": 2021}])
    ] = {}


class AddRequest(Shape):
    """Documents to take in. They become searchable with a commit."""

    documents: Annotated[list[NewDocument], Field(min_length=1, max_length=limits.MAX_SERVED_DOCUMENTS)]
    existing: Annotated[
        Literal["error", "skip", "replace"], Field(description="What happens to ids that are there already.")
    ] = "error"

    model_config = {
        "json_schema_extra": {
            "examples": [
                {
                    "documents": [{"id": "c", "text": "Cats sleep most of the day.", "metadata": {"lang": "en"}}],
                    "existing": "replace",
                }
            ]
        }
    }


class ChangedDocument(Shape):
    """What is to change of a document; the rest stays as it is."""

    id: Annotated[DocId, Field(examples=["a"])]
    text: Annotated[
        Text | None, Field(description="Another text; null takes it away.", examples=["Plants eat light."])
    ] = None
    image: Picture | None = None
    metadata: Annotated[
        dict[Name, JsonValue],
        Field(
            max_length=limits.MAX_COLUMNS,
            description="Columns to set; null takes one away.",
            examples=[{"year": 2022, "draft": None}],
        ),
    ] = {}


class UpdateRequest(Shape):
    """Parts of documents to change. They are seen with a commit."""

    documents: Annotated[list[ChangedDocument], Field(min_length=1, max_length=limits.MAX_SERVED_DOCUMENTS)]

    model_config = {
        "json_schema_extra": {"examples": [{"documents": [{"id": "a", "metadata": {"year": 2022, "draft": None}}]}]}
    }


class DeleteRequest(Shape):
    """Documents to remove: by their ids, or by a filter."""

    ids: Annotated[list[DocId] | None, Field(max_length=limits.MAX_SERVED_DOCUMENTS, examples=[["c"]])] = None
    where: Where | None = None

    model_config = {"json_schema_extra": {"examples": [{"ids": ["c"]}, {"where": {"year": {"<": 2020}}}]}}

    @model_validator(mode="after")
    def _one_of_them(self) -> DeleteRequest:
        if (self.ids is None) == (self.where is None):
            raise ValueError("give ids or where: exactly one of the two")
        return self


class CommitRequest(Shape):
    """Make all changes durable and visible."""

    user: Annotated[dict[str, Any] | None, Field(max_length=100, description="Values to store with the commit.")] = None

    model_config = {"json_schema_extra": {"examples": [{}, {"user": {"source": "notes"}}]}}
