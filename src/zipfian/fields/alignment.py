"""Fields between texts and pictures: aligned vectors, and words translated into visual words.

`aligned`: both sides become vectors of one space through small heads on the frozen encoders. `translated`: a text
becomes visual words through a table, which needs no network and can be explained. Over pictures it borrows the postings
of the visual field; over texts it has its own, and a picture asks with its visual words.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

from zipfian import limits
from zipfian.encode.base import Encoder
from zipfian.encode.registry import EncoderSpec, check_trusted, register
from zipfian.encode.registry import find as find_encoder
from zipfian.encode.text import TextEncoder
from zipfian.errors import FingerprintMismatch, InvalidInput, shown
from zipfian.fields.model import Model, sae_model
from zipfian.fields.places import F64, shows
from zipfian.fuse.confidence import Evidence
from zipfian.objects import JsonObject, inner
from zipfian.types import FloatArray, Terms, Token
from zipfian.vocabulary import Words as Analyser
from zipfian.vocabulary import WordSettings

if TYPE_CHECKING:
    from zipfian.vocabulary.aligned import AlignedHeads, TranslationTable
    from zipfian.vocabulary.sae import SaeVocabulary

Source = Literal["text", "image"]

USE = ("k", "k_least", "pooling", "k_post", "min_weight", "preset")
"""Settings of visual words that heads and table keep of their training."""

_LOCK = threading.Lock()
_HEADS: dict[str, Any] = {}
_TABLES: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class Alignment:
    """Which heads or table, and the encoders and visual words they were made for."""

    name: str
    """A shipped name or a folder."""
    fingerprint: str
    text: EncoderSpec
    picture: Model
    """Image encoder and visual vocabulary."""

    def heads(self) -> AlignedHeads:
        """The heads, loaded once."""
        from zipfian.vocabulary.aligned import AlignedHeads

        return self._once(_HEADS, AlignedHeads)  # type: ignore[no-any-return]

    def table(self) -> TranslationTable:
        """The table, loaded once."""
        from zipfian.vocabulary.aligned import TranslationTable

        return self._once(_TABLES, TranslationTable)  # type: ignore[no-any-return]

    def _once(self, kept: dict[str, Any], kind: Any) -> Any:
        from zipfian.vocabulary.aligned import fingerprint_of, is_shipped

        with _LOCK:
            if self.fingerprint not in kept:
                if not is_shipped(self.name):
                    check_trusted("the alignment", self.name, self.text.trusted)
                found = fingerprint_of(self.name)
                if found != self.fingerprint:
                    raise FingerprintMismatch(
                        f"the collection was built with the alignment {self.fingerprint}, this installation has "
                        f"{found}: install the version of zipfian it was built with, or build it again"
                    )
                kept[self.fingerprint] = kind.load(self.name)
            return kept[self.fingerprint]

    @property
    def image(self) -> EncoderSpec:
        """The encoder of pictures."""
        return self.picture.encoder

    @property
    def evidence(self) -> Evidence:
        """As of the default encoder of texts."""
        return Evidence(base=-8.0, share=12.5, lead=8.0)

    def visual_words(self) -> SaeVocabulary | None:
        """What the heads read of a picture beside its vector; None: nothing."""
        return self.picture.load_vocabulary() if self.heads().uses_terms else None

    def unknown(self, text: str) -> tuple[tuple[str, ...], bool]:
        """The telling words of a text that no caption of the heads' training had, and whether it has any others."""
        return self.unseen(text, self.heads().words)

    def image_slopes(self, pooled: FloatArray, terms: Terms | None, towards: FloatArray) -> tuple[F64, float]:
        """The cosine of a picture and `towards` as a sum over the picture's pooled vector, and what is left."""
        return self.heads().image_slopes(pooled, terms, towards)

    def text_vector(self, pooled: FloatArray, text: str) -> FloatArray:
        """A text in the common space."""
        return self.heads().text_vector(pooled, analyser().counts(text))

    def image_vector(self, pooled: FloatArray, terms: Terms | None) -> FloatArray:
        """A picture in the common space."""
        return self.heads().image_vector(pooled, terms)

    def translate(self, text: str) -> Terms:
        """The visual words of a text."""
        return self.table().terms(analyser().counts(text))

    def unseen(self, text: str, known: Container[str]) -> tuple[tuple[str, ...], bool]:
        """The telling words of a text that are not `known`, as they are written, and whether any other is."""
        wanted = analyser().query(text)
        lacking = {term for term in wanted if term not in known}
        if not lacking:
            return (), True
        written = (text[token.start : token.end] for token in analyser().tokenize(text) if token.term in lacking)
        return tuple(dict.fromkeys(written)), len(lacking) < len(wanted)

    def words_behind(self, text: str, wanted: Collection[int]) -> dict[int, list[str]]:
        """Which words of a text bring in each visual word, strongest first; function words only where all are."""
        found = {}
        for visual, rows in self.tokens_behind(text, wanted).items():
            words = list(dict.fromkeys(text[token.start : token.end] for token, _ in rows))
            found[visual] = [word for word in words if shows(word)] or words
        return found

    def tokens_behind(self, text: str, wanted: Collection[int]) -> dict[int, list[tuple[Token, float]]]:
        """The same with their places and the weight of each, strongest first."""
        table, chosen = self.table(), frozenset(wanted)
        found: dict[int, list[tuple[Token, float]]] = {}
        for token in analyser().tokenize(text):
            row = table.row(token.term)
            for visual, weight in zip(row.ids.tolist(), row.weights.tolist(), strict=True):
                if visual in chosen:
                    found.setdefault(visual, []).append((token, weight))
        return {visual: sorted(rows, key=lambda row: -row[1]) for visual, rows in found.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "text": self.text.to_json(),
            "picture": self.picture.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any, trusted: Container[str] = ()) -> Alignment:
        """What `to_json` gave; `trusted` names models that may be loaded beside those of the package."""
        found = JsonObject(data, "an alignment")
        name, fingerprint = found.text("name", limits.MAX_PATH_CHARS), found.text("fingerprint")
        text = EncoderSpec.from_json(found.value("text"), trusted)
        picture = Model.from_json(found.value("picture"), trusted)
        found.end()
        if (text.kind, picture.encoder.kind) != ("text", "image") or picture.kind not in (None, "sae"):
            raise InvalidInput("an alignment leads from an encoder of texts to one of pictures with visual words")
        return cls(name, fingerprint, text, picture)


