"""Verbs over many queries, pages of hits, and documents by filter, in a folder; `cluster/test_contract.py` has both."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.samples import FIELDS
from tests.toys import ToyText, toy_vocabulary
from zipfian import limits
from zipfian.collection import Document, Results
from zipfian.collection.encoding import Encoding
from zipfian.collection.plan import SearchPlan
from zipfian.collection.search import FolderAnswers
from zipfian.errors import FingerprintMismatch, InvalidInput, LimitExceeded
from zipfian.fields import Dense, Latent, Sparse, Words
from zipfian.retrieve.dense import DenseSearcher

WORDS = "sun light plant food cat sleep river stone bread night".split()


def document(i: int) -> dict[str, Any]:
    words = [WORDS[(i * step) % len(WORDS)] for step in (1, 3, 7)]
    return {"id": f"d{i}", "text": " ".join(words * (1 + i % 3)), "metadata": {"n": i, "odd": bool(i % 2)}}


@pytest.fixture
def many(tmp_path: Path) -> zf.Collection:
    """60 documents in two segments, two of them deleted."""
    c = zf.Collection.create(tmp_path / "many.zf")
    c.add(document(i) for i in range(30))
    c.commit()
    c.add(document(i) for i in range(30, 60))
    c.delete(["d3", "d40"])
    c.commit()
    return c


def answer(found: Results) -> Any:
    settings = {k: v for k, v in found.settings.items() if k != "repeated"}
    return found.query, list(found), settings, found.generation


class TestManyQueries:
    def test_each_answer_is_that_of_one_search(self, many: zf.Collection) -> None:
        queries = [f"{a} {b}" for a in WORDS for b in WORDS]  # more than are encoded together
        options: dict[str, Any] = {"where": {"odd": True}, "offset": 1}
        for threads in (1, 3, None):
            found = many.search_many(queries, 4, threads, **options)
            assert [answer(f) for f in found] == [answer(many.search(q, k=4, **options)) for q in queries]
        assert many.search_many([]) == []

    def test_threads_are_used_where_they_gain(self, many: zf.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        ran: list[int] = []
        really = FolderAnswers.run

        def watched(self: FolderAnswers, *asked: Any) -> Results:
            ran.append(threading.get_ident())
            time.sleep(0.001)
            return really(self, *asked)

        monkeypatch.setattr(FolderAnswers, "run", watched)
        monkeypatch.setattr("zipfian.collection.many.available_threads", lambda: 4)
        queries = [f"{a} {b}" for a in WORDS for b in WORDS]

        def threads(**options: Any) -> set[int]:
            ran.clear()
            assert len(many.search_many(queries, 4, **options)) == len(ran) == len(queries)
            return set(ran)

        own = {threading.get_ident()}
        assert threads() == threads(threads=1) == own  # one field of few documents
        assert own.isdisjoint(threads(threads=3)) and 1 < len(set(ran)) <= 3
        monkeypatch.setattr("zipfian.collection.search.SMALL", 50)
        assert 1 < len(threads()) <= 4
        assert own.isdisjoint(ran)

    def test_several_fields_are_worth_threads_in_the_smallest_collection(self, many: zf.Collection) -> None:
        answers = many._answers()
        one, two = SearchPlan("words", ("words",)), SearchPlan("hybrid", ("words", "dense"))
        assert not answers.gains_from_threads([one, one])
        assert answers.gains_from_threads([one, two])
        assert answers.gains_from_threads([SearchPlan("late", ("words",), late="latent")])

    def test_an_encoder_takes_them_together(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        encoder, passes = ToyText(), []
        sae = toy_vocabulary(tmp_path / "toy-sae")
        fields = {
            "words": Words(),
            "latent": Latent(sae, encoder=encoder),
            "dense": Dense(encoder=encoder),
        }
        queries = ["my hound", "a red automobile", "kitten", "my hound"]
        with zf.Collection.create(tmp_path / "c.zf", fields) as c:
            c.add([{"id": "a", "text": "A puppy sleeps in the sun."}, {"id": "b", "text": "The automobile is red."}])
            c.commit()
            alone = [[(h.id, h.score, h.fields) for h in c.search(q)] for q in queries]
            c.commit()
            encode = type(encoder).encode_queries

            def counted(self: ToyText, texts: Any) -> Any:
                passes.append(list(texts))
                return encode(self, texts)

            monkeypatch.setattr(type(encoder), "encode_queries", counted)
            with zf.Collection.open(tmp_path / "c.zf", trust=[encoder, str(sae)]) as again:
                found = again.search_many(queries, threads=2)
                assert [[(h.id, h.score, h.fields) for h in f] for f in found] == alone
                assert passes == [queries]
                again.search_many(["kitten in the night"], fields="words")
                assert len(passes) == 1

    def test_vectors_are_scanned_for_several(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Hits are those of one search after the other, with a filter or without; scans without one are shared."""
        encoder, scans = ToyText(), []
        whole = DenseSearcher.find_many

        def counted(self: DenseSearcher, queries: Any, k: int, mask: Any = None) -> Any:
            scans.append((len(queries), mask is None))
            return whole(self, queries, k, mask)

        queries = [f"{a} {b}" for a in ("hound", "red", "kitten") for b in ("automobile", "sleeps", "sun", "night")]
        with zf.Collection.create(tmp_path / "c.zf", {"words": Words(), "dense": Dense(encoder=encoder)}) as c:
            c.add({"id": str(i), "text": text, "metadata": {"odd": i % 2}} for i, text in enumerate(queries[::-1] * 3))
            c.commit()
            for options in ({}, {"method": "dense", "offset": 2}, {"where": {"odd": 1}}):
                alone = [[(h.id, h.score) for h in c.search(q, **options)] for q in queries]
                with monkeypatch.context() as patched, zf.Collection.open(tmp_path / "c.zf", trust=[encoder]) as again:
                    patched.setattr(DenseSearcher, "find_many", counted)
                    together = again.search_many(queries, threads=2, **options)
                assert [[(h.id, h.score) for h in found] for found in together] == alone
                if "where" in options:
                    assert scans == [(1, False)] * len(queries)
                else:
                    assert sum(n for n, _ in scans) == len(queries) and len(scans) == 2
                scans.clear()

    def test_terms_and_vectors(self, notes: zf.Collection) -> None:
        found = notes.search_many([{1: 1.0}, ([4], [2.0])], fields="latent")
        assert [[h.id for h in f] for f in found] == [["e", "d"], ["d"]]

    def test_what_is_refused(self, many: zf.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        for queries in ("plants", {"a": 1.0}, 7, None):
            with pytest.raises(InvalidInput):
                many.search_many(queries)
        with pytest.raises(InvalidInput, match="the query is empty"):
            many.search_many(["sun", ""])
        with pytest.raises(InvalidInput, match="no option 'field'; options of a search are where, offset"):
            many.search_many(["sun"], field="words")
        with pytest.raises(InvalidInput, match="2 queries and 1 images"):
            many.search_many(["sun", "light"], images=[b"x"])
        for threads in (0, True, 1.5, limits.MAX_SEARCH_THREADS + 1):
            with pytest.raises(InvalidInput, match="threads must be a whole number from 1"):
                many.search_many(["sun"], threads=threads)  # type: ignore[arg-type]
        monkeypatch.setattr(limits, "MAX_BATCH_HITS", 20)
        assert len(many.search_many(["sun", "light"])) == 2
        with pytest.raises(LimitExceeded, match="more than 2 queries at this k"):
            many.search_many(iter(["sun", "light", "cat"]))


class TestPages:
    @pytest.mark.parametrize("method", [None, "words", "rrf"])
    def test_pages_are_parts_of_one_ranking(self, tmp_path: Path, method: str | None) -> None:
        fields = {"words": Words(), "latent": Sparse(5)}
        with zf.Collection.create(tmp_path / "c.zf", fields) as c:
            c.add(document(i) for i in range(60))
            c.commit()
            whole = c.search("sun light plant", k=25, method=method)
            pages = [c.search("sun light plant", k=10, offset=o, method=method) for o in (0, 10, 20)]
            assert [h for page in pages for h in page][:25] == list(whole)
            assert [h.rank for h in pages[1]] == list(range(11, 21))
            assert (pages[1].settings["offset"], pages[1].settings["k"]) == (10, 10)

    def test_a_hit_of_a_later_page_is_explained(self, many: zf.Collection) -> None:
        page = many.search("sun light", k=5, offset=3)
        for hit in page:
            assert page.explain(hit).value == hit.score
        with pytest.raises(InvalidInput, match="not a hit of these results"):
            page.explain(many.search("sun light", k=3)[2])  # rank 3, just before the page
        assert page.highlight(page[0])[0].marks

    def test_beyond_the_end(self, many: zf.Collection) -> None:
        n = len(many.search("sun", k=60))
        assert [h.rank for h in many.search("sun", k=10, offset=n - 2)] == [n - 1, n]
        assert not many.search("sun", offset=n)

    def test_bounds(self, many: zf.Collection) -> None:
        assert len(many.search("sun", k=1, offset=np.int64(2))) == 1
        assert many.search("sun", k=1, offset=limits.MAX_K - 1) is not None
        with pytest.raises(LimitExceeded, match=r"offset \+ k is 1000001"):
            many.search("sun", k=1, offset=limits.MAX_K)
        for wrong in (-1, True, 1.0, "1", None, np.zeros(2, int)):
            with pytest.raises(InvalidInput, match="offset must be"):
                many.search("sun", offset=wrong)  # type: ignore[arg-type]


class TestDocuments:
    def test_all_and_some(self, many: zf.Collection) -> None:
        there = [i for i in range(60) if i not in (3, 40)]
        assert [d.id for d in many.documents()] == list(many.ids()) == [f"d{i}" for i in there]
        assert next(many.documents()) == Document("d0", document(0)["text"], document(0)["metadata"])
        where = {"odd": True, "n": {">=": 25}}
        wanted = [f"d{i}" for i in there if i % 2 and i >= 25]
        assert [d.id for d in many.documents(where)] == wanted
        assert many.count(where) == len(wanted) and many.count() == many.count({}) == len(many) == 58

    def test_they_stay_those_of_one_commit(self, many: zf.Collection) -> None:
        reading = many.documents()
        next(reading)
        many.delete(where={})
        many.commit()
        assert len(list(reading)) == 57 and len(many) == 0 and list(many.documents()) == []

    def test_a_wrong_filter_is_refused_at_once(self, many: zf.Collection) -> None:
        for call in (many.documents, many.count, lambda where: many.delete(where=where)):
            for wrong in ({"m": 1}, "odd", {"n": "x"}):
                with pytest.raises(InvalidInput):
                    call(wrong)  # type: ignore[operator]


class TestDeleteByFilter:
    def test_committed_written_and_waiting_documents(self, many: zf.Collection) -> None:
        many.add([{"id": "new", "metadata": {"n": 7}}, {"id": "other", "metadata": {"n": 107}}])
        many.upsert([{"id": "d8", "metadata": {"n": 108}}])  # no longer below 10
        many.delete(["d1"])
        assert many.delete(where={"n": {"<": 10}}) == 1 + len({0, 2, 4, 5, 6, 7, 9})
        assert many.delete(where={"n": {"<": 10}}) == 0
        many.commit()
        assert "new" not in many and "other" in many and "d8" in many and "d0" not in many
        assert many.count({"n": {"<": 10}}) == 0 and len(many) == 58 + 2 - 8 - 1

    def test_scores_are_those_of_a_collection_that_never_had_them(self, many: zf.Collection, tmp_path: Path) -> None:
        many.delete(where={"odd": True})
        many.commit()
        with zf.Collection.create(tmp_path / "even.zf") as even:
            even.add(document(i) for i in range(0, 60, 2) if i != 40)
            even.commit()
            for query in ("sun light", "river stone bread"):
                left, right = many.search(query, k=50), even.search(query, k=50)
                assert [(h.id, h.score) for h in left] == [(h.id, h.score) for h in right]

    def test_a_rollback_brings_them_back(self, many: zf.Collection) -> None:
        many.delete(where={"odd": True})
        many.rollback()
        many.commit()
        assert len(many) == 58

    def test_exactly_one_of_two(self, many: zf.Collection) -> None:
        for arguments in ({}, {"ids": ["d1"], "where": {"n": 1}}):
            with pytest.raises(InvalidInput, match="exactly one of the two"):
                many.delete(**arguments)  # type: ignore[arg-type]
        assert many.delete([]) == 0


class TestCopying:
    def test_terms_and_vectors_as_they_are_stored(self, path: Path, tmp_path: Path) -> None:
        with zf.Collection.open(path) as old, zf.Collection.create(tmp_path / "new.zf", old.fields) as new:
            done: list[int] = []
            assert new.copy_from(path, progress=done.append) == 5 and done[-1] == 5
            new.commit()
            assert list(new.documents()) == list(old.documents())
            assert dict(new.fields) == dict(old.fields) and new.vector("c").tolist() == [1.0, 2.0]
            for query, field in (("plants light", "words"), ({1: 1.0, 4: 0.5}, "latent")):
                theirs, ours = old.search(query, fields=field), new.search(query, fields=field)
                assert [(h.id, h.score) for h in ours] == [(h.id, h.score) for h in theirs] != []
            assert new.copy_from(path, existing="skip") == 0
            with pytest.raises(InvalidInput, match="'a' is in the collection already"):
                new.copy_from(path, existing="error")
            assert new.check().ok

    def test_nothing_is_encoded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        encoder = ToyText()
        latent = Latent(toy_vocabulary(tmp_path / "toy-sae"), encoder=encoder)
        fields = {"latent": latent, "dense": Dense(encoder=encoder)}
        with zf.Collection.create(tmp_path / "a.zf", fields, encodings=False) as old:
            old.add([{"id": "a", "text": "A puppy sleeps."}, {"id": "b", "text": "The automobile is red."}])
            old.commit()
            wanted = [(h.id, h.score) for h in old.search("my hound")]
            with zf.Collection.create(tmp_path / "b.zf", old.fields, encodings=False) as new:
                with monkeypatch.context() as patched:
                    patched.setattr(Encoding, "fill", None)
                    new.copy_from(tmp_path / "a.zf")
                new.commit()
                assert [(h.id, h.score) for h in new.search("my hound")] == wanted

    def test_a_small_budget_of_memory(self, many: zf.Collection, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "new.zf", memory_bytes=10_000) as new:
            new.copy_from(tmp_path / "many.zf")
            assert new.commit() > 1 and new.stats()["segments"] > 1
            assert list(new.ids()) == list(many.ids())

    def test_what_is_refused(self, path: Path, tmp_path: Path) -> None:
        other = zf.Collection.create(tmp_path / "new.zf", {"words": Words(), "latent": Sparse(6)})
        with other, pytest.raises(FingerprintMismatch, match=r"field 'latent' of .* fields="):
            other.copy_from(path)
        with zf.Collection.create(tmp_path / "dims.zf", FIELDS) as new:
            new.add([{"id": "z", "vector": [1.0, 2.0, 3.0]}])
            with pytest.raises(InvalidInput, match="'c': vector 'default' has 2 numbers where others have 3"):
                new.copy_from(path)
            with pytest.raises(InvalidInput, match="existing must be"):
                new.copy_from(path, existing="never")  # type: ignore[arg-type]
