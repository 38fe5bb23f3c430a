"""The verbs that both engines share, on both: whatever holds for the embedded collection holds for a cluster."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cluster.samples import FILTERS, codes, texts, with_metadata
from tests.fields.test_own_kind import Grams, Lengths
from tests.toys import ToyText, toy_vocabulary
from zipfian import BM25, Collection
from zipfian.engines import opensearch
from zipfian.errors import IndexExists, IndexNotFound, InvalidInput, ReadOnly
from zipfian.fields import Dense, Field, Latent, Sparse, Words
from zipfian.retrieve.scoring import Dot

Make = Callable[..., Any]


@pytest.fixture(params=["embedded", "opensearch"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    """Makes a collection with given fields; `make.path` is where."""
    where = str(tmp_path / "c.zf") if request.param == "embedded" else request.getfixturevalue("address")
    opened: list[Any] = []

    def create(fields: Any = None) -> Any:
        made = Collection.create(where, fields)
        opened.append(made)
        return made

    create.path = where  # type: ignore[attr-defined]
    create.open = Collection.open  # type: ignore[attr-defined]
    yield create
    for collection in opened:
        collection.close()


def ids(results: Any) -> list[str]:
    return [hit.id for hit in results]


def test_a_life(make: Make) -> None:
    with make() as c:
        assert c.add(texts(30)) == 30
        c.commit()
        assert len(c) == 30 and list(c.ids()) == [f"d{i}" for i in range(30)]
        assert "d3" in c and "nobody" not in c
        assert c.get("d3").text == texts(30)[3]["text"] and c.get("nobody") is None
        assert c.upsert([{"id": "d3", "text": "unheard word"}, {"id": "new", "text": "another word"}]) == 2
        assert c.delete(["d5", "d6", "nobody"]) == 2
        c.commit()
        assert len(c) == 29
        assert list(c.ids())[-2:] == ["d3", "new"] and "d5" not in c
        found = c.search("unheard word")
        assert ids(found) == ["d3", "new"]
        assert [h.rank for h in found] == [1, 2] and found[0].fields["words"].score == found[0].score
        assert found[0].text == "unheard word" and found[0].metadata == {}
        assert ids(c.search("nothing-of-the-kind")) == []
        assert len(c.search("word", k=1)) == 1


def test_nothing_is_seen_before_commit(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "apple"}])
        assert ids(c.search("apple")) == [] and len(c) == 0 and "a" not in c and c.get("a") is None
        c.commit()
        assert ids(c.search("apple")) == ["a"]


def test_existing(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "old"}])
        c.commit()
        with pytest.raises(InvalidInput, match="'a' is in the collection already"):
            c.add([{"id": "a", "text": "new"}])
        assert c.add([{"id": "a", "text": "new"}, {"id": "b", "text": "new"}], existing="skip") == 1
        c.commit()
        assert c.get("a").text == "old"
        c.upsert([{"id": "a", "text": "one"}, {"id": "a", "text": "two"}])
        c.commit()
        assert c.get("a").text == "two" and len(c) == 2


def test_filters(make: Make) -> None:
    """Every filter of the list gives what the embedded engine's own tests promise; see `test_filters_agree`."""
    with make() as c:
        c.add(with_metadata())
        c.commit()
        assert sorted(ids(c.search("apple pear", where={"lang": "en"}))) == ["1", "3"]
        assert ids(c.search("apple", where={"year": {">=": 2021, "<": 2022}})) == ["2"]
        assert c.columns["price"] == "number" and c.columns["sizes"] == "list[number]"
        for wrong in ({"nothing": 1}, {"year": "x"}, {"ok": {"<": True}}, {"year": {"~": 1}}):
            with pytest.raises(InvalidInput):
                c.search("apple", where=wrong)
        got = {h.id: dict(h.metadata) for h in c.search("apple pear", k=10)}
        given = {d["id"]: d.get("metadata", {}) for d in with_metadata()}
        assert got == given