@lru_cache(maxsize=1)
def analyser() -> Analyser:
    """The words that heads and table know are those of the default analyser."""
    return Analyser(WordSettings())


def make_alignment(name: Any, kind: Literal["aligned", "translated"], encoders: Mapping[str, Any]) -> Alignment:
    """From what a caller may write; `encoders` may hold other text and image encoders than the default ones."""
    from zipfian.vocabulary.aligned import DEFAULT, AlignedHeads, TranslationTable, find

    chosen = str(DEFAULT if name is None else name)
    folder = find(chosen)
    if folder.name != chosen:  # a folder of the user's: found again from wherever the collection is opened
        chosen = str(folder.resolve())
    made: AlignedHeads | TranslationTable = (
        AlignedHeads.load(chosen) if kind == "aligned" else TranslationTable.load(chosen)
    )
    text: Encoder[Any] = encoders.get("text") or _trained_on(made.settings, "text") or TextEncoder()
    image: Encoder[Any] | None = encoders.get("image") or _trained_on(made.settings, "image")
    trained = inner(made.settings, "terms")
    vocabulary = encoders.get("vocabulary") or trained.get("vocabulary")
    if vocabulary is None:
        if isinstance(made, TranslationTable) or made.uses_terms or image is None:
            raise InvalidInput(f"the alignment {chosen} does not say which visual words it uses: get its folder again")
        picture, words = Model(register(image)), None
    else:
        # the visual words as heads and table were trained on them, however a visual field uses them by default
        use = {name: trained[name] for name in USE if name in trained and isinstance(vocabulary, str)}
        picture, loaded = sae_model("image", vocabulary, image, use)
        words = loaded.fingerprint
    if isinstance(made, AlignedHeads):
        made.check_encoders(text=text.fingerprint, image=picture.encoder.fingerprint)
    known = trained.get("fingerprint")
    if known is not None and words is not None and known != words:
        raise FingerprintMismatch(
            f"the alignment {chosen} was trained on the visual words {known}, this installation has {words}"
        )
    remember_alignment(made)
    return Alignment(chosen, made.fingerprint, register(text), picture)


def remember_alignment(made: AlignedHeads | TranslationTable) -> None:
    """Make heads or a table known to this process."""
    from zipfian.vocabulary.aligned import AlignedHeads

    with _LOCK:
        (_HEADS if isinstance(made, AlignedHeads) else _TABLES)[made.fingerprint] = made


def _trained_on(settings: Mapping[str, Any], what: Source) -> Encoder[Any] | None:
    """The encoder that heads were trained on, made again where their folder says how; None: it does not say."""
    spec = inner(settings, "encoders", what).get("spec")
    return None if spec is None else find_encoder(EncoderSpec.from_json(spec))


def check_source(source: Any, what: str) -> None:
    """A field between texts and pictures reads one of them."""
    if source not in ("text", "image"):
        raise InvalidInput(f"the source of {what} is 'text' or 'image', not {shown(source)}")
