"""Numbers about a collection, for people and for `--json`."""

from __future__ import annotations

from typing import Any

import numpy as np

from zipfian.collection.searcher import Searcher
from zipfian.fields.base import PostingField


def collect(searcher: Searcher) -> dict[str, Any]:
    """What the snapshot holds and what it costs on disk."""
    segments = searcher.snapshot.segments
    files: dict[str, int] = {}
    for segment in segments:
        for role, ref in segment.entry.files.items():
            files[role] = files.get(role, 0) + ref.size
    n_live = sum(s.n_live for s in segments)
    fields: dict[str, Any] = {}
    for name, field in searcher.settings.fields.items():
        if not isinstance(field, PostingField):
            vectors = searcher.dense(name)
            fields[name] = {
                "kind": field.kind,
                "source": field.reads,
                "vectors": vectors.n_vectors,
                **_passages(searcher, name),
                "dim": vectors.dim,
                "bytes": 4 * vectors.dim * vectors.n_vectors,
            }
            continue
        if field.of is not None:
            fields[name] = {"kind": field.kind, "source": field.reads, "postings_of": field.of}
            continue
        postings = searcher.field_searcher(name)
        statistics = postings.statistics()
        fields[name] = {
            "kind": field.kind,
            "source": field.reads,
            "scoring": field.scoring.to_json(),
            "terms": statistics.n_terms,
            "postings": statistics.n_live_postings,
            **_passages(searcher, name),
            "mean_length": statistics.mean_length * statistics.unit,
            "bytes": files.get(f"field:{name}", 0),
            "bytes_per_document": files.get(f"field:{name}", 0) / n_live if n_live else 0.0,
            "cached_bytes": postings.cache_nbytes,
        }
    counters = searcher.snapshot.manifest.counters
    return {
        "generation": searcher.generation,
        "documents": n_live,
        "deleted": sum(s.n_docs for s in segments) - n_live,
        "segments": len(segments),
        "bytes": sum(files.values()),
        "files": dict(sorted(files.items())),
        "fields": fields,
        "columns": dict(searcher.settings.columns),
        "weights_clipped": counters.get("clipped", 0),
        "weights_rounded_to_zero": counters.get("zeroed", 0),
    }


def _passages(searcher: Searcher, name: str) -> dict[str, int]:
    """How many passages the live documents have in a field, where those are what its statistics count."""
    found = searcher.passages(name)
    if found is None:
        return {}
    return {"passages": int(np.count_nonzero(found.mask(searcher.live)))}
