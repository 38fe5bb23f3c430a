"""The settings of the `words` vocabulary: frozen, validated, stored in the manifest of a collection."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from zipfian import limits
from zipfian.errors import InvalidInput, shown
from zipfian.objects import JsonObject
from zipfian.vocabulary.stemming import AUTO, NONE, language_name
from zipfian.vocabulary.stopwords import STOP_WORDS

_GRAMS = (0, 3, 4, 5, 6)


@dataclass(frozen=True, slots=True)
class WordSettings:
    """How texts become words. Equal settings give equal terms.

    Parameters
    ----------
    language
        A language (`english`, `german` ...), its ISO 639-1 code, `none`, or `auto`: each text's own. It chooses the
        stemmer, the stop list and what an apostrophe means; words of other languages in the text are still found as
        they are. A text in no language has neither stems nor stop words.
    stem
        Reduce words to their stem, so that `cells` finds `cell`, in the languages that have a stemmer.
    stop_words
        Function words: the language's own (`True`; none for a language without a list), a tuple of words, or none
        (`False`). They are indexed all the same, but a query ignores them wherever it has other terms: measured
        better than leaving them out of the index, and `to be or not to be` can still be found.
    drop_stop_words
        Leave stop words out of the index too: a quarter fewer postings, but they can never be found.
    fold_accents
        `café` is found by `cafe`.
    keep_numbers
        Whether terms without a letter are kept.
    join_compounds
        Index `e-mail` as `e`, `mail` and `email`, and `foo_bar` as `foo`, `bar` and `foobar`; otherwise only the parts.
    grams
        Also index every run of so many letters (3 to 6) inside the stems, and search for them at a fifth of a word's
        weight: `Fahrzeug` finds `Kraftfahrzeuge`. About three times as many postings; 0 leaves them out.

    Raises
    ------
    InvalidInput
        An unknown language, a setting of the wrong type, or stop words that no list has.

    Examples
    --------
    >>> WordSettings(language="de").language
    'german'
    """

    language: str = "english"
    stem: bool = True
    stop_words: bool | tuple[str, ...] = True
    drop_stop_words: bool = False
    fold_accents: bool = True
    keep_numbers: bool = True
    join_compounds: bool = True
    grams: int = 0

    kind: ClassVar[str] = "words"
    version: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "language", language_name(self.language))
        for name in ("stem", "drop_stop_words", "fold_accents", "keep_numbers", "join_compounds"):
            if not isinstance(getattr(self, name), bool):
                raise InvalidInput(f"{name} must be True or False, not {shown(getattr(self, name))}")
        if type(self.grams) is not int or self.grams not in _GRAMS:
            raise InvalidInput(f"grams must be 0 or 3 to 6 letters, not {shown(self.grams)}")
        if self.stem and self.language == NONE:
            raise InvalidInput("language 'none' has no stemmer: set stem=False, or name a language")
        object.__setattr__(self, "stop_words", self._checked_stop_words())

    def _checked_stop_words(self) -> bool | tuple[str, ...]:
        given: object = self.stop_words
        if isinstance(given, bool):
            if given and self.drop_stop_words and self.language not in (AUTO, *STOP_WORDS):
                raise InvalidInput(
                    f"zipfian has no stop list for {self.language!r} (it has {', '.join(sorted(STOP_WORDS))}): "
                    "pass your own words as a tuple"
                )
            return given
        if not isinstance(given, (tuple, list, set, frozenset)):
            raise InvalidInput(f"stop_words must be True, False or a tuple of words, not {shown(given)}")
        if len(given) > limits.MAX_STOP_WORDS:
            raise InvalidInput(f"{len(given):,} stop words are more than the limit of {limits.MAX_STOP_WORDS:,}")
        for word in given:
            if not isinstance(word, str) or not word.strip():
                raise InvalidInput(f"a stop word must be a non-empty string, not {shown(word)}")
        return tuple(sorted(set(given)))

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; without `grams` as settings were before there were any, and so are their fingerprints."""
        values = {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()}
        if not self.grams:
            del values["grams"]
        return {"kind": self.kind, "version": self.version, **values}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> WordSettings:
        """Settings from `values` that `to_json` wrote; anything else is refused rather than guessed."""
        found = JsonObject(values, "words settings")
        found.choice("kind", [cls.kind])
        found.version(cls.version)
        given = found.rest([field.name for field in fields(cls)])
        if isinstance(given.get("stop_words"), list):
            given["stop_words"] = tuple(given["stop_words"])
        return cls(**given)
