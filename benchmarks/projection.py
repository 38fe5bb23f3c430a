"""What 100M and 1B documents would need, on paper: the cost model of BM25-V (section 4.5) with measured constants.

    python -m benchmarks.projection build/cluster.json

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
    parser.add_argument("measured", type=Path, help="what benchmarks.cluster --out wrote")
    print(table(json.loads(parser.parse_args().measured.read_text())))


if __name__ == "__main__":
    main()
