"""Which fields answer a query, how they are fused, and who reranks: settled before anything is searched."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from zipfian.collection.languages import readable
from zipfian.collection.settings import Settings
from zipfian.errors import InvalidInput, shown
from zipfian.fields.adjusting import check_adjusted
from zipfian.fields.base import Field, VectorField
from zipfian.fields.model import QueryEncoder
from zipfian.fields.query import Query
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.linear import Linear
from zipfian.fuse.methods import Method
from zipfian.fuse.rrf import RRF
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.rerank.presets import PRESETS, Preset
from zipfian.rerank.presets import preset as preset_of
from zipfian.rerank.result import check_depth
from zipfian.rerank.training_free import VARIANTS, Variant
from zipfian.retrieve.faiss_index import FAMILIES
from zipfian.retrieve.scoring import Scoring, TfIdf
from zipfian.retrieve.validate import check_scoring

RERANK_K = 200
"""Candidates that a second stage looks at."""

ALPHA = 0.8
"""Share of the dense cosine in `fusion`; the rest is TF-IDF."""

TRAINING_FREE_K = 100
TRAINING_FREE = "training-free"
PAPER = "paper"
"""`training-free:paper` refines the candidates of `fusion`, as published, and not those of the default hybrid."""

LATE_K = 50
"""Candidates that late interaction encodes again: a second or two of work for texts of 270 word pieces."""
LATE = "late"

WORDS = ("words", "'words', Words()")
TABLE = ("latent", "'latent', Latent()")
VECTORS = ("dense", "'dense', Dense('text')")
"""What a method may lack, and the field to add then."""

METHODS = ("hybrid", "rrf", "linear", "fusion", "tfidf", "two-stage", TRAINING_FREE, LATE, "latent-table")
"""Methods by name, beside the names of the fields."""


@dataclass(frozen=True)
class SearchPlan:
    """How one search is carried out; reported with its results."""

    name: str
    fields: tuple[str, ...]
    fusion: Method | None = None
    """None: one field, as it is."""
    scoring: Mapping[str, Scoring] = dataclasses.field(default_factory=dict)
    """Formulas of fields for this search only."""
    query_encoder: QueryEncoder | None = None
    reranker: str | None = None
    """The dense field that orders the first K candidates again; None: there is no such stage."""
    rerank_depth: int = 0
    adaptive_k: AdaptiveK | None = None
    variant: Variant | None = None
    """Of the training-free reranker; None: the reranker's cosine alone."""
    ann: str | None = None
    """A FAISS family that proposes candidates of dense fields; None: they are scanned exactly."""
    captions: str | None = None
    """The dense field of texts that the training-free reranker asks about captions."""
    late: str | None = None
    """The field whose encoder makes the tokens of a second stage (MaxSim); None: there is no such stage."""
    left_out: tuple[str, ...] = ()
    """Fields that would have answered, had the caller not kept networks out (`query_encoder="table"`)."""
    unread: tuple[str, ...] = ()
    """Fields that take no part because their encoder does not read the language of the query."""
    language: str | None = None
    """Of the query, where some field asks for it."""
    unseen: tuple[str, ...] = ()
    """Words of the query that what leads from texts to pictures was never taught."""
    untaught: tuple[str, ...] = ()
    """Fields that take no part because they were taught none of its words."""
    silent: bool = False
    """No field is left: the answer is that nothing was found."""

    @property
    def reranks(self) -> bool:
        """Whether a second stage looks at the first K candidates."""
        return self.reranker is not None or self.late is not None

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""
        out: dict[str, Any] = {"method": self.name, "fields": list(self.fields)}
        if self.left_out:
            out["left_out"] = list(self.left_out)
        if self.language is not None:
            out["language"] = self.language
        if self.unread:
            out["unread"] = list(self.unread)
        if self.unseen:
            out["unseen"] = list(self.unseen)
        if self.untaught:
            out["untaught"] = list(self.untaught)
        if self.ann is not None:
            out["ann"] = self.ann
        if self.fusion is not None:
            out["fusion"] = self.fusion.to_json()
        if self.reranker is not None:
            out |= {"rerank": self.reranker, "K": self.rerank_depth}
            if self.variant is not None:
                out |= {"variant": self.variant, "captions": self.captions}
            if self.adaptive_k is not None:
                out["adaptive_k"] = self.adaptive_k.to_json()
        if self.late is not None:
            out |= {"rerank": LATE, "tokens_of": self.late, "K": self.rerank_depth}
        return out


