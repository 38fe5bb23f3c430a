"""What visual words are called: by the words that translate to them, since nobody has named them."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from zipfian.fields.places import shows
from zipfian.objects import inner
from zipfian.vocabulary.aligned import DEFAULT, TranslationTable

if TYPE_CHECKING:
    from zipfian.vocabulary.sae import SaeVocabulary

NAMED_BY = 3
"""Words that name a visual word at most, and only those with at least half the weight of the strongest."""
_FAINT = 0.5


def visual_label(vocabulary: SaeVocabulary, term: int, table: TranslationTable | None = None) -> str:
    """A visual word by the words of a table that stand for it; by default those of the table that ships.

    Where the vocabulary has labels of its own, they are better. Where no word stands for it, it keeps its number, and
    only its patches can show what it is.
    """
    if vocabulary.labels is not None:
        return vocabulary.label(term)
    fitting = _shipped() if table is None else table
    known = inner(fitting.settings, "terms").get("sha256") == vocabulary.to_json()["sha256"]
    names: list[str] = []
    strongest = 0.0
    for word, weight in fitting.words_of(term) if known else ():
        if weight < _FAINT * strongest or len(names) == NAMED_BY:
            break
        if shows(word):
            names, strongest = [*names, word], strongest or weight
    return f"looks like {', '.join(names)}" if names else vocabulary.label(term)


@lru_cache(maxsize=1)
def _shipped() -> TranslationTable:
    return TranslationTable.load(DEFAULT)
