"""Addresses and credentials: what is read, what is refused, and what never leaks."""

from __future__ import annotations

import pytest

from zipfian.engines.opensearch.address import API_KEY, CA_FILE, PASSWORD, USER, Address, credentials, is_address
from zipfian.errors import InvalidInput

SECRET = "s3cr3t-value"


def test_parse() -> None:
    one = Address.parse("opensearch://localhost/notes")
    assert one == Address((("localhost", 9200),), "notes", False) and one.is_local
    many = Address.parse("opensearchs://a.example:1,[::1]:2,10.0.0.3:3/my.notes-2")
    assert many.hosts == (("a.example", 1), ("::1", 2), ("10.0.0.3", 3)) and many.secure and not many.is_local
    assert Address.parse(str(many)) == many
    assert is_address("opensearch://x/y") and not is_address("notes.zf") and not is_address(7)


@pytest.mark.parametrize(
    "wrong",
    [
        "opensearch://", "opensearch://host", "opensearch://host/", "http://host/x", "opensearch://host:x/n",
        "opensearch://host:0/n", "opensearch://host:70000/n", "opensearch://host/UPPER", "opensearch://host/_x",
        "opensearch://host/a/b", "opensearch://ho st/n", "opensearch://host/..", "opensearch://,/n",
    ],
)  # fmt: skip
def test_wrong_addresses(wrong: str) -> None:
    with pytest.raises(InvalidInput):
        Address.parse(wrong)


def test_credentials_do_not_belong_into_addresses() -> None:
    with pytest.raises(InvalidInput) as caught:
        Address.parse(f"opensearch://me:{SECRET}@host/notes")
    assert SECRET not in str(caught.value) and USER in str(caught.value)


def test_credentials_come_from_the_environment() -> None:
    safe = Address.parse("opensearchs://host/notes")
    assert credentials(safe, {}) == {}
    assert credentials(safe, {USER: "me", PASSWORD: SECRET}) == {"http_auth": ("me", SECRET)}
    assert credentials(safe, {API_KEY: SECRET})["headers"] == {"Authorization": f"ApiKey {SECRET}"}
    assert credentials(safe, {CA_FILE: "ca.pem"}) == {"ca_certs": "ca.pem"}
    for wrong in ({USER: "me"}, {PASSWORD: SECRET}, {USER: "me", PASSWORD: SECRET, API_KEY: "x"}):
        with pytest.raises(InvalidInput) as caught:
            credentials(safe, wrong)
        assert SECRET not in str(caught.value)


def test_secrets_are_not_sent_in_clear_text() -> None:
    with pytest.raises(InvalidInput, match="not encrypted") as caught:
        credentials(Address.parse("opensearch://far.example/notes"), {API_KEY: SECRET})
    assert SECRET not in str(caught.value)
    assert credentials(Address.parse("opensearch://127.0.0.1/notes"), {API_KEY: SECRET})


def test_certificates_are_checked_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    opensearchpy = pytest.importorskip("opensearchpy")
    from zipfian.engines.opensearch.client import Client

    seen: list[dict[str, object]] = []

    class Recorder:
        def __init__(self, **options: object) -> None:
            seen.append(options)

    monkeypatch.setattr(opensearchpy, "OpenSearch", Recorder)
    monkeypatch.setenv(USER, "me")
    monkeypatch.setenv(PASSWORD, SECRET)
    client = Client(Address.parse("opensearchs://host/notes"))
    assert seen[0]["use_ssl"] is True and seen[0]["verify_certs"] is True and "ssl_assert_hostname" not in seen[0]
    assert seen[0]["http_auth"] == ("me", SECRET)
    assert SECRET not in repr(client) + str(client.address) + repr(vars(client))
    Client(Address.parse("opensearchs://host/notes"), verify_certs=False)
    assert seen[1]["verify_certs"] is False and seen[1]["ssl_assert_hostname"] is False
