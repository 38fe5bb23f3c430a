"""What a cluster does to its clients, done on purpose: nothing acknowledged may be lost, every error must be clear."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.proxy import Fault, proxy
from tests.cluster.samples import texts
from tests.cluster.server import Cluster, free_ports, wait_for
from zipfian.engines import opensearch
from zipfian.engines.opensearch import BulkSettings, DocumentsRejected, EngineUnavailable
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput
from zipfian.fields import Words

SMALL = BulkSettings(documents=50, patience=60.0)


@pytest.fixture(autouse=True)
def whole(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test did, the next one finds three nodes."""
    yield
    if "cluster" in request.fixturenames:
        cluster: Cluster = request.getfixturevalue("cluster")
        for node in cluster.nodes:
            if not node.alive:
                node.start()
        cluster.wait("green")


def put(cluster: Cluster, path: str, body: Any) -> None:
    url = next(node.url for node in cluster.nodes if node.alive)
    data, headers = json.dumps(body).encode(), {"Content-Type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(url + path, data, headers, method="PUT"), timeout=30).close()


def index_of(address: str) -> str:
    return address.rpartition("/")[2]


# ---------------------------------------------------------------------- requests that go wrong


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param([429] * 6 + [503, 502, 504], id="a storm of refusals"),
        pytest.param(["cut", "lost", None, "lost", "cut", 429], id="half-written bulks and lost answers"),
    ],
)
@pytest.mark.parametrize("existing", ["error", "replace"])
def test_requests_are_repeated(cluster: Cluster, address: str, plan: list[Fault], existing: Any) -> None:
    opensearch.create(address).close()
    with proxy(cluster.nodes[0].port, "_bulk", plan) as spoiler:
        through = f"opensearch://127.0.0.1:{spoiler.port}/{index_of(address)}"
        with opensearch.open(through, "w", bulk=BulkSettings(documents=40, patience=60.0)) as c:
            assert c.add(texts(200), existing=existing) == 200
            c.commit()
            assert c.last.rejected == [] and c.last.present == []
            assert len(c) == 200
            assert list(c.ids()) and sorted(c.ids()) == sorted(d["id"] for d in texts(200))
        assert spoiler.plan == [], "every fault was met"


def test_patience_ends_with_a_clear_error_and_a_rerun_completes(cluster: Cluster, address: str) -> None:
    opensearch.create(address).close()
    with proxy(cluster.nodes[0].port, "_bulk", [None, None, *[429] * 100]) as spoiler:
        through = f"opensearch://127.0.0.1:{spoiler.port}/{index_of(address)}"
        hasty = BulkSettings(documents=50, requests=1, patience=1.0)
        with opensearch.open(through, "w", bulk=hasty) as c:
            with pytest.raises(EngineUnavailable, match=r"50 documents .* within 1 s: .*429.* existing='skip'"):
                c.add(texts(300))
            assert c.last.taken == 100
            spoiler.plan.clear()
            assert c.add(texts(300), existing="skip") == 200
            c.commit()
            assert len(c) == 300


def test_connection_refused() -> None:
    pytest.importorskip("opensearchpy", reason="NO OPENSEARCH TESTS: pip install 'zipfian[opensearch]'")
    (port,) = free_ports(1)
    began = time.monotonic()
    with pytest.raises(EngineUnavailable, match=rf"127\.0\.0\.1:{port}/x: no node answers .*is the cluster running"):
        opensearch.open(f"opensearch://127.0.0.1:{port}/x")
    assert time.monotonic() - began < 10


def test_every_rejected_document_is_reported(cluster: Cluster, address: str) -> None:
    """A strict mapping that somebody narrowed: some documents do not fit, all others are in."""
    with opensearch.create(address, bulk=SMALL) as c:
        put(cluster, f"/{index_of(address)}/_mapping", {"properties": {"m_i_n": {"type": "long"}}})
        c._writing._known.add("m_s_n")  # as if it were there
        documents = [{**d, "metadata": {"n": "text"}} if i % 10 == 3 else d for i, d in enumerate(texts(100))]
        with pytest.raises(DocumentsRejected, match="10 documents were rejected, 90 taken") as caught:
            c.add(documents)
        assert sorted(r.id for r in caught.value.rejected) == sorted(f"d{i}" for i in range(100) if i % 10 == 3)
        assert all(r.status == 400 and "m_s_n" in r.reason for r in caught.value.rejected)
        c.commit()
        assert len(c) == 90


# ---------------------------------------------------------------------- indices that are not ours


def test_changed_and_foreign_indices_are_refused(cluster: Cluster, address: str) -> None:
    name = index_of(address)
    put(cluster, f"/{name}", {})
    with pytest.raises(InvalidInput, match="not made by zipfian"):
        opensearch.open(address)
    url = cluster.nodes[0].url
    urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="DELETE"), timeout=30).close()
    with opensearch.create(address) as c:
        about = c._layout.about()
    put(cluster, f"/{name}/_mapping", {"_meta": {"zipfian": {**about, "format": 99}}})
    with pytest.raises(FormatTooNew, match="upgrade"):
        opensearch.open(address)
    words = about["settings"]["fields"][0]
    other = {**about, "settings": {**about["settings"], "fields": [{**words, "fingerprint": "words-0:other"}]}}
    put(cluster, f"/{name}/_mapping", {"_meta": {"zipfian": other}})
    with pytest.raises(FingerprintMismatch, match="words-0:other"):
        opensearch.open(address)
    scoring = {**words["scoring"], "k1": 7.5}
    changed = {**about, "settings": {**about["settings"], "fields": [{**words, "scoring": scoring}]}}
    put(cluster, f"/{name}/_mapping", {"_meta": {"zipfian": changed}})
    with pytest.raises(FingerprintMismatch, match="similarity of this index"):
        opensearch.open(address)


