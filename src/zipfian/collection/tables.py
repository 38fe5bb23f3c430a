"""Results for programs: plain values, and tables of Arrow and pandas with one row for each hit."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

from zipfian.errors import MissingExtra
from zipfian.objects import plain

if TYPE_CHECKING:
    from zipfian.collection.results import Hit, Results


def values_of(found: Results, documents: bool) -> dict[str, Any]:
    """A search and its hits as JSON values."""
    out: dict[str, Any] = {
        "query": found.query,
        "generation": found.generation,
        "hits": [_hit(hit, documents) for hit in found],
        "notes": found.notes,
        "settings": found.settings,
        "timings": found.timings,
    }
    values: dict[str, Any] = plain(out)
    return values


def _hit(hit: Hit, documents: bool) -> dict[str, Any]:
    out: dict[str, Any] = {
        "rank": hit.rank,
        "id": hit.id,
        "score": hit.score,
        "confidence": hit.confidence,
        "fields": hit.fields,
        "first_rank": hit.first_rank,
        "exact_match": hit.exact_match,
    }
    return {**out, "text": hit.text, "metadata": hit.metadata} if documents else out


def arrow_table(found: Results, documents: bool) -> Any:
    """One row for each hit; a field has `FIELD.rank`, `FIELD.score` and `FIELD.share`, null where it has none."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtra("a table of results", "parquet") from error
    rows = values_of(found, documents)["hits"]
    names = list(dict.fromkeys(name for row in rows for name in row["fields"]))
    columns: dict[str, Any] = {
        "rank": pa.array([row["rank"] for row in rows], pa.int64()),
        "id": pa.array([row["id"] for row in rows], pa.string()),
        "score": pa.array([row["score"] for row in rows], pa.float64()),
        "confidence": pa.array([row["confidence"] for row in rows], pa.float64()),
    }
    for name in names:
        seen = [row["fields"].get(name, {}) for row in rows]
        for key, kind in (("rank", pa.int64()), ("score", pa.float64()), ("share", pa.float64())):
            columns[f"{name}.{key}"] = pa.array([field.get(key) for field in seen], kind)
    if documents:
        columns["text"] = pa.array([row["text"] for row in rows], pa.string())
        metadata = [json.dumps(row["metadata"], ensure_ascii=False) for row in rows]
        columns["metadata"] = pa.array(metadata, pa.string())
    return pa.table(columns)


def pandas_frame(found: Results, documents: bool) -> Any:
    """The same as a data frame."""
    try:
        importlib.import_module("pandas")  # what Arrow hands its table over to
    except ImportError as error:
        raise MissingExtra("a data frame of results", "pandas") from error
    return arrow_table(found, documents).to_pandas()