def make_plan(settings: Settings, query: Query, k: int = 1, *, ann: str | None = None, **how: Any) -> SearchPlan:
    """The plan for k hits of a query; `how` as for `_exact_plan`, `ann` a FAISS family for its dense fields."""
    settings.read(query)
    if query.adjust:
        check_adjusted(query.adjust, settings.fields)
    plan = _exact_plan(settings, query, k, **how)
    if query.language is not None:
        plan = replace(plan, language=query.language)
    if query.text is not None and settings.across:
        method = how.get("method")
        asked = how.get("fields") is not None or (isinstance(method, str) and method in settings.fields)
        plan = _without_untaught(plan, settings, query, asked)
    if query.mode == "table" and query.text is not None:
        plan = _without_networks(plan, settings, query)
    if ann is None:
        return plan
    if not isinstance(ann, str) or ann not in FAMILIES:
        raise InvalidInput(f"unknown FAISS index {shown(ann)}; one of {', '.join(FAMILIES)}")
    if not any(settings.field(name).has_vectors for name in plan.fields):
        raise InvalidInput(f"ann= is for fields of vectors, and {plan.name!r} searches {', '.join(plan.fields)}")
    return replace(plan, ann=ann)


def _without_networks(plan: SearchPlan, settings: Settings, query: Query) -> SearchPlan:
    """The same plan for a caller who wants no network to read the text: fused fields that need one stay out.

    Where the plan cannot be carried out without such a field, that is an error: no other method answers for it.
    """
    fields = {name: settings.field(name) for name in plan.fields}
    needing = tuple(n for n, field in fields.items() if field.takes == "text" and field.needs(query) is not None)
    rest = tuple(name for name in plan.fields if name not in needing)
    judges = [name for name in (plan.reranker, plan.late) if name is not None]
    if not rest or judges or (needing and plan.name == "fusion"):
        who = ", ".join(judges or needing)
        raise InvalidInput(
            f"query_encoder='table' keeps networks away from the text, and {plan.name!r} needs the encoder of "
            f"field {who!r}; "
            "use query_encoder='encoder', or a method or field of words and latent terms"
        )
    if not needing:
        return plan
    return replace(plan, fields=rest, fusion=plan.fusion if len(rest) > 1 else None, left_out=needing)


def _without_untaught(plan: SearchPlan, settings: Settings, query: Query, asked: bool) -> SearchPlan:
    """The same plan without fields that know no word of the query: what they say of it is noise.

    A caller who `asked` for fields by name gets them. Where no field is left, nothing is the honest answer.
    """
    found = {name: field.unseen(query) for name, field in settings.across.items() if name in plan.fields}
    words = tuple(dict.fromkeys(word for unseen, _ in found.values() for word in unseen))
    if not words:
        return plan
    plan = replace(plan, unseen=words)
    untaught = tuple(name for name, (_, taught) in found.items() if not taught)
    if asked or not untaught:
        return plan
    rest = tuple(name for name in plan.fields if name not in untaught)
    if rest:
        return replace(plan, fields=rest, fusion=plan.fusion if len(rest) > 1 else None, untaught=untaught)
    return SearchPlan(
        plan.name, plan.fields[:1], query_encoder=plan.query_encoder, unread=plan.unread, language=plan.language,
        unseen=words, untaught=untaught, silent=True,
    )  # fmt: skip


