"""A collection behind a service (`zipfian serve`), with the verbs of one at hand. Needs the standard library only."""

from zipfian.client.collection import RemoteCollection, connect
from zipfian.client.results import RemoteHit, RemoteResults

__all__ = ["RemoteCollection", "RemoteHit", "RemoteResults", "connect"]
