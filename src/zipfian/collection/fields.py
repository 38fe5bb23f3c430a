"""One field of a collection: where its terms or vectors come from, how they are stored, how they are scored."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, get_args

from zipfian import limits
from zipfian.collection.alignment import Alignment, make_alignment
from zipfian.collection.model import Model, QueryEncoder, dense_model, sae_model, scalar_model, splade_model
from zipfian.encode.base import Encoder
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput, LimitExceeded, shown
from zipfian.index.field import FieldWriteSpec
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Dot, Scoring, scoring_from_json
from zipfian.retrieve.validate import check_scoring
from zipfian.types import TfKind
from zipfian.vocabulary import Pruning, Words, WordSettings
from zipfian.vocabulary.quantise import check_scale

Kind = Literal["words", "terms", "latent", "visual", "splade", "scalar", "dense", "aligned", "translated"]

MODEL_KINDS: Mapping[str, Literal["text", "image"]] = {"latent": "text", "visual": "image", "splade": "text"}
"""Fields whose terms an encoder and a vocabulary make, and what they make them from."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@lru_cache(maxsize=64)
def analyser(settings: WordSettings) -> Words:
    """One analyser per setting: it remembers the words it has seen."""
    return Words(settings)


@dataclass(frozen=True)
class Field:
    """One way to find the documents of a collection.

    Make one with `Field.words(...)` (the words of the text), `Field.latent(...)` (latent terms of the text),
    `Field.visual(...)` (visual words of the picture), `Field.dense(...)` (pooled vectors) or `Field.terms(n_terms,
    ...)` (ready-made sparse vectors).

    Raises
    ------
    InvalidInput
        Settings that do not fit each other or the kind.

    Examples
    --------
    >>> Field.words(language="german").vocabulary.settings.language
    'german'
    >>> Field.terms(18_432).tf
    'fixed'
    """

    kind: Kind
    """What it finds documents by."""
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
    word_settings: WordSettings | None = None
    """How a words field reads a text."""
    model: Model | None = None
    """Encoder and vocabulary of a latent, visual or dense field; None for vectors that come with the documents."""
    query_encoder: QueryEncoder = "encoder"
    """How a text query becomes latent terms unless a search says otherwise."""
    vector: str | None = None
    """Name under which a dense field's vectors are stored; None: the field's own name."""
    align: Alignment | None = None
    """What leads from texts to pictures and back, of an aligned or translated field."""
    of: str | None = None
    """The visual field whose postings a translated field over pictures borrows."""

    def __post_init__(self) -> None:
        check_scoring(self.scoring)
        if not isinstance(self.pruning, Pruning):
            raise InvalidInput(f"pruning must be Pruning(...), not {shown(self.pruning)}")
        if (self.kind == "words") != isinstance(self.word_settings, WordSettings) or (
            (self.kind in MODEL_KINDS or self.kind == "scalar") and self.model is None
        ):
            raise InvalidInput(
                "make a field with Field.words(...), .latent(...), .visual(...), .dense(...) or .terms(...)"
            )
        check_scale(self.scale)

    @classmethod
    def words(
        cls, *, scoring: Scoring | None = None, pruning: Pruning | None = None, settings: WordSettings | None = None,
        **analysis: Any,
    ) -> Field:  # fmt: skip
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
    ) -> Field:  # fmt: skip
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
        pruning: Pruning | None = None, scale: float | None = None, query_encoder: QueryEncoder = "encoder", **use: Any,
    ) -> Field:  # fmt: skip
        """Latent terms of the text.

        `vocabulary` is a shipped name, a folder or a `SaeVocabulary`; `encoder` the one it was trained on, by default
        the default text encoder. `use` are settings of the vocabulary: k, pooling, k_post, preset. `scoring` and
        `scale` (steps of a weight of 1) are those the vocabulary recommends unless given; `pruning` is none.
        `query_encoder="table"` prepares queries without the neural network.
        """
        return cls._sae("latent", vocabulary, encoder, scoring, pruning, scale, query_encoder, use)

    @classmethod
    def visual(
        cls, vocabulary: Any = "image-11k", *, encoder: Encoder[Any] | None = None, scoring: Scoring | None = None,
        pruning: Pruning | None = None, scale: float | None = None, **use: Any,
    ) -> Field:  # fmt: skip
        """Visual words of the picture; arguments as for `latent`."""
        return cls._sae("visual", vocabulary, encoder, scoring, pruning, scale, "encoder", use)

    @classmethod
    def _sae(
        cls, kind: Literal["latent", "visual"], vocabulary: Any, encoder: Encoder[Any] | None, scoring: Scoring | None,
        pruning: Pruning | None, scale: float | None, query_encoder: QueryEncoder, use: Mapping[str, Any],
    ) -> Field:  # fmt: skip
        if query_encoder not in ("encoder", "table"):
            raise InvalidInput(f"query_encoder must be 'encoder' or 'table', not {shown(query_encoder)}")
        model, loaded = sae_model(MODEL_KINDS[kind], vocabulary, encoder, use)
        if query_encoder == "table" and loaded.table is None:
            raise InvalidInput(f"the vocabulary {loaded.name} has no query table: use query_encoder='encoder'")
        defaults = loaded.defaults
        return cls(
            kind, scoring or BM25(**defaults.bm25), pruning or Pruning(), "fixed",
            defaults.scale if scale is None else scale, loaded.n_terms, model=model, query_encoder=query_encoder,
        )  # fmt: skip

    @classmethod
    def splade(cls, model: Any, *, min_weight: float = 0.15, pruning: Pruning | None = None) -> Field:
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
    ) -> Field:  # fmt: skip
        """Surrogate text: the components of pooled vectors as integer terms, scored by dot product.

        `folder` is where `ScalarVocabulary.save` wrote the fitted transform. A collection with this field carries a
        copy
        of it and does not need the folder again. `source` chooses the default text or image encoder, `encoder` another
        one; `scoring` another formula, `pruning` which terms are kept.
        """
        made, vocabulary = scalar_model(folder, source, encoder)
        return cls("scalar", scoring or Dot(), pruning or Pruning(), "count", 1.0, vocabulary.n_terms, model=made)

    @classmethod
    def dense(
        cls, source: Literal["text", "image"] | None = None, *, encoder: Encoder[Any] | None = None,
        vector: str | None = None,
    ) -> Field:  # fmt: skip
        """Pooled vectors, compared by cosine.

        `source` chooses the default text or image encoder, `encoder` another one. Without either, `vector` names
        vectors that come with the documents (`"default"` for `{"vector": [...]}`), and queries are vectors too.
        """
        model = dense_model(source, encoder)
        if model is None and vector is None:
            raise InvalidInput("a dense field needs source='text' or 'image', an encoder, or the name of given vectors")
        return cls("dense", Dot(), vector=vector, model=model)

    @classmethod
    def aligned(cls, source: Literal["text", "image"] = "image", *, model: str | None = None, **encoders: Any) -> Field:
        """Vectors of one space for texts and pictures.

        Over pictures (`source="image"`) a text finds them; over texts a picture does. `model` is a folder of heads, by
        default those that ship. `encoders` may be other ones than the default: `text=`, `image=`.
        """
        _check_source(source, "an aligned field")
        align = make_alignment(model, "aligned", encoders)
        spec = align.picture.encoder if source == "image" else align.text
        return cls("aligned", Dot(), align=align, model=Model(spec))

    @classmethod
    def translated(
        cls, source: Literal["text", "image"] = "image", *, model: str | None = None, of: str = "visual",
        scoring: Scoring | None = None, scale: float = 100.0, **encoders: Any,
    ) -> Field:  # fmt: skip
        """Words translated into visual words by a table, without any network.

        Over pictures (`source="image"`) it searches the postings of the visual field `of`; over texts it has its own,
        in
        steps of 1/`scale`, which a picture's visual words search. `scoring` is the vocabulary's unless given; `model`
        and `encoders` are as for `aligned`.
        """
        _check_source(source, "a translated field")
        align = make_alignment(model, "translated", encoders)
        loaded = align.picture.load_vocabulary()
        formula = scoring or BM25(**loaded.defaults.bm25)
        if source == "image":
            return cls("translated", formula, align=align, of=of)
        return cls("translated", formula, Pruning(), "fixed", scale, loaded.n_terms, align=align)

    @property
    def has_postings(self) -> bool:
        """Whether the field has an inverted index of its own."""
        return self.kind not in ("dense", "aligned") and self.of is None

    @property
    def has_vectors(self) -> bool:
        """Whether the field compares vectors."""
        return self.kind in ("dense", "aligned")

    @property
    def source(self) -> Literal["text", "image"] | None:
        """What of a document the field reads; None: what comes ready-made with it."""
        if self.kind == "words":
            return "text"
        if self.kind == "translated":
            return "image" if self.of is not None else "text"
        return None if self.model is None else self.model.encoder.kind

    @property
    def asks_for(self) -> Literal["text", "image"] | None:
        """What a query of this field is."""
        if self.align is None:
            return self.source
        return "text" if self.source == "image" else "image"

    @property
    def reads_text_by_network(self) -> bool:
        """Whether a text query always needs an encoder here: tables serve latent terms and translated words only."""
        return self.asks_for == "text" and self.kind not in ("words", "latent", "translated")

    @property
    def vocabulary(self) -> Words:
        """The analyser of a words field."""
        if self.word_settings is None:
            raise InvalidInput(f"a {self.kind} field has no analyser of words")
        return analyser(self.word_settings)

    @property
    def write_spec(self) -> FieldWriteSpec:
        """How its postings are written; stored lengths follow the field's own phi."""
        return FieldWriteSpec(self.tf, self.scale, str(self.scoring.phi))

    def to_json(self) -> dict[str, Any]:
        """Plain settings, as a manifest keeps them; `from_json` reads them."""
        out: dict[str, Any] = {
            "kind": self.kind, "scoring": self.scoring.to_json(), "pruning": self.pruning.to_json(),
            "tf": self.tf, "scale": self.scale,
        }  # fmt: skip
        if self.word_settings is not None:
            return {**out, "words": self.word_settings.to_json(), "fingerprint": self.vocabulary.fingerprint}
        if self.model is not None:
            out |= {"model": self.model.to_json(), "query_encoder": self.query_encoder}
        if self.align is not None:
            out |= {"align": self.align.to_json(), "of": self.of}
        if self.kind == "dense":
            return {**out, "vector": self.vector}
        return {**out, "n_terms": self.n_terms}

    @classmethod
    def from_json(cls, name: str, data: Any, trusted: Container[str] = ()) -> Field:
        """The field of a `name` from `data` that `to_json` gave; the models it names are loaded when they are used.

        `trusted` names models that may be loaded then beside those that come with the package.
        """
        found = JsonObject(data, f"field {name!r}")
        kind: Any = found.text("kind")
        if kind not in get_args(Kind):
            raise FormatTooNew(f"field {name!r} is of kind {kind!r:.60}, which this zipfian does not know; upgrade it")
        scoring, pruning = scoring_from_json(found.value("scoring")), Pruning.from_json(found.value("pruning"))
        tf: Any = found.choice("tf", get_args(TfKind))
        scale = found.number("scale")
        if kind == "words":
            field = cls.words(scoring=scoring, pruning=pruning, settings=WordSettings.from_json(found.value("words")))
            _check_analyser(name, field, found.text("fingerprint"))
            found.end()
            return field
        model = Model.from_json(found.value("model"), trusted) if found.has("model") else None
        query_encoder: Any = found.choice("query_encoder", get_args(QueryEncoder)) if model is not None else "encoder"
        align, of = None, None
        if kind in ("aligned", "translated"):
            align = Alignment.from_json(found.value("align"), trusted)
            of = found.text("of") if found.has("of") else None
        vector = None
        if kind == "dense":
            vector = found.text("vector", limits.MAX_NAME_CHARS) if found.has("vector") else None
        n_terms = 0 if kind == "dense" else found.whole("n_terms", 0, limits.MAX_TERMS)
        found.end()
        _check_parts(name, kind, model, align, vector, n_terms)
        if kind == "terms":
            return cls.terms(n_terms, scoring=scoring, pruning=pruning, tf=tf, scale=scale)
        return cls(kind, scoring, pruning, tf, scale, n_terms, None, model, query_encoder, vector, align, of)

    def with_scoring(self, scoring: Scoring) -> Field:
        """The same field under another formula, `scoring`."""
        if self.has_vectors:
            raise InvalidInput(f"a field of kind {self.kind} is compared by cosine: it has no scoring to change")
        return replace(self, scoring=check_scoring(scoring))


