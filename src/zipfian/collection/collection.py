"""`Collection`: documents that can be searched, and every verb for them. The one class most users need.

A collection is in a folder (`folder.py`) or in a cluster (`engines/`). Arguments, their defaults and what they mean are
written here, once, and checked as far as that is the same for all; an engine has what is abstract here.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NoReturn, Self

import numpy as np
import numpy.typing as npt

from zipfian.collection.ahead import Waiting
from zipfian.collection.following import Synced, follow
from zipfian.collection.looking import Looking
from zipfian.collection.many import answer_all, requests
from zipfian.collection.opening import cache_of, engine_of
from zipfian.collection.results import Document, Results
from zipfian.collection.search import Answers, Request
from zipfian.collection.searcher import Searcher
from zipfian.collection.store import Existing, Skipped
from zipfian.collection.stored import stored_in
from zipfian.collection.trust import Trust
from zipfian.encode.cache import EncodingCache
from zipfian.encode.images import ImageSource
from zipfian.errors import InvalidInput, shown
from zipfian.fields.base import Field
from zipfian.fields.item import Item
from zipfian.fields.model import QueryEncoder
from zipfian.fields.query import Query
from zipfian.fuse.methods import Method
from zipfian.index.check import CheckReport
from zipfian.rerank.adaptive_k import AdaptiveK
from zipfian.retrieve.scoring import Scoring
from zipfian.types import Explanation

MEMORY_BYTES = 1 << 28


class Collection(Looking, ABC):
    """A durable collection of documents, in a folder or in a cluster, searchable by words, meaning, pictures and terms.

    Where an engine cannot do what a verb says, its error says so. A folder has one writer at a time (mode 'w', an
    OS lock) and any number of readers. Searches see the last commit, or the one that was newest when the collection
    was opened for reading; `refresh` moves on. Every result keeps its snapshot.

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

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        fields: Sequence[str] | Mapping[str, Field] | None = None,
        *,
        memory_bytes: int = MEMORY_BYTES,
        cache_bytes: int | None = None,
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
        fields
            Ways to find a document: `["words"]` (the default), `["words", "latent"]` to understand texts as well,
            `["visual", "dense"]` for pictures, `"high-quality"` for English texts that are worth two encoders, or names
            with settings such as `{"words": Words(language="german"), "codes": Sparse(18_432)}`.
        memory_bytes
            Documents are written to disk when about so much is waiting in memory.
        cache_bytes
            Decoded posting lists kept in memory per field; by default an eighth of the machine's memory, from 512 MiB
            to 2 GiB. Where they are more, those asked for most are kept.
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
            made: Collection = other.create(path, fields, encodings=encodings, pictures=pictures, **engine)
            return made
        from zipfian.collection.folder import FolderCollection

        trust = Trust.of((), pictures)
        return FolderCollection.make_new(path, fields, memory_bytes, cache_bytes, cache_of(encodings), trust)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        mode: Literal["r", "w"] = "r",
        *,
        scoring: Mapping[str, Scoring] | None = None,
        generation: int | None = None,
        memory_bytes: int = MEMORY_BYTES,
        cache_bytes: int | None = None,
        encodings: EncodingCache | bool = True,
        trust: Any = (),
        pictures: Any = (),
        **engine: Any,
    ) -> Collection:
        """Open the collection at `path` for reading (`mode` 'r') or for reading and writing ('w').

        `scoring` replaces the formula of fields by name for as long as it is open: nothing is re-indexed. Another phi
        costs one pass over the field's postings at the first search. `generation` opens an older commit for reading.
        `memory_bytes`, `cache_bytes` and `encodings` are as for `create`.
        An address such as `opensearch://host:9200/name` opens a collection in that cluster; `engine` are its settings.

        What a collection names outside its folder is not opened because it says so. `trust` lists what it may load
        beside the models of the package: names of the hub, folders of models and vocabularies, or loaded ones. Pictures
        are opened again, for explanations, if they are what was indexed, or in the folders that `pictures` names.
        """
        other = engine_of(path, engine)
        if other is not None:
            if scoring is not None or generation is not None:
                raise InvalidInput("a collection in a cluster has one formula per field and no older generations")
            found: Collection = other.open(path, mode, encodings=encodings, trust=trust, pictures=pictures, **engine)
            return found
        if not isinstance(mode, str) or mode not in ("r", "w"):
            raise InvalidInput(f"mode must be 'r' or 'w', not {shown(mode)}")
        if mode == "w" and generation is not None:
            raise InvalidInput("an older generation can only be read: use zipfian.index.restore to go back to it")
        if scoring is not None and not isinstance(scoring, Mapping):
            raise InvalidInput(f"scoring must name the fields, such as {{'words': BM25(...)}}, not {shown(scoring)}")
        from zipfian.collection.folder import FolderCollection

        allowed, cache = Trust.of(trust, pictures), cache_of(encodings)
        return FolderCollection.open_old(
            path, mode == "w", scoring, generation, memory_bytes, cache_bytes, cache, allowed
        )

    # -- writing ---------------------------------------------------------------------------------------------------

    def add(
        self, items: Iterable[Mapping[str, Any]], existing: Existing = "error",
        progress: Callable[[int], None] | None = None, skipped: Skipped | None = None,
    ) -> int:  # fmt: skip
        """Take in documents, `items`; returns how many. They become searchable, and durable, with `commit`.

        A document is a mapping with `id` (string) and any of `text`, `image` (a path, the bytes of a file or pixels),
        `terms` ({field: Terms}), `vector`, `metadata`. Any iterable will do: memory stays bounded. `existing` says what
        happens to ids already there; with 'skip', a run that was interrupted can simply be repeated. `progress` is
        called with the number taken so far. A document that cannot be taken, such as a damaged picture, is an error
        that names it; with `skipped`, that is called with its id and the error instead, and the rest goes on.
        """
        return self._put(items, existing, progress, skipped)

    def upsert(self, items: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None) -> int:
        """Add `items`; one that is there is replaced whole, text and all (see `update`). `progress` as for `add`."""
        return self.add(items, "replace", progress)

    def update(self, items: Iterable[Mapping[str, Any]], progress: Callable[[int], None] | None = None) -> int:
        """Change parts of documents that are there, which go last in order; returns how many.

        `items` have an `id` and what is to change: text, image, terms, vectors and each column of `metadata` replace
        what was there (None takes a column away). The rest stays, and is not encoded again. `progress` is as for `add`.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Cats sleep.", "metadata": {"year": 2020, "lang": "en"}}])
        >>> _ = notes.update([{"id": "a", "metadata": {"year": 2021, "read": True}}]), notes.commit()
        >>> notes.get("a").text, notes.get("a").metadata
        ('Cats sleep.', {'year': 2021, 'lang': 'en', 'read': True})
        """
        return self._update(items, progress)

    def copy_from(
        self, path: str | os.PathLike[str], existing: Existing = "replace",
        progress: Callable[[int], None] | None = None,
    ) -> int:  # fmt: skip
        """Take over the last commit of the collection in the folder `path`; returns how many documents.

        Terms and vectors come as they are stored there, so nothing is encoded again; the fields must be the same. After
        an interruption, run it again with `existing='skip'`. `progress` is as for `add`.
        """
        with stored_in(path, self.fields) as items:
            return self._put_stored(items, existing, progress)

    def delete(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> int:
        """Remove the documents with these `ids`, or those that a filter `where` allows; returns how many were there.

        What was added since the last commit is removed, too. In a cluster, a filter sees what was added after it has
        made it visible, and a document that somebody replaces meanwhile stays.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add({"id": f"n{year}", "metadata": {"year": year}} for year in range(2019, 2025))
        >>> notes.delete(["n2024"]), notes.delete(where={"year": {"<": 2021}})
        (1, 2)
        """
        if (ids is None) == (where is None):
            raise InvalidInput("delete takes an iterable of ids or a filter where={...}: exactly one of the two")
        return self._delete_where(where) if where is not None else self._delete(ids or ())

    @abstractmethod
    def ahead(self, texts: Sequence[str]) -> Waiting:
        """Have encoders on a GPU read `texts` now, on any thread: `add` finds the results until it is closed."""

    @abstractmethod
    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        """Make all changes durable and visible, all or nothing; returns the generation.

        `user` (JSON values) is stored with the commit. After an error nothing is lost, and the call may be repeated.
        """

    @abstractmethod
    def rollback(self) -> None:
        """Forget all changes since the last commit."""

    @abstractmethod
    def merge(self, max_segments: int = 1) -> None:
        """Join segments, `max_segments` at most are left, and drop deleted documents. Then `commit`. Scores stay."""

    def add_field(
        self, name: str, field: Field, terms: Mapping[str, Any] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> None:  # fmt: skip
        """Add `field` as `name` to all documents, from stored texts and pictures or from `terms` by id. Then `commit`.

        What was encoded before, and is still in the encode cache, is not encoded again. `progress` is called with the
        number of documents done.
        """
        self._add_field(name, field, terms, progress)

    def sync(self, source: Any, **options: Any) -> Synced:
        """Follow a folder or a file of records, `source`: add, replace and remove what has changed, and commit.

        `options` are those of `zipfian.ingest.sync`; it returns counts and what could not be read.
        """
        return follow(self, source, options)

    # -- reading ---------------------------------------------------------------------------------------------------

    def search(
        self,
        query: Any = None,
        k: int = 10,
        where: Mapping[str, Any] | None = None,
        *,
        offset: int = 0,
        image: ImageSource | None = None,
        fields: str | Sequence[str] | None = None,
        method: str | Method | None = None,
        preset: str | None = None,
        scoring: Scoring | None = None,
        query_encoder: QueryEncoder | None = None,
        rerank_depth: int | AdaptiveK | None = None,
        ann: str | None = None,
        exact_match_bonus: float = 0.0,
        min_confidence: float = 0.0,
        exclude_self: bool = False,
        adjust: Mapping[str, Mapping[str | int, float]] | None = None,
    ) -> Results:
        """The k best documents for a text, a picture, both, or ready-made terms.

        All fields that can answer take part, and are fused; every hit says what each of them thought of it.

        Parameters
        ----------
        query
            A text; or `Terms`, (ids, weights) or {id: weight} for a field of terms; or a vector for a dense field.
        k
            Hits at most. Fewer come back when fewer documents share a term with the query.
        where
            A metadata filter such as `{"lang": "en", "year": {">=": 2020}}`, applied before scoring.
        offset
            Hits to pass over: those of the ranks offset + 1 to offset + k come back, the last of `k=offset + k`.
        image
            A picture to search with: a path, the bytes of a file or pixels.
        fields
            Search this field alone, or fuse these, as if the collection had no others.
        method
            `hybrid` (the default), `rrf`, `linear`, `fusion` (0.8 dense cosine + 0.2 TF-IDF), `two-stage`, `tfidf`,
            `late` (by tokens), `latent-table`, or a fusion such as `fuse.Linear({"words": 1.0, "latent": 2.0})`.
        preset
            `latency-first` (vectors only rerank, latent terms from the table), `balanced` or `accuracy-first`.
        scoring
            Another formula for this search of one field; scores then come from stored weights, without cached impacts.
        query_encoder
            How a text becomes latent terms: `"encoder"`, or `"table"` for microseconds and no network in the search.
            Fields that need one then stay out (`settings["left_out"]`); a method that cannot do without is an error.
        rerank_depth
            Candidates to rerank, where the method reranks; or `rerank.AdaptiveK(...)`, which chooses by the query.
        ann
            A FAISS index (extra `faiss`) that proposes candidates of dense fields: `hnsw`, `ivf-flat`, `ivf-pq`,
            `opq16`, `opq64`, `flat`; they are scored exactly. By default the vectors are scanned, which misses nothing.
        exact_match_bonus
            Added to the score of a document whose text is the query itself, and marked in the hit.
        min_confidence
            Hits that are less likely to be right (`Hit.confidence`, 0 to 1) are left out, and `notes` says so.
        exclude_self
            Leave the picture `image` itself out, under whatever name it was indexed: it is known by its bytes.
        adjust
            Factors of the query's terms, `{field: {term: factor}}`, named as in an explanation: 0 mutes a term.
        """
        options = {
            "offset": offset, "where": where, "fields": fields, "method": method, "preset": preset, "scoring": scoring,
            "query_encoder": query_encoder, "rerank_depth": rerank_depth, "ann": ann, "adjust": adjust,
            "exact_match_bonus": exact_match_bonus, "min_confidence": min_confidence, "exclude_self": exclude_self,
        }  # fmt: skip
        return self._answers().run(Request.of(query, image, k, options))

    def search_many(
        self, queries: Iterable[Any] | None = None, k: int = 10, threads: int | None = None, *,
        images: Iterable[ImageSource] | None = None, **options: Any,
    ) -> list[Results]:  # fmt: skip
        """What `search` gives for each of many queries, in their order; in a folder, all from the same commit.

        An encoder takes many queries in one pass, and the searches run side by side.

        Parameters
        ----------
        queries
            What `search` takes as its first argument, one for each search.
        k
            Hits of each search at most.
        threads
            Searches at a time; by default one for each core, or one where one field of a small collection answers.
        images
            Pictures to search with, alone or one beside each query.
        options
            The other arguments of `search`, the same for all: `where`, `offset`, `fields`, `method` and so on.

        Returns
        -------
        list of Results
            One for each query. What a pass for many took is in none of their timings.

        Examples
        --------
        >>> import tempfile, zipfian as zf
        >>> notes = zf.Collection.create(tempfile.mkdtemp() + "/notes.zf")
        >>> _ = notes.add([{"id": "a", "text": "Plants make food."}, {"id": "b", "text": "Cats sleep."}])
        >>> _ = notes.commit()
        >>> [[hit.id for hit in found] for found in notes.search_many(["cats", "food for cats", "dogs"])]
        [['b'], ['b', 'a'], []]
        """
        answers = self._answers()
        return answer_all(answers, requests(queries, images, k, options), threads)

    def score(
        self, field: str, query: Any, ids: Sequence[str], where: Mapping[str, Any] | None = None,
        scoring: Scoring | None = None, *, image: ImageSource | None = None, query_encoder: QueryEncoder | None = None,
    ) -> npt.NDArray[np.float64]:  # fmt: skip
        """Exact scores of documents `ids` in one field: 0.0 without a shared term, NaN where `where` excludes one.

        The other arguments are as for `search`.
        """
        if isinstance(ids, str):
            raise InvalidInput("score takes a sequence of ids; put a single id into a list")
        return self._score(field, Query.of(query, image, query_encoder), ids, where, scoring)

    def explain(
        self, query: Any, id: str, *, image: ImageSource | None = None, fields: str | Sequence[str] | None = None,
        method: str | Method | None = None, preset: str | None = None, scoring: Scoring | None = None,
        query_encoder: QueryEncoder | None = None, adjust: Mapping[str, Mapping[str | int, float]] | None = None,
    ) -> Explanation:  # fmt: skip
        """Why the document `id` scores what it scores, found or not: a tree whose parts sum to the score.

        The other arguments are as for `search`.
        """
        how = {"fields": fields, "method": method, "preset": preset, "scoring": scoring}
        return self._explain(Query.of(query, image, query_encoder, adjust), id, how)

    @abstractmethod
    def get(self, id: str) -> Document | None:
        """The stored document of this `id`, or None."""

    @abstractmethod
    def picture(self, id: str) -> bytes | None:
        """The file of the picture of document `id`, None where it has none; an error where it may not be opened."""

    @abstractmethod
    def vector(self, id: str, name: str = "default") -> npt.NDArray[np.float32] | None:
        """The pooled vector of document `id` that is stored under `name`, or None."""

    @abstractmethod
    def ids(self) -> Iterator[str]:
        """All ids, in document order (that of the last upsert)."""

    @abstractmethod
    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """How many documents a filter `where` allows; all there are without one."""

    def __len__(self) -> int:
        return self.count()

    @abstractmethod
    def __contains__(self, id: object) -> bool: ...

    @property
    @abstractmethod
    def generation(self) -> int:
        """Number of the commit that searches see."""

    @property
    @abstractmethod
    def user(self) -> Mapping[str, Any]:
        """What was attached to that commit."""

    @property
    @abstractmethod
    def columns(self) -> Mapping[str, str]:
        """Metadata columns and their types."""

    @property
    @abstractmethod
    def fields(self) -> Mapping[str, Field]:
        """The fields and their settings."""

    @abstractmethod
    def searcher(self) -> Searcher:
        """The snapshot of a folder that searches see now: its fields' searchers, document numbers and stored vectors.

        For measuring and inspecting. It stays as it is whatever is committed later; document numbers are its own.
        """

    @abstractmethod
    def refresh(self) -> int:
        """See the newest commit; returns its generation. A writer's own commits are seen at once.

        Without a newer commit everything stays as it is, decoded lists included.
        """

    @abstractmethod
    def stats(self) -> dict[str, Any]:
        """Documents, segments, and for each field terms, postings, mean length and bytes on disk."""

    @abstractmethod
    def check(self) -> CheckReport:
        """Read every byte of every kept commit and compare what must agree."""

    @abstractmethod
    def close(self) -> None:
        """Give the write lock back; uncommitted changes are forgotten. Results already returned stay usable."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        """Pickled or copied, it would be a second holder of a lock, of open files or of connections."""
        raise InvalidInput(f"a collection cannot be pickled or copied: open {self._place()} again where it is needed")

    # -- an engine's own part
    @abstractmethod
    def _put(
        self, items: Iterable[Any], existing: Existing, progress: Callable[[int], None] | None, skipped: Skipped | None
    ) -> int: ...

    @abstractmethod
    def _update(self, items: Iterable[Any], progress: Callable[[int], None] | None) -> int: ...
    @abstractmethod
    def _put_stored(self, items: Iterable[Item], existing: Existing, progress: Callable[[int], None] | None) -> int: ...
    @abstractmethod
    def _delete(self, ids: Iterable[Any]) -> int: ...
    @abstractmethod
    def _delete_where(self, where: Mapping[str, Any]) -> int: ...
    @abstractmethod
    def _add_field(
        self, name: str, field: Field, terms: Mapping[str, Any] | None, progress: Callable[[int], None] | None
    ) -> None: ...

    @abstractmethod
    def _answers(self) -> Answers: ...
    @abstractmethod
    def _score(
        self, field: str, query: Query, ids: Sequence[str], where: Mapping[str, Any] | None, scoring: Scoring | None
    ) -> npt.NDArray[np.float64]: ...

    @abstractmethod
    def _explain(self, query: Query, doc_id: str, how: Mapping[str, Any]) -> Explanation: ...
    @abstractmethod
    def _place(self) -> str: ...
