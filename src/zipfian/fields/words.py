"""The words of the text."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

from zipfian.errors import FingerprintMismatch, InvalidInput
from zipfian.fields.item import Item
from zipfian.fields.lexical import LexicalField
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.types import FieldBatch, Token
from zipfian.vocabulary import Pruning, WordSettings
from zipfian.vocabulary import Words as Analyser


@lru_cache(maxsize=64)
def analyser(settings: WordSettings) -> Analyser:
    """One analyser per setting: it remembers the words it has seen."""
    return Analyser(settings)


@dataclass(frozen=True, init=False)
class Words(LexicalField):
    """The words of the text, as an analyser reads them: stemmed, folded, counted.

    Parameters
    ----------
    scoring
        The formula of its scores, BM25 by default.
    pruning
        Which of a document's words are kept; all by default.
    settings
        How a text becomes words, as a whole.
    analysis
        Or parts of `WordSettings` by name: `language`, `stem`, `stop_words` ...

    Raises
    ------
    InvalidInput
        `settings` and parts of them at once, or a part that `WordSettings` does not have.

    Examples
    --------
    >>> Words(language="german").settings.language
    'german'
    """

    settings: WordSettings

    kind: ClassVar[str] = "words"
    weight: ClassVar[float] = 1.0

    def __init__(
        self, *, scoring: Scoring | None = None, pruning: Pruning | None = None, settings: WordSettings | None = None,
        **analysis: Any,
    ) -> None:  # fmt: skip
        if settings is not None and analysis:
            raise InvalidInput("give either settings=WordSettings(...) or its fields, not both")
        if settings is None:
            try:
                settings = WordSettings(**analysis)
            except TypeError as e:
                raise InvalidInput(f"unknown word setting: {e}") from None
        self.settle(scoring=scoring or BM25(), pruning=pruning or Pruning(), settings=settings)

    def check(self) -> None:
        super().check()
        if not isinstance(self.settings, WordSettings):
            raise InvalidInput(f"settings must be WordSettings(...), not {self.settings!r:.80}")

    @property
    def analyser(self) -> Analyser:
        """What reads its texts and queries."""
        return analyser(self.settings)

    def counts(self, text: str) -> Mapping[str, int]:
        return self.analyser.counts(text)

    def spans(self, text: str, wanted: Collection[str]) -> Iterable[Token]:
        return self.analyser.spans(text, wanted)

    def asked(self, text: str) -> Mapping[str, float]:
        return self.analyser.query(text)

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        """As every lexical field, but the analyser counts many texts at once; arguments as for `LexicalField`."""
        return self.pruned(self.analyser.batch(i.counts.get(name, i.text or "") for i in items))

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "words": self.settings.to_json(), "fingerprint": self.analyser.fingerprint}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        made = cls.restored(**cls.common(found), settings=WordSettings.from_json(found.value("words")))
        built, here = found.text("fingerprint"), made.analyser.fingerprint
        if here != built:
            raise FingerprintMismatch(
                f"field {name!r} was built with the analyser {built}, this installation has {here}: "
                "install the same version of PyStemmer, or build the collection again"
            )
        return made
