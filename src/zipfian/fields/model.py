"""What a field's manifest entry says about its encoder and vocabulary, and how both are found again."""

from __future__ import annotations

import dataclasses
import json
import re
import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zipfian import limits
from zipfian.encode.base import Encoder
from zipfian.encode.image import ImageEncoder
from zipfian.encode.models import EFFICIENTNET_LITE2
from zipfian.encode.named import EncoderLike, named_encoder
from zipfian.encode.registry import EncoderSpec, check_trusted, find, known, register
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput
from zipfian.objects import JsonObject, inner

if TYPE_CHECKING:
    from zipfian.vocabulary.sae import SaeVocabulary
    from zipfian.vocabulary.scalar import ScalarVocabulary
    from zipfian.vocabulary.splade import SpladeVocabulary

Source = Literal["text", "image"]
QueryEncoder = Literal["encoder", "table"]
FindScalar = Callable[[str], "ScalarVocabulary"]
"""From a fingerprint to the transform."""

VOCABULARIES = ("sae", "scalar", "splade")
"""Kinds of vocabularies that read an encoder."""
MANY_SETTINGS = 100
"""More settings than a vocabulary has."""

_VOCABULARIES: dict[str, SaeVocabulary] = {}
_SPLADE: dict[str, SpladeVocabulary] = {}
_SCALAR: dict[str, ScalarVocabulary] = {}
_LOCK = threading.Lock()
_SCALAR_NAME = re.compile(r"scalar:[0-9a-f]{20}")
"""A fingerprint that becomes the name of a file."""
_FINGERPRINT = re.compile(r".+:[0-9a-f]{20}")
"""Of an encoder of ours; the source of a scalar vocabulary may also be any name."""


@dataclass(frozen=True, slots=True)
class Model:
    """An encoder and the vocabulary that reads it (None: only the pooled vector is used)."""

    encoder: EncoderSpec
    vocabulary: str | None = None
    """Its settings as JSON, so that models compare and hash."""
    fingerprint: str | None = None
    """Of the vocabulary."""
    find: FindScalar | None = dataclasses.field(default=None, compare=False, repr=False)
    """Where the collection keeps the fitted transform of a scalar field."""

    def load_encoder(self) -> Encoder[Any]:
        """The encoder; made when nobody in this process has made it yet."""
        return find(self.encoder)

    def load_vocabulary(self) -> SaeVocabulary:
        """The vocabulary; an equal one that this process knows already is shared."""
        if self.vocabulary is None or self.fingerprint is None:
            raise InvalidInput("this field has no vocabulary: it compares pooled vectors")
        with _LOCK:
            known = _VOCABULARIES.get(self.fingerprint)
        if known is not None:
            return known
        from zipfian.vocabulary.models import shipped
        from zipfian.vocabulary.sae import SaeVocabulary

        settings = json.loads(self.vocabulary)
        name = JsonObject(settings, "a latent vocabulary").text("model", limits.MAX_PATH_CHARS)
        if name not in shipped():
            check_trusted("the vocabulary", name, self.encoder.trusted)
        made = SaeVocabulary.from_json(settings)
        if made.fingerprint != self.fingerprint:
            raise FingerprintMismatch(
                f"the collection was built with the vocabulary {self.fingerprint}, this installation has "
                f"{made.fingerprint} under its name: install the version of zipfian (or the model files) it was built "
                "with, or build the collection again"
            )
        return remember(made)

    @property
    def kind(self) -> str | None:
        """Of the vocabulary: `sae`, `scalar` or `splade`; None where there is none."""
        return None if self.vocabulary is None else json.loads(self.vocabulary)["kind"]

    @property
    def weights_sha256(self) -> str | None:
        """Of an autoencoder's weights: where they are equal, a term means the same, however each use pools and caps."""
        return None if self.vocabulary is None else json.loads(self.vocabulary).get("sha256")

    def load_scalar(self) -> ScalarVocabulary:
        """The fitted transform of a scalar field, from the files of its collection."""
        with _LOCK:
            known = _SCALAR.get(str(self.fingerprint))
        if known is not None:
            return known
        if self.find is None:
            raise InvalidInput("the fitted transform of a scalar field is in the files of its collection: open that")
        made = self.find(str(self.fingerprint))
        if made.fingerprint != self.fingerprint:
            raise FingerprintMismatch(
                f"the collection was built with the scalar vocabulary {self.fingerprint}, its files hold "
                f"{made.fingerprint}: get the collection's folder again, or build it anew"
            )
        with _LOCK:
            return _SCALAR.setdefault(made.fingerprint, made)

    def load_splade(self) -> SpladeVocabulary:
        """The vocabulary of a SPLADE model, with the model's own labels."""
        with _LOCK:
            known = _SPLADE.get(str(self.fingerprint))
        if known is None:
            from zipfian.vocabulary.splade import SpladeVocabulary

            labels = getattr(self.load_encoder(), "labels", None)
            known = SpladeVocabulary.from_json(json.loads(str(self.vocabulary)), labels() if labels else None)
            if known.fingerprint != self.fingerprint:
                raise FingerprintMismatch(
                    f"the collection was built with the vocabulary {self.fingerprint}, its settings make "
                    f"{known.fingerprint}: build it again"
                )
            with _LOCK:
                _SPLADE[known.fingerprint] = known
        return known

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        vocabulary = None if self.vocabulary is None else json.loads(self.vocabulary)
        return {"encoder": self.encoder.to_json(), "vocabulary": vocabulary, "fingerprint": self.fingerprint}

    @classmethod
    def from_json(cls, data: Any, trusted: Container[str] = ()) -> Model:
        """What `to_json` gave; `trusted` names models that may be loaded beside those of the package."""
        found = JsonObject(data, "a model")
        encoder = EncoderSpec.from_json(found.value("encoder"), trusted)
        known, fingerprint = None, None
        if found.has("vocabulary"):
            settings = found.mapping("vocabulary", MANY_SETTINGS)
            kind = JsonObject(settings, "a vocabulary").text("kind")
            if kind not in VOCABULARIES:
                raise FormatTooNew(f"a vocabulary of kind {kind!r:.60}, which this zipfian does not know; upgrade it")
            known = _canonical(settings)
            fingerprint = found.match("fingerprint", _SCALAR_NAME) if kind == "scalar" else found.text("fingerprint")
        elif found.has("fingerprint"):
            raise InvalidInput("a model without a vocabulary has no fingerprint of one")
        found.end()
        return cls(encoder, known, fingerprint)


