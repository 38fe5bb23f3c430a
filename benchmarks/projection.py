"""What 100M and 1B documents would need, on paper: the cost model of BM25-V (section 4.5) with measured constants.

    python -m benchmarks.projection build/cluster.json
    python -m benchmarks.projection --growth results/speed/growth.json      # a folder alone, from its growth curve

The model: an index grows with N x L_0 (L_0 terms a document); a query reads L_q lists of N x L_0 / V_active postings
each if terms are spread evenly (equations 10 and 11), and is linear in N once all terms are in use. Measured are
bytes and processor seconds of a document, postings of a query (lists that queries ask for are longer than the mean),
and processor milliseconds of a query, with those of a query that matches nothing taken apart. Engines skip postings
that cannot matter, so that cost grows slower than N: linear growth from the larger size is an upper bound, and the
growth between the two measured sizes is given beside it. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zipfian.evaluate.zipf import OPERATIONS_PER_POSTING

SIZES = (100_000_000, 1_000_000_000)
TARGET_MS = 100.0
"""Time of a query that the number of shards is chosen for."""
SHARD_DOCUMENTS = 1 << 31
"""Lucene's own limit on the documents of a shard."""
DAY_S = 86_400.0
BYTES_PER_POSTING = 6
"""Of the paper: four for the document, two for the weight."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one engine."""

    bytes_per_document: float
    copies: int
    index_cpu_s: float
    """Of one document, all copies."""
    fixed_ms: float
    """Processor time of a query that no document matches: what is paid anyway."""
    small: tuple[int, float]
    """Documents, and processor milliseconds of a query at k=10."""
    large: tuple[int, float]

    @property
    def per_document(self) -> float:
        """Milliseconds that each document adds to a query, at the larger size."""
        return max(0.0, self.large[1] - self.fixed_ms) / self.large[0]

    @property
    def exponent(self) -> float:
        """Of N in that part, between the two sizes: at most 1, and 1 where the smaller one does not tell. Not below the
        1/2 that the paper hopes of skipping, however well a small cache or a cold start makes the larger size look."""
        small, large = self.small[1] - self.fixed_ms, self.large[1] - self.fixed_ms
        if min(small, large) <= 0.0:
            return 1.0
        return min(1.0, max(0.5, math.log(large / small) / math.log(self.large[0] / self.small[0])))

    def linear_ms(self, n: int) -> float:
        """Processor time of a query if every posting costs what it did at the larger size."""
        return self.fixed_ms + self.per_document * n

    def measured_ms(self, n: int) -> float:
        """The same if it goes on growing as it did between the two sizes."""
        return float(self.fixed_ms + self.per_document * self.large[0] * (n / self.large[0]) ** self.exponent)

    def bytes(self, n: int) -> float:
        """On disk, all copies."""
        return n * self.bytes_per_document * self.copies

    def index_cores(self, n: int) -> float:
        """Processors that index everything within a day."""
        return n * self.index_cpu_s / DAY_S

    def shards(self, n: int) -> int:
        """Shards, each searched by a processor of its own, for a query within the target; what is paid anyway is paid
        by each of them."""
        room = max(TARGET_MS - self.fixed_ms, 0.1 * TARGET_MS)
        return max(1, math.ceil(self.per_document * n / room), math.ceil(n / SHARD_DOCUMENTS))


def costs(rows: Mapping[str, Any]) -> dict[str, Cost]:
    """From what `benchmarks.cluster` wrote."""
    first, last = rows["steps"]
    n, copies = last["documents"], 1 + int(rows["replicas"])
    indexed = n - first["documents"]
    out = {}
    for name, size, held in (("cluster", "bytes_merged", copies), ("embedded", "bytes", 1)):
        small, large = ((step["documents"], float(step[name]["k10"]["cpu_ms"])) for step in (first, last))
        cpu = float(last[name]["index_cpu_s"]) / indexed
        out[name] = Cost(float(last[name][size]) / n, held, cpu, float(last[name]["fixed_ms"]), small, large)
    return out


def folder_cost(points: Mapping[str, Any]) -> Cost:
    """From what `benchmarks.growth` wrote of the visual shape: ten thousand documents for what is paid anyway, one
    million and ten for the growth. A search runs on one processor, so its time is that of the processor."""
    (_, least), small, large = (
        (int(points[name]["documents"]), float(points[name]["folder"]["warm_p50_ms"]))
        for name in ("visual-10k", "visual-1m", "visual-10m")
    )
    n, written = large[0], points["visual-10m"]["folder"]
    return Cost(float(written["disk"]) / n, 1, (written["write_s"] + written["merge_s"]) / n, least, small, large)


