"""`FolderCollection`: a collection whose files are in a folder of this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.collection.ahead import Waiting
from zipfian.collection.collection import Collection
from zipfian.collection.duplicates import Duplicates, find_duplicates
from zipfian.collection.facets import Facet, count_column
from zipfian.collection.items import check_id, check_vector_name
from zipfian.collection.opening import check_bytes, directory_of
from zipfian.collection.results import Document
from zipfian.collection.retrievers import make_retriever
from zipfian.collection.search import FolderAnswers
from zipfian.collection.searcher import Searcher
from zipfian.collection.settings import Settings
from zipfian.collection.similar import heaviest_terms
from zipfian.collection.store import Existing, Skipped, Store
from zipfian.collection.terms import TermList, TermPage, VocabularyInfo, term_list, term_page, vocabulary_info
from zipfian.collection.transforms import finder, keep, problems
from zipfian.collection.trust import Trust
from zipfian.encode.cache import EncodingCache
from zipfian.errors import InvalidInput, ReadOnly
from zipfian.fields.base import Field
from zipfian.fields.item import Item
from zipfian.fields.named import make_fields
from zipfian.fields.query import Query
from zipfian.index.check import CheckReport, check
from zipfian.index.commit import Writer
from zipfian.index.segment import SegmentReader
from zipfian.index.snapshot import Snapshot, is_newest
from zipfian.retrieve.scoring import Scoring
from zipfian.storage.directory import FSDirectory
from zipfian.types import Explanation, Terms


class FolderCollection(Collection):
    """A collection in a folder: one writer at a time, any number of readers; `Collection` says what each verb does."""

    def __init__(
        self,
        directory: FSDirectory,
        writer: Writer | None,
        scoring: Mapping[str, Scoring] | None,
        generation: int | None,
        memory_bytes: int,
        cache_bytes: int | None,
        encodings: EncodingCache | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Use `Collection.create` or `Collection.open`."""
        self._directory = directory
        self._trust = (Trust() if trust is None else trust).beside(str(directory))
        self._scoring = dict(scoring or {})
        self._cache_bytes = cache_bytes
        self._lock = threading.RLock()
        self._closed = False
        self._current = FolderAnswers(self._look(generation))
        settings = self._settings(self._searcher.snapshot)
        opened = self._searcher.snapshot.segments
        self._store = None if writer is None else Store(directory, writer, settings, memory_bytes, encodings, opened)

    @classmethod
    def make_new(
        cls, path: Any, fields: Sequence[str] | Mapping[str, Field] | None, memory_bytes: int, cache_bytes: int | None,
        encodings: EncodingCache | None, trust: Trust,
    ) -> FolderCollection:  # fmt: skip
        """A new one, open for writing."""
        chosen = Settings(make_fields(fields))
        check_bytes(memory_bytes=memory_bytes, cache_bytes=0 if cache_bytes is None else cache_bytes)
        directory = directory_of(path)
        writer = Writer(directory, create=True, settings=chosen.to_json())
        try:
            keep(directory, chosen.fields)
        except BaseException:
            writer.close()
            raise
        return cls._make(directory, writer, None, None, memory_bytes, cache_bytes, encodings, trust)

    @classmethod
    def open_old(
        cls, path: Any, write: bool, scoring: Mapping[str, Scoring] | None, generation: int | None, memory_bytes: int,
        cache_bytes: int | None, encodings: EncodingCache | None, trust: Trust,
    ) -> FolderCollection:  # fmt: skip
        """One that is there."""
        check_bytes(memory_bytes=memory_bytes, cache_bytes=0 if cache_bytes is None else cache_bytes)
        directory = directory_of(path)
        writer = Writer(directory) if write else None
        return cls._make(directory, writer, scoring, generation, memory_bytes, cache_bytes, encodings, trust)

    @classmethod
    def _make(cls, directory: FSDirectory, writer: Writer | None, *rest: Any) -> FolderCollection:
        try:
            return cls(directory, writer, *rest)
        except BaseException:
            if writer is not None:
                writer.close()
            raise

    def _look(self, generation: int | None = None, known: Iterable[SegmentReader] = ()) -> Searcher:
        snapshot = Snapshot.open(self._directory, generation, {one.id: one for one in known})
        return Searcher(snapshot, self._settings(snapshot).with_scoring(self._scoring), self._cache_bytes)

    def _settings(self, snapshot: Snapshot) -> Settings:
        known = Settings.from_json(snapshot.settings, str(self._directory), self._trust)
        return known.finding(finder(self._directory))

    # -- writing ---------------------------------------------------------------------------------------------------

    def _put(
        self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None, skipped: Skipped | None
    ) -> int:
        with self._lock:
            return self._writing().put(items, existing, progress, skipped)

    def ahead(self, texts: Sequence[str]) -> Waiting:
        return self._writing().encoding.ahead(texts)  # without the lock, which `add` holds meanwhile

    def _update(self, items: Iterable[Any], progress: Callable[[int], None] | None) -> int:
        with self._lock:
            return self._writing().update(items, progress)

    def _put_stored(self, items: Iterable[Item], existing: Existing, progress: Callable[[int], None] | None) -> int:
        with self._lock:
            return self._writing().put_stored(items, existing, progress)

    def _delete(self, ids: Iterable[Any]) -> int:
        with self._lock:
            return self._writing().delete(ids)

    def _delete_where(self, where: Mapping[str, Any]) -> int:
        with self._lock:
            return self._writing().delete_where(where)

    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        with self._lock:
            store = self._writing()
            generation = store.commit(user)
            if generation != self._searcher.generation:
                self._current = FolderAnswers(self._look(known=store.readers.values()))
            return generation

    def rollback(self) -> None:
        with self._lock:
            self._writing().rollback()

    def merge(self, max_segments: int = 1) -> None:
        with self._lock:
            self._writing().merge(max_segments)

    def _add_field(
        self, name: str, field: Field, terms: Mapping[str, Any] | None, progress: Callable[[int], None] | None
    ) -> None:
        with self._lock:
            self._writing().add_field(name, field, terms, progress)

    # -- reading ---------------------------------------------------------------------------------------------------

    def _answers(self) -> FolderAnswers:
        self.searcher()
        return self._current

    def _score(
        self,
        field: str,
        query: Query,
        ids: Sequence[str],
        where: Mapping[str, Any] | None,
        scoring: Scoring | None,
    ) -> npt.NDArray[np.float64]:
        searcher = self.searcher()
        searcher.settings.read(query)
        query.check(field, searcher.settings.field(field))
        prepared = make_retriever(searcher, field, query, scoring)
        docs = searcher.numbers(ids)
        scores = prepared.score(docs)
        mask = searcher.mask(where)
        if mask is not None:
            scores[~mask[docs]] = np.nan
        return scores

    def _explain(self, query: Query, doc_id: str, how: Mapping[str, Any]) -> Explanation:
        return self._answers().explain(query, doc_id, how)

    def _facets(self, names: Sequence[str], where: Mapping[str, Any] | None, limit: int) -> dict[str, Facet]:
        searcher = self.searcher()
        mask = searcher.mask(where)
        return {name: count_column(searcher, mask, name, limit) for name in names}

    def _duplicates(self, threshold: float | None, field: str | None) -> list[Duplicates]:
        return find_duplicates(self.searcher(), threshold, field)

    def _term(self, field: str, term: str | int, k: int) -> TermPage:
        return term_page(self.searcher(), field, term, k)

    def _terms(self, field: str, find: str | None, limit: int, offset: int) -> TermList:
        return term_list(self.searcher(), field, find, limit, offset)

    def _vocabulary(self, field: str) -> VocabularyInfo:
        return vocabulary_info(self.searcher(), field)

    def _terms_of(self, id: str, field: str) -> Terms | None:
        searcher = self.searcher()
        return heaviest_terms(searcher, searcher.number(id), field)

    def get(self, id: str) -> Document | None:
        searcher = self.searcher()
        number = int(searcher.find([check_id(id)])[0])
        return None if number < 0 else searcher.document(number)

    def picture(self, id: str) -> bytes | None:
        found = self.get(id)
        return None if found is None else self._trust.picture(found.metadata)

    def vector(self, id: str, name: str = "default") -> npt.NDArray[np.float32] | None:
        searcher = self.searcher()
        return searcher.vector(searcher.number(id), check_vector_name(name))

    def ids(self) -> Iterator[str]:
        return self.searcher().ids()

    def _documents(self, where: Mapping[str, Any] | None = None) -> Iterator[Document]:
        searcher = self.searcher()
        return searcher.documents(searcher.mask(where))

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        searcher = self.searcher()
        return searcher.count(searcher.mask(where))

    def _present(self, ids: Sequence[str]) -> list[bool]:
        found: list[bool] = (self.searcher().find(ids) >= 0).tolist()
        return found

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.searcher().find([id])[0] >= 0)

    @property
    def generation(self) -> int:
        return self.searcher().generation

    @property
    def user(self) -> Mapping[str, Any]:
        return self.searcher().snapshot.user

    @property
    def columns(self) -> Mapping[str, str]:
        return dict(self.searcher().settings.columns)

    @property
    def fields(self) -> Mapping[str, Field]:
        return dict(self.searcher().settings.fields)

    def searcher(self) -> Searcher:
        if self._closed:
            raise InvalidInput("this collection is closed; open it again")
        return self._searcher

    def refresh(self) -> int:
        with self._lock:
            if is_newest(self._directory, self.searcher().generation):
                return self._searcher.generation
            newest = self._look(known=self._searcher.snapshot.segments)
            if newest.generation != self._searcher.generation:
                self._current = FolderAnswers(newest)
            return self._searcher.generation

    def stats(self) -> dict[str, Any]:
        from zipfian.collection.stats import collect

        return collect(self.searcher())

    def check(self) -> CheckReport:
        report = check(self._directory)
        report.problems += problems(self._directory, self.fields)
        return report

    def close(self) -> None:
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._store is not None:
                    self._store.writer.close()

    def _place(self) -> str:
        return str(self._directory)

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"generation {self._searcher.generation}, {len(self._searcher)} documents"
        return f"<Collection {str(self._directory)!r}: {state}>"

    def _writing(self) -> Store:
        self.searcher()
        if self._store is None:
            raise ReadOnly("this collection is open for reading: Collection.open(path, mode='w')")
        if self._store.writer.closed:
            raise InvalidInput("a failed commit ended writing here: close this collection and open it again")
        return self._store

    @property
    def _searcher(self) -> Searcher:
        return self._current.searcher
