"""One leg of a collection: where its terms or vectors come from, how they are stored, how they are scored."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from zipfian import limits
from zipfian.collection.alignment import Alignment, make_alignment
from zipfian.collection.model import Model, QueryMode, dense_model, sae_model, scalar_model, splade_model
from zipfian.encode.base import Encoder
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput, LimitExceeded, shown
from zipfian.index.leg import LegWriteSpec
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Dot, Scoring, scoring_from_json
from zipfian.retrieve.validate import check_scoring
from zipfian.types import TfKind
from zipfian.vocabulary import Pruning, Words, WordSettings
from zipfian.vocabulary.quantise import check_scale

Kind = Literal["words", "terms", "latent", "visual", "splade", "scalar", "dense", "aligned", "translated"]

MODEL_KINDS: Mapping[str, Literal["text", "image"]] = {"latent": "text", "visual": "image", "splade": "text"}
"""Legs whose terms an encoder and a vocabulary make, and what they make them from."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@lru_cache(maxsize=64)
def analyser(settings: WordSettings) -> Words:
    """One analyser per setting: it remembers the words it has seen."""
    return Words(settings)


@dataclass(frozen=True)
class Leg:
    """One way to find the documents of a collection.

    Make one with `Leg.words(...)` (the words of the text), `Leg.latent(...)` (latent terms of the text),
    `Leg.visual(...)` (visual words of the picture), `Leg.dense(...)` (pooled vectors) or `Leg.terms(n_terms, ...)`
    (ready-made sparse vectors).

    Raises
    ------
    InvalidInput
        Settings that do not fit each other or the kind.

    Examples
    --------
    >>> Leg.words(language="german").vocabulary.settings.language
    'german'
    >>> Leg.terms(18_432).tf
    'fixed'
    """

    kind: Kind
    """What it finds documents by."""
    scoring: Scoring = field(default_factory=BM25)
    """The formula of its scores."""
    pruning: Pruning = field(default_factory=Pruning)
    """Which of a document's terms are kept."""
    tf: TfKind = "count"
    """How weights are stored."""
    scale: float = 1.0
    """Steps of a weight of 1, where they are stored as 16-bit steps."""
    n_terms: int = 0
    """Size of the term space, where terms are numbers."""
    word_settings: WordSettings | None = None
    """How a words leg reads a text."""
    model: Model | None = None
    """Encoder and vocabulary of a latent, visual or dense leg; None for vectors that come with the documents."""
    query: QueryMode = "encoder"
    """How a text query becomes latent terms unless a search says otherwise."""
    vector: str | None = None
    """Name under which a dense leg's vectors are stored; None: the leg's own name."""
    align: Alignment | None = None
    """What leads from texts to pictures and back, of an aligned or translated leg."""
    of: str | None = None
    """The visual leg whose postings a translated leg over pictures borrows."""

    def __post_init__(self) -> None:
        check_scoring(self.scoring)
        if not isinstance(self.pruning, Pruning):
            raise InvalidInput(f"pruning must be Pruning(...), not {shown(self.pruning)}")
        if (self.kind == "words") != isinstance(self.word_settings, WordSettings) or (
            (self.kind in MODEL_KINDS or self.kind == "scalar") and self.model is None
        ):
            raise InvalidInput("make a leg with Leg.words(...), .latent(...), .visual(...), .dense(...) or .terms(...)")
        check_scale(self.scale)

    @classmethod
    def words(
        cls, *, scoring: Scoring | None = None, pruning: Pruning | None = None, settings: WordSettings | None = None,
        **analysis: Any,
    ) -> Leg:  # fmt: skip
        """Words of the text, scored by `scoring` (BM25) after `pruning` (none).

        `analysis` are fields of `WordSettings` (language, stem, stop_words ...); or give `settings` as a whole.
        """
        if settings is not None and analysis:
            raise InvalidInput("give either settings=WordSettings(...) or its fields, not both")
        if settings is None:
            try:
                settings = WordSettings(**analysis)
            except TypeError as e:
                raise InvalidInput(f"unknown word setting: {e}") from None
        return cls("words", scoring or BM25(), pruning or Pruning(), word_settings=settings)

    @classmethod
    def terms(
        cls, n_terms: int, *, scoring: Scoring | None = None, pruning: Pruning | None = None, tf: TfKind = "fixed",
        scale: float = 100.0,
    ) -> Leg:  # fmt: skip
        """Ready-made `Terms` with ids below `n_terms`, scored by `scoring` (BM25) after `pruning` (none).

        `tf="fixed"` stores weights as 16-bit multiples of 1/scale (hundredths by default), `"float32"` as given,
        `"count"` as whole numbers.
        """
        if isinstance(n_terms, bool) or not isinstance(n_terms, int) or not 1 <= n_terms <= limits.MAX_TERMS:
            raise InvalidInput(f"n_terms must be a whole number from 1 to {limits.MAX_TERMS}, not {shown(n_terms)}")
        if tf not in ("fixed", "float32", "count"):
            raise InvalidInput(f"tf must be 'fixed', 'float32' or 'count', not {shown(tf)}")
        return cls("terms", scoring or BM25(), pruning or Pruning(), tf, scale if tf == "fixed" else 1.0, n_terms)

    @classmethod
    def latent(
        cls, vocabulary: Any = "text-16k", *, encoder: Encoder[Any] | None = None, scoring: Scoring | None = None,
        pruning: Pruning | None = None, scale: float | None = None, query: QueryMode = "encoder", **use: Any,
    ) -> Leg:  # fmt: skip
        """Latent terms of the text.

        `vocabulary` is a shipped name, a folder or a `SaeVocabulary`; `encoder` the one it was trained on, by default
        the default text encoder. `use` are settings of the vocabulary: k, pooling, k_post, preset. `scoring` and
        `scale` (steps of a weight of 1) are those the vocabulary recommends unless given; `pruning` is none.
        `query="table"` prepares queries without the neural network.
        """
        return cls._sae("latent", vocabulary, encoder, scoring, pruning, scale, query, use)

    @classmethod
    def visual(
        cls, vocabulary: Any = "image-11k", *, encoder: Encoder[Any] | None = None, scoring: Scoring | None = None,
        pruning: Pruning | None = None, scale: float | None = None, **use: Any,
    ) -> Leg:  # fmt: skip
        """Visual words of the picture; arguments as for `latent`."""
        return cls._sae("visual", vocabulary, encoder, scoring, pruning, scale, "encoder", use)

    @classmethod
    def _sae(
        cls, kind: Literal["latent", "visual"], vocabulary: Any, encoder: Encoder[Any] | None, scoring: Scoring | None,
        pruning: Pruning | None, scale: float | None, query: QueryMode, use: Mapping[str, Any],
    ) -> Leg:  # fmt: skip
        if query not in ("encoder", "table"):
            raise InvalidInput(f"query must be 'encoder' or 'table', not {shown(query)}")
        model, loaded = sae_model(MODEL_KINDS[kind], vocabulary, encoder, use)
        if query == "table" and loaded.table is None:
            raise InvalidInput(f"the vocabulary {loaded.name} has no query table: use query='encoder'")
        defaults = loaded.defaults
        return cls(
            kind, scoring or BM25(**defaults.bm25), pruning or Pruning(), "fixed",
            defaults.scale if scale is None else scale, loaded.n_terms, model=model, query=query,
        )  # fmt: skip

    @classmethod
    def splade(cls, model: Any, *, min_weight: float = 0.15, pruning: Pruning | None = None) -> Leg:
        """Word pieces weighted and expanded by a SPLADE model (extra `hub`), scored by dot product.

        `model` is a name or path, or an encoder made with `encode.hub.load(..., kind="splade")`. Weights under
        `min_weight` are dropped, then `pruning` applies.
        """
        made, vocabulary = splade_model(model, min_weight)
        return cls("splade", Dot(), pruning or Pruning(), "fixed", vocabulary.scale, vocabulary.n_terms, model=made)

    @classmethod
    def scalar(
        cls, folder: Any, *, source: Literal["text", "image"] | None = None, encoder: Encoder[Any] | None = None,
        scoring: Scoring | None = None, pruning: Pruning | None = None,
    ) -> Leg:  # fmt: skip
        """Surrogate text: the components of pooled vectors as integer terms, scored by dot product.

        `folder` is where `ScalarVocabulary.save` wrote the fitted transform. A collection with this leg carries a copy
        of it and does not need the folder again. `source` chooses the default text or image encoder, `encoder` another
        one; `scoring` another formula, `pruning` which terms are kept.
        """
        made, vocabulary = scalar_model(folder, source, encoder)
        return cls("scalar", scoring or Dot(), pruning or Pruning(), "count", 1.0, vocabulary.n_terms, model=made)

    @classmethod
    def dense(
        cls, source: Literal["text", "image"] | None = None, *, encoder: Encoder[Any] | None = None,
        vector: str | None = None,
    ) -> Leg:  # fmt: skip
        """Pooled vectors, compared by cosine.

        `source` chooses the default text or image encoder, `encoder` another one. Without either, `vector` names
        vectors that come with the documents (`"default"` for `{"vector": [...]}`), and queries are vectors too.
        """
        model = dense_model(source, encoder)
        if model is None and vector is None:
            raise InvalidInput("a dense leg needs source='text' or 'image', an encoder, or the name of given vectors")
        return cls("dense", Dot(), vector=vector, model=model)

    @classmethod
    def aligned(cls, source: Literal["text", "image"] = "image", *, model: str | None = None, **encoders: Any) -> Leg:
        """Vectors of one space for texts and pictures.

        Over pictures (`source="image"`) a text finds them; over texts a picture does. `model` is a folder of heads, by
        default those that ship. `encoders` may be other ones than the default: `text=`, `image=`.
        """
        _check_source(source, "an aligned leg")
        align = make_alignment(model, "aligned", encoders)
        spec = align.picture.encoder if source == "image" else align.text
        return cls("aligned", Dot(), align=align, model=Model(spec))

    @classmethod
    def translated(
        cls, source: Literal["text", "image"] = "image", *, model: str | None = None, of: str = "visual",
        scoring: Scoring | None = None, scale: float = 100.0, **encoders: Any,
    ) -> Leg:  # fmt: skip
        """Words translated into visual words by a table, without any network.

        Over pictures (`source="image"`) it searches the postings of the visual leg `of`; over texts it has its own, in
        steps of 1/`scale`, which a picture's visual words search. `scoring` is the vocabulary's unless given; `model`
        and `encoders` are as for `aligned`.
        """
        _check_source(source, "a translated leg")
        align = make_alignment(model, "translated", encoders)
        loaded = align.picture.load_vocabulary()
        formula = scoring or BM25(**loaded.defaults.bm25)
        if source == "image":
            return cls("translated", formula, align=align, of=of)
        return cls("translated", formula, Pruning(), "fixed", scale, loaded.n_terms, align=align)

    @property
    def has_postings(self) -> bool:
        """Whether the leg has an inverted index of its own."""
        return self.kind not in ("dense", "aligned") and self.of is None

    @property
    def has_vectors(self) -> bool:
        """Whether the leg compares vectors."""
        return self.kind in ("dense", "aligned")

    @property
    def source(self) -> Literal["text", "image"] | None:
        """What of a document the leg reads; None: what comes ready-made with it."""
        if self.kind == "words":
            return "text"
        if self.kind == "translated":
            return "image" if self.of is not None else "text"
        return None if self.model is None else self.model.encoder.kind

    @property
    def asks_for(self) -> Literal["text", "image"] | None:
        """What a query of this leg is."""
        if self.align is None:
            return self.source
        return "text" if self.source == "image" else "image"

    @property
    def reads_text_by_network(self) -> bool:
        """Whether a text query always needs an encoder here: tables serve latent terms and translated words only."""
        return self.asks_for == "text" and self.kind not in ("words", "latent", "translated")

    @property
    def vocabulary(self) -> Words:
        """The analyser of a words leg."""
        if self.word_settings is None:
            raise InvalidInput(f"a {self.kind} leg has no analyser of words")
        return analyser(self.word_settings)

    @property
    def write_spec(self) -> LegWriteSpec:
        """How its postings are written; stored lengths follow the leg's own phi."""
        return LegWriteSpec(self.tf, self.scale, str(self.scoring.phi))

    def to_json(self) -> dict[str, Any]:
        """Plain settings, as a manifest keeps them; `from_json` reads them."""
        out: dict[str, Any] = {
            "kind": self.kind, "scoring": self.scoring.to_json(), "pruning": self.pruning.to_json(),
            "tf": self.tf, "scale": self.scale,
        }  # fmt: skip
        if self.word_settings is not None:
            return {**out, "words": self.word_settings.to_json(), "fingerprint": self.vocabulary.fingerprint}
        if self.model is not None:
            out |= {"model": self.model.to_json(), "query": self.query}
        if self.align is not None:
            out |= {"align": self.align.to_json(), "of": self.of}
        if self.kind == "dense":
            return {**out, "vector": self.vector}
        return {**out, "n_terms": self.n_terms}

    @classmethod
    def from_json(cls, name: str, data: Any, trusted: Container[str] = ()) -> Leg:
        """The leg of a `name` from `data` that `to_json` gave; the models it names are loaded when they are used.

        `trusted` names models that may be loaded then beside those that come with the package.
        """
        found = JsonObject(data, f"leg {name!r}")
        kind: Any = found.text("kind")
        if kind not in get_args(Kind):
            raise FormatTooNew(f"leg {name!r} is of kind {kind!r:.60}, which this zipfian does not know; upgrade it")
        scoring, pruning = scoring_from_json(found.value("scoring")), Pruning.from_json(found.value("pruning"))
        tf: Any = found.choice("tf", get_args(TfKind))
        scale = found.number("scale")
        if kind == "words":
            leg = cls.words(scoring=scoring, pruning=pruning, settings=WordSettings.from_json(found.value("words")))
            _check_analyser(name, leg, found.text("fingerprint"))
            found.end()
            return leg
        model = Model.from_json(found.value("model"), trusted) if found.has("model") else None
        query: Any = found.choice("query", get_args(QueryMode)) if model is not None else "encoder"
        align, of = None, None
        if kind in ("aligned", "translated"):
            align = Alignment.from_json(found.value("align"), trusted)
            of = found.text("of") if found.has("of") else None
        vector = None
        if kind == "dense":
            vector = found.text("vector", limits.MAX_FIELD_NAME_CHARS) if found.has("vector") else None
        n_terms = 0 if kind == "dense" else found.whole("n_terms", 0, limits.MAX_TERMS)
        found.end()
        _check_parts(name, kind, model, align, vector, n_terms)
        if kind == "terms":
            return cls.terms(n_terms, scoring=scoring, pruning=pruning, tf=tf, scale=scale)
        return cls(kind, scoring, pruning, tf, scale, n_terms, None, model, query, vector, align, of)

    def with_scoring(self, scoring: Scoring) -> Leg:
        """The same leg under another formula, `scoring`."""
        if self.has_vectors:
            raise InvalidInput(f"a leg of kind {self.kind} is compared by cosine: it has no scoring to change")
        return replace(self, scoring=check_scoring(scoring))