# ---------------------------------------------------------------------- blocks


def test_a_write_block_is_reported_and_a_rerun_completes(cluster: Cluster, address: str) -> None:
    with opensearch.create(address, bulk=SMALL) as c:
        c.add(texts(20))
        put(cluster, f"/{index_of(address)}/_settings", {"index.blocks.write": True})
        with pytest.raises(DocumentsRejected, match="blocked by") as caught:
            c.add(texts(60), existing="skip")
        assert len(caught.value.rejected) == 40 and caught.value.rejected[0].status == 403
        put(cluster, f"/{index_of(address)}/_settings", {"index.blocks.write": None})
        assert c.add(texts(60), existing="skip") == 40
        c.commit()
        assert len(c) == 60


# ---------------------------------------------------------------------- clients that die

CLIENT = """
import sys, time
from tests.cluster.samples import texts
from zipfian.engines import opensearch
from zipfian.engines.opensearch import BulkSettings

def slowly():
    for document in texts(2000):
        time.sleep(0.002)
        yield document

with opensearch.open(sys.argv[1], "w", bulk=BulkSettings(documents=25)) as c:
    c.add(slowly(), progress=lambda n: print(n, flush=True))
"""


def test_a_client_killed_while_indexing(address: str) -> None:
    with opensearch.create(address, bulk=SMALL) as c:
        path = os.pathsep.join(p for p in sys.path if p)
        with subprocess.Popen(
            [sys.executable, "-c", CLIENT, address],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        ) as client:
            acknowledged = 0
            for line in client.stdout or ():
                acknowledged = int(line)
                if acknowledged >= 300:
                    client.kill()
                    break
        c.commit()
        there = len(c)
        assert acknowledged <= there < 2000
        assert c.add(texts(2000), existing="skip") == 2000 - there
        c.commit()
        assert sorted(c.ids()) == sorted(d["id"] for d in texts(2000))
        print(
            f"\nclient killed after {acknowledged} acknowledged: {there} there, {2000 - there} added by the second run"
        )


# ---------------------------------------------------------------------- nodes that die


def test_a_node_killed_while_indexing(cluster: Cluster, address: str) -> None:
    documents = texts(3000)
    acknowledged: list[int] = []
    with opensearch.create(address, shards=3, replicas=1, bulk=SMALL) as c:
        cluster.wait("green")

        def stream() -> Iterator[dict[str, Any]]:
            for i, document in enumerate(documents):
                if i == 1200:
                    cluster.nodes[1].kill()
                yield document

        assert c.add(stream(), progress=acknowledged.append) == 3000
        c.commit()
        assert len(c) == 3000
        assert sorted(c.ids()) == sorted(d["id"] for d in documents)
        assert c.last.rejected == []
        print(
            f"\nkilled at 1200 of 3000: {c.last.taken} acknowledged, {len(c)} there, {c.last.retries} requests repeated"
        )
        cluster.restart(1)
        cluster.wait("green")
        assert len(c) == 3000


def test_a_node_killed_while_searching(cluster: Cluster, address: str) -> None:
    with opensearch.create(address, {"words": Words()}, shards=3, replicas=1) as c:
        c.add(texts(500))
        c.commit()
        cluster.wait("green")
        expected = [h.id for h in c.search("w1 w20 w33")]
        done = threading.Event()
        lists: list[list[str]] = []
        errors: list[Exception] = []

        def search() -> None:
            while not done.is_set():
                try:
                    lists.append([h.id for h in c.search("w1 w20 w33")])
                except Exception as e:  # noqa: BLE001 - counted and shown
                    errors.append(e)

        thread = threading.Thread(target=search)
        thread.start()
        try:
            wait_for(lambda: errors or len(lists) > 3)
            before = len(lists)
            cluster.nodes[2].kill()
            time.sleep(4.0)
            wait_for(lambda: errors or len(lists) - before > 3)
        finally:
            done.set()
            thread.join()
        print(f"\n{before} searches before the kill, {len(lists) - before} after it, {len(errors)} failed")
        assert not errors, errors[0]
        assert all(found == expected for found in lists)


def test_the_whole_cluster_restarted(cluster: Cluster, address: str) -> None:
    with opensearch.create(address, bulk=SMALL) as c:
        c.add(texts(100))
        c.commit()
        for node in cluster.nodes:
            node.kill()
        with pytest.raises(EngineUnavailable, match="no node answers"):
            c.search("w1")
        for i in range(3):
            cluster.restart(i)
        cluster.wait("green")
        assert len(c) == 100
        assert c.add(texts(150), existing="skip") == 50
        c.commit()
        assert len(c) == 150
