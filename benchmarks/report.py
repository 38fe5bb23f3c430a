"""Markdown from the records: ratios first, because they carry over to other machines, then milliseconds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def speed_table(records: Sequence[Mapping[str, Any]], ks: Sequence[int] = (10, 200)) -> str:
    """zipfian's time as a share of each peer's, then the times themselves."""
    parts = [_ratios(records, ks)]
    for record in records:
        parts.append(_times(record, ks))
    return "\n".join(parts)


def fastest_peer(record: Mapping[str, Any], k: int, what: str) -> tuple[str, float] | None:
    """The quickest engine but zipfian."""
    found = [(e[f"k{k}"][what], name) for name, e in record["engines"].items() if name != "zipfian"]
    return (min(found)[1], min(found)[0]) if found else None


def ratios(records: Sequence[Mapping[str, Any]], ks: Sequence[int] = (10, 200)) -> dict[str, dict[str, Any]]:
    """Workload -> `k10 p50` and the like -> zipfian's time divided by the fastest peer's, and which peer that is."""
    out: dict[str, dict[str, Any]] = {}
    for record in records:
        own, row = record["engines"].get("zipfian"), out.setdefault(record["workload"], {})
        for k, what in ((k, what) for k in ks for what in ("p50", "p95")):
            peer = fastest_peer(record, k, what)
            if own is not None and peer is not None:
                row[f"k{k} {what}"] = {"ratio": own[f"k{k}"][what] / peer[1], "peer": peer[0]}
    return out


def _ratios(records: Sequence[Mapping[str, Any]], ks: Sequence[int]) -> str:
    columns = [(k, what) for k in ks for what in ("p50", "p95")]
    lines = [
        "zipfian's time divided by that of the fastest peer of this run (below 1: zipfian is faster). Every engine",
        "here finds the best documents of the formula it uses; recall says how close that is to BM25 in float64.\n",
        "| workload | " + " | ".join(f"k={k} {what}" for k, what in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for workload, found in ratios(records, ks).items():
        row = [found.get(f"k{k} {what}") for k, what in columns]
        cells = ["-" if cell is None else f"**{cell['ratio']:.2f}** of {cell['peer']}" for cell in row]
        lines.append(f"| {workload} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def _times(record: Mapping[str, Any], ks: Sequence[int]) -> str:
    heads = [f"k={k} p50 / p95 ms" for k in ks] + [f"recall@{k}" for k in ks]
    lines = [
        f"\n### {record['workload']}\n",
        f"One thread, median of {record['passes']} interleaved passes over {record['queries']} queries.\n",
        "| engine | " + " | ".join(heads) + " | build s | index MB | scores |",
        "|---" * (len(heads) + 4) + "|",
    ]
    engines = sorted(record["engines"].items(), key=lambda item: item[1][f"k{ks[0]}"]["p50"])
    for name, e in engines:
        cells = [f"{e[f'k{k}']['p50']:.3f} / {e[f'k{k}']['p95']:.3f}" for k in ks]
        cells += [f"{e[f'k{k}']['recall']:.4f}" for k in ks]
        title = f"{name} {e['version']}" if e["version"] != "?" else name
        size = f"{e['index_bytes'] / 1e6:.0f}"
        lines.append(f"| {title} | " + " | ".join(cells) + f" | {e['build_s']:.1f} | {size} | {e['scores']} |")
    lines += [f"\nLeft out: {name} ({why})." for name, why in record["left_out"].items()]
    known = (e[f"k{k}"].get("unit_ms") for _, e in engines for k in ks)
    units = [unit for unit in known if unit is not None] or record.get("calibration_ms", [])
    if units:
        lines.append(f"\nCalibration task: {min(units):.1f} to {max(units):.1f} ms.")
    return "\n".join(lines) + "\n"


def own_table(rows: Sequence[tuple[str, str, str]]) -> str:
    """(what, result, how it was measured)."""
    lines = ["| what | result | measured |", "|---|---|---|"]
    return "\n".join(lines + [f"| {a} | {b} | {c} |" for a, b, c in rows]) + "\n"


def heading(about: Mapping[str, Any]) -> str:
    """Machine, versions and date."""
    return (
        f"Measured {about['date']} on {about['processor']} ({about['processors']} processors, "
        f"{about['memory_gb']} GB), {about['system']}; Python {about['python']}, numpy {about['numpy']}, "
        f"numba {about['numba']}, zipfian {about['zipfian']}.\n"
    )