def _check_analyser(name: str, field: Field, fingerprint: str) -> None:
    found = field.vocabulary.fingerprint
    if found != fingerprint:
        raise FingerprintMismatch(
            f"field {name!r} was built with the analyser {fingerprint}, this installation has {found}: "
            "install the same version of PyStemmer, or build the collection again"
        )


def _check_parts(
    name: str, kind: Kind, model: Model | None, align: Alignment | None, vector: str | None, n_terms: int
) -> None:
    """Whether what a manifest says of a field fits together: the vocabulary its kind, the encoder what it reads."""
    wanted = {"latent": "sae", "visual": "sae", "splade": "splade", "scalar": "scalar"}.get(kind)
    if model is not None and model.kind != wanted:
        raise InvalidInput(f"field {name!r} of kind {kind} cannot have a vocabulary of kind {model.kind}")
    if kind in MODEL_KINDS and (model is None or model.encoder.kind != MODEL_KINDS[kind]):
        raise InvalidInput(f"field {name!r} of kind {kind} needs an encoder of {MODEL_KINDS[kind]}s")
    if (kind == "terms" and model is not None) or (kind == "dense" and model is None and vector is None):
        raise InvalidInput(f"field {name!r} of kind {kind} does not say where it comes from")
    if kind == "aligned":
        known = () if align is None else (align.text, align.picture.encoder)
        if model is None or model.encoder not in known:
            raise InvalidInput(f"field {name!r} does not have one of the encoders of its alignment")
    if kind == "translated" and model is not None:
        raise InvalidInput(f"field {name!r} needs no encoder: its words are translated by a table")
    if kind in (*MODEL_KINDS, "scalar") and not n_terms:
        raise InvalidInput(f"field {name!r} has no terms")


