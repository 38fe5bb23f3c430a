"""Dictionaries of words: small ones are read at once, large ones where they lie, and both find the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.index import terms
from zipfian.index.terms import WordTerms

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6).map(str.encode)


@given(st.lists(words, unique=True, max_size=40), st.lists(words, max_size=10))
def test_a_word_is_found_where_it_stands(there: list[bytes], others: list[bytes]) -> None:
    ordered = sorted(there)
    for small in (0, len(ordered) - 1, len(ordered)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(terms, "_SMALL", small)
            made = WordTerms.from_raw(ordered)
            for key in [*there, *others, b""]:
                assert made.position(key) == sum(word < key for word in ordered)
                assert made.lookup(key.decode()) == (ordered.index(key) if key in ordered else -1)
            assert ("_words" in vars(made)) == (small >= len(ordered))