def test_filters_agree(tmp_path: Path, address: str) -> None:
    with Collection.create(tmp_path / "c.zf") as a, opensearch.create(address) as b:
        for c in (a, b):
            c.add(with_metadata())
            c.commit()
        again = opensearch.open(address)
        assert dict(again.fields) == dict(a.fields) and dict(again.columns) == dict(a.columns)
        for where in FILTERS:
            expected = sorted(ids(a.search("apple pear", where=where)))
            assert sorted(ids(again.search("apple pear", where=where))) == expected, where
        again.close()


def test_explanations_sum_to_the_score(make: Make) -> None:
    fields = {"words": Words(), "codes": Sparse(500), "dot": Sparse(500, tf="count", scoring=Dot())}
    with make(fields) as c:
        rows = codes(40)
        whole = [{t: float(round(10 * w)) or 1.0 for t, w in row.items()} for row in rows]
        documents = zip(texts(40), rows, whole, strict=True)
        c.add({**d, "terms": {"codes": row, "dot": counts}} for d, row, counts in documents)
        c.commit()
        for field, query in (("words", "w1 w2 w40"), ("codes", rows[3]), ("dot", whole[3])):
            found = c.search(query, fields=field)
            assert len(found) == 10
            for hit in found:
                told = found.explain(hit)
                assert told.value == pytest.approx(sum(p.value for p in told.parts), rel=1e-12)
                assert told.value == pytest.approx(hit.score, rel=1e-5)
                assert c.explain(query, hit.id, fields=field).value == pytest.approx(hit.score, rel=1e-5)
                assert all(p.details["tf"] > 0 and p.details["query_weight"] > 0 for p in told.parts)
            scores = c.score(field, query, [h.id for h in found])
            assert np.allclose(scores, [h.score for h in found], rtol=1e-5)
        first, second = c.search("w1 w2 w40", fields="words")[:2]
        assert c.why("w1 w2 w40", first.id, second.id, fields="words").value == pytest.approx(
            first.score - second.score, rel=1e-4, abs=1e-5
        )


@pytest.mark.parametrize("kind", [Grams, Lengths])
def test_a_kind_of_ones_own_is_as_good(make: Make, kind: Callable[[], Field]) -> None:
    """The whole life of a field that only a test file knows, beside one of words."""
    with make({"own": kind(), "words": Words()}) as c:
        c.add({**d, "metadata": {"n": i}} for i, d in enumerate(texts(40)))
        c.commit()
        query = texts(40)[3]["text"]
        found = c.search(query, fields="own", k=5)
        assert len(found) == 5 and found[0].score == pytest.approx(c.score("own", query, [found[0].id])[0], rel=1e-5)
        for hit in found:
            told = found.explain(hit)
            assert told.value == pytest.approx(sum(p.value for p in told.parts), rel=1e-12)
            assert told.value == pytest.approx(hit.score, rel=1e-5) and told.parts
        both = c.search(query, k=5)
        assert both[0].id == "d3" and set(both[0].fields) == {"own", "words"}
        assert both.explain(both[0]).value == pytest.approx(both[0].score, rel=1e-6)
        assert all(hit.metadata["n"] > 9 for hit in c.search(query, fields="own", where={"n": {">": 9}}))
        c.delete([found[0].id])
        c.upsert([{"id": "d7", "text": "an unheard word"}])
        c.commit()
        assert ids(c.search("unheard", fields="own")) == ["d7"]
        assert found[0].id not in ids(c.search(query, fields="own", k=40))
    with make.open(make.path) as again:  # type: ignore[attr-defined]
        assert again.fields["own"] == kind()
        assert ids(again.search("unheard", fields="own")) == ["d7"]


def test_evidence_and_highlights(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "Plants make food. The plant|pipe wins 100% at C++."}])
        c.commit()
        found = c.search("plants c++ 100")
        spans = {p.label: [(e["start"], e["text"]) for e in p.evidence] for p in found.explain(found[0]).parts}
        assert spans["plant"] == [(0, "Plants"), (22, "plant")]
        assert spans["c++"] == [(46, "C++")]
        assert (0, 6) in found.highlight(found[0])[0].marks


