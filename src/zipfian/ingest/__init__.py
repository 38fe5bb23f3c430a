"""Sources of documents: folders of texts and pictures, files of records; and collections that follow them."""

from zipfian.collection.following import BadItem, Synced
from zipfian.ingest.follow import sync
from zipfian.ingest.items import FoundDocument
from zipfian.ingest.source import Source, Survey, open_source

__all__ = ["BadItem", "FoundDocument", "Source", "Survey", "Synced", "open_source", "sync"]
