"""A collection in an OpenSearch cluster: the verbs of `Collection`, the storage and the scale of a search engine."""

from zipfian.engines.opensearch.address import Address, is_address
from zipfian.engines.opensearch.bulk import BulkSettings
from zipfian.engines.opensearch.collection import OpenSearchCollection
from zipfian.engines.opensearch.opening import create, open
from zipfian.errors import DocumentsRejected, EngineRefused, EngineUnavailable, Rejection

__all__ = [
    "Address",
    "BulkSettings",
    "DocumentsRejected",
    "EngineRefused",
    "EngineUnavailable",
    "OpenSearchCollection",
    "Rejection",
    "create",
    "is_address",
    "open",
]