def _exact_plan(
    settings: Settings, query: Query, k: int, *, fields: str | Sequence[str] | None = None,
    method: str | Method | None = None, preset: str | None = None, scoring: Scoring | None = None,
    rerank_depth: int | AdaptiveK | None = None,
) -> SearchPlan:  # fmt: skip
    """The plan for a query; `rerank_depth` is the number of candidates to rerank, if that is done, or who chooses."""
    if scoring is not None:
        check_scoring(scoring)
    if method is not None and preset is not None:
        raise InvalidInput("give one of method= and preset=: each of them says how to search")
    if isinstance(method, str) and method in settings.fields:
        if fields is not None:
            raise InvalidInput(f"method={method!r} names a field, and so does fields={shown(fields)}: give one of them")
        fields, method = method, None
    named = None if fields is None else _named(settings, query, fields)
    if named is not None and len(named) == 1 and method is None and preset is None:
        (field,) = named
        return SearchPlan(field, (field,), scoring={} if scoring is None else {field: scoring})
    fitting = named or {name: one for name, one, takes in settings.taken if getattr(query, takes) is not None}
    if not fitting:
        raise InvalidInput(
            f"no field of this collection takes {query.describe()}; it has: {', '.join(settings.fields)}"
        )
    if query.terms is not None and len(fitting) > 1:
        raise InvalidInput(f"several fields take terms ({', '.join(fitting)}): name one with fields=")
    unread: tuple[str, ...] = ()
    if len(fitting) > 1:
        fitting, unread = _read(named or _first_of_each(fitting), query)
    made = _chosen(fitting, query, k, method, preset, scoring, rerank_depth, all_of_them=named is not None)
    return replace(made, unread=unread) if unread else made


def _read(fitting: dict[str, Field], query: Query) -> tuple[dict[str, Field], tuple[str, ...]]:
    """The fields that read the language of a query, and those that do not; all of them where none does."""
    spoken = query.language
    out = {n: field for n, field in fitting.items() if field.takes != "text" or readable(field.languages, spoken)}
    return (out, tuple(n for n in fitting if n not in out)) if out else (fitting, ())


def _chosen(
    fitting: dict[str, Field], query: Query, k: int, method: str | Method | None, preset_name: str | None,
    scoring: Scoring | None, depth: int | AdaptiveK | None, *, all_of_them: bool,
) -> SearchPlan:  # fmt: skip
    """How these fields are searched together; `all_of_them`, where a caller has named them."""
    if scoring is not None:
        if len(fitting) > 1:
            raise InvalidInput(f"scoring= is for one field: name it with fields= ({', '.join(fitting)})")
        return SearchPlan(*_single(fitting), scoring={next(iter(fitting)): scoring})
    if method is None and len(fitting) == 1 and preset_name is None:
        return SearchPlan(*_single(fitting))
    if method is None or method == "hybrid":
        made = _preset(fitting, query, preset_name, all_of_them=all_of_them)
    else:
        made = _method(fitting, query, method)
    if depth is not None:
        if not made.reranks:
            raise InvalidInput(f"rerank_depth= is for methods that rerank, and {made.name!r} does not here")
        if isinstance(depth, AdaptiveK):
            if made.reranker is None:
                raise InvalidInput(f"rerank_depth is a number for {made.name!r}: only vectors' reranking chooses it")
            made = replace(made, rerank_depth=depth.most, adaptive_k=depth)
        else:
            made = replace(made, rerank_depth=check_depth(depth, k), adaptive_k=None)
    return replace(made, rerank_depth=max(made.rerank_depth, k)) if made.reranks else made


def _named(settings: Settings, query: Query, given: str | Sequence[str]) -> dict[str, Field]:
    """The fields that a caller names; each must be able to answer."""
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names:
        raise InvalidInput(f"fields= is the name of a field, or a sequence of names, not {shown(given)}")
    fields = {name: settings.field(name) for name in names}
    if len(fields) < len(names):
        raise InvalidInput(f"fields= names a field twice: {', '.join(names)}")
    for name, field in fields.items():
        query.check(name, field)
    return fields