def test_ties_break_by_document_order(make: Make) -> None:
    with make() as c:
        c.add({"id": f"{i:03}", "text": "same words here"} for i in range(60))
        c.upsert([{"id": "007", "text": "same words here"}])
        c.commit()
        expected = [f"{i:03}" for i in range(60) if i != 7] + ["007"]
        assert ids(c.search("words", k=60)) == expected
        assert ids(c.search("words", k=5)) == expected[:5]


def test_vectors(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "x", "vector": [0.5, 1.0]}, {"id": "b", "text": "x", "vector": {"other": [1.0]}}])
        c.commit()
        assert (
            c.vector("a").tolist() == [0.5, 1.0] and c.vector("b") is None and c.vector("b", "other").tolist() == [1.0]
        )
        with pytest.raises(InvalidInput, match="has 3 numbers where others have 2"):
            c.add([{"id": "c", "vector": [1.0, 2.0, 3.0]}])


def test_bad_documents_are_named_and_those_before_are_kept(make: Make) -> None:
    with make() as c:
        with pytest.raises(InvalidInput, match="document 'bad'"):
            c.add([{"id": "good", "text": "apple"}, {"id": "bad", "text": 7}, {"id": "late", "text": "apple"}])
        c.commit()
        assert ids(c.search("apple")) == ["good"]
        for wrong in ([{"text": "no id"}], [{"id": "x", "unknown": 1}], [{"id": "x", "terms": {"words": {1: 1.0}}}]):
            with pytest.raises(InvalidInput):
                c.add(wrong)
        for query in ("", "  ", {1: 1.0}):
            with pytest.raises(InvalidInput):
                c.search(query)
        with pytest.raises(InvalidInput):
            c.search("apple", k=0)


def test_opening(make: Make) -> None:
    with make({"words": Words(scoring=BM25(k1=0.9, b=0.4))}) as c:
        c.add([{"id": "a", "text": "apple", "metadata": {"n": 1}}])
        c.commit()
    with make.open(make.path) as again:  # type: ignore[attr-defined]
        assert again.fields["words"].scoring == BM25(k1=0.9, b=0.4) and again.columns == {"n": "integer"}
        assert ids(again.search("apple")) == ["a"]
        with pytest.raises(ReadOnly):
            again.add([{"id": "b"}])
    with pytest.raises(InvalidInput, match="closed"):
        again.search("apple")
    with pytest.raises(IndexExists):
        make()
    with pytest.raises(IndexNotFound):
        make.open(make.path + "-none")  # type: ignore[attr-defined]


TEXTS = {"a": "A puppy sleeps in the sun.", "b": "The automobile is red.", "c": "My kitten likes light."}


def test_latent_terms_fusion_and_reranking(make: Make, tmp_path: Path) -> None:
    encoder = ToyText()
    sae = toy_vocabulary(tmp_path / "toy-sae")
    with make({"words": Words(), "latent": Latent(sae, encoder=encoder), "dense": Dense(encoder=encoder)}) as c:
        c.add({"id": i, "text": t} for i, t in TEXTS.items())
        c.commit()
        assert not c.search("hound", fields="words")
        found = c.search("my hound", fields="latent")
        assert found[0].id == "a"
        tree = found.explain(found[0])
        (dog,) = [p for p in tree.parts if p.term == 1]
        assert dog.label == "latent 1" and dog.details["from"] == "hound"
        assert [e["text"] for e in dog.evidence] == ["puppy"]
        for method in ("rrf", "two-stage", "late", None):
            found = c.search("red hound", method=method)
            assert found[0].id in ("a", "b") and {"words", "latent"} <= set(found[0].fields)
            told = found.explain(found[0])
            assert told.value == pytest.approx(found[0].score, rel=1e-6)
            assert told.value == pytest.approx(sum(p.value for p in told.parts), rel=1e-6)
        reranked = c.search("my puppy", k=2, method="two-stage", rerank_depth=3)
        assert reranked[0].score == pytest.approx(c.score("dense", "my puppy", [reranked[0].id])[0], abs=1e-6)