def check_field_name(name: Any) -> None:
    """Field names appear in file roles, filters and reports: short, lower case, no surprises."""
    if not isinstance(name, str) or len(name) > limits.MAX_NAME_CHARS or not _NAME.match(name):
        raise InvalidInput(f"a field name starts with a lower-case letter, then a-z, 0-9, '-' or '_'; got {name!r:.80}")


def make_fields(fields: Sequence[str] | Mapping[str, Field] | None) -> dict[str, Field]:
    """The fields of a new collection: names such as `["words", "latent"]`, or names with their settings."""
    if fields is None:
        fields = ["words"]
    if isinstance(fields, str):
        raise InvalidInput(f"fields must be a list or a mapping, not the string {fields!r}")
    out: dict[str, Field] = {}
    for name in fields:
        check_field_name(name)
        field = fields[name] if isinstance(fields, Mapping) else default_field(name, list(fields))
        if not isinstance(field, Field):
            raise InvalidInput(
                f"field {name!r} is made with Field.words(...), Field.latent(...) and so on, not {shown(field)}"
            )
        out[name] = field
    if not out:
        raise InvalidInput("a collection needs at least one field")
    if len(out) > limits.MAX_FIELDS:
        raise LimitExceeded(f"a collection has at most {limits.MAX_FIELDS} fields")
    check_together(out)
    return out


