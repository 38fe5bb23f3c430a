"""Values, terms, likeness and reasons: the same in a folder and in a cluster; and a service over a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.test_looking import DOCUMENTS
from zipfian.errors import InvalidInput


@pytest.fixture
def both(tmp_path: Path, address: str) -> Iterator[tuple[zf.Collection, zf.Collection]]:
    """The same documents in a folder and in a cluster."""
    made = [zf.Collection.create(tmp_path / "notes.zf"), zf.Collection.create(address)]
    for collection in made:
        collection.add(DOCUMENTS)
        collection.commit()
        collection.delete(["gone"])
        collection.commit()
    yield made[0], made[1]
    for collection in made:
        collection.close()


def test_values(both: tuple[zf.Collection, zf.Collection]) -> None:
    folder, cluster = both
    for where in (None, {"n": {">": 2}}, {"lang": "nobody"}):
        for limit in (1, 20):
            near, far = folder.facets(None, where, limit), cluster.facets(None, where, limit)
            assert far.keys() == near.keys()
            for name, facet in near.items():
                if name != "n":
                    assert far[name] == facet, name
    assert {value.value: value.count for value in cluster.facets(["n"])["n"].values} == {1: 1, 2.5: 1, 2**53 + 1: 1}
    with pytest.raises(InvalidInput, match="no metadata column"):
        cluster.facets(["none"])


def test_a_term(both: tuple[zf.Collection, zf.Collection]) -> None:
    near, far = (collection.term("words", "Food") for collection in both)
    assert (far.info.term, far.info.df, far.n) == (near.info.term, near.info.df, near.n)
    assert {d.id: (d.weight, list(d.places)) for d in far.documents} == {
        d.id: (d.weight, list(d.places)) for d in near.documents
    }  # fmt: skip
    assert both[1].term("words", "nowhere").info.df == 0
    with pytest.raises(InvalidInput, match="one word"):
        both[1].term("words", "two words")
    with pytest.raises(InvalidInput, match="lists no terms"):
        both[1].terms("words")


def test_likeness_absence_and_factors(both: tuple[zf.Collection, zf.Collection]) -> None:
    folder, cluster = both
    assert {hit.id for hit in cluster.similar("b")} == {hit.id for hit in folder.similar("b")}
    near, far = (collection.absence("food for cats", "d") for collection in both)
    assert (far.reasons, far.rank) == (near.reasons, near.rank)
    adjust: dict[str, Any] = {"words": {"food": 0}}
    assert {hit.id for hit in cluster.search("food for cats", adjust=adjust)} == {"b", "c"}


def test_a_service_over_a_cluster(both: tuple[zf.Collection, zf.Collection], address: str) -> None:
    pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")
    from starlette.testclient import TestClient

    from zipfian.serve.app import create_app
    from zipfian.serve.settings import ServeSettings
    from zipfian.serve.shelf import open_shelf

    notes = "/v1/collections/notes"
    app = create_app(open_shelf([f"notes={address}"], write=True), ServeSettings())
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        (about,) = client.get("/v1/collections").json()["collections"]
        assert (about["engine"], about["documents"], about["writable"]) == ("opensearch", 4, True)
        body: dict[str, Any] = {"text": "food for cats", "explain": "places", "highlight": True, "facets": ["lang"]}
        answer = client.post(f"{notes}/search", json=body).json()
        assert answer["hits"][0]["id"] == "b"
        assert answer["facets"]["lang"]["values"][0] == {"value": "en", "count": 2}
        assert client.post(f"{notes}/explain", json={"text": "food", "id": "d"}).json()["rank"] is None
        assert client.get(f"{notes}/documents/a").json()["text"] == DOCUMENTS[0]["text"]
        assert client.get(f"{notes}/terms/words/food").json()["term"]["df"] == 2
        assert client.get(f"{notes}/similar/b").status_code == 200
        assert client.get(f"{notes}/terms").json()["error"]["code"] == "invalid_input"
        new = {"documents": [{"id": "n", "text": "New food"}]}
        assert client.post(f"{notes}/documents", json=new).json()["added"] == 1
        client.post(f"{notes}/commit", json={})
        assert client.post(f"{notes}/count", json={}).json()["count"] == 5
        assert client.post(f"{notes}/documents/delete", json={"ids": ["n"]}).json()["deleted"] == 1
        assert client.post(f"{notes}/search", json={**body, "scoring": {"k1": 1.0}}).status_code == 422
