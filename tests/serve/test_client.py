"""`zf.connect`: the verbs of a collection, answered by a service, give what the collection itself gives."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import zipfian as zf
from tests.serve.conftest import DOCUMENTS, SCRIPT
from tests.serve.live import running
from zipfian import limits
from zipfian.client import RemoteCollection
from zipfian.client import transport as sending
from zipfian.errors import EngineRefused, EngineUnavailable, InvalidInput, LimitExceeded, NotThere, ReadOnly
from zipfian.fuse import RRF, Adaptive, Linear
from zipfian.serve.keys import hashed, new_key


@pytest.fixture
def remote(path: Path) -> Iterator[RemoteCollection]:
    with running(path, write=True) as port, zf.connect(f"http://127.0.0.1:{port}/") as notes:
        yield notes


@pytest.fixture
def local(path: Path) -> Iterator[zf.Collection]:
    with zf.Collection.open(path) as notes:
        yield notes


def seen(found: Any) -> list[Any]:
    return [(hit.rank, hit.id, hit.score, dict(hit.fields), hit.text, dict(hit.metadata)) for hit in found]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"k": 1, "offset": 1},
        {"where": {"year": {">": 2020}}},
        {"fields": "words", "scoring": zf.BM25(0.5, 0.1)},
        {"method": Linear({"words": 2.0})},
        {"method": RRF()},
        {"method": Adaptive({"words": 3.0})},
    ],
)
def test_a_search_is_the_same(remote: RemoteCollection, local: zf.Collection, options: dict[str, Any]) -> None:
    far, near = remote.search("food from plants", **options), local.search("food from plants", **options)
    assert seen(far) == seen(near)
    assert len(far) > 0
    assert [hit.confidence for hit in far] == [hit.confidence for hit in near]
    assert (far.generation, far.query) == (near.generation, near.query)
    assert far.explain(far[0]).to_dict() == near.explain(near[0]).to_dict()


def test_reasons_that_come_along(remote: RemoteCollection, local: zf.Collection) -> None:
    far = remote.search("food", explain="places", highlight=True, facets=["lang"])
    near = local.search("food")
    assert far[0].explanation is not None
    assert far[0].explanation.to_dict() == near.explain(near[0]).to_dict()
    assert far[0].snippets == tuple(near.highlight(near[0]))
    assert far.facets["lang"]["values"][0] == {"value": "en", "count": 2}


def test_the_other_verbs(remote: RemoteCollection, local: zf.Collection) -> None:
    many = remote.search_many(["plants", "Katzen"] * limits.MAX_SERVED_QUERIES, k=1)
    assert [[hit.id for hit in found] for found in many] == [["a"], ["c/d"]] * limits.MAX_SERVED_QUERIES
    assert remote.explain("food", "a").to_dict() == local.explain("food", "a").to_dict()
    assert remote.why("food", "a", "b").to_dict() == local.why("food", "a", "b").to_dict()
    assert [hit.id for hit in remote.similar("b", 1)] == [hit.id for hit in local.similar("b", 1)]
    assert remote.get("c/d") == local.get("c/d")
    assert remote.get("nobody") is None
    assert (len(remote), remote.count({"lang": "en"})) == (4, 2)
    assert SCRIPT in remote
    assert "nobody" not in remote
    assert remote.columns == local.columns
    assert remote.facets(["year"])["year"]["highest"] == 2024
    assert repr(remote).startswith("<RemoteCollection 'notes' of http://127.0.0.1:")


def test_writing(remote: RemoteCollection) -> None:
    n = limits.MAX_SERVED_DOCUMENTS + 1
    assert remote.add({"id": f"n{i}", "text": "many"} for i in range(n)) == n
    assert remote.upsert([DOCUMENTS[0]]) == 1
    assert remote.commit({"why": "test"}) == 3
    assert len(remote) == len(DOCUMENTS) + n
    assert remote.update({"id": f"n{i}", "metadata": {"year": 1900 + i % 2}} for i in range(n)) == n
    assert remote.update([{"id": "a", "text": "Moss.", "metadata": {"lang": None}}]) == 1
    assert remote.update([]) == 0
    assert remote.commit() == 4
    assert remote.count({"year": 1900}) + remote.count({"year": 1901}) == n
    assert (remote.get("n0").text, remote.get("a").text) == ("many", "Moss.")
    assert remote.get("a").metadata == {"year": 2021, "tags": ["x", "y"]}
    assert remote.delete(f"n{i}" for i in range(n)) == n
    assert remote.delete(where={"lang": "de"}) == 1
    remote.commit()
    assert len(remote) == len(DOCUMENTS) - 1
    assert remote.generation == 5


def test_errors_are_those_of_the_library(remote: RemoteCollection, path: Path) -> None:
    with pytest.raises(InvalidInput, match="unknown method 'magic'"):
        remote.search("food", method="magic")
    with pytest.raises(InvalidInput, match="asked with a text"):
        remote.search({3: 1.0})  # type: ignore[arg-type]
    with pytest.raises(NotThere, match="no document 'nobody'"):
        remote.explain("food", "nobody")
    with pytest.raises(InvalidInput, match=r"text: .*20000"):
        remote.search("x" * 30_000)
    with pytest.raises(LimitExceeded, match="20 searches"):
        remote.search_many(["food"] * 20, k=600)
    with pytest.raises(InvalidInput, match="exactly one"):
        remote.delete()
    with pytest.raises(InvalidInput, match="document 'nobody' is not in the collection: add it"):
        remote.update([{"id": "nobody", "text": "x"}])
    with running(path) as port, zf.connect(f"http://localhost:{port}") as reading, pytest.raises(ReadOnly):
        reading.commit()


def test_the_wrong_place(path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(EngineUnavailable, match="is the service running"):
            zf.connect(f"http://127.0.0.1:{taken.getsockname()[1]}")
    with running(path) as port, pytest.raises(InvalidInput, match="no collection 'photos'; it has notes"):
        zf.connect(f"http://127.0.0.1:{port}", "photos")
    with pytest.raises(InvalidInput, match="http://HOST:PORT"):
        zf.connect("ftp://localhost/")


def test_keys(path: Path) -> None:
    key = new_key()
    with running(path, read_keys=(hashed(key),)) as port:
        with pytest.raises(EngineRefused, match="asks for a key"):
            zf.connect(f"http://127.0.0.1:{port}")
        assert len(zf.connect(f"http://127.0.0.1:{port}", key=key)) == 4


def test_a_busy_service_is_asked_again(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(sending, "time", SimpleNamespace(sleep=pauses.append))
    with running(path) as port, zf.connect(f"http://127.0.0.1:{port}") as notes:
        usual = sending.Transport._once
        answers = iter([(503, {"retry-after": "2"}, b"{}")])
        monkeypatch.setattr(sending.Transport, "_once", lambda *given: next(answers, None) or usual(*given))
        assert notes.count() == 4
        assert pauses == [2.0]
        monkeypatch.setattr(sending.Transport, "_once", lambda *_: (503, {}, b"not json"))
        with pytest.raises(EngineUnavailable):
            notes.count()
        assert len(pauses) == sending.TRIES


def test_a_kept_connection_that_was_closed_is_made_anew(path: Path) -> None:
    with running(path) as port:
        notes = zf.connect(f"http://127.0.0.1:{port}")
        notes._transport._local.connection.sock.shutdown(socket.SHUT_RDWR)
        assert notes.count() == 4
