"""Long texts: found by their best passage, returned, filtered, replaced and deleted as one document."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.models.conftest import check_sums
from tests.toys import ToyText
from zipfian.encode.passages import passages
from zipfian.fields import Dense, Field, Latent, Words
from zipfian.fields.rows import word_passages

WORDS = "dog puppy hound cat kitten car automobile sun light red green tree house river stone cloud bread music".split()


class Windowed(ToyText):
    """Reads 12 words at once."""

    max_tokens = 14
    long_texts = "windows"


@pytest.fixture
def text() -> ToyText:
    return Windowed("windowed")


def fields(sae: Path, text: ToyText) -> dict[str, Field]:
    return {"words": Words(passages=60), "latent": Latent(sae, encoder=text), "dense": Dense(encoder=text)}


def sentence(rng: random.Random, n: int) -> str:
    return " ".join(rng.choice(WORDS) for _ in range(n)) + "."


def documents(seed: int, n: int) -> list[dict[str, Any]]:
    """Some short, some of many passages, one without a text."""
    rng = random.Random(seed)
    out: list[dict[str, Any]] = [{"id": "none", "metadata": {"n": 0}}]
    for i in range(n):
        sentences = rng.choice([1, 1, 2, 8, 20])
        words = " ".join(sentence(rng, rng.randint(2, 7)) for _ in range(sentences))
        out.append({"id": f"d{i}", "text": words, "metadata": {"n": i % 3}})
    return out


def made(path: Path, sae: Path, text: ToyText, docs: list[dict[str, Any]], names: Any = None) -> zf.Collection:
    kinds = fields(sae, text)
    c = zf.Collection.create(path, {n: kinds[n] for n in names or kinds}, encodings=False)
    c.add(docs)
    c.commit()
    return c


def ranking(c: zf.Collection, query: str, field: str | None, **how: Any) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in c.search(query, fields=field, **how)]


def test_a_document_is_found_by_its_best_passage_and_comes_once(tmp_path: Path, sae: Path, text: ToyText) -> None:
    filler = "The red house by the river was old. " * 6
    long = filler + "A hound sleeps. " + filler
    c = made(tmp_path / "c", sae, text, [{"id": "long", "text": long}, {"id": "short", "text": "red house"}])
    for field, query in (("words", "hound"), ("latent", "puppy"), ("dense", "puppy")):
        assert c.searcher().passages(field) is not None
        hits = c.search(query, fields=field, k=5)
        assert [hit.id for hit in hits].count("long") == 1 and hits[0].id == "long"
        tree = c.explain(query, "long", fields=field)
        start, end = tree.details["passage"]
        assert "hound" in long[start:end] and end - start < len(long) / 3
        assert hits.passage(hits[0]) == (start, end)
    hits = c.search("house", fields="words")
    assert hits[0].id == "short" and hits.passage(hits[0]) is None
    hits = c.search("hound", fields="words")
    assert "hound" in hits.highlight(hits[0])[0].text


@pytest.mark.parametrize("method", ["late:latent", "late:dense"])
def test_late_interaction_compares_the_best_passage(tmp_path: Path, sae: Path, text: ToyText, method: str) -> None:
    filler = "The red house by the river was old. " * 40
    long = filler + "A hound sleeps. " + filler
    c = made(tmp_path / "c", sae, text, [{"id": "long", "text": long}, {"id": "short", "text": "red house"}])
    text.seen.clear()
    hits = c.search("puppy", method=method)
    assert hits[0].id == "long"
    assert max(len(item) for item in text.seen) < 200, "never the whole text at once"
    tree = hits.explain(hits[0])
    (place,) = tree.parts[0].evidence
    assert place["text"] == "hound" == long[place["start"] : place["end"]]


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_passages_kept_as_documents(tmp_path: Path, sae: Path, text: ToyText, seed: int) -> None:
    """N, df and lengths are those of passages: the scores are what passages have that are documents of their own."""
    docs = documents(seed, 40)
    c = made(tmp_path / "c", sae, text, docs)
    parts = {
        "latent": made(tmp_path / "parts", sae, text, apart(docs, lambda t: passages(text, t)), ["latent", "dense"]),
        "words": made(tmp_path / "words", sae, text, apart(docs, lambda t: word_passages(t, 60)), ["words"]),
    }
    parts["dense"] = parts["latent"]
    rng = random.Random(seed)
    for _ in range(12):
        query, where = sentence(rng, rng.randint(1, 4)), rng.choice([None, {"n": {"<": 2}}])
        for field, kept in parts.items():
            best: dict[str, float] = {}
            for doc_id, score in ranking(kept, query, field, k=1000, where=where):
                best.setdefault(doc_id.split("#")[0], score)
            for k in (1, 3, 100):
                assert ranking(c, query, field, k=k, where=where) == list(best.items())[:k]
            ids = [doc["id"] for doc in docs[1:]]
            scores = c.score(field, query, ids)
            wanted = [best.get(i, np.nan if field == "dense" else 0.0) for i in ids]
            if where is None:
                assert np.array_equal(scores, wanted, equal_nan=True)


def apart(docs: list[dict[str, Any]], cut: Callable[[str], Sequence[tuple[int, int]]]) -> list[dict[str, Any]]:
    """Every passage as a document of its own."""
    out = []
    for doc in docs:
        for i, (start, end) in enumerate(cut(doc["text"]) if "text" in doc else [(0, 0)]):
            row = {"id": f"{doc['id']}#{i}", "metadata": doc["metadata"]}
            out.append(row | ({"text": doc["text"][start:end]} if "text" in doc else {}))
    assert len(out) > 1.5 * len(docs)
    return out


@pytest.mark.parametrize("seed", range(3))
def test_after_any_history_scores_are_those_of_a_rebuild(tmp_path: Path, sae: Path, text: ToyText, seed: int) -> None:
    rng = random.Random(seed)
    c = zf.Collection.create(tmp_path / "c", fields(sae, text), encodings=False)
    held: dict[str, dict[str, Any]] = {}
    for step in range(6):
        for doc in documents(seed * 10 + step, 15):
            held.pop(doc["id"], None)
            held[doc["id"]] = doc
            c.upsert([doc])
        gone = rng.sample(sorted(held), 4)
        assert c.delete(gone) == 4
        for i in gone:
            del held[i]
        if step % 2:
            c.merge(rng.randint(1, 3))
        c.commit()
        assert c.check().ok
    again = made(tmp_path / "again", sae, text, list(held.values()))
    reopened = zf.Collection.open(tmp_path / "c", trust=[sae, text], encodings=False)
    for query in (sentence(rng, 3) for _ in range(6)):
        for field in ("words", "latent", "dense", None):
            assert ranking(c, query, field, k=50) == ranking(again, query, field, k=50)
            assert ranking(reopened, query, field, k=50) == ranking(again, query, field, k=50)


def test_a_field_that_comes_later_and_a_copy_are_the_same(tmp_path: Path, sae: Path, text: ToyText) -> None:
    docs = documents(7, 30)
    whole = made(tmp_path / "whole", sae, text, docs)
    later = made(tmp_path / "later", sae, text, docs, ["latent"])
    later.add_field("words", Words(passages=60))
    later.commit()
    later.add_field("dense", Dense(encoder=text))
    later.commit()
    copied = zf.Collection.create(tmp_path / "copied", whole.fields, encodings=False)
    assert copied.copy_from(tmp_path / "whole") == len(docs)
    copied.commit()
    for other in (later, copied):
        assert other.check().ok
        for query in ("puppy in the sun", "red car", "music"):
            for field in ("words", "latent", "dense"):
                assert ranking(other, query, field, k=40) == ranking(whole, query, field, k=40)


def test_explanations_show_places_in_the_document(tmp_path: Path, sae: Path, text: ToyText) -> None:
    docs = documents(3, 30)
    c = made(tmp_path / "c", sae, text, docs)
    texts = {doc["id"]: doc.get("text", "") for doc in docs}
    seen = 0
    for query in ("puppy", "kitten light", "automobile sun"):
        for hit in c.search(query, k=10):
            tree = c.explain(query, hit.id)
            check_sums(tree)
            assert tree.value == hit.score
            for node in (part for field in tree.parts for part in field.parts):
                for place in node.evidence:
                    assert texts[hit.id][place["start"] : place["end"]] == place["text"]
                    seen += 1
    assert seen > 20


def test_a_title_is_read_with_every_passage(tmp_path: Path, sae: Path, text: ToyText) -> None:
    body = "The red house was old. " * 10 + "A hound sleeps. " + "A stone by the river. " * 10
    docs = [{"id": "titled", "text": "Kitten stories\n\n" + body}, {"id": "plain", "text": "Untold.\n\n" + body}]
    c = made(tmp_path / "c", sae, text, docs)
    found = c.search("kitten puppy", fields="dense")
    assert found[0].id == "titled" and found[0].score > found[1].score
    tree = c.explain("kitten puppy", "titled", fields="latent")
    places = [place["text"] for node in tree.parts for place in node.evidence]
    assert {"Kitten", "hound"} <= set(places)
    for node in tree.parts:
        for place in node.evidence:
            assert docs[0]["text"][place["start"] : place["end"]] == place["text"]


def test_words_that_stand_together_are_rewarded_not_words_of_different_pages(
    tmp_path: Path, sae: Path, text: ToyText
) -> None:
    """A document covers what its best passage covers: the fusion's reward is for words that stand together."""
    filler = "The red house by the river was old. " * 4
    scattered = "A quokka. " + filler + "A zither. " + filler + "A gimlet. " + filler
    together = filler + "A quokka, a zither, a gimlet. " + filler
    docs = [{"id": "scattered", "text": scattered}, {"id": "together", "text": together}]
    c = made(tmp_path / "c", sae, text, [*docs, *documents(5, 20)])
    hits = c.search("quokka zither gimlet river", fields=["words", "dense"])
    assert hits[0].id == "together"
    nodes = {hit.id: hits.explain(hit).parts[0].parts for hit in hits if hit.id in ("together", "scattered")}
    covered = {doc: [p.details["covered"] for p in parts if p.kind == "coverage"] for doc, parts in nodes.items()}
    assert covered["together"][0] > 0.9
    assert all(share < 0.5 for share in covered["scattered"]), "its words stand in different passages"


