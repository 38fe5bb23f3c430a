"""The queries of a dataset made ready for one leg: many at once, and pictures through the encode cache.

Tables score the same queries again and again. A picture that asks a leg of vectors is encoded as a document would be,
so that its vector comes from the cache from the second time on; a picture that is a document somewhere else is never
encoded at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zipfian.collection.encoding import Encoding
from zipfian.collection.items import Item
from zipfian.collection.legs import Leg
from zipfian.collection.model import Model
from zipfian.collection.question import Question, encode_together
from zipfian.encode.cache import EncodingCache
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import asked
from zipfian.evaluate.questions import AT_ONCE


def ready(dataset: Dataset, leg: Leg, cache: EncodingCache | None = None) -> dict[str, Question]:
    """Query id -> question, encoded for the leg; `cache` is the user's own unless given."""
    questions = {key: asked(query) for key, query in dataset.queries.items()}
    if leg.has_vectors and leg.asks_for == "image":
        return _pictures(questions, leg, EncodingCache() if cache is None else cache)
    encode_some(list(questions.values()), leg)
    return questions


def encode_some(questions: Sequence[Question], leg: Leg) -> None:
    """The encoder's passes of texts, side by side; pictures have too many patches to keep those of all."""
    if leg.asks_for == "text":
        for start in range(0, len(questions), AT_ONCE):
            encode_together(questions[start : start + AT_ONCE], [leg])


def _pictures(questions: Mapping[str, Question], leg: Leg, cache: EncodingCache) -> dict[str, Question]:
    """Questions of the pictures' vectors, made by the leg that has such pictures as documents."""
    name = "asked"
    made = replace(leg, vector=None) if leg.align is None else replace(leg, model=Model(leg.align.picture.encoder))
    items = [Item(key, None, {}, {}, {}, 0, image=question.image) for key, question in questions.items()]
    problems = Encoding({name: made}, cache).fill(items)
    if problems:
        raise problems[min(problems)]
    return {item.id: Question(item.vectors[name]) for item in items}