def default_field(name: str, beside: Sequence[str] = ()) -> Field:
    """The field that a bare name means; `dense` is of pictures where the collection has visual words, else of texts."""
    if name == "words":
        return Field.words()
    if name == "latent":
        return Field.latent()
    if name == "visual":
        return Field.visual()
    if name in ("dense", "dense-text", "dense-image"):
        picture = name == "dense-image" or (name == "dense" and "visual" in beside)
        return Field.dense("image" if picture else "text")
    if name == "aligned":
        return Field.aligned()
    if name == "translated":
        return Field.translated()
    raise InvalidInput(
        f"field {name!r} needs settings: fields={{{name!r}: Field.terms(n_terms)}} for ready-made terms; the "
        "names that mean "
        "something by themselves are words, latent, visual, dense, dense-text, dense-image, aligned and translated"
    )


def check_together(fields: Mapping[str, Field]) -> None:
    """A field that borrows another's postings needs that other field, over the same visual words."""
    for name, field in fields.items():
        if field.of is None or field.align is None:
            continue
        lender = fields.get(field.of)
        if lender is None or lender.kind != "visual" or lender.model is None:
            raise InvalidInput(
                f"field {name!r} searches the postings of the visual field {field.of!r}, which is not there"
            )
        if lender.model.fingerprint != field.align.picture.fingerprint:
            raise FingerprintMismatch(
                f"field {name!r} speaks the visual words {field.align.picture.fingerprint}, field "
                f"{field.of!r} those of "
                f"{lender.model.fingerprint}: make both with the same vocabulary and settings"
            )


def _check_source(source: Any, what: str) -> None:
    if source not in ("text", "image"):
        raise InvalidInput(f"the source of {what} is 'text' or 'image', not {shown(source)}")
