"""A disk that fills up. Last of the folder: for a while the cluster makes no new indices."""

from __future__ import annotations

import pytest

from tests.cluster.samples import texts
from tests.cluster.server import Cluster, wait_for
from tests.cluster.test_faults import index_of, put
from zipfian.engines import opensearch
from zipfian.engines.opensearch import BulkSettings, EngineUnavailable


def test_a_full_disk_is_reported_and_a_rerun_completes(cluster: Cluster, address: str) -> None:
    """The flood-stage mark set below what is in use: the cluster blocks writing, and lifts the block later."""
    mark = "cluster.routing.allocation.disk.watermark"
    hasty = BulkSettings(documents=20, requests=1, patience=1.0)
    with opensearch.create(address, bulk=hasty) as c:
        c.add(texts(20))
        low = {f"{mark}.low": "0.1%", f"{mark}.high": "0.2%", f"{mark}.flood_stage": "0.3%"}
        put(cluster, "/_cluster/settings", {"transient": low})
        try:
            wait_for(lambda: blocked(cluster, address))
            with pytest.raises(EngineUnavailable, match=r"flood-stage"):
                c.add(texts(60), existing="skip")
        finally:
            put(cluster, "/_cluster/settings", {"transient": dict.fromkeys(low)})
        wait_for(lambda: not blocked(cluster, address))
        # the server puts this one on once more while it lifts the other, and leaves it
        put(cluster, "/_cluster/settings", {"persistent": {"cluster.blocks.create_index": None}})
        assert c.add(texts(60), existing="skip") == 40
        c.commit()
        assert len(c) == 60


def blocked(cluster: Cluster, address: str) -> bool:
    found = cluster.get(f"/{index_of(address)}/_settings?flat_settings=true")[index_of(address)]["settings"]
    return bool(found.get("index.blocks.read_only_allow_delete") == "true")
