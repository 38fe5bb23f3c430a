"""One real cluster for all tests of this folder, started when the first of them runs and stopped at the end."""

from __future__ import annotations

import itertools
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from tests.cluster.server import Cluster, missing

NAMES = itertools.count()


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Three nodes, green."""
    pytest.importorskip("opensearchpy", reason="NO OPENSEARCH TESTS: pip install 'zipfian[opensearch]'")
    if problem := missing():
        pytest.skip(f"NO OPENSEARCH TESTS: {problem}")
    with Cluster() as running:
        print(f"\nOpenSearch: three nodes green after {running.start_s:.1f} s")
        yield running


@pytest.fixture
def address(cluster: Cluster) -> Iterator[str]:
    """An address nobody uses; what is made there is removed afterwards."""
    name = f"test-{next(NAMES)}"
    yield f"opensearch://{cluster.hosts}/{name}"
    drop(cluster, name)
    drop(cluster, f"{name}.zf-models")


def drop(cluster: Cluster, name: str) -> None:
    url = next(node.url for node in cluster.nodes if node.alive)
    try:
        urllib.request.urlopen(urllib.request.Request(f"{url}/{name}", method="DELETE"), timeout=30).close()
    except urllib.error.HTTPError as e:
        if e.code != 404:
            raise
