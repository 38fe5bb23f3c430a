"""Which legs answer a question, how they are fused, and who reranks: settled before anything is searched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zipfian.collection.legs import Leg
from zipfian.collection.model import QueryMode
from zipfian.collection.question import Question
from zipfian.collection.settings import Settings
from zipfian.errors import InvalidInput, shown
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.linear import Linear
from zipfian.fuse.methods import Method
from zipfian.fuse.rrf import RRF
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.rerank.presets import PRESETS, Preset, preset
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

LATE_K = 50
"""Candidates that late interaction encodes again: a second or two of work for texts of 270 word pieces."""
LATE = "late"
LATE_KINDS = ("latent", "visual", "dense", "scalar")
"""Legs whose encoder gives vectors of tokens that query and document share."""

METHODS = ("hybrid", "rrf", "linear", "fusion", "tfidf", "two-stage", TRAINING_FREE, LATE, "latent-table")
"""Methods by name, beside the names of the legs."""

ADVICE = {
    "words": "Leg.words()", "latent": "Leg.latent()", "visual": "Leg.visual()",
    "dense": "Leg.dense('text')",
}  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """How one search is carried out; reported with its results."""

    name: str
    legs: tuple[str, ...]
    fusion: Method | None = None
    """None: one leg, as it is."""
    scoring: Mapping[str, Scoring] = field(default_factory=dict)
    """Formulas of legs for this search only."""
    query: QueryMode | None = None
    judge: str | None = None
    """The dense leg that orders the first K candidates again; None: nobody does."""
    K: int = 0
    adaptive_k: AdaptiveK | None = None
    variant: Variant | None = None
    """Of the training-free reranker; None: the judge's cosine alone."""
    ann: str | None = None
    """A FAISS family that proposes candidates of dense legs; None: they are scanned exactly."""
    captions: str | None = None
    """The dense leg of texts that the training-free reranker asks about captions."""
    late: str | None = None
    """The leg whose encoder makes the tokens that order the first K candidates again (MaxSim); None: nobody's."""
    left_out: tuple[str, ...] = ()
    """Legs that would have answered, had the caller not kept networks out (`query="table"`)."""

    @property
    def reranks(self) -> bool:
        """Whether a second stage looks at the first K candidates."""
        return self.judge is not None or self.late is not None

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""
        out: dict[str, Any] = {"method": self.name, "legs": list(self.legs)}
        if self.left_out:
            out["left_out"] = list(self.left_out)
        if self.ann is not None:
            out["ann"] = self.ann
        if self.fusion is not None:
            out["fusion"] = self.fusion.to_json()
        if self.judge is not None:
            out |= {"rerank": self.judge, "K": self.K}
            if self.variant is not None:
                out |= {"variant": self.variant, "captions": self.captions}
            if self.adaptive_k is not None:
                out["adaptive_k"] = self.adaptive_k.to_json()
        if self.late is not None:
            out |= {"rerank": LATE, "tokens_of": self.late, "K": self.K}
        return out


def make_plan(settings: Settings, question: Question, *, ann: str | None = None, **how: Any) -> Plan:
    """The plan for a question; `how` as for `_exact_plan`, `ann` a FAISS family for its dense legs."""
    plan = _exact_plan(settings, question, **how)
    if question.mode == "table" and question.text is not None:
        plan = _without_networks(plan, settings)
    if ann is None:
        return plan
    if not isinstance(ann, str) or ann not in FAMILIES:
        raise InvalidInput(f"unknown FAISS index {shown(ann)}; one of {', '.join(FAMILIES)}")
    if not any(settings.leg(name).has_vectors for name in plan.legs):
        raise InvalidInput(f"ann= is for legs of vectors, and {plan.name!r} searches {', '.join(plan.legs)}")
    return replace(plan, ann=ann)


def _without_networks(plan: Plan, settings: Settings) -> Plan:
    """The same plan for a caller who wants no network to read the text: fused legs that need one stay out.

    Where the plan cannot be carried out without such a leg, that is an error: no other method answers for it.
    """
    needing = tuple(name for name in plan.legs if settings.leg(name).reads_text_by_network)
    rest = tuple(name for name in plan.legs if name not in needing)
    judges = [name for name in (plan.judge, plan.late) if name is not None]
    if not rest or judges or (needing and plan.name == "fusion"):
        who = ", ".join(judges or needing)
        raise InvalidInput(
            f"query='table' keeps networks away from the text, and {plan.name!r} needs the encoder of leg {who!r}; "
            "use query='encoder', or a method or leg of words and latent terms"
        )
    if not needing:
        return plan
    return replace(plan, legs=rest, fusion=plan.fusion if len(rest) > 1 else None, left_out=needing)


