"""The paper projection: sums that can be done by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from benchmarks.projection import Cost, active, costs, table


def measured() -> dict[str, Any]:
    def step(n: int, ms: float, own: float) -> dict[str, Any]:
        return {
            "documents": n, "postings_per_query": 0.05 * n,
            "cluster": {
                "bytes_merged": 100 * n, "index_cpu_s": 0.9 * 1e-3 * n, "k10": {"cpu_ms": ms}, "fixed_ms": 3.0,
            },
            "embedded": {"bytes": 70 * n, "index_cpu_s": 0.09 * 1e-3 * n, "k10": {"cpu_ms": own}, "fixed_ms": 0.0},
        }  # fmt: skip

    return {
        "n_terms": 18_432, "terms_per_document": 16.0, "terms_per_query": 16.0, "replicas": 1,
        "steps": [step(100_000, 4.0, 0.1), step(1_000_000, 13.0, 0.4)],
    }  # fmt: skip


def test_constants_come_from_the_measurement() -> None:
    cluster, embedded = costs(measured()).values()
    assert (cluster.bytes_per_document, cluster.copies, embedded.bytes_per_document, embedded.copies) == (100, 2, 70, 1)
    assert cluster.index_cpu_s == pytest.approx(1e-3) and embedded.index_cpu_s == pytest.approx(1e-4)
    assert cluster.per_document == pytest.approx(1e-5) and cluster.exponent == pytest.approx(1.0)
    assert embedded.exponent == pytest.approx(math.log10(4.0))
    assert embedded.measured_ms(10_000_000) == pytest.approx(1.6) and embedded.linear_ms(10_000_000) == pytest.approx(4)
    assert cluster.linear_ms(1_000_000) == 13.0 and cluster.linear_ms(100_000_000) == pytest.approx(1003.0)
    assert cluster.bytes(1_000_000_000) == 2e11
    assert cluster.index_cores(864_000_000) == pytest.approx(10.0)
    assert cluster.shards(100_000_000) == 11, "1,000 ms of postings, 97 ms of room beside 3 ms paid anyway"


def test_noise_does_not_make_large_collections_cheaper() -> None:
    odd = Cost(100, 1, 1e-3, 3.0, (100_000, 5.0), (1_000_000, 4.0))
    assert odd.exponent == 0.5 and odd.linear_ms(10**9) == pytest.approx(1003.0) and odd.shards(10**9) == 11
    lost = Cost(100, 1, 1e-3, 6.0, (100_000, 5.0), (1_000_000, 7.0))
    assert lost.exponent == 1.0, "where the smaller size does not tell, nothing is promised"
    assert Cost(1, 1, 1.0, 9.0, (1, 1.0), (2, 1.0)).shards(3 << 31) == 3


def test_terms_in_use() -> None:
    assert active(1000, 10.0, 1) == pytest.approx(10.0)
    assert active(1000, 10.0, 10**6) == pytest.approx(1000.0)


def test_table() -> None:
    shown = table(measured())
    rows = {line.split(" | ")[0].strip("| "): line.strip("| ").split(" | ")[1:] for line in shown.splitlines()}
    assert rows["postings of a query, as measured x N"] == ["50,000", "5 million", "50 million"]
    assert rows["postings of a query, terms spread evenly (eq. 10)"][1] == "1.39 million"
    assert rows["index by formula (6 L_0 bytes)"] == ["96 MB", "9.6 GB", "96 GB"]
    assert rows["cluster: index, 100 bytes/document, 2 copies"] == ["200 MB", "20 GB", "200 GB"]
    assert rows["cluster: processor time of a query, linear"] == ["13 ms", "1 s", "10 s"]
    assert len({line.count("|") for line in shown.splitlines()}) == 1
