"""The queries of a dataset made ready for one field: many at once, and pictures through the encode cache.

Tables score the same queries again and again. A picture that asks a field of vectors is encoded as a document would be,
so that its vector comes from the cache from the second time on; a picture that is a document somewhere else is never
encoded at all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zipfian.collection.encoding import Encoding
from zipfian.encode.cache import EncodingCache
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.methods import query_of
from zipfian.evaluate.queries import AT_ONCE
from zipfian.fields import Aligned, Field
from zipfian.fields.item import Item
from zipfian.fields.query import Query, encode_together


def ready(dataset: Dataset, field: Field, cache: EncodingCache | None = None) -> dict[str, Query]:
    """Query id -> question, encoded for the field; `cache` is the user's own unless given."""
    questions = {key: query_of(query) for key, query in dataset.queries.items()}
    if field.has_vectors and field.takes == "image":
        return _pictures(questions, field, EncodingCache() if cache is None else cache)
    encode_some(list(questions.values()), field)
    return questions


def encode_some(questions: Sequence[Query], field: Field) -> None:
    """The encoder's passes of texts, side by side; pictures have too many patches to keep those of all."""
    if field.takes == "text":
        for start in range(0, len(questions), AT_ONCE):
            encode_together(questions[start : start + AT_ONCE], [field])


def _pictures(questions: Mapping[str, Query], field: Field, cache: EncodingCache) -> dict[str, Query]:
    """Questions of the pictures' vectors, made by the field that has such pictures as documents."""
    name = "asked"
    made = field.changed(source="image") if isinstance(field, Aligned) else field.changed(vector=None)
    items = [Item(key, None, {}, {}, {}, 0, image=question.image) for key, question in questions.items()]
    problems = Encoding({name: made}, cache).fill(items)
    if problems:
        raise problems[min(problems)]
    return {item.id: Query(item.vectors[name]) for item in items}