def folder_table(points: Mapping[str, Any], sizes: Sequence[int] = SIZES) -> str:
    """Markdown: a folder of ten million as measured, and what follows from it."""
    cost = folder_cost(points)
    columns = [cost.large[0], *sizes]
    memory = points["visual-10m"]["folder"]["serving"] / cost.large[0]
    rows = [
        ["", *(f"{n:,}" for n in columns)],
        ["---"] * (len(columns) + 1),
        ["disk right after a merge, the commit before it included", *(_bytes(cost.bytes(n)) for n in columns)],
        ["processors to write and merge in a day", *(f"{cost.index_cores(n):.2g}" for n in columns)],
        ["memory while serving, linear", *(_bytes(memory * n) for n in columns)],
        ["processor time of a warm query, linear", *(_ms(cost.linear_ms(n)) for n in columns)],
        [f"the same, growing as N^{cost.exponent:.2f}", *(_ms(cost.measured_ms(n)) for n in columns)],
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def active(n_terms: int, terms: float, n: int) -> float:
    """Equation 11: terms in use after N documents."""
    return n_terms * -math.expm1(n * math.log1p(-terms / n_terms))


def table(rows: Mapping[str, Any], sizes: Sequence[int] = SIZES) -> str:
    """Markdown: what was measured, and what follows from it."""
    last = rows["steps"][-1]
    measured, both = int(last["documents"]), costs(rows)
    terms, asked, vocabulary = rows["terms_per_document"], rows["terms_per_query"], rows["n_terms"]
    columns = [measured, *sizes]

    def line(name: str, cells: Sequence[str]) -> str:
        return f"| {name} | {' | '.join(cells)} |"

    share = last["postings_per_query"] / measured
    even = [asked * n * terms / active(vocabulary, terms, n) for n in columns]
    lines = [
        line("", [f"{n:,} {'(measured)' if n == measured else ''}".strip() for n in columns]),
        "|---" * (len(columns) + 1) + "|",
        line("postings of a query, terms spread evenly (eq. 10)", [_number(x) for x in even]),
        line("postings of a query, as measured x N", [_number(share * n) for n in columns]),
        line(f"operations of a query (C = {OPERATIONS_PER_POSTING:g})",
             [_number(OPERATIONS_PER_POSTING * share * n) for n in columns]),
        line(f"index by formula ({BYTES_PER_POSTING} L_0 bytes)",
             [_bytes(BYTES_PER_POSTING * terms * n) for n in columns]),
    ]  # fmt: skip
    for name, cost in both.items():
        held = f"{cost.bytes_per_document:.0f} bytes/document" + (f", {cost.copies} copies" if cost.copies > 1 else "")
        lines += [
            line(f"{name}: index, {held}", [_bytes(cost.bytes(n)) for n in columns]),
            line(f"{name}: processors to index in a day", [f"{cost.index_cores(n):.2g}" for n in columns]),
            line(f"{name}: processor time of a query, linear", [_ms(cost.linear_ms(n)) for n in columns]),
            line(f"{name}: the same, growing as N^{cost.exponent:.2f}", [_ms(cost.measured_ms(n)) for n in columns]),
            line(f"{name}: shards for {TARGET_MS:g} ms, linear", [f"{cost.shards(n):,}" for n in columns]),
        ]  # fmt: skip
    return "\n".join(lines)


def _number(value: float) -> str:
    for unit, size in (("billion", 1e9), ("million", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:,.0f}"


def _bytes(value: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:,.0f} bytes"


def _ms(value: float) -> str:
    return f"{value / 1e3:.3g} s" if value >= 1e3 else f"{value:.3g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", type=Path, nargs="?", help="what benchmarks.cluster --out wrote")
    parser.add_argument("--growth", type=Path, help="what benchmarks.growth wrote")
    given = parser.parse_args()
    if (given.measured is None) == (given.growth is None):
        parser.error("name one file: of a cluster, or --growth")
    if given.growth is not None:
        print(folder_table(json.loads(given.growth.read_text())["points"]))
    else:
        print(table(json.loads(given.measured.read_text())))


if __name__ == "__main__":
    main()