def _first_of_each(fitting: Mapping[str, Field]) -> dict[str, Field]:
    """Two fields of one kind over one source say the same twice: only the first takes part unless one is named."""
    out: dict[tuple[type[Field], str | None, str | None], str] = {}
    for name, field in fitting.items():
        out.setdefault((type(field), field.reads, getattr(field, "vector", None)), name)
    return {name: fitting[name] for name in out.values()}


def _single(fitting: Mapping[str, Field]) -> tuple[str, tuple[str, ...]]:
    name = next(iter(fitting))
    return name, (name,)


def _preset(
    fitting: Mapping[str, Field], query: Query, name: str | None, *, all_of_them: bool = False
) -> SearchPlan:  # fmt: skip
    """What a preset makes of the fields: those it is for, or `all_of_them`, where a caller has named them."""
    if name is not None and (not isinstance(name, str) or name not in PRESETS):
        raise InvalidInput(f"unknown preset {shown(name)}; one of {', '.join(PRESETS)}")
    content: Literal["text", "image"] = "image" if query.image is not None else "text"
    chosen: Preset = preset_of(name or "balanced", content)
    label = name or "hybrid"
    if query.image is not None and query.text is not None:  # like the picture, and as the words say
        return SearchPlan(label, tuple(fitting), Adaptive(together=True), query_encoder=chosen.query_encoder)
    reranked = chosen.rerank == "dense"  # then pooled vectors come second, named or not
    wanted = (
        n for n, f in fitting.items() if _takes_part(f, chosen) or (all_of_them and not (reranked and _pooled(f)))
    )
    fields = tuple(wanted) or tuple(fitting)
    reranker = _first(fitting, _pooled) if chosen.rerank == "dense" else None
    if reranker is not None and all(_pooled(fitting[n]) for n in fields):
        reranker = None  # nothing to rerank but its own list
    plan = SearchPlan(label, fields, chosen.fusion if len(fields) > 1 else None, query_encoder=chosen.query_encoder)
    if content == "text" and not any(fitting[n].has_table for n in fields):
        plan = replace(plan, query_encoder=None)
    return (
        plan
        if reranker is None
        else replace(plan, reranker=reranker, rerank_depth=chosen.rerank_depth, adaptive_k=chosen.adaptive_k)
    )


def _takes_part(field: Field, chosen: Preset) -> bool:
    """Whether a preset searches a field that takes the query."""
    return field.in_presets and (chosen.vectors or not field.has_vectors) and (chosen.across or not field.across)


def _method(fitting: Mapping[str, Field], query: Query, method: str | Method) -> SearchPlan:
    fields = tuple(fitting)
    if not isinstance(method, str):
        if not hasattr(method, "fuse") or not hasattr(method, "depth"):
            raise InvalidInput(f"a method is a name or a fusion such as RRF(), not {shown(method)}")
        return SearchPlan(str(method.to_json().get("method", "fusion")), fields, method)
    if method == "rrf":
        return SearchPlan(method, fields, RRF())
    if method == "linear":
        return SearchPlan(method, fields, Linear())
    if method == "tfidf":
        words = _need(fitting, _lexical, method, WORDS)
        return SearchPlan(method, (words,), scoring={words: TfIdf()})
    if method == "latent-table":
        latent = _need(fitting, lambda field: field.has_table, method, TABLE)
        return SearchPlan(method, (latent,), query_encoder="table")
    if method == "fusion":
        words = _need(fitting, _lexical, method, WORDS)
        dense = _first(fitting, _common_space) or _need(fitting, _pooled, method, VECTORS)
        return _alpha_fusion(method, dense, words)
    if method == "two-stage":
        reranker = _need(fitting, _pooled, method, VECTORS)
        sparse = tuple(n for n, field in fitting.items() if field.has_postings)
        if not sparse:
            raise InvalidInput(
                "two-stage search needs an inverted field for its first stage; this one has only vectors"
            )
        return SearchPlan(
            method, sparse, Adaptive() if len(sparse) > 1 else None, reranker=reranker, rerank_depth=RERANK_K
        )
    name, _, variant = method.partition(":")
    if name == TRAINING_FREE:
        as_published = variant.partition(":")[0] == PAPER
        signals = variant.partition(":")[2] if as_published else variant
        if signals in ("", *VARIANTS):
            return _training_free(fitting, method, signals or "all", as_published=as_published)
    if name == LATE:
        return _late(fitting, query, method, variant or None)
    raise InvalidInput(
        f"unknown method {shown(method)}; methods are {', '.join(METHODS)} and the fields {', '.join(fitting)}"
    )


