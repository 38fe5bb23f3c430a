"""TLS to a real endpoint in front of a real node: who is trusted, who is refused, and where secrets end up."""

from __future__ import annotations

import base64
import logging
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cluster import tls
from tests.cluster.tls import Authority, Endpoint, endpoint
from zipfian import Collection
from zipfian.engines.opensearch import address as names
from zipfian.errors import EngineRefused, EngineUnavailable, InvalidInput

USER, PASSWORD, KEY = "reader-7431", "correct-horse-9182", "a2V5LWlkOnNlY3JldC1rZXktNTUxMg=="
BASIC = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = (PASSWORD, BASIC, KEY)
HERE = "DNS:localhost,IP:127.0.0.1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    if problem := tls.missing():
        pytest.skip(f"NO TLS TESTS: {problem}")
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def secure(authority: Authority, cluster: Any) -> Iterator[Endpoint]:
    with endpoint(authority.sign("here", HERE), cluster.nodes[0].port) as made:
        yield made


@pytest.fixture(autouse=True)
def no_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (names.USER, names.PASSWORD, names.API_KEY, names.CA_FILE):
        monkeypatch.delenv(name, raising=False)


def at(where: Endpoint, address: str, host: str = "localhost") -> str:
    return f"opensearchs://{host}:{where.port}/{address.rpartition('/')[2]}"


def use(collection: Any) -> None:
    with collection as c:
        c.add([{"id": "a", "text": "green apple"}, {"id": "b", "text": "pear"}])
        c.commit()
        assert [h.id for h in c.search("apple")] == ["a"]


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_a_known_authority_is_trusted(authority: Authority, secure: Endpoint, address: str, host: str) -> None:
    use(Collection.create(at(secure, address, host), ca_certs=authority.file))
    with Collection.open(at(secure, address, host), ca_certs=str(authority.file)) as again:
        assert len(again) == 2
    assert b"green apple" in secure.seen


def test_the_authority_may_come_from_the_environment(
    authority: Authority, secure: Endpoint, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(names.CA_FILE, str(authority.file))
    use(Collection.create(at(secure, address)))


def test_an_unknown_authority_is_refused(authority: Authority, secure: Endpoint, address: str, tmp_path: Path) -> None:
    before = len(secure.seen)
    with pytest.raises(EngineUnavailable, match=r"certificate.*not signed by an authority known here.*ca_certs="):
        Collection.create(at(secure, address))
    other = Authority(tmp_path, "other")
    with pytest.raises(EngineUnavailable, match="not signed by an authority known here"):
        Collection.open(at(secure, address), ca_certs=other.file)
    assert len(secure.seen) == before, "nothing was sent to a server that is not trusted"


def test_another_host_name_is_refused(authority: Authority, cluster: Any, address: str) -> None:
    with endpoint(authority.sign("elsewhere", "DNS:elsewhere.example"), cluster.nodes[0].port) as wrong:
        for host in ("localhost", "127.0.0.1"):
            with pytest.raises(EngineUnavailable, match="its certificate is for another host name"):
                Collection.create(at(wrong, address, host), ca_certs=authority.file)
        assert not wrong.seen


@pytest.mark.filterwarnings("ignore:Unverified HTTPS request")
def test_checks_can_be_turned_off_and_that_is_warned_about(secure: Endpoint, address: str) -> None:
    with pytest.warns(UserWarning, match="verify_certs=False is insecure"):
        use(Collection.create(at(secure, address), verify_certs=False))


def test_a_server_without_tls_and_a_client_without(cluster: Any, authority: Authority, secure: Endpoint) -> None:
    with pytest.raises(EngineUnavailable, match="speaks no TLS there: use opensearch://"):
        Collection.open(f"opensearchs://localhost:{cluster.nodes[0].port}/x", ca_certs=authority.file)
    with pytest.raises(EngineUnavailable, match="no node answers"):
        Collection.open(f"opensearch://localhost:{secure.port}/x")


def test_the_file_of_authorities_must_be_there(secure: Endpoint, address: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.pem.*no such file"):
        Collection.create(at(secure, address), ca_certs=tmp_path / "none.pem")
    (tmp_path / "bad.pem").write_text("not a certificate")
    with pytest.raises(InvalidInput, match=r"bad\.pem.*holds no certificate"):
        Collection.create(at(secure, address), ca_certs=tmp_path / "bad.pem")


@pytest.mark.parametrize("kind", ["basic", "key"])
def test_secrets_reach_the_server_and_nobody_else(
    authority: Authority, secure: Endpoint, cluster: Any, address: str, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture, kind: str,
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    for name in ("opensearch", "opensearch.trace", "urllib3", "urllib3.connectionpool"):
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
        caplog.set_level(logging.DEBUG, logger=name)
    if kind == "basic":
        monkeypatch.setenv(names.USER, USER)
        monkeypatch.setenv(names.PASSWORD, PASSWORD)
    else:
        monkeypatch.setenv(names.API_KEY, KEY)
    wanted = f"basic {BASIC}" if kind == "basic" else f"apikey {KEY}"
    del secure.seen[:]
    told = []
    made = Collection.create(at(secure, address), ca_certs=authority.file)
    told += [repr(made), str(made)]
    use(made)
    sent = secure.seen.decode("utf-8", "replace")
    assert f"authorization: {wanted}".lower() in sent.lower()
    assert sent.lower().count("authorization:") == sent.count(" HTTP/1.1\r\n"), "every request carries it"
    with pytest.raises(InvalidInput) as bad:
        Collection.open("opensearch://elsewhere.example:9200/x")
    told += traceback.format_exception(bad.value)
    refusal = b"HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    with (
        endpoint(authority.sign("refuses", HERE), 0, refusal) as refuses,
        pytest.raises(EngineRefused, match="check the credentials") as refused,
    ):
        Collection.open(at(refuses, address), ca_certs=authority.file)
    told += traceback.format_exception(refused.value)
    with endpoint(authority.sign("wrong", "DNS:wrong.example"), cluster.nodes[0].port) as wrong:
        with pytest.raises(EngineUnavailable) as untrusted:
            Collection.open(at(wrong, address), ca_certs=authority.file)
        assert not wrong.seen, "a server of another name never sees them"
    told += traceback.format_exception(untrusted.value)
    assert caplog.records, "the client did log"
    logged = "\n".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    for secret in SECRETS:
        assert secret not in logged and secret not in caplog.text and secret not in "".join(told)
