"""What a stranger, or a page of a stranger in the user's browser, may try."""

from __future__ import annotations

import base64
import io
import json
import logging
import re
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from starlette.testclient import TestClient

import zipfian as zf
from tests.serve.conftest import SCRIPT, Service
from zipfian import limits
from zipfian.errors import InvalidInput
from zipfian.serve.keys import Keys, hashed, load_keys, new_key, read_keys
from zipfian.serve.settings import ServeSettings

NOTES = "/v1/collections/notes"
SEARCH = f"{NOTES}/search"
BODY = {"text": "food"}
JSON = {"content-type": "application/json"}


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


# ---------------------------------------------------------------------- names and pages


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "localhost:8765@x", "[::2]"]
)
def test_another_name_is_refused(client: TestClient, host: str) -> None:
    for url in ("/", "/health", "/v1/collections"):
        assert code(client.get(url, headers={"host": host})) == (421, "wrong_host")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8765", "[::1]:8765"])
def test_names_of_this_machine_are_fine(client: TestClient, host: str) -> None:
    assert client.get("/v1/collections", headers={"host": host}).status_code == 200


def test_a_name_can_be_allowed(service: Service) -> None:
    client = service(hosts=("Search.example",))
    assert client.get("/health", headers={"host": "search.example"}).status_code == 200


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost", "http://localhost:8765.evil.example", ""]
)
def test_another_page_may_not_ask(client: TestClient, origin: str) -> None:
    assert code(client.post(SEARCH, json=BODY, headers={"origin": origin})) == (403, "wrong_origin")
    assert code(client.get("/v1/collections", headers={"origin": origin})) == (403, "wrong_origin")


@pytest.mark.parametrize("site", ["cross-site", "same-site", "whatever"])
def test_another_page_may_not_post(client: TestClient, site: str) -> None:
    assert code(client.post(SEARCH, json=BODY, headers={"sec-fetch-site": site})) == (403, "wrong_origin")


def test_the_own_page_may(client: TestClient) -> None:
    headers = {"origin": "http://localhost:8765", "sec-fetch-site": "same-origin"}
    assert client.post(SEARCH, json=BODY, headers=headers).status_code == 200
    assert client.get("/", headers={"sec-fetch-site": "cross-site"}).status_code == 200  # a link that somebody followed


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
)
def test_what_a_form_can_send_is_refused(client: TestClient, kind: str) -> None:
    answer = client.post(SEARCH, content=json.dumps(BODY), headers={"content-type": kind})
    assert code(answer) == (415, "wrong_content_type")