def _alpha_fusion(method: str, dense: str, words: str) -> SearchPlan:
    """Hybrid VL's eq. 9: the cosine of vectors and the cosine of TF-IDF."""
    return SearchPlan(method, (dense, words), Linear.blend(dense, words, ALPHA), scoring={words: TfIdf()})


def _training_free(fitting: Mapping[str, Field], method: str, variant: Any, *, as_published: bool) -> SearchPlan:
    """Fused candidates, refined by what query, captions and the other candidates say of each.

    `as_published`: the candidates are those of `fusion`, or of the vectors alone where no words take the query.
    """
    reranker = _first(fitting, _common_space) or _need(fitting, _pooled, method, VECTORS)
    captions = _first(fitting, lambda field: _pooled(field) and field.reads == "text")
    captions = None if captions == reranker else captions
    coarse = SearchPlan(method, tuple(fitting), Adaptive() if len(fitting) > 1 else None)
    if as_published:
        words = _first(fitting, _lexical)
        coarse = SearchPlan(method, (reranker,)) if words is None else _alpha_fusion(method, reranker, words)
    return replace(
        coarse,
        reranker=reranker,
        rerank_depth=TRAINING_FREE_K,
        variant=variant,
        captions=captions,
    )


def _late(fitting: Mapping[str, Field], query: Query, method: str, wanted: str | None) -> SearchPlan:
    """Candidates of the inverted fields, ordered by tokens; `late:FIELD` names the field whose encoder makes them."""
    able = [n for n, field in fitting.items() if field.tokens]
    if not able:
        advice = "'visual', Visual()" if query.image is not None else "'latent', Latent()"
        raise InvalidInput(
            f"method {method!r} compares tokens that one encoder makes of query and document, and no field here that "
            f"takes this query has such an encoder (fields: {', '.join(fitting)}); add one with add_field({advice})"
        )
    if wanted is not None and wanted not in able:
        raise InvalidInput(
            f"method {method!r}: no tokens of field {wanted!r} can be compared; one of {', '.join(able)}"
        )
    first = tuple(n for n, field in fitting.items() if not field.has_vectors) or tuple(fitting)
    return SearchPlan(
        method, first, Adaptive() if len(first) > 1 else None, rerank_depth=LATE_K, late=wanted or able[0]
    )


def _lexical(field: Field) -> bool:
    return field.lexical


def _pooled(field: Field) -> bool:
    return isinstance(field, VectorField) and field.pooled


def _common_space(field: Field) -> bool:
    """Vectors of one space for texts and pictures."""
    return field.has_vectors and field.across


def _first(fitting: Mapping[str, Field], able: Callable[[Field], bool]) -> str | None:
    return next((name for name, field in fitting.items() if able(field)), None)


def _need(fitting: Mapping[str, Field], able: Callable[[Field], bool], method: str, what: tuple[str, str]) -> str:
    """The first field that is able to; `what` such a field is called, and how to add one."""
    name = _first(fitting, able)
    if name is None:
        raise InvalidInput(
            f"method {method!r} needs a {what[0]} field, and no field here that takes this query is one; "
            f"add it with add_field({what[1]})"
        )
    return name


__all__ = ["METHODS", "SearchPlan", "make_plan"]
