"""Indices of a cluster made and opened as collections; `Collection.create` and `open` come here with an address."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from zipfian.collection.opening import cache_of
from zipfian.collection.settings import Settings
from zipfian.collection.trust import Trust
from zipfian.encode.cache import EncodingCache
from zipfian.engines.opensearch import models
from zipfian.engines.opensearch.address import Address
from zipfian.engines.opensearch.bulk import BulkSettings
from zipfian.engines.opensearch.client import Client
from zipfian.engines.opensearch.codes import Storage
from zipfian.engines.opensearch.collection import OpenSearchCollection, look
from zipfian.engines.opensearch.mapping import Layout
from zipfian.engines.opensearch.reader import SCAN_DOCUMENTS, check_scan
from zipfian.errors import InvalidInput
from zipfian.fields.base import Field
from zipfian.fields.named import make_fields


def create(
    address: str,
    fields: Sequence[str] | Mapping[str, Field] | None = None,
    *,
    shards: int = 3,
    replicas: int = 1,
    refresh: str = "-1",
    storage: Mapping[str, Storage] | None = None,
    timeout: float = 30.0,
    bulk: BulkSettings | None = None,
    verify_certs: bool = True,
    ca_certs: str | os.PathLike[str] | None = None,
    scan_documents: int = SCAN_DOCUMENTS,
    encodings: EncodingCache | bool = True,
    pictures: Any = (),
) -> OpenSearchCollection:
    """Make a new index and open it for writing.

    Parameters
    ----------
    address
        `opensearch://host:9200/name`; several hosts separated by commas; `opensearchs://` for TLS.
    fields
        As for `Collection.create`.
    shards, replicas, refresh
        Settings of the index; a refresh of '-1' makes documents visible by `commit` only.
    storage
        How a field is stored, by name: 'frequencies', 'repeated' (servers without term frequencies) or 'features'
        (real weights, for `Dot`). By default the most faithful form the server has.
    timeout
        Seconds for one request.
    bulk
        How documents are sent.
    verify_certs, ca_certs
        For TLS: whether the server must prove who it is, and a file of the authorities to believe (else
        `ZIPFIAN_OPENSEARCH_CA`, else the usual public ones).
    scan_documents
        Vectors that one search may compare; more are an error, since it would take long.
    pictures
        As for `Collection.create`.
    """
    check_scan(scan_documents)
    client = Client(Address.parse(address), timeout, verify_certs, ca_certs)
    settings = Settings(make_fields(fields), trust=Trust.of((), pictures))
    layout = Layout.choose(settings, client.server, storage, shards, replicas, refresh)
    client.call("PUT", f"/{client.address.index}", layout.body())
    try:
        models.keep(client, settings.fields, replicas)
    except BaseException:
        client.call("DELETE", f"/{client.address.index}")  # it could not be searched
        raise
    return OpenSearchCollection(
        client, layout, {}, {}, "w", bulk or BulkSettings(), cache_of(encodings), scan_documents
    )


def open(
    address: str,
    mode: Literal["r", "w"] = "r",
    *,
    timeout: float = 30.0,
    bulk: BulkSettings | None = None,
    verify_certs: bool = True,
    ca_certs: str | os.PathLike[str] | None = None,
    scan_documents: int = SCAN_DOCUMENTS,
    encodings: EncodingCache | bool = True,
    trust: Any = (),
    pictures: Any = (),
) -> OpenSearchCollection:
    """Open an index that zipfian made; one that was changed, or made with other models, is refused.

    Settings and metadata in a cluster are no more trusted than those in a folder: `trust` and `pictures` are as for
    `Collection.open`.
    """
    if mode not in ("r", "w"):
        raise InvalidInput(f"mode must be 'r' or 'w', not {mode!r}")
    client = Client(Address.parse(address), timeout, verify_certs, ca_certs)
    layout, fields, dims = look(client, Trust.of(trust, pictures))
    return OpenSearchCollection(
        client, layout, fields, dims, mode, bulk or BulkSettings(), cache_of(encodings), scan_documents
    )
