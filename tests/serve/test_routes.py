"""What each route answers, compared with what the library says of the same collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

import zipfian as zf
from tests.serve.conftest import SCRIPT, Service
from tests.toys import ToyText, toy_vocabulary
from zipfian import limits

NOTES = "/v1/collections/notes"


def test_collections_are_listed(client: TestClient) -> None:
    answer = client.get("/v1/collections").json()
    (notes,) = answer["collections"]
    assert answer["time"] > 0.0
    assert (notes["name"], notes["documents"], notes["generation"]) == ("notes", 4, 2)
    assert notes["columns"] == {"lang": "string", "year": "integer", "tags": "list[string]"}
    assert [(field["name"], field["kind"], field["terms"]) for field in notes["fields"]] == [("words", "words", True)]
    assert notes["writable"] is False
    assert client.get(NOTES).json()["collection"] == notes


def test_a_search_is_that_of_the_library(client: TestClient, path: Path) -> None:
    body = {"text": "food from plants", "k": 2, "offset": 1, "where": {"lang": ["en", SCRIPT]}}
    answer = client.post(f"{NOTES}/search", json=body).json()
    with zf.Collection.open(path) as notes:
        found = notes.search("food from plants", 2, {"lang": ["en", SCRIPT]}, offset=1)
        want = [(hit.rank, hit.id, hit.score, hit.text, dict(hit.metadata)) for hit in found]
    assert len(want) == 2
    got = [(hit["rank"], hit["id"], hit["score"], hit["text"], hit["metadata"]) for hit in answer["hits"]]
    assert got == want
    assert answer["generation"] == 2
    assert set(answer["timings"]) == {"prepare", "encode", "filter", "search", "total", "present"}


def test_hits_say_how_likely_they_are(client: TestClient, path: Path) -> None:
    every = client.post(f"{NOTES}/search", json={"text": "food from plants"}).json()["hits"]
    with zf.Collection.open(path) as notes:
        assert [hit["confidence"] for hit in every] == [hit.confidence for hit in notes.search("food from plants")]
    least = sorted(hit["confidence"] for hit in every)[1]
    some = client.post(f"{NOTES}/search", json={"text": "food from plants", "min_confidence": least}).json()["hits"]
    assert 0 < len(some) < len(every) and all(hit["confidence"] >= least for hit in some)
    assert client.post(f"{NOTES}/search", json={"text": "food", "min_confidence": 1.1}).status_code == 422


def leaves(node: dict[str, Any]) -> float:
    return sum(map(leaves, node["parts"])) if node.get("parts") else node["value"]


def test_levels_of_explanation(client: TestClient) -> None:
    def first(level: str) -> dict[str, Any]:
        answer = client.post(f"{NOTES}/search", json={"text": "plants food", "explain": level})
        hit: dict[str, Any] = answer.json()["hits"][0]
        return hit

    none, fields, terms, places = map(first, ("none", "fields", "terms", "places"))
    assert "fields" not in none
    assert "explanation" not in none
    assert fields["fields"]["words"]["share"] == fields["score"]
    assert "explanation" not in fields
    assert leaves(terms["explanation"]) == terms["score"]
    assert [part["term"] for part in terms["explanation"]["parts"]] == ["plant", "food"]
    assert all("evidence" not in part for part in terms["explanation"]["parts"])
    assert places["explanation"]["parts"][0]["evidence"] == [{"start": 0, "end": 6, "text": "Plants"}]


def test_passages(client: TestClient) -> None:
    answer = client.post(f"{NOTES}/search", json={"text": "plants food", "highlight": {"max_chars": 60}}).json()
    (snippet,) = answer["hits"][0]["snippets"]
    assert snippet["text"] == "Plants make food from light."
    assert [snippet["text"][a:b] for a, b in snippet["marks"]] == ["Plants", "food"]


def test_facets_beside_a_search(client: TestClient) -> None:
    body = {"text": "food", "facets": ["lang", "tags"], "where": {"year": {">": 2000}}}
    answer = client.post(f"{NOTES}/search", json=body).json()
    assert answer["scope"] == 3
    assert answer["facets"]["lang"]["values"] == [{"value": "en", "count": 2}, {"value": "de", "count": 1}]
    assert answer["facets"]["tags"]["values"] == [{"value": "y", "count": 2}, {"value": "x", "count": 1}]
    assert answer["facets"]["tags"]["missing"] == 1


def test_facets_alone(client: TestClient) -> None:
    answer = client.post(f"{NOTES}/facets", json={"limit": 1}).json()
    assert set(answer["facets"]) == {"lang", "year", "tags"}
    assert answer["facets"]["lang"]["values"] == [{"value": "en", "count": 2}]
    assert answer["facets"]["lang"]["more"] == 2
    assert (answer["facets"]["year"]["lowest"], answer["facets"]["year"]["highest"]) == (2020, 2024)
    assert answer["scope"] == 4


def test_many_searches(client: TestClient) -> None:
    answer = client.post(f"{NOTES}/search_many", json={"texts": ["plants", "Katzen", "nothing"], "k": 1}).json()
    assert [[hit["id"] for hit in one["hits"]] for one in answer["results"]] == [["a"], ["c/d"], []]


def test_weights_and_formula(client: TestClient, path: Path) -> None:
    body = {"text": "food", "fields": ["words"], "scoring": {"k1": 0.5, "b": 0.0}}
    answer = client.post(f"{NOTES}/search", json=body).json()
    with zf.Collection.open(path) as notes:
        want = notes.search("food", fields="words", scoring=zf.BM25(0.5, 0.0))[0].score
    assert answer["hits"][0]["score"] == want
    weighted = client.post(f"{NOTES}/search", json={"text": "food", "method": "linear", "weights": {"words": 2.0}})
    assert weighted.json()["settings"]["weights"] == {"words": 2.0}


@pytest.mark.parametrize("doc_id", ["a", "c/d", SCRIPT])
def test_a_document_by_its_id(client: TestClient, doc_id: str) -> None:
    answer = client.get(f"{NOTES}/documents/{quote(doc_id, safe='')}").json()
    assert answer["id"] == doc_id
    assert answer["text_cut"] is False
    assert answer["picture"] is False


def test_an_id_that_ends_like_a_route(service: Service, path: Path) -> None:
    with zf.Collection.open(path, "w") as notes:
        notes.add([{"id": "x/thumbnail", "text": "one"}, {"id": "%2F", "text": "two"}])
        notes.commit()
    client = service()
    assert client.get(f"{NOTES}/documents/x%2Fthumbnail").json()["text"] == "one"
    assert client.get(f"{NOTES}/documents/%252F").json()["text"] == "two"
    assert client.get(f"{NOTES}/documents/x/thumbnail").json()["error"]["code"] == "unknown_document"


def test_why_and_why_not(client: TestClient) -> None:
    body: dict[str, Any] = {"text": "plants food", "id": "a"}
    found = client.post(f"{NOTES}/explain", json=body).json()
    assert found["rank"] == 1
    assert found["missing"] == []
    assert leaves(found["explanation"]) == found["score"]
    absent = client.post(f"{NOTES}/explain", json={**body, "id": "c/d"}).json()
    assert absent["rank"] is None
    assert absent["missing"] == ["nothing in it matches the query", "words: it lacks plant, food"]
    assert absent["lacking"] == {"words": ["plant", "food"]}
    below = client.post(f"{NOTES}/explain", json={**body, "id": "b", "k": 1}).json()
    assert below["missing"][0].startswith(f"it scores {below['score']:.4f}, and the last of the hits ")
    excluded = client.post(f"{NOTES}/explain", json={**body, "where": {"lang": "de"}}).json()
    assert excluded["missing"] == ["the filter keeps it out"]


def test_why_one_is_above_another(client: TestClient) -> None:
    body = {"text": "plants food", "id": "a", "above": "b"}
    answer = client.post(f"{NOTES}/explain", json=body).json()
    scores = {
        hit["id"]: hit["score"] for hit in client.post(f"{NOTES}/search", json={"text": "plants food"}).json()["hits"]
    }
    assert answer["explanation"]["kind"] == "difference"
    assert answer["explanation"]["value"] == pytest.approx(scores["a"] - scores["b"])


def test_similar_documents(client: TestClient) -> None:
    answer = client.get(f"{NOTES}/similar/b", params={"k": 5}).json()
    assert {hit["id"] for hit in answer["hits"]} == {"a", SCRIPT}
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2]


def test_terms(client: TestClient) -> None:
    answer = client.get(f"{NOTES}/terms", params={"limit": 1}).json()
    assert answer["fields"][0]["terms"][0] == {
        "term": "food", "label": "food", "kind": None, "df": 3, "idf": pytest.approx(0.3567, abs=1e-4),
    }  # fmt: skip
    assert answer["fields"][0]["found"] > 5
    found = client.get(f"{NOTES}/terms", params={"label": "pla", "field": "words"}).json()
    assert [term["term"] for term in found["fields"][0]["terms"]] == ["plant"]
    page = client.get(f"{NOTES}/terms/words/Plants").json()
    assert (page["term"]["term"], page["term"]["df"], page["n"]) == ("plant", 1, 4)
    assert page["documents"][0]["places"] == [{"start": 0, "end": 6, "text": "Plants"}]
    curve = client.get(f"{NOTES}/vocabulary/words").json()
    assert curve["curve"][0] == {"rank": 1, "df": 3}
    assert curve["terms"] == answer["fields"][0]["found"]


def test_writing(service: Service) -> None:
    client = service(write=True)
    added = client.post(f"{NOTES}/documents", json={"documents": [{"id": "n", "text": "A new note."}]})
    assert added.json()["added"] == 1
    assert client.post(f"{NOTES}/count", json={}).json()["count"] == 4
    assert client.post(f"{NOTES}/commit", json={"user": {"why": "test"}}).json()["generation"] == 3
    assert client.post(f"{NOTES}/count", json={}).json()["count"] == 5
    assert client.post(f"{NOTES}/search", json={"text": "note"}).json()["hits"][0]["id"] == "n"
    assert client.post(f"{NOTES}/documents/delete", json={"where": {"lang": "en"}}).json()["deleted"] == 2
    assert client.post(f"{NOTES}/documents/delete", json={"ids": ["n", "nobody"]}).json()["deleted"] == 1
    client.post(f"{NOTES}/commit", json={})
    assert client.post(f"{NOTES}/count", json={"where": {"lang": "en"}}).json()["count"] == 0
    again = client.post(f"{NOTES}/documents", json={"documents": [{"id": "c/d"}], "existing": "skip"})
    assert again.json()["added"] == 0


def test_parts_of_documents_are_changed_and_the_rest_stays(service: Service) -> None:
    client = service(write=True)
    changes = [
        {"id": "a", "metadata": {"year": 2022, "lang": None}},
        {"id": "b", "text": "Dogs like food."},
        {"id": "c/d", "text": None, "image": None},
    ]
    assert client.patch(f"{NOTES}/documents", json={"documents": changes}).json()["updated"] == 3
    assert client.get(f"{NOTES}/documents/a").json()["metadata"]["year"] == 2021, "seen with a commit"
    client.post(f"{NOTES}/commit", json={})
    a, b, c = (client.get(f"{NOTES}/documents/{name}").json() for name in ("a", "b", "c%2Fd"))
    assert (a["text"], a["metadata"]) == ("Plants make food from light.", {"year": 2022, "tags": ["x", "y"]})
    assert (b["text"], b["metadata"]) == ("Dogs like food.", {"lang": "en", "year": 2024, "tags": ["y", "y"]})
    assert (c["text"], c["metadata"]) == (None, {"lang": "de", "year": 2020})
    assert client.post(f"{NOTES}/search", json={"text": "dogs"}).json()["hits"][0]["id"] == "b"
    assert client.post(f"{NOTES}/search", json={"text": "cats"}).json()["hits"] == []


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([{"id": "nobody", "text": "x"}], "document 'nobody' is not in the collection: add it, or use upsert"),
        ([{"id": "a", "metadata": {"image": "/etc/passwd"}}], "'image' is about the machine that holds the pictures"),
        ([{"id": "a", "metadata": {"year": "late"}}], "year"),
        ([{"id": "a", "body": "x"}], "body.documents.0.body: Extra inputs are not permitted"),
        ([{"text": "x"}], "body.documents.0.id: Field required"),
        ([], "body.documents: List should have at least 1 item"),
        ([{"id": "a"}] * (limits.MAX_SERVED_DOCUMENTS + 1), "body.documents: List should have at most"),
    ],
)
def test_a_change_that_cannot_be_made_is_refused(service: Service, documents: list[Any], said: str) -> None:
    client = service(write=True)
    answer = client.patch(f"{NOTES}/documents", json={"documents": documents})
    assert answer.status_code == 422
    assert said in answer.json()["error"]["message"]
    assert client.post(f"{NOTES}/commit", json={}).json()["generation"] == 2, "there was nothing to commit"


def test_an_unknown_field_of_a_request_is_refused(client: TestClient) -> None:
    answer = client.post(f"{NOTES}/search", json={"text": "food", "limit": 3})
    assert answer.status_code == 422
    assert answer.json()["error"]["message"] == "body.limit: Extra inputs are not permitted"


@pytest.mark.parametrize(
    ("method", "url", "status", "code"),
    [
        ("GET", "/v1/collections/none", 404, "unknown_collection"),
        ("GET", f"{NOTES}/documents/none", 404, "unknown_document"),
        ("GET", f"{NOTES}/documents/none/thumbnail", 404, "unknown_document"),
        ("GET", f"{NOTES}/documents/a/thumbnail", 404, "no_picture"),
        ("GET", f"{NOTES}/similar/none", 404, "unknown_document"),
        ("GET", f"{NOTES}/terms/none/x", 404, "unknown_field"),
        ("GET", f"{NOTES}/terms/words/two%20words", 422, "invalid_input"),
        ("GET", f"{NOTES}/vocabulary/none", 404, "unknown_field"),
        ("GET", "/v1/nothing", 404, "unknown_route"),
        ("GET", "/nothing", 404, "unknown_route"),
        ("GET", f"{NOTES}/search", 405, "wrong_method"),
        ("PUT", "/v1/collections", 415, "wrong_content_type"),
        ("GET", f"{NOTES}/documents/%ff", 422, "invalid_request"),
    ],
)
def test_errors_have_one_shape(client: TestClient, method: str, url: str, status: int, code: str) -> None:
    answer = client.request(method, url)
    assert answer.status_code == status
    error = answer.json()["error"]
    assert set(answer.json()) == {"error"}
    assert set(error) == {"code", "message", "type", "request_id"}
    assert (error["code"], error["request_id"]) == (code, answer.headers["x-request-id"])


def test_the_state_of_the_service(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"
    client.app._app.state.warm.wait(60)  # type: ignore[attr-defined]
    assert client.get("/ready").json()["status"] == "ready"
    client.app._app.state.warm.clear()  # type: ignore[attr-defined]
    answer = client.get("/ready")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_metrics(client: TestClient) -> None:
    for _ in range(2):
        client.post(f"{NOTES}/search", json={"text": "food"})
    client.get("/v1/collections/<script>")
    text = client.get("/metrics").text
    route = "/v1/collections/{collection}/search"
    assert f'zipfian_requests_total{{route="{route}",method="POST",status="200"}} 2' in text
    assert 'zipfian_searches_total{collection="notes",cached="true"} 1' in text
    assert f'zipfian_request_seconds_count{{route="{route}"}} 2' in text
    assert 'zipfian_search_stage_seconds_count{collection="notes",stage="search"} 2' in text
    assert 'zipfian_generation{collection="notes"} 2' in text
    assert "script" not in text


def test_the_page_and_the_interface_need_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    docs = client.get("/docs")
    assert docs.status_code == 200
    for text in (page.text, docs.text, client.get("/docs/docs.js").text, client.get("/docs/docs.css").text):
        assert "http://" not in text
        assert "https://" not in text


def test_every_route_is_documented_with_errors_and_an_example(client: TestClient) -> None:
    document = client.get("/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    assert len(document["paths"]) >= 17
    assert document["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    for path, methods in document["paths"].items():
        for method, about in methods.items():
            assert about["description"], path
            assert ("security" in about) == path.startswith("/v1/")
            if path.startswith("/v1/"):
                assert about["security"] == [{"HTTPBearer": []}]
                shape = about["responses"]["422"]["content"]["application/json"]["schema"]["$ref"]
                assert shape.endswith("/ErrorAnswer"), (path, method)
            body = about.get("requestBody")
            if body:
                name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
                assert document["components"]["schemas"][name]["examples"], name


def test_places_in_the_query(tmp_path: Path, service: Service) -> None:
    encoder = ToyText()
    fields = {"words": zf.Words(), "latent": zf.Latent(toy_vocabulary(tmp_path / "toy-sae"), encoder=encoder)}
    with zf.Collection.create(tmp_path / "toys.zf", fields) as made:
        made.add([{"id": "a", "text": "A puppy sleeps in the sun."}, {"id": "b", "text": "The automobile is red."}])
        made.commit()
    client = service(places=[str(tmp_path / "toys.zf")])
    body: dict[str, Any] = {"text": "my hound", "fields": ["latent"], "explain": "places"}
    answer = client.post("/v1/collections/toys/search", json=body).json()
    assert answer["hits"][0]["explanation"]["parts"][0]["evidence"][0]["text"] == "puppy"
    (place,) = answer["query_places"]["latent"]["1"]
    assert (place["start"], place["end"], place["text"]) == (3, 8, "hound")
    assert "query_places" not in client.post("/v1/collections/toys/search", json={**body, "explain": "terms"}).json()
    reasons = client.post("/v1/collections/toys/explain", json={**body, "id": "a"}).json()
    assert reasons["query_places"] == answer["query_places"]
    for other in ({"query_encoder": "table"}, {"explain": "terms"}, {"above": "b"}):
        without = client.post("/v1/collections/toys/explain", json={**body, "id": "a", **other}).json()
        assert not without.get("query_places")
    muted = client.post("/v1/collections/toys/search", json={**body, "adjust": {"latent": {"1": 0}}}).json()
    assert 1 not in [part["term"] for hit in muted["hits"] for part in hit["explanation"]["parts"]]


def test_what_a_scoring_does_not_name_stays_as_the_field_has_it(tmp_path: Path, service: Service) -> None:
    own = zf.BM25(k1=4.0, b=0.7, phi="power:0.65")
    with zf.Collection.create(tmp_path / "own.zf", {"words": zf.Words(scoring=own)}) as notes:
        notes.add([{"id": "a", "text": "food food food"}, {"id": "b", "text": "some food for many cats"}])
        notes.commit()
        want = notes.search("food", scoring=zf.BM25(k1=0.5, b=0.7, phi="power:0.65"))
        wanted = {hit.id: hit.score for hit in want}
    client = service(places=[str(tmp_path / "own.zf")])
    body = {"text": "food", "fields": ["words"], "scoring": {"k1": 0.5}}
    found = client.post("/v1/collections/own/search", json=body).json()
    assert {hit["id"]: hit["score"] for hit in found["hits"]} == wanted
    same = client.post("/v1/collections/own/search", json={**body, "scoring": {}}).json()
    assert same["settings"]["scoring"] == own.to_json()
