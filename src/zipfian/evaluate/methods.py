"""Retrieval methods by name: which fields each needs and how a collection is asked."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.evaluate.ann import AnnSearch, OwnSearch
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture
from zipfian.evaluate.maxsim import MaxSimSearch
from zipfian.evaluate.surrogate import ScalarSearch
from zipfian.fields.named import SETS
from zipfian.fields.query import Query
from zipfian.rerank.training_free import VARIANTS
from zipfian.retrieve.scoring import TfIdf

Kind = Literal["text", "image", "caption"]


@dataclass(frozen=True)
class Method:
    """A way to rank the documents of a collection."""

    name: str
    summary: str
    fields: Mapping[Kind, tuple[str, ...]]
    """Fields the collection must have, for each kind of dataset the method can rank."""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    """Keywords of `Collection.search`."""
    alone: bool = False
    """It uses whatever fields a collection has, so it needs one with its own fields and no others."""
    single: bool = False
    """One field alone: a candidate for the best single field that a hybrid is compared with."""
    text_only: bool = False
    """It cannot be asked with a picture: in caption sets it ranks pictures by text, not texts by picture."""
    run: OwnSearch | None = None
    """Searches in place of `Collection.search`."""
    as_indexed: bool = False
    """Its fields are those that `zipfian index` chooses for such texts, by their language."""
    depth: int | None = None
    """Rankings are no longer than this: the candidates that a second stage looks at."""

    def fields_for(self, kind: Kind) -> tuple[str, ...]:
        """The fields for one kind of dataset."""
        if kind not in self.fields:
            raise InvalidInput(
                f"the method {self.name!r} does not rank {kind} collections; these do: {', '.join(names(kind))}"
            )
        return self.fields[kind]


def _single(name: str, summary: str, kinds: Iterable[Kind], field: str | None = None, **options: Any) -> Method:
    field = field or name
    return Method(
        name,
        summary,
        dict.fromkeys(kinds, (field,)),
        {"fields": field, **options},
        single=True,
        text_only=field in TEXT_FIELDS,
    )


def _ann(name: str, summary: str, family: str, refine: bool = False) -> Method:
    return Method(name, summary, {"text": ("dense",), "image": ("dense",)}, run=AnnSearch(family, refine=refine))


def _two_stage(candidates: int, name: str) -> Method:
    fields: Mapping[Kind, tuple[str, ...]] = {"text": ("latent", "dense"), "image": ("visual", "dense")}
    summary = f"sparse candidates reranked by dense cosine, K={candidates}"
    return Method(
        name, summary, fields, {"method": "two-stage", "rerank_depth": candidates}, alone=True, depth=candidates
    )


def _training_free(name: str) -> Method:
    signals = name.removeprefix("training-free").replace(":paper", "").removeprefix(":") or "all"
    coarse = "`fusion`, as published" if ":paper" in name else "the hybrid"
    return Method(
        name, f"candidates of {coarse}, refined without training; signals: {signals}",
        {"caption": ("words", "aligned", "dense")}, {"method": name, "rerank_depth": 100}, alone=True, depth=100,
    )  # fmt: skip


_ALL: tuple[Kind, ...] = ("text", "image", "caption")
_HYBRID: Mapping[Kind, tuple[str, ...]] = {
    "text": ("words", "latent", "dense"),
    "image": ("visual", "dense"),
    # what `zipfian index` makes of pictures with captions, as far as a text can ask it
    "caption": ("words", "latent", "dense", "aligned", "translated"),
}
TEXT_FIELDS = frozenset({"words", "latent", "dense", "splade"})
"""Fields that read the texts of a caption set; `dense` reads pictures elsewhere."""

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        _single("words", "BM25 over words", ("text", "caption")),
        _single("latent", "BM25 over latent terms", ("text", "caption")),
        _single("latent-table", "latent terms, queries through the token table", ("text", "caption"), "latent",
                query_encoder="table"),
        _single("dense", "cosine of pooled vectors, exact", _ALL),
        _single("gte-small", "cosine of gte-small's pooled vectors, exact", ("text",)),
        _single("visual", "BM25 over visual words", ("image",)),
        _single("tfidf", "cosine of TF-IDF vectors of words", ("text", "caption"), "words", scoring=TfIdf()),
        _single("splade", "learned sparse terms", ("text",)),
        Method("scalar", "surrogate text of pooled vectors, dot product", {"text": ("dense",), "image": ("dense",)},
               run=ScalarSearch()),
        Method("maxsim", "every document compared token by token, no first stage",
               {"text": ("dense",), "image": ("dense",)}, run=MaxSimSearch()),
        Method("late", "sparse candidates compared token by token, K=50",
               {"text": ("words", "latent"), "image": ("visual",)},
               {"method": "late", "rerank_depth": 50}, alone=True, depth=50),
        _single("aligned", "cosine in the space shared by pictures and texts", ("caption",)),
        _single("translated", "words translated to visual words", ("caption",)),
        _two_stage(200, "two-stage"),
        _two_stage(100, "two-stage-100"),
        Method("ensemble", "visual words and dense vectors, z-scores added", {"image": ("visual", "dense")},
               {"method": "linear"}, alone=True),
        Method("hybrid", "all fields, weights adapted to the query", _HYBRID, {"method": "hybrid"}, alone=True,
               as_indexed=True),
        Method("high-quality", "the hybrid over words, latent terms and vectors of gte-small",
               {"text": SETS["high-quality"]}, {"method": "hybrid"}, alone=True),
        Method("rrf", "reciprocal rank fusion of all fields", _HYBRID, {"method": "rrf"}, alone=True,
               as_indexed=True),
        *(_training_free(name) for name in ("training-free", *(f"training-free:{v}" for v in VARIANTS))),
        *(_training_free(name) for name in ("training-free:paper", "training-free:paper:cross+text")),
        Method("fusion", "0.80 x dense cosine + 0.20 x TF-IDF cosine",
               {"text": ("words", "dense"), "caption": ("words", "aligned")}, {"method": "fusion"},
               text_only=True),
        _ann("hnsw", "FAISS HNSW32, efSearch=100, on pooled vectors", "bm25v-hnsw"),
        _ann("ivfpq", "FAISS IVF+PQ, m=48, nlist=100, nprobe=1, on pooled vectors", "bm25v-ivfpq"),
        _ann("ivfpq-refined", "the same, its candidates ordered by exact cosine", "bm25v-ivfpq", refine=True),
    )
}  # fmt: skip
"""Every method that `zipfian eval` knows; `register` adds others."""


def register(method: Method) -> None:
    """Make another method known, for this process."""
    if method.name in METHODS:
        raise InvalidInput(f"there is a method {method.name!r} already")
    METHODS[method.name] = method


def names(kind: Kind | None = None) -> list[str]:
    """Known methods, or those for one kind of dataset."""
    return [name for name, method in METHODS.items() if kind is None or kind in method.fields]


def find(wanted: Sequence[str], kind: Kind) -> list[Method]:
    """Methods by name, each once, in the order given."""
    if not wanted:
        raise InvalidInput(f"name at least one method; for {kind} collections there are: {', '.join(names(kind))}")
    out: dict[str, Method] = {}
    for name in wanted:
        if name not in METHODS:
            raise InvalidInput(f"unknown method {name!r}; for {kind} collections there are: {', '.join(names(kind))}")
        METHODS[name].fields_for(kind)
        out[name] = METHODS[name]
    return list(out.values())


def check_fields(collection: Any, method: Method, kind: Kind) -> None:
    """The collection must have what the method needs."""
    there = list(collection.fields)
    missing = [field for field in method.fields_for(kind) if field not in there]
    if missing:
        raise InvalidInput(
            f"the method {method.name!r} needs the field {missing[0]!r}; the collection has: {', '.join(there)}. "
            f"Add it with collection.add_field({missing[0]!r}, ...) and commit(), or build the collection with it"
        )


def check_texts(methods: Sequence[Method], dataset: Dataset) -> None:
    """A method that only reads texts finds nothing among pictures that are searched without theirs."""
    if dataset.kind != "caption" or any(item.get("text") for item in dataset.documents()):
        return
    blind = next((m.name for m in methods if TEXT_FIELDS.issuperset(m.fields_for(dataset.kind))), None)
    if blind is not None:
        raise InvalidInput(
            f"the method {blind!r} reads texts, and the pictures of {dataset.name} are searched without any: leave it "
            "out, or take a protocol with captions in the gallery (val-only, fair-loo)"
        )


def query_of(judged: JudgedQuery) -> Query:
    """The query as a collection takes it; encoders' passes over it are made once, however many methods ask."""
    return Query(judged.text, **picture_argument(judged.image))


def search(collection: Any, method: Method, query: Query, k: int, **options: Any) -> Any:
    """Ask a collection; gives its `Results`, or something with ids and scores."""
    if method.run is not None:
        return method.run(collection, query, k)
    chosen = {**dict(method.options), **options}
    return collection.search(query.asked_by(chosen.pop("query_encoder", None)), k=k, **chosen)


def picture_argument(picture: Picture | None) -> dict[str, Any]:
    """`image=` for a search: the file, or the part of it that counts, as PNG bytes."""
    if picture is None:
        return {}
    if picture.box is None:
        return {"image": picture.path}
    try:
        from PIL import Image
    except ImportError:
        raise MissingExtra("cropping query pictures", "image") from None
    out = io.BytesIO()
    left, upper, right, lower = (round(v) for v in picture.box)
    with Image.open(picture.path, formats=("JPEG", "PNG", "WEBP")) as opened:
        opened.convert("RGB").crop((left, upper, right, lower)).save(out, "PNG")
    return {"image": out.getvalue()}
