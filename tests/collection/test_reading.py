"""What the public face promises to readers: documents, numbers, results, searches."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from tests.collection.samples import DOCUMENTS, FIELDS
from zipfian.collection import Document, FieldHit
from zipfian.collection import results as results_module
from zipfian.errors import InvalidInput
from zipfian.fields import Sparse


class TestReading:
    def test_size_ids_and_membership(self, notes: zf.Collection) -> None:
        assert len(notes) == 5
        assert list(notes.ids()) == ["a", "b", "c", "d", "e"]
        assert "a" in notes
        assert "z" not in notes
        assert 7 not in notes
        assert "\ud800" not in notes

    def test_get(self, notes: zf.Collection) -> None:
        assert notes.get("a") == Document("a", "Plants make food from light.", {"lang": "en", "year": 2020})
        assert notes.get("d") == Document("d", None, {})
        assert notes.get("e") == Document("e", "", {})
        assert notes.get("z") is None

    def test_vectors(self, notes: zf.Collection) -> None:
        assert notes.vector("c").tolist() == [1.0, 2.0]
        assert notes.vector("e").dtype == np.float32
        assert notes.vector("a") is None
        assert notes.vector("c", "other") is None
        for odd in (["default"], None, 3):
            with pytest.raises(InvalidInput, match="a vector's name must be a string, not"):
                notes.vector("c", odd)  # type: ignore[arg-type]

    def test_many_ids_are_looked_up_together(self, notes: zf.Collection) -> None:
        assert notes.present(["a", "z", "e", ""]) == [True, False, True, False] and notes.present([]) == []
        for odd in ("a", None, 3, ["a", 7], [["a"]], {"a": 1}, b"a"):
            with pytest.raises(InvalidInput, match="present takes a list of ids, each a string, not"):
                notes.present(odd)  # type: ignore[arg-type]

    def test_fields_fields_user_and_repr(self, notes: zf.Collection) -> None:
        assert notes.columns == {"lang": "string", "year": "integer"}
        assert notes.fields == FIELDS
        assert notes.user == {"why": "first"}
        assert "generation 2, 5 documents" in repr(notes)

    def test_stats(self, notes: zf.Collection) -> None:
        stats = notes.stats()
        assert json.loads(json.dumps(stats)) == stats
        assert {k: stats[k] for k in ("generation", "documents", "deleted", "segments")} == {
            "generation": 2, "documents": 5, "deleted": 0, "segments": 1,
        }  # fmt: skip
        words, latent = stats["fields"]["words"], stats["fields"]["latent"]
        # plant make food from light | cat sleep in the light of the sun | pflanzen brauchen licht
        assert words["postings"] == 5 + 7 + 3
        assert words["terms"] == 14
        assert words["mean_length"] == pytest.approx((5 + 8 + 3) / 5)
        assert latent["postings"] == 3
        assert latent["terms"] == 2
        assert latent["mean_length"] == pytest.approx((0.5 + 2.0 + 0.25) / 5)
        assert stats["bytes"] == sum(stats["files"].values())
        assert words["bytes"] == stats["files"]["field:words"]
        assert words["bytes_per_document"] == words["bytes"] / 5
        assert stats["columns"] == {"lang": "string", "year": "integer"}
        assert stats["weights_clipped"] == stats["weights_rounded_to_zero"] == 0

    def test_stats_follow_deletes_without_a_merge(self, notes: zf.Collection) -> None:
        notes.delete(["b", "d"])
        notes.commit()
        before = notes.stats()
        assert (before["documents"], before["deleted"]) == (3, 2)
        notes.merge()
        notes.commit()
        after = notes.stats()
        assert (after["documents"], after["deleted"], after["segments"]) == (3, 0, 1)
        for field in FIELDS:
            for key in ("terms", "postings", "mean_length"):
                assert before["fields"][field][key] == after["fields"][field][key]
        assert after["bytes"] < before["bytes"]

    def test_what_quantisation_lost_is_reported(self, notes: zf.Collection) -> None:
        notes.add([{"id": "x", "terms": {"latent": {0: 0.004, 1: 0.006, 2: 10_000.0}}}])
        notes.commit()
        assert notes.stats()["weights_rounded_to_zero"] == 1
        assert notes.stats()["weights_clipped"] == 1
        notes.add_field("coarse", Sparse(5, scale=1.0), {"a": {0: 0.3}, "b": {0: 1.2, 1: 99_999.0}})
        notes.commit()
        assert notes.stats()["weights_rounded_to_zero"] == 2
        assert notes.stats()["weights_clipped"] == 2


class TestResults:
    def test_a_sequence_of_hits(self, notes: zf.Collection) -> None:
        found = notes.search("light plants")
        assert len(found) == 2
        assert bool(found)
        assert [h.id for h in found] == ["a", "b"]
        assert found[-1] is found.hits[1]
        assert found[0] in found
        assert found.index(found[1]) == 1
        assert found[:1] == (found[0],)
        assert list(reversed(found)) == [found[1], found[0]]
        assert len({*found, *found}) == 2
        nothing = notes.search("unheardof")
        assert len(nothing) == 0
        assert not nothing
        assert list(nothing) == []
        with pytest.raises(IndexError):
            nothing[0]

    def test_how_it_was_found(self, notes: zf.Collection) -> None:
        found = notes.search("light", k=3, where={"lang": "en"})
        assert found.query == "light"
        assert found.generation == 2
        assert found.settings == {
            "method": "words",
            "language": "en",
            "fields": ["words"],
            "field": "words",
            "scoring": zf.BM25().to_json(),
            "k": 3,
            "offset": 0,
            "where": {"lang": "en"},
        }
        assert set(found.timings) == {"prepare", "encode", "filter", "search", "total"}
        assert all(t >= 0.0 for t in found.timings.values())

    def test_hits(self, notes: zf.Collection) -> None:
        found = notes.search("light plants")
        hit = found[0]
        assert (hit.id, hit.rank) == ("a", 1)
        assert hit.fields == {"words": FieldHit(1, hit.score, hit.score)}
        assert hit.text == "Plants make food from light."
        assert hit.metadata == {"lang": "en", "year": 2020}
        assert found[1].score < hit.score
        assert "Plants make" not in repr(hit)  # nothing is read to show it

    def test_hits_are_made_when_asked_for_and_are_equal_where_searches_are(self, notes: zf.Collection) -> None:
        one, other = notes.search("light plants"), notes.search("light plants", fields="words")
        assert "hits" not in vars(one) and len(one) == len(other) == 2  # nobody has asked yet
        assert one[0] == other[0] and hash(one[0]) == hash(other[0]) and one[0] is one[0]
        assert one.explain(other[0]) == other.explain(one[0])  # the same document, score, rank and fields
        assert one[0] != one[1] and one[0] != notes.search("plants")[0] and one[0] != "a"
        with pytest.raises(InvalidInput, match="not a hit of these results"):
            one.explain(notes.search("plants")[0])
        fused = notes.search("light plants", offset=1)
        assert [(hit.id, hit.rank, hit.fields) for hit in fused] == [(one[1].id, 2, one[1].fields)]

    def test_what_was_searched_before_is_remembered_with_its_options(self, notes: zf.Collection) -> None:
        asked: list[dict[str, Any]] = [
            {}, {"k": 1}, {"offset": 1}, {"where": {"year": 2020}}, {"scoring": zf.BM25(k1=2.0)},
            {"scoring": zf.BM25(b=0.0)}, {"scoring": zf.Dot()}, {"exact_match_bonus": 1.0}, {"method": "tfidf"},
        ]  # fmt: skip
        first = [notes.search("light plants", **options) for options in asked]
        again = [notes.search("light plants", **options) for options in asked]
        assert not any("repeated" in found.settings for found in first)
        assert all(found.settings["repeated"] for found in again)
        assert [[(h.id, h.score) for h in found] for found in first] == [[(h.id, h.score) for h in f] for f in again]

    def test_a_hit_keeps_its_text_unless_it_is_large(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(results_module, "_KEPT_CHARS", 20)
        with zf.Collection.create(tmp_path / "c", {"t": Sparse(5)}) as made:
            made.add(
                [{"id": n, "text": "x" * n_chars, "terms": {"t": {1: 1.0}}} for n, n_chars in (("s", 20), ("l", 21))]
            )
            made.commit()
            small, large = made.search({1: 1.0})
            assert small.text == "x" * 20 and small.text is small.text
            assert large.text == "x" * 21 and large.text is not large.text

    def test_everything_stays_on_its_snapshot(self, notes: zf.Collection) -> None:
        found = notes.search("light plants")
        before = found.explain(found[0])
        notes.delete(["a"])
        notes.upsert([{"id": "b", "text": "changed"}])
        notes.commit()
        notes.merge()
        notes.commit()
        gc.collect()
        assert found.generation == 2
        assert found[0].text == "Plants make food from light."
        assert found[1].metadata == {"lang": "en", "year": 2021}
        assert found.explain(found[0]) == before
        assert found.highlight(found[1])[0].marks
        assert [h.id for h in notes.search("light plants")] == []
        notes.close()
        assert found.explain(found[0]) == before

    def test_a_hit_of_other_results_is_refused(self, notes: zf.Collection) -> None:
        found, other = notes.search("light plants"), notes.search("cats")
        for bad in (other[0], "a", None):
            with pytest.raises(InvalidInput, match="not a hit of these results"):
                found.explain(bad)
            with pytest.raises(InvalidInput, match="not a hit of these results"):
                found.highlight(bad)
        notes.delete(["a"])
        notes.commit()
        with pytest.raises(InvalidInput, match="not a hit of these results"):
            notes.search("light plants").explain(found[1])

    def test_highlight(self, notes: zf.Collection) -> None:
        found = notes.search("light plants")
        snippet = found.highlight(found[0], max_chars=200)[0]
        assert snippet.render("[", "]") == "[Plants] make food from [light]."
        latent = notes.search({1: 1.0})
        assert all(s.marks == () for s in latent.highlight(latent[0]))


class TestSearch:
    def test_nothing_shared_nothing_found(self, notes: zf.Collection) -> None:
        assert not notes.search("entirely unheardof words")
        assert not notes.search("???")
        assert not notes.search({0: 1.0})
        assert notes.score("words", "unheardof", ["a", "b"]).tolist() == [0.0, 0.0]

    def test_k_larger_than_the_collection(self, notes: zf.Collection) -> None:
        assert len(notes.search("light", k=1_000_000)) == 2
        assert len(notes.search("light", k=1)) == 1

    def test_a_query_may_be_given_in_four_ways(self, notes: zf.Collection) -> None:
        asked = [
            zf.Terms(np.array([1, 4], np.int32), np.array([1.0, 0.5], np.float32)),
            ([1, 4], [1.0, 0.5]),
            {4: 0.5, 1: 1.0},
            (np.array([1, 4]), np.array([1.0, 0.5])),
        ]
        found = [[(h.id, h.score) for h in notes.search(q)] for q in asked]
        assert found[0]
        assert all(f == found[0] for f in found)

    def test_fields_are_chosen_by_the_query(self, notes: zf.Collection) -> None:
        assert notes.search("light").settings["field"] == "words"
        assert notes.search({1: 1.0}).settings["field"] == "latent"
        assert notes.search({1: 1.0}, fields="latent").settings["field"] == "latent"
        with pytest.raises(InvalidInput, match="field 'words' takes a text"):
            notes.search({1: 1.0}, fields="words")
        with pytest.raises(InvalidInput, match="field 'latent' takes ready-made terms, not a text"):
            notes.search("light", fields="latent")
        with pytest.raises(InvalidInput, match="no field 'visual'; the collection has: words, latent"):
            notes.search("light", fields="visual")
        notes.add_field("visual", Sparse(3), {})
        notes.commit()
        with pytest.raises(InvalidInput, match=r"several fields take terms \(latent, visual\)"):
            notes.search({1: 1.0})

    def test_scores_of_given_documents(self, notes: zf.Collection) -> None:
        found = {h.id: h.score for h in notes.search("light plants")}
        assert notes.score("words", "light plants", ["e", "b", "a", "a"]).tolist() == [
            0.0, found["b"], found["a"], found["a"],
        ]  # fmt: skip
        under = notes.score("words", "light plants", ["a", "b", "c"], where={"year": 2020})
        assert under[0] == found["a"]
        assert np.isnan(under[1:]).all()
        assert notes.score("words", "light", []).tolist() == []
        with pytest.raises(InvalidInput, match="no document 'z'"):
            notes.score("words", "light", ["a", "z"])

    def test_ties_keep_the_order_of_the_last_upsert(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c") as c:
            c.add([{"id": i, "text": "same words"} for i in "xyzw"])
            c.commit()
            c.upsert([{"id": "y", "text": "same words"}])
            c.commit()
            assert [h.id for h in c.search("same")] == ["x", "z", "w", "y"]
            assert len({h.score for h in c.search("same")}) == 1
            c.upsert([{"id": i, "text": "same words"} for i in ("w", "x", "w")])
            c.commit()
            assert [h.id for h in c.search("same")] == ["z", "y", "x", "w"]

    def test_an_empty_collection(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c", FIELDS) as c:
            assert len(c) == 0
            assert list(c.ids()) == []
            for formula in (None, zf.TfIdf(), zf.Dot(), zf.BM25(phi="sqrt")):
                assert not c.search("anything", scoring=formula)
                assert not c.search({1: 1.0}, scoring=formula)
            assert c.stats()["documents"] == 0
            assert c.get("a") is None
            assert c.delete(["a"]) == 0
            assert c.add([]) == 0
            assert c.commit() == 1  # nothing to do
            c.merge()
            c.add_field("more", Sparse(3), {})
            assert c.commit() == 2
            assert not c.search({1: 1.0}, fields="more")
            c.add(DOCUMENTS)
            c.commit()
            c.delete([d["id"] for d in DOCUMENTS])
            c.commit()
            assert len(c) == 0
            assert not c.search("light")
            assert c.stats()["segments"] == 0
            assert c.check().ok

    def test_documents_without_text(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "c") as c:
            c.add([{"id": "a"}, {"id": "b", "text": None}, {"id": "c", "text": "..."}, {"id": "d", "text": "word"}])
            c.commit()
            assert [h.id for h in c.search("word")] == ["d"]
            assert c.explain("word", "a").value == 0.0
            assert c.stats()["fields"]["words"]["mean_length"] == 0.25
