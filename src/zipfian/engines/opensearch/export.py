"""A stored collection for engines that somebody else runs: surrogate text, or everything OpenSearch needs.

Nothing here talks to a server. Surrogate text is one document per line, each codeword repeated as often as its
frequency says; any full-text engine with a whitespace analyser can index it. For OpenSearch: the index as JSON, the
documents as bulk requests, and a query to fill in.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.collection.settings import Settings
from zipfian.collection.stored import folded, stored_items
from zipfian.engines.opensearch import models
from zipfian.engines.opensearch.client import Server
from zipfian.engines.opensearch.codes import REPEATED_STEPS, FieldCode, Storage, token, weights_of
from zipfian.engines.opensearch.documents import Writer
from zipfian.engines.opensearch.mapping import Layout, index_field
from zipfian.errors import InvalidInput
from zipfian.fields.base import Field, PostingField
from zipfian.fields.item import Item
from zipfian.fields.lexical import LexicalField
from zipfian.index.snapshot import Snapshot

SERVER = Server("opensearch", "2.19.1")
BULK_BYTES = 32 << 20
"""Bytes of one bulk file; servers accept 100 MB by default."""
EXAMPLE_TERMS = 3


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written."""

    documents: int
    files: tuple[Path, ...]
    loss: Mapping[str, float]
    """Mean relative error of a field's weights as whole frequencies."""


def surrogate_lines(
    snapshot: Snapshot, settings: Settings, field_name: str, *, steps: float | None = None, prefix: str = "t"
) -> Iterator[tuple[str, str]]:
    """Id and surrogate text of every document.

    `steps` is the frequency of a (transformed) weight of 1; by default whole weights as they are, others in eighths.
    `prefix` makes words of term numbers.
    """
    field = settings.field(field_name)
    if not isinstance(field, PostingField) or not field.has_postings:
        raise InvalidInput(f"field {field_name!r} holds vectors, not terms: it has no surrogate text")
    if any(c.isspace() for c in prefix):
        raise InvalidInput(f"the prefix of codewords must have no blanks, not {prefix!r}")
    whole = field.tf == "count" and field.scoring.phi == "identity"
    code = FieldCode("repeated", float(steps) if steps is not None else 1.0 if whole else REPEATED_STEPS)
    if not code.steps > 0:
        raise InvalidInput(f"steps must be a number above 0, not {steps!r}")
    for item in _documents(snapshot, settings, {field_name: field}):
        if isinstance(field, LexicalField):
            counts = field.kept(item)
            tokens, weights = [token(w) for w in counts], np.fromiter(counts.values(), np.float64, len(counts))
        else:
            ids, stored = item.terms.get(field_name, (np.empty(0, np.int32), np.empty(0)))
            tokens, weights = [f"{prefix}{t}" for t in ids.tolist()], weights_of(field, stored)
        yield item.id, str(code.sent(field, tokens, weights).value)


def _documents(snapshot: Snapshot, settings: Settings, fields: Mapping[str, Field]) -> Iterator[Item]:
    """Every live document, with the language that its words were counted in."""
    for item in map(folded, stored_items(snapshot, fields)):
        if item.text and settings.ask_languages:
            item.language = settings.languages.of_text(item.text)
        yield item


def write_opensearch(
    snapshot: Snapshot, settings: Settings, folder: Path, index: str, *, server: Server = SERVER, shards: int = 3,
    replicas: int = 1, storage: Mapping[str, Storage] | None = None,
) -> Exported:  # fmt: skip
    """`mapping.json`, `bulk-00000.ndjson` ..., `query-<field>.json` for each field, and how to use them."""
    layout = Layout.choose(settings, server, storage, shards, replicas, "1s")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InvalidInput(f"{folder} is not empty: choose a new folder")
    writer = Writer(settings.posting_fields, layout.codes)
    body = layout.body()
    files: list[Path] = []
    count, size, out = 0, 0, None
    try:
        for item in _documents(snapshot, settings, settings.fields):
            operation, needed = writer.operation(item, "index", count + 1)
            body["mappings"]["properties"].update(needed)
            if out is None or size + len(operation.lines) > BULK_BYTES:
                if out is not None:
                    out.close()
                files.append(folder / f"bulk-{len(files):05}.ndjson")
                out, size = files[-1].open("wb"), 0
            size += out.write(operation.lines)
            count += 1
    finally:
        if out is not None:
            out.close()
    files.append(_write(folder / "mapping.json", body))
    for name, field in settings.posting_fields.items():
        files.append(_write(folder / f"query-{name}.json", query_template(name, field, layout.codes[name], server)))
    how = _HOW.format(index=index, server=server.version)
    sent = [
        f"{json.dumps({'index': {'_id': i}})}\n{json.dumps(source)}\n"
        for i, source in models.documents(settings.fields)
    ]
    if sent:
        files.append(folder / "models.ndjson")
        files[-1].write_text("".join(sent), encoding="utf-8")
        files.append(_write(folder / "models-mapping.json", models.body(replicas)))
        how += _MODELS.format(index=f"{index}{models.SUFFIX}")
    files.append(folder / "README.txt")
    files[-1].write_text(how, encoding="utf-8")
    return Exported(count, tuple(files), {name: loss.mean for name, loss in writer.losses.items()})


def query_template(name: str, field: PostingField, code: FieldCode, server: Server) -> dict[str, Any]:
    """A search with placeholders: one clause per term; `about` says how a query's weight becomes its boost."""
    factor = float(code.boosts(field, np.ones(1), server)[0])
    stored = index_field(name)
    clauses: list[dict[str, Any]] = []
    for i in range(1, EXAMPLE_TERMS + 1):
        term, boost = f"TERM_{i}", f"BOOST_{i}"
        if code.storage == "features":
            clauses.append({"rank_feature": {"field": f"{stored}.{term}", "linear": {}, "boost": boost}})
        else:
            clauses.append({"term": {stored: {"value": term, "boost": boost}}})
    return {
        "about": {
            "field": name,
            "scoring": field.scoring.to_json(),
            "boost": f"phi(query weight) x {factor!r}",
            "phi": str(field.scoring.phi),
            "url": "POST /INDEX/_search?search_type=dfs_query_then_fetch",
        },
        "body": {"size": 10, "query": {"bool": {"should": clauses, "minimum_should_match": 1}}, "_source": ["doc"]},
    }


def _write(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


_HOW = """For an OpenSearch server, written for version {server} (2.10 to 2.x score alike; 3.x needs other boosts).

  curl -X PUT HOST/{index} -H 'Content-Type: application/json' --data-binary @mapping.json
  for f in bulk-*.ndjson; do
    curl -X POST HOST/{index}/_bulk -H 'Content-Type: application/x-ndjson' --data-binary @$f
  done
  curl -X POST HOST/{index}/_refresh

query-FIELD.json holds a search body with placeholders and says how a query's weights become boosts.
zipfian opens the same index: Collection.open("opensearch://HOST/{index}").
"""
_MODELS = """
Its scalar fields need their transforms beside it:

  curl -X PUT HOST/{index} -H 'Content-Type: application/json' --data-binary @models-mapping.json
  curl -X POST HOST/{index}/_bulk -H 'Content-Type: application/x-ndjson' --data-binary @models.ndjson
"""
