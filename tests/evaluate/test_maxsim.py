"""Exhaustive MaxSim on toys: the definition, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from tests.evaluate.conftest import write_beir
from tests.toys import ToyText
from zipfian.collection import Collection
from zipfian.errors import InvalidInput
from zipfian.evaluate import maxsim
from zipfian.evaluate.build import built
from zipfian.evaluate.cost import cost_of
from zipfian.evaluate.datasets import load_beir
from zipfian.evaluate.methods import METHODS, search
from zipfian.fields import Dense
from zipfian.fields.query import Query

TEXTS = [
    "A puppy sleeps in the sun.", "The automobile is red.", "   ", "My kitten likes light.", "a hound and a car", "?!",
    "red light", "the cat sees the dog in the car",
]  # fmt: skip


@pytest.fixture
def collection(tmp_path: Path) -> Iterator[Collection]:
    with Collection.create(tmp_path / "c.zf", {"dense": Dense(encoder=ToyText())}, encodings=False) as made:
        made.add({"id": f"d{i}", "text": text} for i, text in enumerate(TEXTS))
        made.commit()
        yield made


def by_hand(asked: str, text: str) -> float:
    query, document = (ToyText().one(t).vectors.astype(np.float64) for t in (asked, text))
    cosines = (query @ document.T) / np.outer(np.linalg.norm(query, axis=1), np.linalg.norm(document, axis=1))
    return float(cosines.max(axis=1).sum())


@pytest.mark.parametrize("chunk", [1, 7, 10_000])
def test_every_document_gets_its_score(collection: Collection, monkeypatch: pytest.MonkeyPatch, chunk: int) -> None:
    monkeypatch.setattr(maxsim, "CHUNK_TOKENS", chunk)
    counted: list[int] = []
    maxsim.MaxSimSearch().prepare(collection, counted.append)
    assert counted[-1] == 6  # two have no tokens
    asked = "puppy in a red car"
    found = search(collection, METHODS["maxsim"], Query(asked), 10)
    assert {hit.id for hit in found} == {"d0", "d1", "d3", "d4", "d6", "d7"}
    for hit in found:
        assert hit.score == pytest.approx(by_hand(asked, TEXTS[int(hit.id[1:])]), abs=5e-3)  # kept in float16
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert [h.id for h in search(collection, METHODS["maxsim"], Query(asked), 2)] == [h.id for h in found][:2]
    (touched,) = cost_of(collection, METHODS["maxsim"], "text", Query(asked), found)
    assert touched.share == 1.0
    assert METHODS["maxsim"].run is not None and METHODS["maxsim"].run.nbytes(collection) > 0


def test_nothing_to_compare(tmp_path: Path) -> None:
    with Collection.create(tmp_path / "v.zf", {"dense": Dense(vector="v")}) as made:
        made.add([{"id": "a", "vector": {"v": [1.0]}}])
        made.commit()
        with pytest.raises(InvalidInput, match="no encoder"):
            search(made, METHODS["maxsim"], Query("x"), 1)
    with Collection.create(tmp_path / "e.zf", {"dense": Dense(encoder=ToyText())}, encodings=False) as made:
        made.add([{"id": "a", "text": " "}])
        made.commit()
        with pytest.raises(InvalidInput, match="no document has a stored text"):
            search(made, METHODS["maxsim"], Query("x"), 1)


def test_another_encoder_gets_a_collection_of_its_own(tmp_path: Path) -> None:
    data = load_beir(write_beir(tmp_path / "tiny"))
    for encoder in (ToyText("one"), ToyText("two")):
        with built(data, ["dense"], tmp_path / "work", None, encoder) as collection:
            spec = collection.fields["dense"].encoder
            assert spec is not None and spec.fingerprint == encoder.fingerprint
            assert len(search(collection, METHODS["maxsim"], Query("a cat in the light"), 3)) == 3
    assert len(list((tmp_path / "work").iterdir())) == 2


@needs_hub
def test_a_late_interaction_model_compares_what_it_projects(tmp_path: Path) -> None:
    from zipfian.cli.eval import _encoder

    tiny.modern_colbert(tmp_path / "colbert")
    encoder = _encoder(str(tmp_path / "colbert"))
    assert encoder.projection and encoder.dim == 12
    texts = {f"d{i}": text for i, text in enumerate(tiny.TEXTS) if text}
    with Collection.create(tmp_path / "c.zf", {"dense": Dense(encoder=encoder)}, encodings=False) as made:
        made.add({"id": key, "text": text} for key, text in texts.items())
        made.commit()
        asked = "copper mill"
        found = search(made, METHODS["maxsim"], Query(asked), 10)
        query = encoder.encode_queries([asked])[0].vectors
        for hit in found:
            (document,) = encoder.encode_documents([texts[hit.id]])
            assert hit.score == pytest.approx(float((query @ document.vectors.T).max(axis=1).sum()), abs=5e-3)
    tiny.bert(tmp_path / "bert")
    assert not _encoder(str(tmp_path / "bert")).projection
