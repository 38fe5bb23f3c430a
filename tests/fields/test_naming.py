"""What visual words are called."""

from __future__ import annotations

import numpy as np

from zipfian.fields import Visual
from zipfian.fields.naming import visual_label
from zipfian.vocabulary.aligned import TranslationTable


def test_by_the_words_that_translate_to_them() -> None:
    vocabulary = Visual().vocabulary
    settings = {"terms": {"sha256": vocabulary.to_json()["sha256"]}}
    rows = {"the": 9.0, "sand": 8.0, "beach": 5.0, "sea": 4.0, "kite": 4.0, "dog": 3.9}
    table = TranslationTable(
        {word: row for row, word in enumerate(rows)},
        np.full((len(rows), 1), 7, np.uint16),
        np.array([[weight] for weight in rows.values()], np.float32),
        settings,
    )
    assert visual_label(vocabulary, 7, table) == "looks like sand, beach, kite", "no function word, three at most"
    assert visual_label(vocabulary, 8, table) == "visual word 8", "no word stands for it: its patches must show it"
    other = TranslationTable(table.words, table.term_ids, table.term_weights, {"terms": {"sha256": "another"}})
    assert visual_label(vocabulary, 7, other) == "visual word 7", "a table of other visual words says nothing"


def test_faint_words_do_not_name() -> None:
    vocabulary = Visual().vocabulary
    table = TranslationTable(
        {"sand": 0, "beach": 1},
        np.full((2, 1), 7, np.uint16),
        np.array([[8.0], [3.9]], np.float32),
        {"terms": {"sha256": vocabulary.to_json()["sha256"]}},
    )
    assert visual_label(vocabulary, 7, table) == "looks like sand"


def test_the_table_that_ships_names_most_of_those_that_ship() -> None:
    field = Visual()
    names = [field.label(term) for term in range(0, field.n_terms, 97)]
    assert sum(name.startswith("looks like ") for name in names) > 0.9 * len(names)