def test_it_is_a_collection(make: Make) -> None:
    with make() as c:
        assert isinstance(c, Collection)
        with pytest.raises(InvalidInput, match="cannot be pickled or copied"):
            copy.copy(c)


def test_pages_and_many_queries(make: Make) -> None:
    with make() as c:
        c.add({**d, "metadata": {"n": i}} for i, d in enumerate(texts(40)))
        c.commit()
        queries = ["w1 w2 w40", "w3", "w1 w7", "unheard"]
        for options in ({}, {"where": {"n": {">=": 10}}, "offset": 2}):
            alone = [[(h.id, h.rank, h.score) for h in c.search(q, k=5, **options)] for q in queries]
            for threads in (1, 3):
                found = c.search_many(queries, 5, threads, **options)
                assert [[(h.id, h.rank, h.score) for h in f] for f in found] == alone
        whole = [(h.id, h.rank) for h in c.search("w1 w2 w40", k=9)]
        page = c.search("w1 w2 w40", k=5, offset=4)
        assert [(h.id, h.rank) for h in page] == whole[4:]
        assert page.explain(page[0]).value == pytest.approx(page[0].score, rel=1e-5)
        values = page.to_dict(documents=True)
        assert [hit["text"] for hit in values["hits"]] == [h.text for h in page]
        assert len(page.to_arrow()) == len(page) and page[0].id in page._repr_html_()


def test_updates_change_what_is_given(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "old apple", "metadata": {"year": 2020, "lang": "en"}, "vector": [1.0, 0.0]}])
        c.add([{"id": "b", "text": "pear", "vector": [0.0, 1.0]}])
        c.commit()
        assert c.update([{"id": "a", "metadata": {"year": 2021, "lang": None, "read": True}}]) == 1
        c.commit()
        assert (c.get("a").text, c.get("a").metadata) == ("old apple", {"year": 2021, "read": True})
        assert ids(c.search("apple", where={"read": True})) == ["a"] and list(c.ids()) == ["b", "a"]
        assert c.update([{"id": "a", "text": "new plum"}, {"id": "b", "vector": [0.5, 0.5]}]) == 2
        c.commit()
        assert c.get("a").metadata == {"year": 2021, "read": True}
        assert ids(c.search("plum")) == ["a"] and ids(c.search("apple")) == [] and ids(c.search("pear")) == ["b"]
        assert c.vector("a").tolist() == [1.0, 0.0] and c.vector("b").tolist() == [0.5, 0.5]
        assert c.update([{"id": "a", "text": None}]) == 1
        c.commit()
        assert c.get("a").text is None and c.get("a").metadata["year"] == 2021


def test_updates_that_cannot_be(make: Make) -> None:
    with make() as c:
        c.add([{"id": "a", "text": "apple", "metadata": {"year": 2020}}])
        c.commit()
        with pytest.raises(InvalidInput, match="document 'nobody' is not in the collection: add it, or use upsert"):
            c.update([{"id": "a", "text": "first"}, {"id": "nobody", "text": "x"}, {"id": "a", "text": "last"}])
        for wrong in ({"id": "a", "metadata": {"year": "late"}}, {"id": "a", "txt": "x"}, {"text": "x"}, "a"):
            with pytest.raises(InvalidInput):
                c.update([wrong])
        with pytest.raises(InvalidInput, match="put a single document into a list"):
            c.update({"id": "a", "text": "x"})
        c.commit()
        assert c.get("a").text == "first" and c.get("a").metadata == {"year": 2020}, (
            "those before a bad one are changed"
        )