def _check_analyser(name: str, leg: Leg, fingerprint: str) -> None:
    found = leg.vocabulary.fingerprint
    if found != fingerprint:
        raise FingerprintMismatch(
            f"leg {name!r} was built with the analyser {fingerprint}, this installation has {found}: "
            "install the same version of PyStemmer, or build the collection again"
        )


def _check_parts(
    name: str, kind: Kind, model: Model | None, align: Alignment | None, vector: str | None, n_terms: int
) -> None:
    """Whether what a manifest says of a leg fits together: the vocabulary its kind, the encoder what it reads."""
    wanted = {"latent": "sae", "visual": "sae", "splade": "splade", "scalar": "scalar"}.get(kind)
    if model is not None and model.kind != wanted:
        raise InvalidInput(f"leg {name!r} of kind {kind} cannot have a vocabulary of kind {model.kind}")
    if kind in MODEL_KINDS and (model is None or model.encoder.kind != MODEL_KINDS[kind]):
        raise InvalidInput(f"leg {name!r} of kind {kind} needs an encoder of {MODEL_KINDS[kind]}s")
    if (kind == "terms" and model is not None) or (kind == "dense" and model is None and vector is None):
        raise InvalidInput(f"leg {name!r} of kind {kind} does not say where it comes from")
    if kind == "aligned":
        known = () if align is None else (align.text, align.picture.encoder)
        if model is None or model.encoder not in known:
            raise InvalidInput(f"leg {name!r} does not have one of the encoders of its alignment")
    if kind == "translated" and model is not None:
        raise InvalidInput(f"leg {name!r} needs no encoder: its words are translated by a table")
    if kind in (*MODEL_KINDS, "scalar") and not n_terms:
        raise InvalidInput(f"leg {name!r} has no terms")


