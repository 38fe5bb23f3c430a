"""`connect`: a collection of a service, asked with the verbs of `Collection`."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self
from urllib.parse import quote

from zipfian.client.results import RemoteResults, explanation_of, results_of
from zipfian.client.transport import Transport
from zipfian.collection.results import Document
from zipfian.errors import InvalidInput, NotThere, shown
from zipfian.limits import MAX_SERVED_DOCUMENTS, MAX_SERVED_IMAGE_BYTES, MAX_SERVED_QUERIES
from zipfian.objects import plain
from zipfian.retrieve.scoring import BM25
from zipfian.storage.regular import read_regular
from zipfian.types import Explanation

METHODS = {"adaptive": "hybrid"}
"""Fusions whose name as a method of a search is another."""


def connect(
    url: str, collection: str | None = None, *, key: str | None = None, timeout: float = 60.0
) -> RemoteCollection:  # fmt: skip
    """A collection of a service (`zipfian serve`), with the verbs of `Collection`.

    Parameters
    ----------
    url
        Where the service is, such as `http://localhost:8765`.
    collection
        Its name there; may be left out where the service has one only.
    key
        A key of the service, where it asks for one.
    timeout
        Seconds to wait for an answer.

    Returns
    -------
    RemoteCollection
        Any number of threads may use it.

    Raises
    ------
    InvalidInput
        A URL that is none, or a collection that is not there.
    EngineUnavailable
        Nobody answers there.

    Examples
    --------
    >>> from zipfian.errors import InvalidInput
    >>> try:
    ...     connect("notes.zf")
    ... except InvalidInput as error:
    ...     print(error)
    a service is reached at http://HOST:PORT or https://HOST, not 'notes.zf'
    """
    transport = Transport(url, key, timeout)
    names = [one["name"] for one in transport.get("/v1/collections")["collections"]]
    if collection is None and len(names) != 1:
        raise InvalidInput(f"{transport.url} has the collections {', '.join(names)}: name one of them")
    name = names[0] if collection is None else collection
    if name not in names:
        raise InvalidInput(f"{transport.url} has no collection {shown(name)}; it has {', '.join(names)}")
    return RemoteCollection(transport, name)


class RemoteCollection:
    """A collection behind a service; `connect` makes one.

    Examples
    --------
    >>> [verb for verb in ("search", "explain", "add", "commit") if hasattr(RemoteCollection, verb)]
    ['search', 'explain', 'add', 'commit']
    """

    def __init__(self, transport: Transport, name: str) -> None:
        """Use `connect`."""
        self._transport = transport
        self.name = name
        self._path = f"/v1/collections/{quote(name, safe='')}"

    # -- reading ---------------------------------------------------------------------------------------------------

    @property
    def info(self) -> Mapping[str, Any]:
        """Fields, columns, methods and how many documents there are."""
        found: Mapping[str, Any] = self._transport.get(self._path)["collection"]
        return found

    @property
    def columns(self) -> Mapping[str, str]:
        """Metadata columns and their types."""
        columns: Mapping[str, str] = self.info["columns"]
        return columns

    @property
    def generation(self) -> int:
        """Number of the commit that searches see."""
        return int(self.info["generation"])

    def search(
        self, query: str | None = None, k: int = 10, where: Mapping[str, Any] | None = None, *, image: Any = None,
        **options: Any,
    ) -> RemoteResults:  # fmt: skip
        """The `k` best documents for a text `query`, a picture `image` (a path or the bytes of a file) or both.

        `where` and `options` are as for `Collection.search` (`offset`, `fields`, `method`, `preset`, `scoring` ...);
        beside those, `explain` (none, fields, terms, places), `highlight`, `documents`, `facets`, `weights` and
        `adjust` as the service takes them.
        """
        asked = {**_asked(query, image), **_options(options)}
        found = self._transport.post(f"{self._path}/search", {**asked, "k": k, "where": _plain(where)})
        how = {name: value for name, value in asked.items() if name not in _SHOWN}
        return results_of(query, found, lambda doc_id: self._tree({**how, "id": doc_id}))

    def search_many(
        self, queries: Iterable[str], k: int = 10, *, where: Mapping[str, Any] | None = None, **options: Any
    ) -> list[RemoteResults]:
        """What `search` gives for each of many `queries`, in their order; `k`, `where` and `options` are as there."""
        texts, out = list(queries), []
        body = {**_options(options), "k": k, "where": _plain(where)}
        for start in range(0, len(texts), MAX_SERVED_QUERIES):
            some = texts[start : start + MAX_SERVED_QUERIES]
            answer = self._transport.post(f"{self._path}/search_many", {**body, "texts": some})
            out += [results_of(text, found, None) for text, found in zip(some, answer["results"], strict=True)]
        return out

    def explain(self, query: str | None, id: str, *, image: Any = None, **options: Any) -> Explanation:
        """Why document `id` scores what it scores, found or not; `query`, `image` and `options` as for `search`."""
        return self._tree({**_asked(query, image), **_options(options), "id": id})

    def why(self, query: str | None, id_a: str, id_b: str, *, image: Any = None, **options: Any) -> Explanation:
        """What puts `id_a` above `id_b`, or below; `query`, `image` and `options` are as for `search`."""
        return self._tree({**_asked(query, image), **_options(options), "id": id_a, "above": id_b})

    def _tree(self, body: Mapping[str, Any]) -> Explanation:
        return explanation_of(self._transport.post(f"{self._path}/explain", body)["explanation"])

    def similar(self, id: str, k: int = 10, *, offset: int = 0, field: str | None = None) -> RemoteResults:
        """The `k` documents nearest to document `id`; `offset` and `field` are as for `Collection.similar`."""
        found = self._transport.get(f"{self._path}/similar/{_quoted(id)}", {"k": k, "offset": offset, "field": field})
        return results_of(None, found, None)

    def get(self, id: str) -> Document | None:
        """The stored document of this `id`, or None."""
        try:
            found = self._transport.get(f"{self._path}/documents/{_quoted(id)}")
        except NotThere:
            return None
        return Document(found["id"], found["text"], found["metadata"])

    def thumbnail(self, id: str, side: int = 320) -> bytes:
        """The picture of document `id` as a small JPEG, `side` pixels at its longer side."""
        return self._transport.send("GET", f"{self._path}/documents/{_quoted(id)}/thumbnail?side={side:d}")

    def facets(
        self, columns: Sequence[str] | None = None, where: Mapping[str, Any] | None = None, limit: int = 20
    ) -> Mapping[str, Any]:
        """Values of `columns` and how many documents that `where` allows have each, `limit` of them, as JSON."""
        body = {"columns": None if columns is None else list(columns), "where": _plain(where), "limit": limit}
        found: Mapping[str, Any] = self._transport.post(f"{self._path}/facets", body)["facets"]
        return found

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """How many documents a filter `where` allows; all there are without one."""
        return int(self._transport.post(f"{self._path}/count", {"where": _plain(where)})["count"])

    def __len__(self) -> int:
        return self.count()

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self.get(id) is not None

    # -- writing ---------------------------------------------------------------------------------------------------

    def add(
        self, items: Iterable[Mapping[str, Any]], existing: Literal["error", "skip", "replace"] = "error"
    ) -> int:  # fmt: skip
        """Take in documents, `items`; returns how many. They become searchable, and durable, with `commit`.

        A document has `id` and any of `text`, `image` (a path of this machine, or bytes), `metadata`; `existing` says
        what happens to ids already there.
        """
        path = f"{self._path}/documents"
        sent = ({"documents": some, "existing": existing} for some in _batches(items))
        return sum(int(self._transport.post(path, body)["added"]) for body in sent)

    def upsert(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Add documents, `items`, replacing those with the same id."""
        return self.add(items, "replace")

    def update(self, items: Iterable[Mapping[str, Any]]) -> int:
        """Change parts of documents that are there, `items`, as `Collection.update` does; returns how many."""
        path = f"{self._path}/documents"
        sent = ({"documents": some} for some in _batches(items))
        return sum(int(self._transport.post(path, body, "PATCH")["updated"]) for body in sent)

    def delete(self, ids: Iterable[str] | None = None, *, where: Mapping[str, Any] | None = None) -> int:
        """Remove the documents with these `ids`, or those that a filter `where` allows; returns how many were there."""
        if (ids is None) == (where is None):
            raise InvalidInput("delete takes an iterable of ids or a filter where={...}: exactly one of the two")
        path = f"{self._path}/documents/delete"
        if where is not None:
            return int(self._transport.post(path, {"where": _plain(where)})["deleted"])
        listed, gone = list(ids or ()), 0
        for start in range(0, len(listed), MAX_SERVED_DOCUMENTS):
            gone += int(self._transport.post(path, {"ids": listed[start : start + MAX_SERVED_DOCUMENTS]})["deleted"])
        return gone

    def commit(self, user: Mapping[str, Any] | None = None) -> int:
        """Make all changes durable and visible; returns the generation. `user` is stored with the commit."""
        return int(self._transport.post(f"{self._path}/commit", {"user": _plain(user)})["generation"])

    def close(self) -> None:
        """Give this thread's connection back."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<RemoteCollection {self.name!r} of {self._transport.url}>"


_SHOWN = (
    "k",
    "offset",
    "rerank_depth",
    "exact_match_bonus",
    "min_confidence",
    "exclude_self",
    "explain",
    "highlight",
    "documents",
    "facets",
)
"""Options of a search that an explanation does not take."""


def _asked(query: Any, image: Any) -> dict[str, Any]:
    if query is not None and not isinstance(query, str):
        raise InvalidInput(f"a service is asked with a text, a picture or both, not {type(query).__name__}")
    out: dict[str, Any] = {} if query is None else {"text": query}
    return out if image is None else {**out, "image": _encoded(image)}


def _encoded(image: Any) -> str:
    """The file of a picture as it is sent."""
    if isinstance(image, str | os.PathLike):
        image = read_regular(image, MAX_SERVED_IMAGE_BYTES)
    if not isinstance(image, bytes | bytearray):
        raise InvalidInput(f"a picture is sent as a path of this machine or as bytes, not {type(image).__name__}")
    return base64.b64encode(image).decode("ascii")


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the library in the words of the service."""
    out = {name: value for name, value in given.items() if value is not None}
    if isinstance(out.get("fields"), str):
        out["fields"] = [out["fields"]]
    method = out.get("method")
    if method is not None and not isinstance(method, str):
        settings = method.to_json()
        out["method"] = METHODS.get(settings["method"], settings["method"])
        if settings.get("weights"):
            out["weights"] = dict(settings["weights"])
    scoring = out.get("scoring")
    if scoring is not None and not isinstance(scoring, Mapping):
        if not isinstance(scoring, BM25):
            raise InvalidInput(f"a service scores with BM25 of other settings, not with {shown(scoring)}")
        out["scoring"] = {"k1": scoring.k1, "b": scoring.b, "variant": scoring.variant, "phi": str(scoring.phi)}
    return out


def _batches(items: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Documents as they are sent, as many at a time as a service takes."""
    waiting: list[dict[str, Any]] = []
    for item in items:
        waiting.append(_document_of(item))
        if len(waiting) == MAX_SERVED_DOCUMENTS:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


def _document_of(item: Mapping[str, Any]) -> dict[str, Any]:
    out = {**item, "metadata": _plain(item.get("metadata") or {})}
    if "image" in out:
        out["image"] = _encoded(out["image"])
    return out


def _plain(values: Mapping[str, Any] | None) -> Any:
    """Values that JSON has; dates become what the library reads as dates."""
    return None if values is None else plain(values)


def _quoted(doc_id: str) -> str:
    return quote(doc_id, safe="")