def _exact_plan(
    settings: Settings, question: Question, *, k: int = 1, leg: str | None = None, method: str | Method | None = None,
    preset_name: str | None = None, scoring: Scoring | None = None, depth: int | AdaptiveK | None = None,
) -> Plan:  # fmt: skip
    """The plan for a question; `depth` is the number of candidates to rerank where somebody does, or who chooses it."""
    if scoring is not None:
        check_scoring(scoring)
    if sum(x is not None for x in (leg, method, preset_name)) > 1:
        raise InvalidInput("give one of leg=, method= and preset=: each of them says how to search")
    if isinstance(method, str) and method in settings.legs:
        leg, method = method, None
    if leg is not None:
        settings.leg(leg)
        return Plan(leg, (leg,), scoring={} if scoring is None else {leg: scoring})
    fitting = {name: one for name, one in settings.legs.items() if question.fits(one)}
    if not fitting:
        raise InvalidInput(f"no leg of this collection takes {question.describe()}; it has: {', '.join(settings.legs)}")
    if question.terms is not None and len(fitting) > 1:
        raise InvalidInput(f"several legs take terms ({', '.join(fitting)}): name one with leg=")
    fitting = _first_of_each(fitting)
    if scoring is not None:
        if len(fitting) > 1:
            raise InvalidInput(f"scoring= is for one leg: name it with leg= ({', '.join(fitting)})")
        return Plan(*_single(fitting), scoring={next(iter(fitting)): scoring})
    if method is None and len(fitting) == 1 and preset_name is None:
        return Plan(*_single(fitting))
    made = _preset(fitting, question, preset_name) if method is None else _method(fitting, question, method)
    if depth is not None:
        if not made.reranks:
            raise InvalidInput(f"K= is for methods that rerank, and {made.name!r} does not here")
        if isinstance(depth, AdaptiveK):
            if made.judge is None:
                raise InvalidInput(f"K= is a number for {made.name!r}: only vectors' reranking chooses it by the query")
            made = replace(made, K=depth.most, adaptive_k=depth)
        else:
            made = replace(made, K=check_depth(depth, k), adaptive_k=None)
    return replace(made, K=max(made.K, k)) if made.reranks else made


def _first_of_each(fitting: Mapping[str, Leg]) -> dict[str, Leg]:
    """Two legs of one kind over one source say the same twice: only the first takes part unless one is named."""
    out: dict[tuple[str, str | None, str | None], str] = {}
    for name, leg in fitting.items():
        out.setdefault((leg.kind, leg.source, leg.vector), name)
    return {name: fitting[name] for name in out.values()}


def _single(fitting: Mapping[str, Leg]) -> tuple[str, tuple[str, ...]]:
    name = next(iter(fitting))
    return name, (name,)


def _preset(fitting: Mapping[str, Leg], question: Question, name: str | None) -> Plan:
    if name is not None and (not isinstance(name, str) or name not in PRESETS):
        raise InvalidInput(f"unknown preset {shown(name)}; one of {', '.join(PRESETS)}")
    content: Literal["text", "image"] = "image" if question.image is not None else "text"
    chosen: Preset = preset(name or "balanced", content)
    label = name or "hybrid"
    if question.image is not None and question.text is not None:
        return Plan(label, tuple(fitting), chosen.fusion, query=chosen.query)
    legs = tuple(n for n, leg in fitting.items() if leg.kind in chosen.legs) or tuple(fitting)
    judge = _dense(fitting) if chosen.rerank == "dense" else None
    if judge is not None and all(fitting[n].kind == "dense" for n in legs):
        judge = None  # nothing to judge but its own list
    plan = Plan(label, legs, chosen.fusion if len(legs) > 1 else None, query=chosen.query)
    if content == "text" and not any(_has_table(fitting[n]) for n in legs if fitting[n].kind == "latent"):
        plan = replace(plan, query=None)
    return plan if judge is None else replace(plan, judge=judge, K=chosen.K, adaptive_k=chosen.adaptive_k)