def check_leg_name(name: Any) -> None:
    """Leg names appear in file roles, filters and reports: short, lower case, no surprises."""
    if not isinstance(name, str) or len(name) > limits.MAX_FIELD_NAME_CHARS or not _NAME.match(name):
        raise InvalidInput(f"a leg name starts with a lower-case letter, then a-z, 0-9, '-' or '_'; got {name!r:.80}")


def make_legs(legs: Sequence[str] | Mapping[str, Leg] | None) -> dict[str, Leg]:
    """The legs of a new collection: names such as `["words", "latent"]`, or names with their settings."""
    if legs is None:
        legs = ["words"]
    if isinstance(legs, str):
        raise InvalidInput(f"legs must be a list or a mapping, not the string {legs!r}")
    out: dict[str, Leg] = {}
    for name in legs:
        check_leg_name(name)
        leg = legs[name] if isinstance(legs, Mapping) else default_leg(name, list(legs))
        if not isinstance(leg, Leg):
            raise InvalidInput(f"leg {name!r} is made with Leg.words(...), Leg.latent(...) and so on, not {shown(leg)}")
        out[name] = leg
    if not out:
        raise InvalidInput("a collection needs at least one leg")
    if len(out) > limits.MAX_LEGS:
        raise LimitExceeded(f"a collection has at most {limits.MAX_LEGS} legs")
    check_together(out)
    return out


