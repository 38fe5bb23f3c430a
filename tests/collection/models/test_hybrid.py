"""All fields at once; the stages themselves are tested in tests/fuse and tests/rerank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS, check_sums, fields, picture
from tests.toys import ToyImage, ToyText
from zipfian.errors import InvalidInput
from zipfian.rerank import AdaptiveK


class TestHybrid:
    """All fields at once; the stages themselves are tested in tests/fuse and tests/rerank."""

    def test_text_is_fused_by_default(self, notes: zf.Collection) -> None:
        found = notes.search("a puppy in the sun", k=3)
        assert found.settings["method"] == "hybrid"
        assert set(found.settings["fields"]) == {"words", "latent", "dense"}
        assert found[0].id == "a"
        for hit in found:
            assert set(hit.fields) == {"words", "latent", "dense"}
            total = 0.0
            for name in hit.fields:
                total += hit.fields[name].share
            assert total == hit.score
            for name, seen in hit.fields.items():
                assert seen.score == notes.score(name, "a puppy in the sun", [hit.id])[0]

    def test_explanations_sum_through_fusion(self, notes: zf.Collection) -> None:
        found = notes.search("a puppy in the sun", k=3)
        for hit in found:
            tree = found.explain(hit)
            assert tree.value == hit.score
            check_sums(tree)
        labels = str(found.explain(found[0]))
        assert "puppy" in labels and "latent 1" in labels

    def test_any_document_can_be_explained(self, notes: zf.Collection) -> None:
        found = notes.search("kitten", k=1)
        assert notes.explain("kitten", found[0].id).value == found[0].score
        last = notes.explain("kitten", "b")
        assert last.value < found[0].score
        check_sums(last)
        assert notes.why("kitten", found[0].id, "b").value == pytest.approx(found[0].score - last.value)

    @pytest.mark.parametrize(
        "method", ["hybrid", "rrf", "linear", "fusion", "two-stage", "training-free", "tfidf", "latent", "dense"]
    )
    def test_methods(self, notes: zf.Collection, method: str) -> None:
        found = notes.search("puppy in the sun", k=2, method=method)
        assert found[0].id == "a"
        assert found.settings["method"] == method
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)

    @pytest.mark.parametrize("preset", ["balanced", "accuracy-first"])
    def test_presets(self, notes: zf.Collection, preset: str) -> None:
        assert notes.search("puppy", k=1, preset=preset)[0].id == "a"

    def test_scores_do_not_depend_on_k(self, notes: zf.Collection) -> None:
        all_of_them = {h.id: h.score for h in notes.search("puppy light red", k=3)}
        for k in (1, 2):
            assert all(all_of_them[h.id] == h.score for h in notes.search("puppy light red", k=k))

    def test_the_query_may_choose_how_many_are_reranked(self, notes: zf.Collection) -> None:
        keen = notes.search("light puppy", k=2, method="two-stage", rerank_depth=AdaptiveK(2, 3, skip_margin=1e9))
        assert keen.settings["adaptive_k"]["most"] == 3
        assert any("reranked" in str(keen.explain(hit)) for hit in keen)
        never = notes.search("light puppy", k=2, method="two-stage", rerank_depth=AdaptiveK(2, 3, skip_margin=1e-9))
        assert never.settings["choice"]["K"] == 0
        with pytest.raises(InvalidInput, match="is a number for 'late"):
            notes.search("light puppy", method="late", rerank_depth=AdaptiveK())

    def test_two_stage_reranks_by_cosine(self, notes: zf.Collection) -> None:
        found = notes.search("light puppy", k=3, method="two-stage", rerank_depth=3)
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        for hit in found:
            assert hit.score == notes.score("dense", "light puppy", [hit.id])[0] == hit.fields["dense"].share
            assert sum(seen.share for seen in hit.fields.values()) == hit.score
        assert sorted(hit.first_rank for hit in found) == [1, 2, 3]

    def test_a_repeated_query_with_another_filter_is_another_query(self, notes: zf.Collection) -> None:
        notes.upsert({"id": i, "text": t, "metadata": {"n": n}} for n, (i, t) in enumerate(sorted(TEXTS.items())))
        notes.commit()
        for n, doc_id in enumerate(sorted(TEXTS)):
            assert [h.id for h in notes.search("puppy light red", k=5, where={"n": n})] == [doc_id]
        assert {h.id for h in notes.search("puppy light red", k=5)} == set(TEXTS)
        assert notes.search("puppy light red", k=5, where={"n": 0}).settings["repeated"]

    def test_a_repeated_query_costs_no_encoder(self, notes: zf.Collection, text: ToyText) -> None:
        once = notes.search("puppy in the sun", k=2)
        seen = len(text.seen)
        again = notes.search("puppy in the sun", k=2)
        assert len(text.seen) == seen
        assert again.settings["repeated"]
        assert [(h.id, h.score, h.fields) for h in again] == [(h.id, h.score, h.fields) for h in once]
        assert again.explain(again[0]).value == once[0].score
        for other in ({"k": 1}, {"method": "rrf"}, {"query_encoder": "encoder"}):
            assert "repeated" not in notes.search("puppy in the sun", **{"k": 2, **other}).settings
        notes.add([{"id": "new", "text": "puppy in the sun"}])
        notes.commit()
        assert "repeated" not in notes.search("puppy in the sun", k=2).settings  # another snapshot

    def test_an_exact_match_is_rewarded_when_asked_for(self, notes: zf.Collection) -> None:
        asked = "  my KITTEN likes light. "
        plain = notes.search(asked, k=3)
        assert not any(h.exact_match for h in plain)
        found = notes.search(asked, k=3, exact_match_bonus=1.0)
        assert [h.exact_match for h in found] == [True, False, False]
        scores = {h.id: h.score for h in plain}
        assert found[0].id == "c"
        assert found[0].score == scores["c"] + 1.0
        tree = found.explain(found[0])
        assert tree.value == found[0].score
        check_sums(tree)
        with pytest.raises(InvalidInput, match="exact_match_bonus must be"):
            notes.search(asked, exact_match_bonus=-1.0)

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"method": "magic"}, "unknown method 'magic'; methods are hybrid"),
            ({"preset": "magic"}, "unknown preset 'magic'; one of latency-first"),
            ({"fields": "visual"}, "there is no field 'visual'"),
            ({"method": "rrf", "preset": "balanced"}, "give one of method= and preset="),
            ({"method": "two-stage", "rerank_depth": 2, "k": 3}, "rerank_depth is 2, but k is 3"),
            ({"method": "rrf", "rerank_depth": 5}, "rerank_depth= is for methods that rerank"),
            ({"scoring": zf.Dot()}, "scoring= is for one field: name it with fields="),
            ({"fields": ["words", "latent"], "scoring": zf.Dot()}, "scoring= is for one field"),
            ({"fields": []}, r"fields= is the name of a field, or a sequence of names, not \[\]"),
            ({"fields": 7}, "fields= is the name of a field, or a sequence of names, not 7"),
            ({"fields": ["words", "wurds"]}, "there is no field 'wurds'"),
            ({"fields": ["words", 7]}, "there is no field 7"),
            ({"fields": ["words", "words"]}, "names a field twice: words, words"),
            ({"fields": "words", "method": "latent"}, "method='latent' names a field, and so does fields='words'"),
            ({"fields": "dense", "scoring": zf.Dot()}, "compared by cosine"),
        ],
    )
    def test_bad_requests(self, notes: zf.Collection, options: dict[str, Any], problem: str) -> None:
        with pytest.raises(InvalidInput, match=problem):
            notes.search("puppy", **options)

    def test_named_fields_are_fused_as_if_there_were_no_others(self, notes: zf.Collection, tmp_path: Path) -> None:
        query = "the puppy and the sun"
        known = notes.fields
        with zf.Collection.create(tmp_path / "two.zf", {n: known[n] for n in ("words", "latent")}) as two:
            two.add({"id": i, "text": t} for i, t in TEXTS.items())
            two.commit()
            for method in (None, "hybrid", "rrf", "linear"):
                some = notes.search(query, fields=["words", "latent"], method=method)
                alone = two.search(query, method=method)
                assert [(h.id, h.score) for h in some] == [(h.id, h.score) for h in alone] and len(some)
                assert set(some[0].fields) == {"words", "latent"}
        one, listed = notes.search(query, fields="latent"), notes.search(query, fields=("latent",))
        assert [(h.id, h.score) for h in one] == [(h.id, h.score) for h in listed]
        assert notes.explain(query, "a", fields=["words", "latent"]).value == pytest.approx(
            next(h.score for h in notes.search(query, fields=["words", "latent"]) if h.id == "a")
        )
        quick = notes.search(query, fields=["words", "dense"], preset="latency-first")
        assert set(quick[0].fields) == {"words", "dense"}  # named, so it takes part
        with pytest.raises(InvalidInput, match="field 'words' takes a text, not a picture"):
            notes.search(image=b"x", fields=["words", "latent"])

    def test_a_missing_field_is_named_with_advice(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "plain.zf") as plain:
            plain.add([{"id": "a", "text": "words"}])
            plain.commit()
            with pytest.raises(InvalidInput, match=r"needs a dense field.*add_field\('dense', Dense\('text'\)\)"):
                plain.search("words", method="two-stage")

    def test_filters_hold_in_every_field(self, notes: zf.Collection) -> None:
        notes.upsert([{"id": "a", "text": TEXTS["a"], "metadata": {"lang": "en"}}])
        notes.commit()
        assert [h.id for h in notes.search("kitten", where={"lang": "en"})] == ["a"]

    def test_pictures_are_fused_and_reranked_where_time_matters(
        self, tmp_path: Path, image: ToyImage, sae: Path
    ) -> None:  # fmt: skip
        with zf.Collection.create(tmp_path / "p.zf", fields(sae, image), encodings=False) as photos:
            for i in range(12):
                photos.add([{"id": f"{i}", "image": picture(tmp_path / f"{i}.png", (20 * i, 255 - 20 * i, 30))}])
            photos.commit()
            found = photos.search(image=tmp_path / "7.png", k=3)
            assert "7" in {hit.id for hit in found}, "plain colours have few visual words, and neighbours the same"
            assert found.settings["weights"] == {"visual": 2 / 3, "dense": 0.5}, "of an encoder that nobody measured"
            assert "rerank" not in found.settings
            quick = photos.search(image=tmp_path / "7.png", k=3, preset="latency-first")
            assert quick[0].id == "7" and quick.settings["rerank"] == "dense" and "choice" in quick.settings


class TestApproximate:
    def test_faiss_proposes_and_exact_scores_decide(self, notes: zf.Collection) -> None:
        pytest.importorskip("faiss")
        exact = notes.search("puppy", k=2, fields="dense")
        found = notes.search("puppy", k=2, fields="dense", ann="hnsw")
        assert [(h.id, h.score) for h in found] == [(h.id, h.score) for h in exact]
        assert found.settings["ann"] == "hnsw"
        mixed = notes.search("puppy", k=2, ann="flat")
        assert [h.id for h in mixed] == [h.id for h in notes.search("puppy", k=2)]

    def test_where_it_cannot_be(self, notes: zf.Collection) -> None:
        with pytest.raises(InvalidInput, match="unknown FAISS index 'magic'; one of flat"):
            notes.search("puppy", ann="magic")
        with pytest.raises(InvalidInput, match="ann= is for fields of vectors"):
            notes.search("puppy", fields="words", ann="hnsw")


class TestTrainingFree:
    def test_the_published_coarse_stage_is_that_of_fusion(self, notes: zf.Collection) -> None:
        fused = notes.search("a puppy in the sun", k=3, method="fusion").settings
        own = notes.search("a puppy in the sun", k=3, method="training-free").settings
        for name, variant in (("training-free:paper", "all"), ("training-free:paper:cross+text", "cross+text")):
            published = notes.search("a puppy in the sun", k=3, method=name).settings
            assert published["method"] == name and published["variant"] == variant
            assert published["fusion"] == fused["fusion"] != own["fusion"]
            assert published["fields"] == fused["fields"] and set(fused["fields"]) == {"dense", "words"}
        for name in ("training-free:papers", "training-free:paper:crossed", "training-free:cross:paper"):
            with pytest.raises(InvalidInput, match=f"unknown method '{name}'"):
                notes.search("a puppy", method=name)
