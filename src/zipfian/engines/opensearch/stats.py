"""Numbers about an index, for people and for `--json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zipfian.engines.opensearch.documents import Loss
from zipfian.engines.opensearch.mapping import Layout
from zipfian.engines.opensearch.reader import Reader
from zipfian.fields.base import PostingField


def collect(reader: Reader, layout: Layout, losses: Mapping[str, Loss]) -> dict[str, Any]:
    """What the index holds and what it costs on disk, replicas apart."""
    client, index = reader.client, reader.index
    stats = client.call("GET", f"/{index}/_stats/docs,store,segments")["_all"]
    health = client.call("GET", f"/_cluster/health/{index}")
    primaries = stats["primaries"]
    documents = reader.count(None)
    nbytes = int(primaries["store"]["size_in_bytes"])
    fields: dict[str, Any] = {}
    for name, field in reader.settings.fields.items():
        code = layout.codes.get(name)
        fields[name] = {
            "kind": field.kind,
            "scoring": field.scoring.to_json() if isinstance(field, PostingField) else {"name": "cosine"},
            "storage": code.storage if code else "vectors",
            "steps": code.steps if code else None,
            "mean_relative_error": losses[name].mean if name in losses else None,
        }
    return {
        "address": reader.where,
        "server": f"{client.server.distribution} {client.server.version}",
        "status": health["status"],
        "nodes": health["number_of_nodes"],
        "documents": documents,
        "deleted": int(primaries["docs"]["deleted"]),
        "segments": int(primaries["segments"]["count"]),
        "shards": layout.shards,
        "replicas": layout.replicas,
        "bytes": nbytes,
        "bytes_with_replicas": int(stats["total"]["store"]["size_in_bytes"]),
        "bytes_per_document": nbytes / documents if documents else 0.0,
        "fields": fields,
        "columns": dict(reader.settings.columns),
    }
