"""`Collection`: a folder of documents that can be searched. The one class most users need."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
import numpy.typing as npt

from zipfian.collection import search as searching
from zipfian.collection.following import Synced, follow
from zipfian.collection.items import check_id
from zipfian.collection.legquery import leg_query
from zipfian.collection.legs import Leg, make_legs
from zipfian.collection.model import QueryMode
from zipfian.collection.opening import cache_of, check_bytes, directory_of, engine_of
from zipfian.collection.plan import make_plan
from zipfian.collection.question import Question
from zipfian.collection.results import Document, Hit, Results
from zipfian.collection.settings import Settings
from zipfian.collection.shortlists import Shortlists
from zipfian.collection.store import Existing, Skipped, Store
from zipfian.collection.transforms import finder, keep, problems
from zipfian.collection.trust import Trust
from zipfian.collection.view import View
from zipfian.encode.cache import EncodingCache
from zipfian.encode.images import ImageSource
from zipfian.errors import InvalidInput, ReadOnly, shown
from zipfian.explain.terms import compare
from zipfian.fuse.methods import Method
from zipfian.index.check import CheckReport, check
from zipfian.index.commit import Writer
from zipfian.index.directory import FSDirectory
from zipfian.index.snapshot import Snapshot
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.retrieve.scoring import Scoring
from zipfian.retrieve.validate import check_k
from zipfian.types import Explanation

CACHE_BYTES = 1 << 29
MEMORY_BYTES = 1 << 28


class Collection:
    """A durable collection of documents in a folder, searchable by words and by ready-made sparse vectors.

    One writer at a time (mode 'w', an OS lock), any number of readers. Searches see the last commit, or the one that
    was newest when the collection was opened for reading; `refresh` moves on. Every result keeps its snapshot.

    Examples
    --------
    >>> import tempfile, zipfian as zf
    >>> path = tempfile.mkdtemp() + "/notes.zf"
    >>> with zf.Collection.create(path) as notes:
    ...     _ = notes.add([{"id": "a", "text": "Plants make food from light."}, {"id": "b", "text": "Cats sleep."}])
    ...     _ = notes.commit()
    ...     [hit.id for hit in notes.search("how do plants make food?")]
    ['a']
    """

    def __init__(
        self,
        directory: FSDirectory,
        writer: Writer | None,
        scoring: Mapping[str, Scoring] | None,
        generation: int | None,
        memory_bytes: int,
        cache_bytes: int,
        encodings: EncodingCache | None = None,
        trust: Trust | None = None,
    ) -> None:
        """Use `create` or `open`."""
        self._directory = directory
        self._trust = Trust() if trust is None else trust
        self._scoring = dict(scoring or {})
        self._cache_bytes = cache_bytes
        self._lock = threading.RLock()
        self._closed = False
        # kept beside the view, not in it: what refers to itself would keep a snapshot's files from being removed
        self._current: tuple[View, Shortlists[Any]] = (self._look(generation), Shortlists())
        settings = self._settings(self._view.snapshot)
        self._store = Store(directory, writer, settings, memory_bytes, encodings) if writer is not None else None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        legs: Sequence[str] | Mapping[str, Leg] | None = None,
        *,
        memory_bytes: int = MEMORY_BYTES,
        cache_bytes: int = CACHE_BYTES,
        encodings: EncodingCache | bool = True,
        pictures: Any = (),
        **engine: Any,
    ) -> Collection:
        """Make a new collection, open for writing.

        Parameters
        ----------
        path
            A folder that does not exist or is empty; or an address such as `opensearch://host:9200/name`, which gives
            a collection in that cluster with the same verbs.
        legs
            Ways to find a document: `["words"]` (the default), `["words", "latent"]` to understand texts as well,
            `["visual", "dense"]` for pictures, or names with settings such as
            `{"words": Leg.words(language="german"), "codes": Leg.terms(18_432)}`.
        memory_bytes
            Documents are written to disk when about so much is waiting in memory.
        cache_bytes
            Decoded posting lists kept in memory per leg.
        encodings
            Where results of encoders are kept so that nothing is encoded twice: a cache, True for the user's own, or
            False for none.
        pictures
            Folders that stored pictures may be read from again; see `open`.
        engine
            Settings of the other engine, such as shards and replicas; a folder has none.
        """
        other = engine_of(path, engine)
        if other is not None:
            made: Collection = other.create(path, legs, encodings=encodings, pictures=pictures, **engine)
            return made
        chosen, trust = Settings(make_legs(legs)), Trust.of((), pictures)
        check_bytes(memory_bytes=memory_bytes, cache_bytes=cache_bytes)
        directory = directory_of(path)
        writer = Writer(directory, create=True, settings=chosen.to_json())
        try:
            keep(directory, chosen.legs)
        except BaseException:
            writer.close()
            raise
        return cls._make(directory, writer, None, None, memory_bytes, cache_bytes, cache_of(encodings), trust)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Literal["r", "w"] = "r",
        *,
        scoring: Mapping[str, Scoring] | None = None,
        generation: int | None = None,
        memory_bytes: int = MEMORY_BYTES,
        cache_bytes: int = CACHE_BYTES,
        encodings: EncodingCache | bool = True,
        trust: Any = (),
        pictures: Any = (),
        **engine: Any,
    ) -> Collection:
        """Open the collection at `path` for reading (`mode` 'r') or for reading and writing ('w').

        `scoring` replaces the formula of legs by name for as long as it is open: nothing is re-indexed. Another phi
        costs one pass over the leg's postings at the first search. `generation` opens an older commit for reading.
        `memory_bytes`, `cache_bytes` and `encodings` are as for `create`.
        An address such as `opensearch://host:9200/name` opens a collection in that cluster; `engine` are its settings.

        What a collection names outside its folder is not opened because it says so. `trust` lists what it may load
        beside the models of the package: names of the hub, folders of models and vocabularies, or loaded ones. Pictures
        are opened again, for explanations, if they are what was indexed, or in the folders that `pictures` names.
        """
        other = engine_of(path, engine)
        if other is not None:
            if scoring is not None or generation is not None:
                raise InvalidInput("a collection in a cluster has one formula per leg and no older generations")
            found: Collection = other.open(path, mode, encodings=encodings, trust=trust, pictures=pictures, **engine)
            return found
        if not isinstance(mode, str) or mode not in ("r", "w"):
            raise InvalidInput(f"mode must be 'r' or 'w', not {shown(mode)}")
        if mode == "w" and generation is not None:
            raise InvalidInput("an older generation can only be read: use zipfian.index.restore to go back to it")
        if scoring is not None and not isinstance(scoring, Mapping):
            raise InvalidInput(f"scoring must name the legs, such as {{'words': BM25(...)}}, not {shown(scoring)}")
        check_bytes(memory_bytes=memory_bytes, cache_bytes=cache_bytes)
        directory = directory_of(path)
        allowed = Trust.of(trust, pictures)
        writer = Writer(directory) if mode == "w" else None
        return cls._make(
            directory, writer, scoring, generation, memory_bytes, cache_bytes, cache_of(encodings), allowed
        )

    @classmethod
    def _make(cls, directory: FSDirectory, writer: Writer | None, *rest: Any) -> Collection:
        try:
            return cls(directory, writer, *rest)
        except BaseException:
            if writer is not None:
                writer.close()
            raise

    def _look(self, generation: int | None = None) -> View:
        snapshot = Snapshot.open(self._directory, generation)
        return View(snapshot, self._settings(snapshot).with_scoring(self._scoring), self._cache_bytes)

    def _settings(self, snapshot: Snapshot) -> Settings:
        known = Settings.from_json(snapshot.settings, str(self._directory), self._trust)
        return known.finding(finder(self._directory))

    # -- writing ---------------------------------------------------------------------------------------------------

    def add(
        self, items: Iterable[Mapping[str, Any]], existing: Existing = "error",
        progress: Callable[[int], None] | None = None, skipped: Skipped | None = None,
    ) -> int:  # fmt: skip
        """Take in documents, `items`; returns how many. They become searchable, and durable, with `commit`.

        A document is a mapping with `id` (string) and any of `text`, `image` (a path, the bytes of a file or pixels),
        `terms` ({leg: Terms}), `vector`, `metadata`. Any iterable will do: memory stays bounded. `existing` says what
        happens to ids already there; with 'skip', a run that was interrupted can simply be repeated. `progress` is
        called with the number taken so far. A document that cannot be taken, such as a damaged picture, is an error
        that names it; with `skipped`, that is called with its id and the error instead, and the rest goes on.
        """
        with self._lock:
            return self._writing().put(items, existing, progress, skipped)

    def upsert(self, items: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None) -> int:
        """Add documents, replacing those with the same id, which go last in order; arguments as for `add`."""
        return self.add(items, "replace", progress)

    def delete(self, ids: Iterable[str]) -> int:
        """Remove the documents with these `ids`; returns how many were there."""
        with self._lock:
            return self._writing().delete(ids)

    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        """Make all changes durable and visible, all or nothing; returns the generation.

        `user` (JSON values) is stored with the commit. After an error nothing is lost, and the call may be repeated.
        """
        with self._lock:
            store = self._writing()
            generation = store.commit(user)
            if generation != self._view.generation:
                self._current = (self._look(), Shortlists())
            return generation

    def rollback(self) -> None:
        """Forget all changes since the last commit."""
        with self._lock:
            self._writing().rollback()

    def merge(self, max_segments: int = 1) -> None:
        """Join segments, `max_segments` at most are left, and drop deleted documents. Then `commit`. Scores stay."""
        with self._lock:
            self._writing().merge(max_segments)

    def add_leg(
        self, name: str, leg: Leg, terms: Mapping[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Add `leg` as `name` to all documents, from stored texts and pictures or from `terms` by id. Then `commit`.

        What was encoded before, and is still in the encode cache, is not encoded again. `progress` is called with the
        number of documents done.
        """
        with self._lock:
            self._writing().add_leg(name, leg, terms, progress)

    def sync(self, source: Any, **options: Any) -> Synced:
        """Follow a folder of texts and pictures, or a file of records: add, replace and remove what has changed.

        `source` is a path, or an open `zipfian.ingest.Source`; `options` are those of `zipfian.ingest.sync`, such as
        `on_bad="skip"`, `follow_links=True` and `progress`. It commits, and returns counts and what could not be read.
        """
        return follow(self, source, options)

    # -- reading ---------------------------------------------------------------------------------------------------

    def search(
        self,
        asked: Any = None,
        /,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        image: ImageSource | None = None,
        leg: str | None = None,
        method: str | Method | None = None,
        preset: str | None = None,
        scoring: Scoring | None = None,
        query: QueryMode | None = None,
        K: int | AdaptiveK | None = None,
        ann: str | None = None,
        exact_match_bonus: float = 0.0,
    ) -> Results:
        """The k best documents for a text, a picture, both, or ready-made terms.

        All legs that can answer take part: their scores are fused with weights that adapt to the query, and pictures
        are then reranked by their pooled vectors. Every hit says what each leg thought of it.

        Parameters
        ----------
        asked
            A text; or `Terms`, (ids, weights) or {id: weight} for a leg of terms; or a vector for a dense leg.
        k
            Hits at most. Fewer come back when fewer documents share a term with the query.
        where
            A metadata filter such as `{"lang": "en", "year": {">=": 2020}}`, applied before scoring.
        image
            A picture to search with: a path, the bytes of a file or pixels.
        leg
            Search this leg alone.
        method
            `hybrid` (the default), `rrf`, `linear`, `fusion` (0.8 dense cosine + 0.2 TF-IDF), `two-stage`, `tfidf`,
            `late` (the first K encoded again and compared token by token), `latent-table`, or a fusion such as
            `fuse.Linear({"words": 1.0, "latent": 2.0})`.
        preset
            `latency-first` (no vectors; latent terms of a text from the table, where the vocabulary has one),
            `balanced` or `accuracy-first`.
        scoring
            Another formula for this search of one leg; scores then come from stored weights, without cached impacts.
        query
            How a text becomes latent terms: `"encoder"`, or `"table"` for microseconds and no neural network in the
            whole search. Legs that a text reaches only through an encoder (vectors, SPLADE) then stay out of a fusion,
            `settings["left_out"]` names them, and a leg or method that cannot do without is an error.
        K
            Candidates to rerank, where the method reranks; or `rerank.AdaptiveK(...)`, which chooses by the query.
        ann
            A FAISS index (extra `faiss`) that proposes candidates of dense legs: `hnsw`, `ivf-flat`, `ivf-pq`, `opq16`,
            `opq64`, `flat`; they are scored exactly. By default the vectors are scanned, which misses nothing.
        exact_match_bonus
            Added to the score of a document whose text is the query itself, and marked in the hit.
        """
        check_k(k)
        searching.check_bonus(exact_match_bonus)
        self.view()
        (view, shortlists), question = self._current, Question.of(asked, image, query)
        plan = make_plan(
            view.settings,
            question,
            k=k,
            leg=leg,
            method=method,
            preset_name=preset,
            scoring=scoring,
            depth=K,
            ann=ann,
        )
        return searching.run(view, question, plan, k, where, exact_match_bonus, shortlists)

    def score(
        self, leg: str, asked: Any, ids: Sequence[str], where: Mapping[str, Any] | None = None,
        scoring: Scoring | None = None, *, image: ImageSource | None = None, query: QueryMode | None = None,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Exact scores of documents `ids` in one leg: 0.0 without a shared term, NaN where `where` excludes one.

        The other arguments are as for `search`.
        """
        view = self.view()
        if isinstance(ids, str):
            raise InvalidInput("score takes a sequence of ids; put a single id into a list")
        prepared = leg_query(view, leg, Question.of(asked, image, query), scoring)
        docs = view.numbers(ids)
        scores = prepared.score(docs)
        mask = view.mask(where)
        if mask is not None:
            scores[~mask[docs]] = np.nan
        return scores

    def explain(
        self, asked: Any, id: str, *, image: ImageSource | None = None, leg: str | None = None,
        method: str | Method | None = None, preset: str | None = None, scoring: Scoring | None = None,
        query: QueryMode | None = None,
    ) -> Explanation:  # fmt: skip
        """Why the document `id` scores what it scores, found or not: a tree whose parts sum to the score.

        The other arguments are as for `search`.
        """
        view, question = self.view(), Question.of(asked, image, query)
        plan = make_plan(view.settings, question, leg=leg, method=method, preset_name=preset, scoring=scoring)
        return searching.explain_id(view, question, plan, id)

    def why(self, asked: Any, id_a: str, id_b: str, **options: Any) -> Explanation:
        """Which terms put `id_a` above `id_b` (or below): the difference of their scores, part by part.

        `asked` and `options` are as for `explain`.
        """
        a, b = (self.explain(asked, i, **options) for i in (id_a, id_b))
        return compare(a, b, id_a, id_b)

    def get(self, id: str) -> Document | None:
        """The stored document of this `id`, or None."""
        view = self.view()
        number = int(view.find([check_id(id)])[0])
        return None if number < 0 else view.document(number)

    def picture(self, id: str) -> bytes | None:
        """The file of a document's picture, None where it has none; an error where it may not be opened."""
        found = self.get(id)
        return None if found is None else self._trust.picture(found.metadata)

    def vector(self, id: str, name: str = "default") -> npt.NDArray[np.float32] | None:
        """The pooled vector of document `id` that is stored under `name`, or None."""
        view = self.view()
        return view.vector(view.number(id), name)

    def ids(self) -> Iterator[str]:
        """All ids, in document order (that of the last upsert)."""
        return self.view().ids()

    def __len__(self) -> int:
        return len(self.view())

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and bool(self.view().find([id])[0] >= 0)

    @property
    def generation(self) -> int:
        """Number of the commit that searches see."""
        return self.view().generation

    @property
    def user(self) -> Mapping[str, Any]:
        """What was attached to that commit."""
        return self.view().snapshot.user

    @property
    def fields(self) -> Mapping[str, str]:
        """Metadata fields and their types."""
        return dict(self.view().settings.fields)

    @property
    def legs(self) -> Mapping[str, Leg]:
        """The legs and their settings."""
        return dict(self.view().settings.legs)

    def view(self) -> View:
        """The snapshot that searches see now: its legs' searchers, document numbers and stored vectors.

        For measuring and inspecting. It stays as it is whatever is committed later; document numbers are its own.
        """
        if self._closed:
            raise InvalidInput("this collection is closed; open it again")
        return self._view

    def refresh(self) -> int:
        """See the newest commit; returns its generation. A writer's own commits are seen at once.

        Without a newer commit everything stays as it is, decoded lists included.
        """
        with self._lock:
            self.view()
            newest = self._look()
            if newest.generation != self._view.generation:
                self._current = (newest, Shortlists())
            return self._view.generation

    def stats(self) -> dict[str, Any]:
        """Documents, segments, and for each leg terms, postings, mean length and bytes on disk."""
        from zipfian.collection.stats import collect

        return collect(self.view())

    def check(self) -> CheckReport:
        """Read every byte of every kept commit and compare what must agree."""
        report = check(self._directory)
        report.problems += problems(self._directory, self.legs)
        return report

    def close(self) -> None:
        """Give the write lock back; uncommitted changes are forgotten. Results already returned stay usable."""
        with self._lock:
            if not self._closed:
                self._closed = True
                if self._store is not None:
                    self._store.writer.close()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """Pickled or copied, it would be a second holder of a lock and of open files."""
        raise InvalidInput(f"a collection cannot be pickled or copied: open {self._directory} again where it is needed")

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"generation {self._view.generation}, {len(self._view)} documents"
        return f"<Collection {str(self._directory)!r}: {state}>"

    def _writing(self) -> Store:
        self.view()
        if self._store is None:
            raise ReadOnly("this collection is open for reading: Collection.open(path, mode='w')")
        if self._store.writer.closed:
            raise InvalidInput("a failed commit ended writing here: close this collection and open it again")
        return self._store

    @property
    def _view(self) -> View:
        return self._current[0]


__all__ = ["Collection", "Hit", "Results"]
