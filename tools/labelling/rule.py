"""Lexical, narrow or broad, by a rule over a term's strongest firings.

The thresholds were set on a sample of 60 terms; agreement is reported on 200 others (judge.py).
"""

from __future__ import annotations

from typing import Any

from labelling.terms import REACH, Shape

SAME_FORM = 0.90
"""At least this share of one stem, one word piece or one beginning is one form: lexical."""
CUT_WORDS, CUT_FORM = 0.70, 0.52
"""Where most firing words are cut into pieces, a term is about letters rather than meaning, and a smaller share of one
piece is enough."""
MANY_STEMS = 9.0
"""Effective number of stems from which on a term is about a subject rather than a meaning."""
EMPTY_WORDS, ALIKE = 0.50, 0.10
"""A term that fires on function words or punctuation in contexts this alike is about the contexts."""

DESCRIPTION = (
    f"Over the words of a term's 100 strongest firings in the training text (contexts: {REACH} words on each side). "
    f"broad: at least {EMPTY_WORDS:.0%} of them are function words or punctuation and the mean cosine between contexts "
    f"is at least {ALIKE}. Otherwise lexical: the commonest stem, word piece or first four letters have a share of at "
    f"least {SAME_FORM:.0%}; or at least {CUT_WORDS:.0%} of the words are cut into several pieces and the commonest "
    f"stem or piece has at least {CUT_FORM:.0%}. Otherwise broad: the effective number of stems (exponential of their "
    f"entropy) is at least {MANY_STEMS:g}. Otherwise narrow."
)


def kind_of(shape: Shape) -> str:
    """The kind of one term."""
    if shape.function_share >= EMPTY_WORDS and shape.likeness >= ALIKE:
        return "broad"
    form = max(shape.stem_share, shape.piece_share)
    if max(form, shape.beginning_share) >= SAME_FORM:
        return "lexical"
    if shape.fragment_share >= CUT_WORDS and form >= CUT_FORM:
        return "lexical"
    return "broad" if shape.spread >= MANY_STEMS else "narrow"


def rule() -> dict[str, Any]:
    """The rule as it is kept with the labels."""
    return {
        "description": DESCRIPTION,
        "thresholds": {
            "same_form": SAME_FORM,
            "cut_words": CUT_WORDS,
            "cut_form": CUT_FORM,
            "many_stems": MANY_STEMS,
            "empty_words": EMPTY_WORDS,
            "alike": ALIKE,
        },
        "context_words": REACH,
    }
