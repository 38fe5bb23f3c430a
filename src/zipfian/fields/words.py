"""The words of the text."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

from zipfian import limits
from zipfian.errors import FingerprintMismatch, InvalidInput, shown
from zipfian.fields.base import Weights
from zipfian.fields.item import Item, Stored
from zipfian.fields.lexical import LexicalField
from zipfian.fields.rows import PASSAGE, SMALLEST, Rows
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Scoring
from zipfian.types import FieldBatch, Token
from zipfian.vocabulary import Pruning, WordSettings
from zipfian.vocabulary import Words as Analyser
from zipfian.vocabulary.stemming import AUTO

if TYPE_CHECKING:
    from zipfian.fields.query import Query


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
    passages
        A text of more than four times so many characters is counted by passages of that size, and found by the best;
        0: every text is counted as a whole. Collections on a cluster keep every text whole.
    analysis
        Or parts of `WordSettings` by name: `language` (`auto` unless given: each text's own), `stem`, `stop_words` ...

    Raises
    ------
    InvalidInput
        `settings` and parts of them at once, or a part that `WordSettings` does not have, or passages of no
        size.

    Examples
    --------
    >>> Words(language="german").settings.language
    'german'
    """

    settings: WordSettings
    passages: int
    """Characters of a passage of a long text; 0: every text is one row."""

    kind: ClassVar[str] = "words"

    @property
    def weight(self) -> float:
        return 1.0

    def __init__(
        self, *, scoring: Scoring | None = None, pruning: Pruning | None = None, settings: WordSettings | None = None,
        passages: int = PASSAGE, **analysis: Any,
    ) -> None:  # fmt: skip
        if settings is not None and analysis:
            raise InvalidInput("give either settings=WordSettings(...) or its fields, not both")
        if settings is None:
            try:
                settings = WordSettings(**{"language": AUTO} | analysis)
            except TypeError as e:
                raise InvalidInput(f"unknown word setting: {e}") from None
        self.settle(scoring=scoring or BM25(), pruning=pruning or Pruning(), settings=settings, passages=passages)

    def check(self) -> None:
        super().check()
        if not isinstance(self.settings, WordSettings):
            raise InvalidInput(f"settings must be WordSettings(...), not {self.settings!r:.80}")
        if self.passages != 0 and (
            type(self.passages) is not int or not SMALLEST <= self.passages <= limits.MAX_TEXT_CHARS
        ):
            raise InvalidInput(
                f"passages={shown(self.passages)}: a passage has {SMALLEST} to {limits.MAX_TEXT_CHARS:,} characters; "
                "0 counts every text as a whole"
            )

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

    @property
    def asks_language(self) -> bool:
        return self.settings.language == AUTO

    def spans_of(self, stored: Stored, wanted: Collection[str]) -> Iterable[Token]:
        return self.analyser.spans(stored.text or "", wanted, stored.language)

    def counts_of(self, item: Item) -> Mapping[str, int]:
        return self.analyser.counts(item.text or "", item.language)

    def terms_of(self, query: Query) -> Weights:
        return self.analyser.query(query.text or "", query.language)

    def whole_of(self, query: Query) -> Weights:
        return self.analyser.query(query.text or "", query.language, whole=True)

    def batch(self, name: str, items: Iterable[Item]) -> FieldBatch:
        """As every lexical field (`name` and `items`), but the analyser counts many texts at once, and long ones by
        passage."""
        rows = Rows(name, self.passages)
        one, two = itertools.tee(rows.read(items))  # read side by side, so that texts of a stream are not kept
        languages = (language for _, language in two) if self.asks_language else None
        if languages is None:
            del two
        counted = self.analyser.batch((text for text, _ in one), languages)
        return replace(self.pruned(counted), passages=rows.passages)

    def to_json(self) -> dict[str, Any]:
        own = {"words": self.settings.to_json(), "passages": self.passages, "fingerprint": self.analyser.fingerprint}
        return {**super().to_json(), **own}

    @classmethod
    def from_json(cls, name: str, found: JsonObject, trusted: Container[str] = ()) -> Self:
        settings = WordSettings.from_json(found.value("words"))
        passages = found.whole("passages", 0, limits.MAX_TEXT_CHARS)
        made = cls.restored(**cls.common(found), settings=settings, passages=passages)
        built, here = found.text("fingerprint"), made.analyser.fingerprint
        if here != built:
            raise FingerprintMismatch(
                f"field {name!r} was built with the analyser {built}, this installation has {here}: "
                "install the same version of PyStemmer, or build the collection again"
            )
        return made
