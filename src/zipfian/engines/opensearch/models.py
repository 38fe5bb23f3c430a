"""The fitted transforms of scalar fields beside an index, so that the cluster alone is enough to search it.

They are documents of a second index, `<name>.zf-models`: among the collection's own they would count as documents, and
in the mapping every node would hold them in memory. A transform is cut into parts; the document that names them is
written last.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from zipfian.collection.transforms import MOST_BYTES
from zipfian.engines.opensearch.client import Client
from zipfian.errors import FingerprintMismatch, IndexCorrupt, IndexExists, IndexNotFound, InvalidInput
from zipfian.fields.base import Field
from zipfian.fields.model import FindScalar
from zipfian.objects import JsonObject

if TYPE_CHECKING:
    from zipfian.vocabulary.scalar import ScalarVocabulary

SUFFIX = ".zf-models"
PART_BYTES = 3 << 20
"""Of a transform in one document: 4 MiB as text."""


def body(replicas: int) -> dict[str, Any]:
    """What `PUT /<name>.zf-models` takes: documents are only ever read back."""
    return {
        "settings": {"index": {"number_of_shards": 1, "number_of_replicas": replicas}},
        "mappings": {"dynamic": False, "_meta": {"zipfian": {"kind": "models"}}},
    }


def documents(fields: Mapping[str, Field]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Ids and sources of all transforms of a collection."""
    for field in fields.values():
        fingerprint = field.transform
        if fingerprint is not None:
            arrays, settings = field.transform_files()
            parts = [arrays[at : at + PART_BYTES] for at in range(0, len(arrays), PART_BYTES)]
            for i, part in enumerate(parts):
                yield f"{fingerprint}/{i}", {"data": base64.b64encode(part).decode()}
            yield fingerprint, {"parts": len(parts), "settings": json.loads(settings)}


def keep(client: Client, fields: Mapping[str, Field], replicas: int) -> None:
    """Send the transforms of a new index; nothing happens where it has none."""
    index = f"{client.address.index}{SUFFIX}"
    for i, (doc_id, source) in enumerate(documents(fields)):
        if not i:
            try:
                client.call("PUT", f"/{index}", body(replicas))
            except IndexExists:
                pass  # left by an index of this name; transforms are known by what they hold
        client.call("PUT", f"/{index}/_doc/{quote(doc_id, safe='')}", source)


def finder(client: Client) -> FindScalar:
    """Reads a transform by its fingerprint."""
    index = f"{client.address.index}{SUFFIX}"

    def read(fingerprint: str, doc_id: str) -> Any:
        try:
            found = client.call("POST", f"/{index}/_mget", {"ids": [doc_id]})["docs"][0]
        except IndexNotFound:
            found = {}
        if not found.get("found"):
            raise IndexCorrupt(index, f"the transform {fingerprint} of a scalar field is missing (document {doc_id!r})")
        return found["_source"]

    def find(fingerprint: str) -> ScalarVocabulary:
        from zipfian.vocabulary.scalar import ScalarVocabulary

        head = read(fingerprint, fingerprint)
        try:
            about = JsonObject(head, "a transform")
            count = about.whole("parts", 1, -(-MOST_BYTES // PART_BYTES))
            parts = [base64.b64decode(read(fingerprint, f"{fingerprint}/{i}")["data"]) for i in range(count)]
            settings = json.dumps(about.value("settings")).encode()
            return ScalarVocabulary.from_bytes(b"".join(parts), settings, f"{client.address}{SUFFIX}")
        except (KeyError, TypeError, ValueError, InvalidInput, FingerprintMismatch) as error:
            raise IndexCorrupt(index, f"the transform of a scalar field is damaged: {error}") from error

    return find