def test_no_other_origin_is_let_in(client: TestClient) -> None:
    asked = {"origin": "http://localhost:8765", "access-control-request-method": "POST", **JSON}
    for answer in (client.options(SEARCH, headers=asked), client.get("/v1/collections")):
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("url", ["/", "/v1/collections", "/v1/collections/none", "/health", "/nothing", "/docs/"])
def test_browsers_are_told_to_trust_nothing_else(client: TestClient, url: str) -> None:
    headers = client.get(url).headers
    policy = dict(part.strip().partition(" ")[::2] for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


def test_answers_are_not_kept_by_anybody(client: TestClient) -> None:
    assert client.get("/v1/collections").headers["cache-control"] == "no-store"


def test_a_request_id_that_could_steer_a_log_is_replaced(client: TestClient) -> None:
    assert client.get("/health", headers={"x-request-id": "abc-1"}).headers["x-request-id"] == "abc-1"
    for bad in ("a b", "x" * 65, "<script>", '"', "a\tb"):
        assert client.get("/health", headers={"x-request-id": bad}).headers["x-request-id"] != bad


# ---------------------------------------------------------------------- keys


@pytest.fixture
def keys(service: Service) -> tuple[TestClient, str, str]:
    """A service that asks for keys; one that reads, one that writes."""
    read, admin = new_key(), new_key()
    return service(write=True, read_keys=(hashed(read),), admin_keys=(hashed(admin),)), read, admin


def bearing(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def test_without_a_key_there_is_only_the_page(keys: tuple[TestClient, str, str]) -> None:
    client, read, _ = keys
    for url in ("/v1/collections", NOTES, f"{NOTES}/documents/a", "/metrics", "/v1/nothing"):
        answer = client.get(url)
        assert code(answer) == (401, "no_key")
        assert answer.headers["www-authenticate"] == "Bearer"
    for wrong in (read[:-1], read + "x", "", "Bearer", hashed(read)):
        assert code(client.get("/v1/collections", headers=bearing(wrong))) == (401, "no_key")
    assert code(client.get("/v1/collections", headers={"authorization": f"Basic {read}"})) == (401, "no_key")
    assert code(client.get(f"/v1/collections?key={read}")) == (401, "no_key")
    for url in ("/", "/health", "/openapi.json"):
        assert client.get(url).status_code == 200


def test_the_paths_that_ask_for_a_key_cannot_be_spelled_around(keys: tuple[TestClient, str, str]) -> None:
    client, _, _ = keys
    for url in (
        "/v1//collections",
        "//v1/collections",
        "/%76%31/collections",
        "/V1/collections",
        "/v1/../v1/collections",
    ):
        answer = client.get(url)
        assert answer.status_code in (401, 404), url
        assert "documents" not in answer.text


def test_a_key_for_reading_does_not_write(keys: tuple[TestClient, str, str]) -> None:
    client, read, admin = keys
    assert client.post(SEARCH, json=BODY, headers=bearing(read)).status_code == 200
    one = {"documents": [{"id": "a", "text": "x"}]}
    writes: list[tuple[str, str, dict[str, Any]]] = [
        ("PATCH", "documents", one),
        ("POST", "documents", {**one, "existing": "replace"}),
        ("POST", "documents/delete", {"ids": ["a"]}),
        ("POST", "commit", {}),
    ]
    for method, url, body in writes:
        refused = client.request(method, f"{NOTES}/{url}", json=body, headers=bearing(read))
        assert code(refused) == (403, "not_admin")
    for method, url, body in writes:
        assert client.request(method, f"{NOTES}/{url}", json=body, headers=bearing(admin)).status_code == 200
    assert client.get("/metrics", headers=bearing(read)).status_code == 200


def test_what_is_served_for_reading_stays_as_it_is(client: TestClient) -> None:
    assert code(client.post(f"{NOTES}/commit", json={})) == (403, "read_only")
    assert code(client.post(f"{NOTES}/documents/delete", json={"ids": ["a"]})) == (403, "read_only")
    assert code(client.patch(f"{NOTES}/documents", json={"documents": [{"id": "a"}]})) == (403, "read_only")


def test_an_address_that_others_reach_needs_a_key() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "search.example"):
        with pytest.raises(InvalidInput, match="no key is asked for"):
            ServeSettings(host)
        assert not ServeSettings(host, read_keys=("0" * 64,)).local
    for host in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        assert ServeSettings(host).local


def test_whoever_may_only_search_without_a_key_may_not_write(service: Service) -> None:
    client = service(write=True, host="0.0.0.0", open_to_all=True)
    assert client.post(SEARCH, json=BODY).status_code == 200
    assert code(client.post(f"{NOTES}/commit", json={})) == (403, "not_admin")


def test_keys_of_a_file(tmp_path: Path) -> None:
    key = new_key()
    file = tmp_path / "keys"
    file.write_text(f"# who\n\nread {hashed(key)}  # the page\nadmin {'0' * 64}\n")
    keys = load_keys(file)
    assert keys == Keys((hashed(key),), ("0" * 64,))
    assert (keys.role(key), keys.role("x"), keys.role(None)) == ("read", "none", "none")
    assert key not in file.read_text()
    with pytest.raises(InvalidInput, match="line 1 of the keys"):
        read_keys([f"read {key}"])
    file.write_text("# nothing\n")
    with pytest.raises(InvalidInput, match="no key in it"):
        load_keys(file)


def test_neither_keys_nor_queries_are_logged(
    keys: tuple[TestClient, str, str], caplog: pytest.LogCaptureFixture
) -> None:
    client, read, _ = keys
    caplog.set_level(logging.DEBUG)
    client.post(SEARCH, json={"text": "secretword food"}, headers=bearing(read))
    client.get("/v1/collections", headers=bearing(read + "wrong"))
    said = "".join(str(vars(record)) for record in caplog.records if record.name.startswith("zipfian"))
    assert "request_id" in said
    assert read not in said
    assert "secretword" not in said


def test_queries_are_logged_on_request(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    service(log_queries=True).post(SEARCH, json={"text": "secretword food"})
    assert "secretword food" in [getattr(record, "query", None) for record in caplog.records]


# ---------------------------------------------------------------------- sizes


def test_a_body_is_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_SERVED_BODY_BYTES", 1_000)
    client = service()
    big = json.dumps({"text": "x" * 2_000}).encode()
    assert code(client.post(SEARCH, content=big, headers=JSON)) == (413, "too_large")
    pieces = (big[i : i + 100] for i in range(0, len(big), 100))
    assert code(client.post(SEARCH, content=pieces, headers=JSON)) == (413, "too_large")  # no length is promised
    lying = {**JSON, "content-length": "10"}
    assert code(client.post(SEARCH, content=big, headers=lying)) == (413, "too_large")
    huge = {**JSON, "content-length": "9" * 400}
    assert code(client.post(SEARCH, content=b"{}", headers=huge)) == (413, "too_large")


@pytest.mark.parametrize(
    "body",
    [
        {"text": "x" * (limits.MAX_SERVED_QUERY_CHARS + 1)},
        {"text": "food", "k": limits.MAX_SERVED_K + 1},
        {"text": "food", "k": 0},
        {"text": "food", "offset": limits.MAX_SERVED_OFFSET + 1},
        {"text": "food", "weights": {"words": 1e300}},
        {"text": "food", "weights": {"words": -1}},
        {"text": "food", "adjust": {"words": {str(i): 1.0 for i in range(limits.MAX_SERVED_ADJUSTED + 1)}}},
        {"text": "food", "facets": ["lang"] * (limits.MAX_SERVED_FACETS + 1)},
        {"text": "food", "where": {"lang": ["x"] * (limits.MAX_FILTER_VALUES + 1)}},
        {"text": "food", "fields": ["words"] * (limits.MAX_SERVED_FIELDS + 1)},
        {"text": "food", "rerank_depth": limits.MAX_SERVED_K + 1},
        {"text": ""},
        {"text": " "},
        {"text": None},
        {},
        [],
        "food",
        {"text": "food", "image": "https://evil.example/x.png"},
        {"text": "food", "image": "/etc/passwd"},
        {"text": "food", "image": {"path": "/etc/passwd"}},
        {"text": "\ud800"},
    ],
)  # fmt: skip
def test_every_number_is_bounded(client: TestClient, body: Any) -> None:
    answer = client.post(SEARCH, content=json.dumps(body), headers=JSON)
    assert answer.status_code == 422
    assert "passwd" not in answer.text


def test_deep_filters_and_deep_json(client: TestClient) -> None:
    deep: Any = {"lang": "en"}
    for _ in range(500):
        deep = {"not": deep}
    assert client.post(SEARCH, json={"text": "food", "where": deep}).status_code == 422
    for depth, statuses in ((50_000, (400, 422)), (200_000, (413,))):  # the second has too many values to be parsed
        bomb = '{"text": "food", "where": ' + '{"and":[' * depth + "]}" * depth + "}"
        assert client.post(SEARCH, content=bomb, headers=JSON).status_code in statuses
    numbers = '{"text": "food", "where": {"year": ' + "9" * 100_000 + "}}"
    assert client.post(SEARCH, content=numbers, headers=JSON).status_code in (400, 422)
    for word in ("NaN", "Infinity", "-Infinity", "1e999"):
        body = f'{{"text": "food", "exact_match_bonus": {word}}}'
        assert client.post(SEARCH, content=body, headers=JSON).status_code == 422


def test_many_searches_have_a_sum(client: TestClient) -> None:
    body = {"texts": ["food"] * 20, "k": 600}
    assert code(client.post(f"{NOTES}/search_many", json=body)) == (422, "limit_exceeded")


# ---------------------------------------------------------------------- pictures


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def png(width: int, height: int) -> bytes:
    """A PNG that claims a size, with hardly any pixels behind it."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress(b"\0" * 1_000_000, 9)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.fixture
def album(tmp_path: Path, service: Service) -> tuple[TestClient, Path]:
    """A collection of one picture and one liar, served."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    picture = Image.new("RGB", (400, 200), (200, 30, 30))
    exif = Image.Exif()
    exif[0x010E] = "where it was taken"
    picture.save(folder / "red.jpg", exif=exif, comment=b"a secret comment")
    secret = tmp_path / "secret.txt"
    secret.write_text("what nobody may see")
    path = tmp_path / "album.zf"
    vector = [1.0, 0.0, 0.0]
    with zf.Collection.create(path, {"words": zf.Words(), "dense": zf.Dense(vector="default")}) as made:
        from zipfian.encode.picture_files import Stamp

        stamp = Stamp.take(folder / "red.jpg")
        assert stamp is not None
        made.add(
            [
                {"id": "red", "text": "red", "vector": vector,
                 "metadata": {"image": str(folder / "red.jpg"), **stamp.metadata()}},
                {"id": "liar", "text": "liar", "metadata": {"image": str(secret)}},
                {"id": "gone", "text": "gone", "metadata": {"image": str(folder / "gone.jpg"), **stamp.metadata()}},
            ]
        )  # fmt: skip
        made.commit()
    return service(places=[str(path)]), tmp_path


ALBUM = "/v1/collections/album"


def test_a_thumbnail_is_made_anew(album: tuple[TestClient, Path]) -> None:
    client, _ = album
    answer = client.get(f"{ALBUM}/documents/red/thumbnail", params={"side": 100})
    assert answer.headers["content-type"] == "image/jpeg"
    picture = Image.open(io.BytesIO(answer.content))
    assert picture.size == (100, 50)
    assert not picture.getexif()
    assert b"secret" not in answer.content
    assert b"taken" not in answer.content
    assert client.get(f"{ALBUM}/documents/red/thumbnail", params={"side": 100_000}).status_code == 422


def test_a_document_that_names_another_file_shows_nothing_of_it(album: tuple[TestClient, Path]) -> None:
    client, folder = album
    for doc_id in ("liar", "gone"):
        answer = client.get(f"{ALBUM}/documents/{doc_id}/thumbnail")
        assert code(answer) == ((403, "not_allowed") if doc_id == "liar" else (404, "picture_gone"))
        assert str(folder) not in answer.text
        assert "nobody" not in answer.text


def test_where_pictures_are_is_nobodys_business(album: tuple[TestClient, Path]) -> None:
    client, folder = album
    asked = [
        client.get("/v1/collections"),
        client.get(f"{ALBUM}/documents/red"),
        client.post(f"{ALBUM}/search", json={"text": "red", "explain": "places", "highlight": True}),
        client.post(f"{ALBUM}/explain", json={"text": "red", "id": "red"}),
        client.get(f"{ALBUM}/terms/words/red"),
        client.post(f"{ALBUM}/facets", json={}),
    ]
    for answer in asked:
        assert answer.status_code == 200
        assert str(folder) not in answer.text
        assert "sha256" not in answer.text
    hidden: list[dict[str, Any]] = [
        {"where": {"image": {"exists": True}}},
        {"where": {"not": {"or": [{"_image_sha256": "0" * 64}]}}},
        {"facets": ["image"]},
    ]
    for body in hidden:
        answer = client.post(f"{ALBUM}/search", json={"text": "red", **body})
        assert code(answer) == (422, "invalid_input")
    assert client.post(f"{ALBUM}/facets", json={"columns": ["image"]}).status_code == 422


def test_a_writer_names_no_file_of_this_machine(service: Service) -> None:
    client = service(write=True)
    for document in ({"id": "n", "metadata": {"image": "/etc/passwd"}}, {"id": "n", "image": "/etc/passwd"}):
        assert client.post(f"{NOTES}/documents", json={"documents": [document]}).status_code == 422


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not a picture",
        b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        b"%PDF-1.4",
        b"\xff\xd8\xff\xe0" + b"\0" * 100,
        png(60_000, 60_000),
        png(1_000_000, 10),
        png(3, 3)[:40],
    ],
    ids=["empty", "text", "svg", "pdf", "cut jpeg", "bomb", "long", "cut png"],
)
def test_uploads_that_are_no_pictures(service: Service, tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "photos.zf"
    zf.Collection.create(path, fields=["visual"]).close()
    client = service(places=[str(path)])
    answer = client.post("/v1/collections/photos/search", json={"image": encoded(data)})
    assert answer.status_code == 422
    assert str(tmp_path) not in answer.text
    assert "Traceback" not in answer.text


# ---------------------------------------------------------------------- paths, texts, bugs


@pytest.mark.parametrize(
    "url",
    [
        "/../../../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/docs/../../app.py",
        "/docs/%2e%2e/%2e%2e/app.py", "//etc/passwd", "/%00", "/docs/%00", "/\\..\\app.py", "/app.py", "/__init__.py",
        f"{NOTES}/documents/%2e%2e%2f%2e%2e%2fetc%2fpasswd", "/v1/collections/..%2f..%2fetc", "/v1/collections/%00",
    ],
)  # fmt: skip
def test_no_path_leads_out(client: TestClient, url: str) -> None:
    answer = client.get(url)
    assert answer.status_code in (404, 405, 422)
    assert "root:" not in answer.text
    assert "FastAPI" not in answer.text


def test_what_documents_hold_comes_back_as_data(client: TestClient) -> None:
    answer = client.post(SEARCH, json={"text": "script", "explain": "places", "highlight": True, "facets": ["lang"]})
    assert answer.headers["content-type"] == "application/json"
    (hit,) = answer.json()["hits"]
    assert (hit["id"], hit["metadata"]["lang"]) == (SCRIPT, SCRIPT)
    refused = client.get(f"/v1/collections/{SCRIPT.replace('/', '%2F')}")
    assert refused.headers["content-type"] == "application/json"


def test_a_bug_shows_nothing(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise KeyError("/somewhere/on/this/machine")

    shelf = client.app._app.state.shelf  # type: ignore[attr-defined]
    monkeypatch.setattr(type(shelf["notes"].collection), "search", broken)
    answer = client.post(SEARCH, json=BODY)
    assert code(answer) == (500, "internal")
    assert "machine" not in answer.text
    assert "KeyError" not in answer.text
    assert "content-security-policy" in answer.headers


def test_the_page_of_attacks_names_tests_that_are_there() -> None:
    here = Path(__file__).resolve()
    sources = "".join(file.read_text("utf-8") for file in here.parent.glob("test_*.py"))
    page = (here.parents[2] / "docs" / "security.md").read_text("utf-8")
    named = re.findall(r"`(test_\w+)`", page)
    assert len(named) > 20
    assert [name for name in named if f"def {name}(" not in sources] == []
