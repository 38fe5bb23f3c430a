"""Verbs that look at what a collection holds, beside searching it: values, terms, likeness, reasons."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from zipfian.collection.absence import Absence, absence
from zipfian.collection.duplicates import Duplicates
from zipfian.collection.facets import Facet, chosen_columns
from zipfian.collection.results import Document, Results
from zipfian.collection.similar import similar
from zipfian.collection.terms import TermList, TermPage, VocabularyInfo
from zipfian.errors import InvalidInput, shown
from zipfian.explain.terms import compare
from zipfian.fields.query import Query
from zipfian.retrieve.validate import check_k, check_offset
from zipfian.types import Explanation, Terms

if TYPE_CHECKING:
    from zipfian.collection.collection import Collection


class Looking:
    """The part of `Collection` that looks around."""

    def documents(
        self, where: Mapping[str, Any] | None = None, limit: int | None = None, offset: int = 0
    ) -> Iterator[Document]:
        """The stored documents that a filter `where` allows, all without one, in document order.

        `offset` of them are passed over, and `limit` at most are given. They are read a few at a time, all as of one
        point in time, however many there are.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add({"id": f"n{year}", "metadata": {"year": year}} for year in range(2021, 2025))
        >>> _ = notes.commit()
        >>> [document.id for document in notes.documents({"year": {">": 2021}}, limit=2, offset=1)]
        ['n2023', 'n2024']
        """
        check_offset(offset, 1 if limit is None else check_k(limit))
        found = self._documents(where)
        return found if limit is None and not offset else itertools.islice(found, offset, limit and offset + limit)

    def facets(
        self, columns: Sequence[str] | None = None, where: Mapping[str, Any] | None = None, limit: int = 20
    ) -> dict[str, Facet]:  # fmt: skip
        """Values of metadata `columns`, all without names, and how many documents have each.

        Only documents that a filter `where` allows are counted; `limit` values of each column are listed. Dates are
        counted by years, `"2024"`, or by months, `"2024-05"`, where all lie in one year; a filter takes both.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add({"id": f"n{i}", "metadata": {"lang": lang}} for i, lang in enumerate(["en", "en", "de"]))
        >>> _ = notes.commit()
        >>> [(value.value, value.count) for value in notes.facets(["lang"])["lang"].values]
        [('en', 2), ('de', 1)]
        """
        me = cast("Collection", self)
        return self._facets(chosen_columns(columns, me.columns), where, check_k(limit))

    def similar(
        self, id: str, k: int = 10, where: Mapping[str, Any] | None = None, *, offset: int = 0, field: str | None = None
    ) -> Results:
        """The `k` documents nearest to the document `id`, without itself.

        What is stored of it becomes the query, so nothing is encoded: its latent terms where it has some, else its
        vector, its visual words or its words; or what `field` has of it. `where` and `offset` are as for `search`.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Cats sleep."}, {"id": "b", "text": "My cat eats."}, {"id": "c"}])
        >>> _ = notes.commit()
        >>> [hit.id for hit in notes.similar("a")]
        ['b']
        """
        check_offset(offset, check_k(k))
        return similar(cast("Collection", self), id, k, where, offset, field)

    def duplicates(self, threshold: float | None = None, *, field: str | None = None) -> list[Duplicates]:
        """Groups of documents that are the same, then groups of those that are nearly the same.

        The same are those of one picture file, or of one text apart from spaces. Nearly the same are those whose
        vectors have a cosine of at least `threshold`, or that such pairs tie together: by default what suits their
        encoder, 0.9, and 0.97 for gte-small. `field` names whose vectors, by default the first field's that has some.
        Without vectors only the same are found.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Cats sleep."}, {"id": "b", "text": "Cats  sleep."}, {"id": "c"}])
        >>> _ = notes.commit()
        >>> [group.ids for group in notes.duplicates()]
        [('a', 'b')]
        """
        return self._duplicates(threshold, field)

    def absence(
        self, query: Any, id: str, k: int = 10, where: Mapping[str, Any] | None = None, *, image: Any = None,
        **options: Any,
    ) -> Absence:  # fmt: skip
        """Where the document `id` stands among the `k` hits for a `query`, and what is missing where it is not.

        The other arguments are as for `search` (`options`: `fields`, `method`, `preset`, `scoring`, `query_encoder`,
        `adjust`).

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Plants make food."}, {"id": "b", "text": "Cats sleep."}])
        >>> _ = notes.commit()
        >>> notes.absence("food for plants", "b").reasons
        ['nothing in it matches the query', 'words: it lacks food, plant']
        """
        me = cast("Collection", self)
        made = Query.of(query, image, options.get("query_encoder"), options.get("adjust"))
        return absence(me, made, id, k, where, options, me.explain(made, id, **options))

    def why(self, query: Any, id_a: str, id_b: str, **options: Any) -> Explanation:
        """Which terms put `id_a` above `id_b` (or below): the difference of their scores, part by part.

        `query` and `options` are as for `explain`.
        """
        a, b = (cast("Collection", self).explain(query, i, **options) for i in (id_a, id_b))
        return compare(a, b, id_a, id_b)

    def term(self, field: str, term: str | int, k: int = 5) -> TermPage:
        """What a `term` of a `field` is: how many documents have it, the `k` in which it weighs most, its neighbours.

        A latent or visual term is named by its number, a word as it is indexed or written.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Cats, cats!"}, {"id": "b", "text": "My cat eats."}])
        >>> _ = notes.commit()
        >>> page = notes.term("words", "cats")
        >>> page.info.term, page.info.df, [document.id for document in page.documents]
        ('cat', 2, ['a', 'b'])
        """
        return self._term(field, term, check_k(k))

    def terms(self, field: str, find: str | None = None, limit: int = 50, offset: int = 0) -> TermList:
        """Terms of a `field` that documents have: the most frequent, or those whose label matches `find`.

        Of a field of words, those that begin with it. `limit` of them, `offset` passed over.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Cats eat."}, {"id": "b", "text": "Cats sleep."}])
        >>> _ = notes.commit()
        >>> [(term.term, term.df) for term in notes.terms("words", "ca").terms]
        [('cat', 2)]
        """
        check_offset(offset, check_k(limit))
        return self._terms(field, find, limit, offset)

    def vocabulary(self, field: str) -> VocabularyInfo:
        """How the terms of a `field` are spread over the documents: how many, and how frequent at which rank."""
        return self._vocabulary(field)

    def present(self, ids: Sequence[str]) -> list[bool]:
        """Which of these `ids` the last commit has, looked up together.

        Raises
        ------
        InvalidInput
            Something else than a list of strings.
        """
        if isinstance(ids, str) or not isinstance(ids, Sequence) or not all(isinstance(one, str) for one in ids):
            raise InvalidInput(f"present takes a list of ids, each a string, not {shown(ids)}")
        return self._present(ids)

    def terms_of(self, id: str, field: str) -> Terms | None:
        """The heaviest terms that are stored of document `id` in a `field` of numbered terms; None: it has none."""
        return self._terms_of(id, field)

    # -- an engine's own part

    def _documents(self, where: Mapping[str, Any] | None) -> Iterator[Document]:
        raise _not_here("listing documents")

    def _present(self, ids: Sequence[str]) -> list[bool]:
        raise _not_here("looking many ids up")

    def _facets(self, names: Sequence[str], where: Mapping[str, Any] | None, limit: int) -> dict[str, Facet]:
        raise _not_here("counting values")

    def _duplicates(self, threshold: float | None, field: str | None) -> list[Duplicates]:
        raise _not_here("finding duplicates")

    def _term(self, field: str, term: str | int, k: int) -> TermPage:
        raise _not_here("looking a term up")

    def _terms(self, field: str, find: str | None, limit: int, offset: int) -> TermList:
        raise _not_here("listing terms")

    def _vocabulary(self, field: str) -> VocabularyInfo:
        raise _not_here("counting terms")

    def _terms_of(self, id: str, field: str) -> Terms | None:
        return None


def _not_here(what: str) -> InvalidInput:
    return InvalidInput(f"{what} is for collections in a folder; do it in the one that this was copied from")