def sae_model(
    source: Source, vocabulary: Any, encoder: EncoderLike | None, use: Mapping[str, Any]
) -> tuple[Model, SaeVocabulary]:
    """The model of a latent or visual field, from what a caller may write."""
    from zipfian.vocabulary.sae import SaeVocabulary

    if isinstance(vocabulary, SaeVocabulary):
        if use:
            raise InvalidInput(f"a loaded vocabulary has its settings already: {', '.join(use)} cannot be given")
        loaded = vocabulary
    elif isinstance(vocabulary, str | Path):
        try:
            loaded = SaeVocabulary.load(vocabulary, **use)
        except TypeError as error:
            raise InvalidInput(f"unknown setting of a vocabulary: {error}") from None
    else:
        raise InvalidInput(f"a vocabulary is a name, a folder or a SaeVocabulary, not {vocabulary!r:.80}")
    chosen = _encoder_of(loaded, source) if encoder is None else named_encoder(encoder, source)
    if chosen.kind != source:
        raise InvalidInput(f"a field of {source}s needs an encoder of {source}s, not of {chosen.kind}s")
    loaded.check_encoder(chosen)
    remember(loaded)
    return Model(register(chosen), _canonical(loaded.to_json()), loaded.fingerprint), loaded


def splade_model(given: Any, min_weight: float) -> tuple[Model, SpladeVocabulary]:
    """The model of a splade field: a name or path of the hub, or a loaded encoder."""
    from zipfian.vocabulary.splade import SpladeVocabulary

    if isinstance(given, str | Path):
        from zipfian.encode import hub

        given = hub.load(given, kind="splade")
    if not hasattr(given, "n_terms"):
        raise InvalidInput(
            f"a splade field needs the name or path of a SPLADE model, or its encoder, not {given!r:.80}"
        )
    made = SpladeVocabulary.of(given, min_weight=min_weight)
    with _LOCK:
        _SPLADE[made.fingerprint] = made
    return Model(register(given), _canonical(made.to_json()), made.fingerprint), made


def scalar_model(given: Any, source: Source | None, encoder: EncoderLike | None) -> tuple[Model, ScalarVocabulary]:
    """The model of a scalar field: the folder of a fitted transform and the encoder whose vectors it was fitted on."""
    from zipfian.vocabulary.scalar import ScalarVocabulary

    if not isinstance(given, str | Path):
        raise InvalidInput(f"a scalar field needs the folder in which ScalarVocabulary.save wrote, not {given!r:.80}")
    made = ScalarVocabulary.load(given)
    if encoder is None and source is None:
        raise InvalidInput("a scalar field needs source='text' or 'image', or an encoder")
    chosen = None if source not in (None, "text", "image") else named_encoder(encoder or str(source), source)
    if chosen is None or source not in (None, chosen.kind):
        raise InvalidInput(f"the source of a scalar field is what its encoder reads, 'text' or 'image', not {source!r}")
    if chosen.pooled_dim != made.dim:
        raise InvalidInput(
            f"{given} was fitted on vectors of {made.dim} numbers, the encoder {chosen.fingerprint} makes "
            f"{chosen.pooled_dim}"
        )
    if _FINGERPRINT.fullmatch(made.source) and made.source != chosen.fingerprint:
        raise FingerprintMismatch(
            f"{given} was fitted on vectors of {made.source}, the encoder is {chosen.fingerprint}"
        )
    with _LOCK:
        made = _SCALAR.setdefault(made.fingerprint, made)
    return Model(register(chosen), _canonical({"kind": "scalar"}), made.fingerprint, lambda _: made), made


def dense_model(source: Source | None, encoder: EncoderLike | None) -> Model | None:
    """The model of a dense field; None where vectors come with the documents."""
    if source not in (None, "text", "image"):
        raise InvalidInput(f"the source of a dense field is 'text' or 'image', not {source!r}")
    if encoder is None and source is None:
        return None
    chosen = named_encoder(encoder or str(source), source)
    if source not in (None, chosen.kind):
        raise InvalidInput(f"the encoder is of {chosen.kind}s, the field of {source}s")
    return Model(register(chosen))


def _encoder_of(vocabulary: SaeVocabulary, source: str) -> Encoder[Any]:
    """The default encoder with the settings that the vocabulary was trained for."""
    settings = inner(vocabulary.encoder_info, "settings")
    if source == "image" and vocabulary.encoder_info.get("name") == EFFICIENTNET_LITE2.name:
        made = ImageEncoder(**{key: settings[key] for key in ("size", "fit", "block") if key in settings})
        return known(made)  # one that runs on a GPU already is not put back on the processor
    return named_encoder(source)


def remember(vocabulary: SaeVocabulary) -> SaeVocabulary:
    """Make a vocabulary known to this process; an equal one that is known already is given back instead."""
    with _LOCK:
        return _VOCABULARIES.setdefault(vocabulary.fingerprint, vocabulary)


def _canonical(values: Mapping[str, Any]) -> str:
    return json.dumps(values, sort_keys=True, separators=(",", ":"))