def test_an_update_reaches_every_field(make: Make, tmp_path: Path) -> None:
    sae, encoder = toy_vocabulary(tmp_path / "sae"), ToyText(str(tmp_path))
    fields = {"words": Words(), "latent": Latent(sae, encoder=encoder), "dense": Dense(encoder=encoder)}
    with make(fields) as c:
        c.add([{"id": "a", "text": "a puppy"}, {"id": "b", "text": "a car"}])
        c.commit()
        before = c.search("puppy", fields="dense")[0].score  # of terms, a cluster counts what was replaced for a while
        c.update([{"id": "a", "metadata": {"seen": True}}])
        c.commit()
        assert {name: c.search("puppy", fields=name)[0].id for name in fields} == dict.fromkeys(fields, "a")
        assert c.search("puppy", fields="dense")[0].score == before
        c.update([{"id": "b", "text": "a puppy"}, {"id": "a", "text": "a car"}])
        c.commit()
        assert {name: c.search("puppy", fields=name)[0].id for name in fields} == dict.fromkeys(fields, "b")
        assert c.search("puppy", fields="dense")[0].score == before


def test_documents_page_by_page(make: Make) -> None:
    with make() as c:
        c.add({"id": f"d{i}", "text": "word", "metadata": {"odd": bool(i % 2)}} for i in range(20))
        c.commit()
        assert ids(c.documents(limit=3)) == ["d0", "d1", "d2"]
        assert ids(c.documents(limit=3, offset=18)) == ["d18", "d19"]
        assert ids(c.documents({"odd": True}, limit=2, offset=1)) == ["d3", "d5"]
        assert ids(c.documents({"odd": True}, offset=8)) == ["d17", "d19"]
        assert ids(c.documents(offset=20)) == []
        for wrong in ({"limit": 0}, {"limit": "3"}, {"offset": -1}):
            with pytest.raises(InvalidInput):
                list(c.documents(**wrong))


def test_documents_by_filter(make: Make) -> None:
    with make() as c:
        c.add({**d, "metadata": {"n": i}} for i, d in enumerate(texts(250)))  # more than one page of documents
        c.commit()
        assert [d.id for d in c.documents()] == list(c.ids()) == [f"d{i}" for i in range(250)]
        (one,) = c.documents({"n": 7})
        assert one == c.get("d7")
        assert c.count() == len(c) == 250 and c.count({"n": {"<": 30}}) == 30
        assert [d.id for d in c.documents({"n": {">=": 245}})] == [f"d{i}" for i in range(245, 250)]
        for wrong in ({"m": 1}, {"n": "x"}, "n"):
            for call in (c.documents, c.count, lambda where: c.delete(where=where)):
                with pytest.raises(InvalidInput):
                    call(wrong)
        c.add([{"id": "new", "metadata": {"n": 5}}])
        c.upsert([{"id": "d6", "metadata": {"n": 600}}])
        assert c.delete(where={"n": {"<": 10}}) == 10  # d6 is no longer one of them, and new is
        c.commit()
        assert "new" not in c and "d6" in c and c.count({"n": {"<": 10}}) == 0 and len(c) == 241
        with pytest.raises(InvalidInput, match="exactly one of the two"):
            c.delete()
        with pytest.raises(InvalidInput, match="exactly one of the two"):
            c.delete(["d11"], where={"n": 11})


def test_what_cannot_be_the_same_says_so(address: str) -> None:
    with opensearch.create(address, {"words": Words(), "dense": Dense(vector="v")}) as c:
        c.add([{"id": "a", "text": "x", "vector": {"v": [1.0, 0.0]}}, {"id": "b", "text": "x"}])
        c.commit()
        scores = c.score("dense", np.array([1.0, 1.0]), ["a", "b"])
        assert scores[0] == pytest.approx(0.5**0.5) and np.isnan(scores[1])
        assert ids(c.search(np.array([1.0, 1.0]), fields="dense")) == ["a"]
        with pytest.raises(InvalidInput, match="keeps what it acknowledged"):
            c.rollback()
        with pytest.raises(InvalidInput, match="copy_from"):
            c.add_field("more", Words())
        with pytest.raises(InvalidInput, match="no data with a commit"):
            c.commit({"x": 1})
