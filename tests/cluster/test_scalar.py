"""The scalar leg in the cluster: whole numbers on both sides, so scores are equal, not close."""

from __future__ import annotations

from pathlib import Path

from tests.cli.test_encode import text_of
from tests.toys import ToyText
from zipfian.collection import Collection, Leg
from zipfian.vocabulary.scalar import ScalarVocabulary

N = 60


def test_scores_of_surrogate_text_are_those_of_the_folder(tmp_path: Path, address: str) -> None:
    text = ToyText("scalar-cluster")
    texts = [text_of(i) for i in range(N)]
    ScalarVocabulary.fit([e.pooled for e in text.encode_documents(texts)], seed=1).save(tmp_path / "fitted")
    legs = {"scalar": Leg.scalar(tmp_path / "fitted", encoder=text)}
    documents = [{"id": f"d{i}", "text": t} for i, t in enumerate(texts)]
    with (
        Collection.create(tmp_path / "own.zf", legs, encodings=False) as own,
        Collection.create(address, legs, encodings=False) as big,
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