def default_leg(name: str, beside: Sequence[str] = ()) -> Leg:
    """The leg that a bare name means; `dense` is of pictures where the collection has visual words, else of texts."""
    if name == "words":
        return Leg.words()
    if name == "latent":
        return Leg.latent()
    if name == "visual":
        return Leg.visual()
    if name in ("dense", "dense-text", "dense-image"):
        picture = name == "dense-image" or (name == "dense" and "visual" in beside)
        return Leg.dense("image" if picture else "text")
    if name == "aligned":
        return Leg.aligned()
    if name == "translated":
        return Leg.translated()
    raise InvalidInput(
        f"leg {name!r} needs settings: legs={{{name!r}: Leg.terms(n_terms)}} for ready-made terms; the names that mean "
        "something by themselves are words, latent, visual, dense, dense-text, dense-image, aligned and translated"
    )


def check_together(legs: Mapping[str, Leg]) -> None:
    """A leg that borrows another's postings needs that other leg, over the same visual words."""
    for name, leg in legs.items():
        if leg.of is None or leg.align is None:
            continue
        lender = legs.get(leg.of)
        if lender is None or lender.kind != "visual" or lender.model is None:
            raise InvalidInput(f"leg {name!r} searches the postings of the visual leg {leg.of!r}, which is not there")
        if lender.model.fingerprint != leg.align.picture.fingerprint:
            raise FingerprintMismatch(
                f"leg {name!r} speaks the visual words {leg.align.picture.fingerprint}, leg {leg.of!r} those of "
                f"{lender.model.fingerprint}: make both with the same vocabulary and settings"
            )


def _check_source(source: Any, what: str) -> None:
    if source not in ("text", "image"):
        raise InvalidInput(f"the source of {what} is 'text' or 'image', not {shown(source)}")
