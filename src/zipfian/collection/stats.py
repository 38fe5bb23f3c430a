"""Numbers about a collection, for people and for `--json`."""

from __future__ import annotations

from typing import Any

from zipfian.collection.view import View


def collect(view: View) -> dict[str, Any]:
    """What the snapshot holds and what it costs on disk."""
    segments = view.snapshot.segments
    files: dict[str, int] = {}
    for segment in segments:
        for role, ref in segment.entry.files.items():
            files[role] = files.get(role, 0) + ref.size
    n_live = sum(s.n_live for s in segments)
    legs: dict[str, Any] = {}
    for name, leg in view.settings.legs.items():
        if leg.of is not None:
            legs[name] = {"kind": leg.kind, "source": leg.source, "postings_of": leg.of}
            continue
        if leg.has_vectors:
            vectors = view.dense(name)
            legs[name] = {
                "kind": leg.kind,
                "source": leg.source,
                "vectors": vectors.n_vectors,
                "dim": vectors.dim,
                "bytes": 4 * vectors.dim * vectors.n_vectors,
            }
            continue
        searcher = view.searcher(name)
        statistics = searcher.statistics()
        legs[name] = {
            "kind": leg.kind,
            "source": leg.source,
            "scoring": leg.scoring.to_json(),
            "terms": statistics.n_terms,
            "postings": statistics.n_live_postings,
            "mean_length": statistics.mean_length * statistics.unit,
            "bytes": files.get(f"leg:{name}", 0),
            "bytes_per_document": files.get(f"leg:{name}", 0) / n_live if n_live else 0.0,
            "cached_bytes": searcher.cache_nbytes,
        }
    counters = view.snapshot.manifest.counters
    return {
        "generation": view.generation,
        "documents": n_live,
        "deleted": sum(s.n_docs for s in segments) - n_live,
        "segments": len(segments),
        "bytes": sum(files.values()),
        "files": dict(sorted(files.items())),
        "legs": legs,
        "fields": dict(view.settings.fields),
        "weights_clipped": counters.get("clipped", 0),
        "weights_rounded_to_zero": counters.get("zeroed", 0),
    }
