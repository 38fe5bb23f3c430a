"""Every way to search, on both engines: the same documents, weights, choices and explanations.

Fields have b = 0 here, so that one-byte lengths, the one thing a cluster keeps less exactly, play no part: what is left
are 32-bit scores.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.samples import ToySplade
from tests.collection.models.conftest import picture
from tests.toys import MEANINGS, ToyImage, ToyText, toy_alignment, toy_vocabulary
from zipfian import BM25, Collection
from zipfian.engines import opensearch
from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.fields import Aligned, Dense, Latent, Scalar, Splade, Translated, Visual, Words
from zipfian.fuse import RRF, Linear
from zipfian.vocabulary.scalar import ScalarVocabulary

Pair = tuple[Any, Any]
FLAT = BM25(b=0.0)
CLOSE = 2e-6
N = 150
PRESETS = ("latency-first", "balanced", "accuracy-first")
QUERIES = ("my hound sleeps", "kitten in the light", "w3 w17 puppy")


def text_of(i: int) -> str:
    rng = np.random.default_rng(i)
    fillers = [f"w{j}" for j in rng.integers(0, 40, int(rng.integers(2, 9)))]
    return " ".join([*rng.choice([*MEANINGS, "red", "sleeps"], int(rng.integers(1, 4))), *fillers])


@pytest.fixture(scope="module")
def notes(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Texts under all fields that texts can have."""
    folder, encoder = tmp_path_factory.mktemp("notes"), ToyText("methods")
    sae = toy_vocabulary(folder / "sae")
    texts = [text_of(i) for i in range(N)]
    ScalarVocabulary.fit([e.pooled for e in encoder.encode_documents(texts)], seed=1).save(folder / "codes")
    fields = {
        "words": Words(scoring=FLAT),
        "latent": Latent(sae, encoder=encoder, scoring=FLAT),
        "splade": Splade(ToySplade()),
        "scalar": Scalar(folder / "codes", encoder=encoder),
        "dense": Dense(encoder=encoder),
    }
    documents = [{"id": f"d{i}", "text": t, "metadata": {"n": i}} for i, t in enumerate(texts)]
    yield from both(folder, f"opensearch://{cluster.hosts}/methods-notes", fields, documents)