def _has_table(leg: Leg) -> bool:
    return leg.model is not None and leg.model.load_vocabulary().table is not None


def _method(fitting: Mapping[str, Leg], question: Question, method: str | Method) -> Plan:
    legs = tuple(fitting)
    if not isinstance(method, str):
        if not hasattr(method, "fuse") or not hasattr(method, "depth"):
            raise InvalidInput(f"a method is a name or a fusion such as RRF(), not {shown(method)}")
        return Plan(str(method.to_json().get("method", "fusion")), legs, method)
    if method == "hybrid":
        return _preset(fitting, question, None)
    if method == "rrf":
        return Plan(method, legs, RRF())
    if method == "linear":
        return Plan(method, legs, Linear())
    if method == "tfidf":
        words = _need(fitting, "words", method)
        return Plan(method, (words,), scoring={words: TfIdf()})
    if method == "latent-table":
        return Plan(method, (_need(fitting, "latent", method),), query="table")
    if method == "fusion":
        across = next((n for n, leg in fitting.items() if leg.kind == "aligned"), None)
        words, dense = _need(fitting, "words", method), across or _need(fitting, "dense", method)
        return Plan(method, (dense, words), Linear.blend(dense, words, ALPHA), scoring={words: TfIdf()})
    if method == "two-stage":
        judge = _need(fitting, "dense", method)
        sparse = tuple(n for n, leg in fitting.items() if leg.has_postings)
        if not sparse:
            raise InvalidInput("two-stage search needs an inverted leg for its first stage; this one has only vectors")
        return Plan(method, sparse, Adaptive() if len(sparse) > 1 else None, judge=judge, K=RERANK_K)
    name, _, variant = method.partition(":")
    if name == TRAINING_FREE and variant in ("", *VARIANTS):
        return _training_free(fitting, method, variant or "all")
    if name == LATE:
        return _late(fitting, question, method, variant or None)
    raise InvalidInput(
        f"unknown method {shown(method)}; methods are {', '.join(METHODS)} and the legs {', '.join(fitting)}"
    )


def _training_free(fitting: Mapping[str, Leg], method: str, variant: Any) -> Plan:
    """Fused candidates, refined by what query, captions and the other candidates say of each."""
    across = next((n for n, leg in fitting.items() if leg.kind == "aligned"), None)
    judge = across or _need(fitting, "dense", method)
    captions = next((n for n, leg in fitting.items() if leg.kind == "dense" and leg.source == "text"), None)
    captions = None if captions == judge else captions
    fusion = Adaptive() if len(fitting) > 1 else None
    return Plan(method, tuple(fitting), fusion, judge=judge, K=TRAINING_FREE_K, variant=variant, captions=captions)


def _late(fitting: Mapping[str, Leg], question: Question, method: str, wanted: str | None) -> Plan:
    """Candidates of the inverted legs, ordered by their tokens; `late:LEG` names the leg whose encoder makes them."""
    able = [n for n, leg in fitting.items() if leg.kind in LATE_KINDS and leg.model is not None]
    if not able:
        advice = "'visual', Leg.visual()" if question.image is not None else "'latent', Leg.latent()"
        raise InvalidInput(
            f"method {method!r} compares tokens that one encoder makes of query and document, and no leg here that "
            f"takes this query has such an encoder (legs: {', '.join(fitting)}); add one with add_leg({advice})"
        )
    if wanted is not None and wanted not in able:
        raise InvalidInput(f"method {method!r}: no tokens of leg {wanted!r} can be compared; one of {', '.join(able)}")
    first = tuple(n for n, leg in fitting.items() if not leg.has_vectors) or tuple(fitting)
    return Plan(method, first, Adaptive() if len(first) > 1 else None, K=LATE_K, late=wanted or able[0])


def _dense(fitting: Mapping[str, Leg]) -> str | None:
    return next((name for name, leg in fitting.items() if leg.kind == "dense"), None)


def _need(fitting: Mapping[str, Leg], kind: str, method: str) -> str:
    for name, leg in fitting.items():
        if leg.kind == kind:
            return name
    raise InvalidInput(
        f"method {method!r} needs a {kind} leg, and no leg here that takes this query is one; "
        f"add it with add_leg({kind!r}, {ADVICE.get(kind, 'Leg...')})"
    )


__all__ = ["METHODS", "Plan", "make_plan"]
