"""Verbs that look at what a collection holds: values, terms, likeness, and what a missing document lacks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import zipfian as zf
from zipfian import deadline
from zipfian.collection.facets import FacetValue
from zipfian.errors import DeadlineExceeded, InvalidInput

DOCUMENTS: list[dict[str, Any]] = [
    {
        "id": "a",
        "text": "Plants make food. Food!",
        "metadata": {"lang": "en", "n": 1, "tags": ["x", "y", "x"], "ok": True},
    },
    {"id": "b", "text": "Cats like food.", "metadata": {"lang": "en", "n": 2.5, "tags": ["y"]}},
    {"id": "c", "text": "Cats sleep.", "metadata": {"lang": "de", "n": 2**53 + 1, "tags": [], "ok": False}},
    {"id": "d", "text": "Dogs bark.", "metadata": {"when": datetime(2024, 5, 1, tzinfo=UTC)}},
    {"id": "gone", "text": "Gone food.", "metadata": {"lang": "gone", "n": 99}},
]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[zf.Collection]:
    """Two segments, and a document that was deleted."""
    with zf.Collection.create(tmp_path / "notes.zf") as made:
        made.add(DOCUMENTS[:2])
        made.commit()
        made.add(DOCUMENTS[2:])
        made.commit()
        made.delete(["gone"])
        made.commit()
        yield made


class TestFacets:
    def test_values_of_all_segments_most_frequent_first(self, notes: zf.Collection) -> None:
        found = notes.facets(["lang"])["lang"]
        assert found.values == (FacetValue("en", 2), FacetValue("de", 1))
        assert (found.type, found.more, found.missing) == ("string", 0, 1)
        assert (found.lowest, found.highest) == (None, None)

    def test_a_list_counts_each_value_once(self, notes: zf.Collection) -> None:
        found = notes.facets(["tags"])["tags"]
        assert found.values == (FacetValue("y", 2), FacetValue("x", 1))
        assert found.missing == 1

    def test_numbers_are_exact(self, notes: zf.Collection) -> None:
        found = notes.facets(["n"])["n"]
        assert [(value.value, value.count) for value in found.values] == [(1, 1), (2.5, 1), (2**53 + 1, 1)]
        assert (found.lowest, found.highest) == (1, 2**53 + 1)

    def test_dates_and_flags(self, notes: zf.Collection) -> None:
        found = notes.facets()
        assert set(found) == {"lang", "n", "tags", "ok", "when"}
        assert found["when"].values == (FacetValue("2024-05", 1),)
        assert found["when"].lowest == found["when"].highest == datetime(2024, 5, 1, tzinfo=UTC)
        assert found["ok"].values == (FacetValue(False, 1), FacetValue(True, 1))

    def test_dates_are_counted_by_years_and_those_of_one_year_by_months(self, notes: zf.Collection) -> None:
        moments = [datetime(2024, 5, 31, 23, 59, 59), datetime(2024, 6, 1), datetime(2023, 12, 31, 23, 59, 59, 999_999)]
        notes.add({"id": f"w{i}", "metadata": {"when": moment}} for i, moment in enumerate(moments))
        notes.commit()
        found = notes.facets(["when"])["when"]
        assert (found.by, found.values) == ("year", (FacetValue("2024", 3), FacetValue("2023", 1)))
        assert (found.lowest, found.missing) == (moments[2].replace(tzinfo=UTC), 3)
        assert notes.count({"when": "2024"}) == 3
        one = notes.facets(["when"], {"when": "2024"})["when"]
        assert (one.by, one.values) == ("month", (FacetValue("2024-05", 2), FacetValue("2024-06", 1)))
        assert notes.count({"when": "2024-05"}) == 2
        assert notes.facets(["when"], limit=1)["when"].more == 1
        none = notes.facets(["when"], {"when": "2022"})["when"]
        assert (none.by, none.values, none.lowest) == (None, (), None)

    def test_a_list_of_dates_is_counted_by_its_dates(self, notes: zf.Collection) -> None:
        """Two of one year would count their document twice."""
        days = [datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 2, 1, tzinfo=UTC)]
        notes.add([{"id": "l", "metadata": {"days": days}}])
        notes.commit()
        found = notes.facets(["days"])["days"]
        assert (found.by, found.values) == (None, tuple(FacetValue(day, 1) for day in days))

    def test_only_what_a_filter_allows_is_counted(self, notes: zf.Collection) -> None:
        found = notes.facets(["lang", "tags"], {"n": {">": 2}})
        assert found["lang"].values == (FacetValue("de", 1), FacetValue("en", 1))
        assert found["tags"].values == (FacetValue("y", 1),)
        assert found["lang"].missing == 0

    def test_the_rest_is_counted(self, notes: zf.Collection) -> None:
        found = notes.facets(["n"], limit=1)["n"]
        assert len(found.values) == 1
        assert found.more == 2
        assert found.highest == 2**53 + 1

    def test_what_is_no_column(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="no metadata column 'x'; columns are: lang"):
            notes.facets(["x"])
        with pytest.raises(InvalidInput, match="put a single one into a list"):
            notes.facets("lang")


class TestTerms:
    def test_the_most_frequent_first(self, notes: zf.Collection) -> None:
        found = notes.terms("words", limit=2)
        assert [(term.term, term.df) for term in found.terms] == [("cat", 2), ("food", 2)]
        assert found.found == 8
        assert notes.terms("words", limit=2, offset=1).terms[0].term == "food"
        assert found.terms[0].idf == pytest.approx(np.log(1 + (4 - 2 + 0.5) / (2 + 0.5)))

    def test_by_their_beginning(self, notes: zf.Collection) -> None:
        assert [term.term for term in notes.terms("words", "Pla").terms] == ["plant"]
        assert notes.terms("words", "zzz").terms == []

    def test_one_term(self, notes: zf.Collection) -> None:
        page = notes.term("words", "Food")
        assert (page.info.term, page.info.df, page.n) == ("food", 2, 4)
        assert [(document.id, document.weight) for document in page.documents] == [("a", 2.0), ("b", 1.0)]
        assert page.documents[0].places[0]["text"] == "food"
        assert [document.id for document in notes.term("words", "food", 1).documents] == ["a"]
        assert notes.term("words", "unknown").documents == []

    def test_the_curve(self, notes: zf.Collection) -> None:
        found = notes.vocabulary("words")
        assert (found.n, found.terms, found.postings) == (4, 8, 10)
        assert found.curve[0] == (1, 2)
        assert found.curve[-1] == (8, 1)

    @pytest.mark.parametrize(
        ("field", "term", "said"),
        [("none", "x", "no field 'none'"), ("words", "two words", "one word"), ("words", "?", "one word")],
    )
    def test_what_is_no_term(self, notes: zf.Collection, field: str, term: str, said: str) -> None:
        with pytest.raises(InvalidInput, match=said):
            notes.term(field, term)

    def test_numbered_terms(self, tmp_path: Path) -> None:
        fields = {"codes": zf.Sparse(100), "dense": zf.Dense(vector="default")}
        with zf.Collection.create(tmp_path / "codes.zf", fields) as made:
            made.add([{"id": "a", "terms": {"codes": {3: 1.0, 7: 2.0}}}, {"id": "b", "terms": {"codes": {7: 5.0}}}])
            made.commit()
            assert [document.id for document in made.term("codes", "7").documents] == ["b", "a"]
            for wrong in ("100", "-1", "x", "7.0", "٧"):
                with pytest.raises(InvalidInput, match="a number from 0 to 99"):
                    made.term("codes", wrong)
            with pytest.raises(InvalidInput, match="no labels"):
                made.terms("codes", "x")
            with pytest.raises(InvalidInput, match="no terms of its own"):
                made.terms("dense")
            terms = made.terms_of("a", "codes")
            assert terms is not None
            assert (terms.ids.tolist(), terms.weights.tolist()) == ([3, 7], [1.0, 2.0])
            assert [hit.id for hit in made.similar("a")] == ["b"]


class TestSimilar:
    def test_without_itself(self, notes: zf.Collection) -> None:
        found = notes.similar("b")
        assert [(hit.rank, hit.id) for hit in found] == [(1, "a"), (2, "c")]
        assert found.explain(found[1]).value == found[1].score
        assert [(hit.rank, hit.id) for hit in notes.similar("b", 1, offset=1)] == [(2, "c")]
        assert [hit.id for hit in notes.similar("b", where={"lang": "en"})] == ["a"]

    def test_by_vectors(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "v.zf", {"dense": zf.Dense(vector="default")}) as made:
            vectors = {"a": [1.0, 0.0], "b": [0.9, 0.1], "c": [0.0, 1.0]}
            made.add({"id": name, "vector": vector} for name, vector in vectors.items())
            made.add([{"id": "none"}])
            made.commit()
            assert [hit.id for hit in made.similar("a")] == ["b", "c"]
            with pytest.raises(InvalidInput, match="has nothing that field dense"):
                made.similar("none")

    def test_what_cannot_be(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="no document 'nobody'"):
            notes.similar("nobody")
        with pytest.raises(InvalidInput, match="no field 'x'"):
            notes.similar("a", field="x")


class TestAbsence:
    def test_what_is_there(self, notes: zf.Collection) -> None:
        found = notes.absence("food for cats", "b")
        assert (found.rank, found.reasons, dict(found.lacking)) == (1, [], {})

    def test_others_have_more(self, notes: zf.Collection) -> None:
        found = notes.absence("food for cats", "c", k=2)
        best = notes.search("food for cats", 2)
        assert found.rank is None
        assert (found.score, found.cutoff) == (notes.explain("food for cats", "c").value, best[-1].score)
        assert found.reasons[0] == f"it scores {found.score:.4f}, and the last of the hits {best[-1].score:.4f}"
        assert found.reasons[1] == "words: it lacks food"

    def test_nothing_matches(self, notes: zf.Collection) -> None:
        found = notes.absence("food for cats", "d")
        assert found.reasons == ["nothing in it matches the query", "words: it lacks food, cat"]

    def test_the_filter(self, notes: zf.Collection) -> None:
        found = notes.absence("food for cats", "b", where={"lang": "de"})
        assert found.excluded
        assert found.reasons == ["the filter keeps it out"]
        assert not notes.absence("food for cats", "d", where={"lang": {"exists": False}}).excluded


class TestAdjust:
    def scores(self, notes: zf.Collection, **options: Any) -> dict[str, float]:
        return {hit.id: hit.score for hit in notes.search("food for cats", **options)}

    def test_a_term_is_muted(self, notes: zf.Collection) -> None:
        assert self.scores(notes, adjust={"words": {"food": 0}}) == {
            hit.id: hit.score for hit in notes.search("cats")
        }  # fmt: skip

    def test_a_term_is_boosted(self, notes: zf.Collection) -> None:
        usual, more = self.scores(notes), self.scores(notes, adjust={"words": {"food": 3}})
        only = {hit.id: hit.score for hit in notes.search("food")}
        assert set(more) == set(usual)
        for doc_id, score in usual.items():
            assert more[doc_id] == pytest.approx(score + 2 * only.get(doc_id, 0.0))
        assert self.scores(notes) == usual  # nothing is remembered under the wrong key

    def test_reasons_follow(self, notes: zf.Collection) -> None:
        adjust = {"words": {"food": 3.0, "cat": 0.5}}
        found = notes.search("food for cats", adjust=adjust)
        assert found.explain(found[0]).value == found[0].score
        assert notes.explain("food for cats", found[0].id, adjust=adjust).value == found[0].score
        tree = notes.explain("food for cats", "b", adjust=adjust)
        weights = {part.term: part.details["query_weight"] for part in tree.parts}
        assert weights == {"food": 3.0, "cat": 0.5}
        assert notes.search_many(["food for cats"], adjust=adjust)[0][0].score == found[0].score
        assert notes.absence("food for cats", "d", adjust=adjust).lacking == {"words": ("food", "cat")}

    def test_all_terms_muted_is_no_hit(self, notes: zf.Collection) -> None:
        assert len(notes.search("food", adjust={"words": {"food": 0.0}})) == 0

    def test_numbers_may_be_written_as_text(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "codes.zf", {"codes": zf.Sparse(100)}) as made:
            made.add([{"id": "a", "terms": {"codes": {3: 1.0}}}, {"id": "b", "terms": {"codes": {7: 1.0}}}])
            made.commit()
            for key in (3, "3"):
                assert [hit.id for hit in made.search({3: 1.0, 7: 1.0}, adjust={"codes": {key: 0}})] == ["b"]

    @pytest.mark.parametrize(
        "adjust",
        [
            {"none": {"x": 1}}, {"words": 3}, 3, {"words": {"x": -1}}, {"words": {"x": float("nan")}},
            {"words": {"x": "1"}}, {"words": {"x": True}}, {"words": {"x": 1e300}},
        ],
    )  # fmt: skip
    def test_what_is_no_factor(self, notes: zf.Collection, adjust: Any) -> None:
        with pytest.raises(InvalidInput, match="adjust"):
            notes.search("food", adjust=adjust)


class TestDeadline:
    def test_a_search_stops_before_its_next_stage(self, notes: zf.Collection) -> None:
        with deadline.until(time.monotonic() - 1), pytest.raises(DeadlineExceeded, match="asking field words"):
            notes.search("never asked before")
        assert len(notes.search("food")) == 2

    def test_so_do_many(self, notes: zf.Collection) -> None:
        with deadline.until(time.monotonic() - 1), pytest.raises(DeadlineExceeded):
            notes.search_many(["never", "asked"])

    def test_threads_know_the_deadline_of_their_caller(
        self, notes: zf.Collection, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from zipfian.collection import many

        monkeypatch.setattr(many, "_encode", lambda *_: time.sleep(3.5))  # the first check comes before, in this thread
        with deadline.until(time.monotonic() + 3.0), pytest.raises(DeadlineExceeded, match="asking field words"):
            notes.search_many(["never", "asked"], threads=2)