@pytest.fixture(scope="module")
def photos(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Pictures that are found by pictures, and across by texts."""
    folder, text, image = tmp_path_factory.mktemp("photos"), ToyText("methods"), ToyImage("methods")
    sae = toy_vocabulary(folder / "sae")
    across: dict[str, Any] = {"model": str(toy_alignment(folder / "align", sae)), "text": text, "image": image}
    fields = {
        "visual": Visual(sae, encoder=image, scoring=FLAT),
        "dense": Dense(encoder=image),
        "aligned": Aligned(**across),
        "translated": Translated(**across, scoring=FLAT),
    }
    rng = np.random.default_rng(3)
    documents = []
    for i in range(60):
        colours = [tuple(int(v) for v in row) for row in rng.integers(0, 256, (int(rng.integers(1, 5)), 3))]
        documents.append({"id": f"p{i}", "image": picture(folder / f"{i}.png", *colours)})
    yield from both(folder, f"opensearch://{cluster.hosts}/methods-photos", fields, documents)


def both(folder: Path, address: str, fields: Any, documents: list[Any]) -> Iterator[Pair]:
    with (
        Collection.create(folder / "c.zf", fields, encodings=False) as own,
        opensearch.create(address, fields, encodings=False) as big,
    ):
        for collection in (own, big):
            collection.add(documents)
            collection.commit()
        yield own, big


def agree(pair: Pair, asked: Any = None, **how: Any) -> Any:
    """One search on both: ids, order, scores, confidence, what each field said, and what was decided on the way."""
    a, b = (collection.search(asked, **how) for collection in pair)
    assert [h.id for h in a] == [h.id for h in b] and len(a)
    for left, right in zip(a, b, strict=True):
        assert right.score == pytest.approx(left.score, rel=CLOSE, abs=CLOSE)
        assert set(left.fields) == set(right.fields) and left.rank == right.rank
        assert right.confidence == pytest.approx(left.confidence, rel=1e-4)
        for hit in (left, right):
            assert sum(seen.share for seen in hit.fields.values()) == pytest.approx(hit.score, rel=1e-12, abs=1e-12)
        for name, seen in left.fields.items():
            assert right.fields[name].rank == seen.rank
            assert right.fields[name].score == pytest.approx(seen.score, rel=CLOSE, abs=CLOSE, nan_ok=True)
    same = ("method", "fields", "fusion", "rerank", "K", "adaptive_k", "variant", "captions", "reranked", "proved")
    for key in same:
        if key != "fields" or isinstance(a.settings.get(key), list):
            assert a.settings.get(key) == b.settings.get(key), key
    for key in ("weights", "signals", "choice"):
        assert near(a.settings.get(key), b.settings.get(key)), (key, a.settings.get(key), b.settings.get(key))
    if not {"where", "exact_match_bonus"} & how.keys():  # an explanation knows of neither
        check_explanations(
            pair, (a, b), asked, {key: value for key, value in how.items() if key not in ("k", "rerank_depth")}
        )
    return a


def check_explanations(pair: Pair, found: Pair, asked: Any, how: dict[str, Any]) -> None:
    score, trees = found[0][0].score, []
    for collection, results in zip(pair, found, strict=True):
        trees.append(results.explain(results[0]))
        again = collection.explain(asked, results[0].id, **how)
        assert trees[-1].value == pytest.approx(score, rel=CLOSE, abs=CLOSE)
        assert again.value == pytest.approx(score, rel=CLOSE, abs=CLOSE)
    assert shape(trees[0]) == shape(trees[1])


def near(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(near(a[k], b[k]) for k in a)
    return bool(a == pytest.approx(b, rel=1e-4, abs=1e-5)) if isinstance(a, float) else bool(a == b)


def shape(tree: Any) -> Any:
    """What each node is; what rounding took or gave is not the same on both sides."""
    return tree.label, tree.kind, tree.field, tree.term, [shape(part) for part in tree.reasons]


@pytest.mark.parametrize("field", ["words", "latent", "splade", "scalar", "dense"])
def test_fields_of_texts(notes: Pair, field: str) -> None:
    for asked in QUERIES:
        agree(notes, asked, fields=field)
        agree(notes, asked, fields=field, k=40, where={"n": {"<": 90}})
    ids = [f"d{i}" for i in range(0, N, 7)]
    a, b = (c.score(field, QUERIES[0], ids) for c in notes)
    assert np.allclose(a, b, rtol=CLOSE, atol=0.0)
    if field in ("dense", "scalar"):
        assert (a == b).all(), "vectors are scored by the same code, whole numbers have no rounding"


@pytest.mark.parametrize(
    "method", ["hybrid", "rrf", "linear", "two-stage", "training-free", "training-free:cross+context", "late"]
)
def test_methods(notes: Pair, method: str) -> None:
    for asked in QUERIES:
        agree(notes, asked, method=method)
    agree(notes, QUERIES[0], method=method, k=3, where={"n": {">=": 100}})


def test_fusions_with_settings(notes: Pair) -> None:
    agree(notes, QUERIES[0], method=RRF(k=10.0))
    weights = {"words": 1.0, "latent": 2.0, "splade": 0.0, "scalar": 0.5, "dense": 1.0}
    agree(notes, QUERIES[1], method=Linear(weights))
    agree(notes, QUERIES[2], method="two-stage", rerank_depth=25)
    agree(notes, text_of(11), exact_match_bonus=3.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(notes: Pair, photos: Pair, tmp_path: Path, preset: str) -> None:
    for asked in QUERIES:
        agree(notes, asked, preset=preset)
    for i, colours in enumerate([[(250, 10, 10)], [(0, 0, 255), (0, 255, 0)]]):
        agree(photos, image=picture(tmp_path / f"q{i}.png", *colours), preset=preset)
    agree(photos, "a red dog", preset=preset)


def test_adaptive_k_is_chosen_alike(photos: Pair, tmp_path: Path) -> None:
    chosen = set()
    for i, colour in enumerate([(255, 0, 0), (0, 255, 0), (128, 0, 128), (10, 10, 10)]):
        found = agree(photos, image=picture(tmp_path / f"k{i}.png", colour), preset="latency-first")
        chosen.add(json.dumps(found.settings["choice"]["reason"]))
    assert chosen


@pytest.mark.parametrize("field", ["aligned", "translated"])
def test_fields_across(photos: Pair, field: str) -> None:
    for asked in ("a dog", "green", "red dogs and blue"):
        agree(photos, asked, fields=field, k=20)
        agree(photos, asked)


def test_pictures_and_both_at_once(photos: Pair, tmp_path: Path) -> None:
    asked = picture(tmp_path / "q.png", (250, 20, 20), (0, 0, 250))
    for field in ("visual", "dense"):
        agree(photos, image=asked, fields=field, k=30)
    agree(photos, "a dog", image=asked)
    agree(photos, image=asked, method="two-stage", rerank_depth=30)


def test_pictures_find_texts(address: str, tmp_path: Path) -> None:
    text, image = ToyText("methods"), ToyImage("methods")
    align = str(toy_alignment(tmp_path / "align", toy_vocabulary(tmp_path / "sae")))
    across: dict[str, Any] = {"model": align, "text": text, "image": image}
    fields = {
        "aligned": Aligned("text", **across),
        "translated": Translated("text", **across, scoring=FLAT),
    }
    documents = [{"id": "a", "text": "a red dog"}, {"id": "b", "text": "a green cat"}, {"id": "c", "text": "blue"}]
    (tmp_path / "both").mkdir()
    for pair in both(
        tmp_path / "both", address, fields, [*documents, *({"id": str(i), "text": "x"} for i in range(4))]
    ):
        asked = picture(tmp_path / "asked.png", (255, 0, 0))
        for how in ({"fields": "aligned"}, {"fields": "translated"}, {}):
            agree(pair, image=asked, k=2, **how)


def test_what_a_cluster_cannot_do_says_so(notes: Pair) -> None:
    _, big = notes
    for method in ("tfidf", "fusion", "training-free:paper"):
        with pytest.raises(InvalidInput, match="the formula is part of the index; use hybrid"):
            big.search("red", method=method)
    with pytest.raises(InvalidInput, match="scoring= is for collections in a folder"):
        big.search("red", fields="words", scoring=BM25())
    with pytest.raises(InvalidInput, match="ann='hnsw' is for collections in a folder"):
        big.search("red", fields="dense", ann="hnsw")
    with pytest.raises(InvalidInput, match="files of an index belong to the cluster"):
        big.check()
    assert big.user == {}


def test_vectors_are_scanned_up_to_a_limit(notes: Pair, cluster: Any) -> None:
    address = f"opensearch://{cluster.hosts}/methods-notes"
    with opensearch.open(address, scan_documents=N - 1) as few:
        with pytest.raises(LimitExceeded, match=r"would compare 150 vectors one by one, the limit is 149.*two-stage"):
            few.search("red", fields="dense")
        assert few.search("red", method="two-stage")
        assert few.search("red", fields="dense", where={"n": {"<": 100}})
    with pytest.raises(InvalidInput, match="scan_documents must be"):
        opensearch.open(address, scan_documents=-1)


def test_vectors_that_are_hard_to_tell_apart(address: str, tmp_path: Path) -> None:
    """Many equal and nearly equal vectors: candidates beyond k are asked for until the order is proved."""
    rng = np.random.default_rng(0)
    base = rng.standard_normal(8)
    rows = [base * 10.0 ** float(rng.integers(-3, 3)) for _ in range(60)] + [
        base + 1e-7 * rng.standard_normal(8) for _ in range(60)
    ]
    documents: list[Any] = [{"id": f"v{i}", "vector": {"v": row.tolist()}} for i, row in enumerate(rows)]
    documents += [{"id": "zero", "vector": {"v": [0.0] * 8}}, {"id": "none", "text": "no vector"}]
    documents += [{"id": "far", "vector": {"v": (-base).tolist()}}]
    for pair in both(tmp_path, address, {"dense": Dense(vector="v"), "words": Words()}, documents):
        for k in (1, 10, 119, 200):
            a, b = (c.search(base + 0.01, fields="dense", k=k) for c in pair)
            assert [(h.id, h.score) for h in a] == [(h.id, h.score) for h in b]
        assert len(b) == 122 and b[121].id == "far"
        with pytest.raises(InvalidInput, match="have 8 numbers, the query's has 3"):
            pair[1].search(np.ones(3), fields="dense")
