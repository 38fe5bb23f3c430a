"""The scalar field in the cluster: whole numbers on both sides, so scores are equal, not close."""

from __future__ import annotations

import shutil
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_encode import text_of
from tests.toys import ToyText
from zipfian.collection import Collection
from zipfian.engines.opensearch import models
from zipfian.errors import IndexCorrupt
from zipfian.fields import Scalar
from zipfian.fields import model as model_module
from zipfian.vocabulary.scalar import ScalarVocabulary

N = 60


def test_scores_of_surrogate_text_are_those_of_the_folder(tmp_path: Path, address: str) -> None:
    text = ToyText("scalar-cluster")
    texts = [text_of(i) for i in range(N)]
    ScalarVocabulary.fit([e.pooled for e in text.encode_documents(texts)], seed=1).save(tmp_path / "fitted")
    fields = {"scalar": Scalar(tmp_path / "fitted", encoder=text)}
    documents = [{"id": f"d{i}", "text": t} for i, t in enumerate(texts)]
    with (
        Collection.create(tmp_path / "own.zf", fields, encodings=False) as own,
        Collection.create(address, fields, encodings=False) as big,
    ):
        for collection in (own, big):
            collection.add(documents)
            collection.commit()
        for asked in ("dog in the sun", "automobile", "river stone cloud"):
            left, right = ({h.id: h.score for h in c.search(asked, k=N)} for c in (own, big))
            assert left == right and len(left) > 20
            assert [h.id for h in own.search(asked, k=10)] == [h.id for h in big.search(asked, k=10)]
        found = big.search("automobile", k=1)
        tree = found.explain(found[0])
        assert tree.value == found[0].score == sum(part.value for part in tree.parts)


def test_the_cluster_carries_the_transform(
    tmp_path: Path, address: str, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened elsewhere, without the folder it was fitted in: the cluster alone is enough."""
    monkeypatch.setattr(models, "PART_BYTES", 500)  # so that there are several
    text = ToyText("scalar-cluster")
    texts = [text_of(i) for i in range(N)]
    ScalarVocabulary.fit([e.pooled for e in text.encode_documents(texts)], seed=2).save(tmp_path / "fitted")
    fields = {"scalar": Scalar(tmp_path / "fitted", encoder=text)}
    name = f"{address.rpartition('/')[2]}{models.SUFFIX}"
    with Collection.create(address, fields, encodings=False) as big:
        big.add({"id": f"d{i}", "text": t} for i, t in enumerate(texts))
        big.commit()
        before = [(h.id, h.score) for h in big.search("automobile")]
        assert len(big) == N, "a transform is no document"
    shutil.rmtree(tmp_path / "fitted")
    monkeypatch.setattr(model_module, "_SCALAR", {})  # as in another process
    with Collection.open(address, "w", encodings=False) as again:
        assert [(h.id, h.score) for h in again.search("automobile")] == before and before
        again.upsert([{"id": "d0", "text": texts[0]}])
        assert again.fields == fields
    monkeypatch.setattr(model_module, "_SCALAR", {})
    fingerprint = str(fields["scalar"].model.fingerprint) if fields["scalar"].model else ""
    part = f"{cluster.urls[0]}/{name}/_doc/{fingerprint.replace(':', '%3A')}%2F1"
    urllib.request.urlopen(urllib.request.Request(part, method="DELETE"), timeout=30).close()
    with Collection.open(address) as broken, pytest.raises(IndexCorrupt, match=r"is missing \(document"):
        broken.search("automobile")


def test_an_index_whose_transform_cannot_be_kept_is_not_made(
    tmp_path: Path, address: str, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = ToyText("scalar-cluster")
    ScalarVocabulary.fit([text.one("a dog").pooled], seed=2).save(tmp_path / "fitted")

    def refuse(*_: Any) -> None:
        raise OSError("no room")

    monkeypatch.setattr(models, "keep", refuse)
    with pytest.raises(OSError, match="no room"):
        Collection.create(address, {"scalar": Scalar(tmp_path / "fitted", encoder=text)})
    with pytest.raises(urllib.error.HTTPError):
        cluster.get(f"/{address.rpartition('/')[2]}")
