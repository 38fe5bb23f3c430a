"""Pairs of a picture and a word, and ways of putting both together."""

from __future__ import annotations

from collections import Counter

import numpy as np

from experiments.together import EACH, pairs_of, ways


def test_pairs_are_of_words_that_some_of_the_nearest_have() -> None:
    """Ten pictures in a circle; `red` stands in the captions of five, `rare` of two, `once` once in each."""
    words = [Counter({"once": 1}) for _ in range(10)]
    for j in range(5):
        words[j]["red"] = 2
    words[6]["rare"] = words[7]["rare"] = 3
    nearest = np.array([[(i + 1) % 10, (i + 9) % 10] for i in range(10)])
    found = pairs_of(words, nearest)
    assert found == [(5, "red"), (9, "red")], "beside a red picture, and not red"
    assert EACH >= 1


def test_what_pleases_one_side_alone_is_not_first() -> None:
    seen, near, text = (np.array(z, np.float32) for z in ([9.0, 2.0, -1.0], [9.0, 2.0, -1.0], [-1.0, 2.0, 9.0]))
    first = {name: int(score.argmax()) for name, score in ways(seen, near, text).items()}
    assert (first["picture alone"], first["words alone"]) == (0, 2)
    assert first["sum (before)"] != 1
    assert {first[name] for name in ("lesser of both sides", "both sides", "search")} == {1}
