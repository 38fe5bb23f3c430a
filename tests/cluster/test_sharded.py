"""A source encoded in shards by several processes and indexed into the cluster by one command."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

from tests.cli.test_encode import encoded_on, finished, start, text_of
from tests.cluster.conftest import drop
from tests.cluster.server import Cluster
from tests.toys import ToyText
from zipfian.collection import Collection
from zipfian.encode.registry import register

N = 40
FIELDS = "words,latent,dense-text"


def test_shards_give_the_cluster_what_encoding_on_the_spot_gives(
    tmp_path: Path, cluster: Cluster, address: str
) -> None:
    source = tmp_path / "docs.jsonl"
    source.write_text("".join(json.dumps({"id": f"d{i}", "text": text_of(i)}) + "\n" for i in range(N)))
    shards = [tmp_path / f"shard-{i}" for i in (1, 2)]
    makers = [
        start(tmp_path, f"m{i}", "encode", source, "--shard", f"{i}/2", "--fields", FIELDS, "--out", shard)
        for i, shard in enumerate(shards, 1)
    ]
    for maker in makers:
        finished(maker)
    index = "index", source, "--fields", FIELDS, "--json", "--into"
    out, _ = finished(start(tmp_path, "merging", *index, address, "--encoded", *shards))
    assert json.loads(out) | {"added": N, "total": N, "encoded_here": 0} == json.loads(out)
    assert encoded_on(tmp_path, "merging") == []
    out, _ = finished(start(tmp_path, "again", *index, address, "--encoded", *shards, "--trust", tmp_path / "sae"))
    assert json.loads(out) | {"added": 0, "unchanged": N, "total": N} == json.loads(out)

    plain = f"{address}-plain"
    try:
        finished(start(tmp_path, "plain", *index, plain))
        assert len(encoded_on(tmp_path, "plain")) >= N
        register(ToyText("process"))
        sae = tmp_path / "sae"
        with Collection.open(address, trust=sae) as merged, Collection.open(plain, trust=sae) as direct:
            assert list(merged.ids()) == list(direct.ids())
            for asked, field in itertools.product(("puppy river", "a car in the light"), ("words", "latent", None)):
                left, right = ([(h.id, h.score) for h in c.search(asked, k=N, fields=field)] for c in (merged, direct))
                assert left == right and len(left) > 5
            for doc_id in direct.ids():
                a, b = (c.vector(doc_id, "dense-text") for c in (merged, direct))
                assert a is not None and b is not None and a.tobytes() == b.tobytes()
    finally:
        drop(cluster, plain.rpartition("/")[2])
