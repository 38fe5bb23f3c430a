"""A collection in an OpenSearch cluster: the verbs of `Collection`, the storage and the scale of a search engine."""

from typing import TYPE_CHECKING

from zipfian.engines.opensearch.address import Address, is_address
from zipfian.engines.opensearch.bulk import BulkSettings
from zipfian.engines.opensearch.collection import OpenSearchCollection
from zipfian.errors import DocumentsRejected, EngineRefused, EngineUnavailable, Rejection

if TYPE_CHECKING:
    from zipfian.collection.facade import Collection
    from zipfian.collection.protocol import AnyCollection

    def _both_engines(folder: Collection, cluster: OpenSearchCollection) -> tuple[AnyCollection, AnyCollection]:
        return folder, cluster  # checked by mypy: both have every verb, with the same arguments


create = OpenSearchCollection.create
open = OpenSearchCollection.open

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