def test_a_long_document_has_a_vector(tmp_path: Path, sae: Path, text: ToyText) -> None:
    c = made(tmp_path / "c", sae, text, [{"id": "a", "text": "A dog sleeps. " * 30}, {"id": "b"}])
    found = c.vector("a", "dense")
    assert found is not None and np.linalg.norm(found) == pytest.approx(1.0)
    assert c.vector("b", "dense") is None


def test_odd_texts_become_passages(tmp_path: Path, sae: Path, text: ToyText) -> None:
    odd = {
        "no spaces": "x" * 20_000,
        "one word": "dog " * 20_000,
        "blank": " \n" * 500,
        "marks": "\u200f\u202e" * 400 + " cat",
        "one line": "a" * 50 + "\n" * 900 + "sun",
    }
    c = made(tmp_path / "c", sae, text, [{"id": i, "text": t} for i, t in odd.items()])
    assert c.check().ok
    assert "one word" in dict(ranking(c, "puppy", "latent"))
    assert ranking(c, "kitten", "latent", k=1)[0][0] == "marks"
    assert ranking(c, "cat", "words") and ranking(c, "dog", "words")[0][0] == "one word"


def test_half_a_document_is_never_taken(tmp_path: Path, sae: Path) -> None:
    """A passage that cannot be encoded is a problem of its document."""

    class Fails(Windowed):
        def one(self, item: str) -> Any:
            if "stone" in item:
                raise zf.errors.InvalidInput("no stones")
            return super().one(item)

    encoder = Fails("fails")
    c = zf.Collection.create(tmp_path / "c", fields(sae, encoder), encodings=False)
    told: list[str] = []
    docs = [{"id": "bad", "text": "A dog sleeps here. " * 9 + "A stone."}, {"id": "good", "text": "A cat. " * 20}]
    assert c.add(docs, skipped=lambda doc_id, problem: told.append(f"{doc_id}: {problem}")) == 1
    c.commit()
    assert told == ["bad: no stones"] and list(c.ids()) == ["good"]


def test_memory_counts_passages(tmp_path: Path, sae: Path, text: ToyText) -> None:
    """A waiting document is as large as its passages: a budget that its text would fit into writes it out."""
    c = zf.Collection.create(tmp_path / "c", fields(sae, text), memory_bytes=500_000, encodings=False)
    for i in range(12):
        c.add([{"id": str(i), "text": "The dog sleeps in the sun. " * 200}])
    c.commit()
    assert c.stats()["segments"] > 2
