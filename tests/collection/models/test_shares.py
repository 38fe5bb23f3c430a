"""What each field gave to a hit adds up to its score, whatever the method, and is what the explanation says."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import zipfian as zf
from tests.collection.models.conftest import TEXTS, check_sums, picture
from tests.toys import ToyImage, ToyText, toy_alignment
from zipfian.fields import Aligned, Dense, Translated, Visual, Words
from zipfian.rerank.training_free import VARIANTS

CLOSE = 1e-12
METHODS = [
    "hybrid", "rrf", "linear", "fusion", "two-stage", "tfidf", "late", "late:dense", "words", "latent", "dense",
    "training-free", *(f"training-free:{variant}" for variant in VARIANTS),
    "training-free:paper", *(f"training-free:paper:{variant}" for variant in VARIANTS),
]  # fmt: skip
PRESETS = ["balanced", "accuracy-first"]


def leaves(tree: zf.Explanation) -> Iterator[zf.Explanation]:
    for part in tree.parts:
        yield from leaves(part)
    if not tree.parts:
        yield tree


def check_hit(found: zf.Results, hit: zf.Hit) -> None:
    """Shares add up to the score; and by field, the nodes of the explanation add up to the shares."""
    assert sum(seen.share for seen in hit.fields.values()) == pytest.approx(hit.score, rel=CLOSE, abs=CLOSE)
    tree = found.explain(hit)
    check_sums(tree)
    assert tree.value == hit.score
    given: dict[str | None, float] = defaultdict(float)
    for leaf in leaves(tree):
        given["exact match" if leaf.kind == "bonus" else "late" if leaf.kind == "token" else leaf.field] += leaf.value
    assert abs(given.pop(None, 0.0)) < CLOSE, "only corrections belong to no field"
    shares = {name: seen.share for name, seen in hit.fields.items() if seen.share or name in given}
    assert given == pytest.approx(shares, rel=1e-9, abs=CLOSE)


class TestTexts:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("bonus", [0.0, 0.75])
    def test_methods(self, notes: zf.Collection, method: str, bonus: float) -> None:
        found = notes.search(TEXTS["c"], k=3, method=method, exact_match_bonus=bonus)
        assert len(found)
        for hit in found:
            check_hit(found, hit)
            assert (hit.fields["exact match"].share if "exact match" in hit.fields else 0.0) == bonus * (hit.id == "c")

    @pytest.mark.parametrize("preset", PRESETS)
    def test_presets(self, notes: zf.Collection, preset: str) -> None:
        found = notes.search("a puppy in the sun", k=3, preset=preset, exact_match_bonus=1.0)
        for hit in found:
            check_hit(found, hit)

    @pytest.mark.parametrize("method", ["two-stage", "training-free", "late"])
    def test_candidates_beyond_the_second_stage(self, notes: zf.Collection, method: str) -> None:
        notes.add([{"id": f"{i}", "text": f"light {'red ' * i}"} for i in range(4)])
        notes.add([{"id": "blank", "text": None}])
        notes.commit()
        found = notes.search("light and red", k=3, method=method, rerank_depth=3)
        assert found.settings["reranked"] == 3
        for hit in found:
            check_hit(found, hit)
        for doc_id in ("0", "1", "2", "3", "b", "blank"):
            check_sums(notes.explain("light and red", doc_id, method=method))


class TestPictures:
    @pytest.fixture
    def photos(self, tmp_path: Path, text: ToyText, image: ToyImage, sae: Path) -> zf.Collection:
        """Pictures, some with a caption, that texts and pictures find."""
        across: dict[str, Any] = {"model": str(toy_alignment(tmp_path / "align", sae)), "text": text, "image": image}
        made = {
            "words": Words(),
            "captions": Dense(encoder=text),
            "visual": Visual(sae, encoder=image),
            "photo": Dense(encoder=image),
            "aligned": Aligned(**across),
            "translated": Translated(**across),
        }
        photos = zf.Collection.create(tmp_path / "photos.zf", made, encodings=False)
        for i, caption in enumerate(["a red dog", None, "a green cat", "dog and red sun", None, "blue light"]):
            colours = [(40 * i, 255 - 40 * i, 9), (255 - 20 * i, 30, 40 * i)]
            photos.add([{"id": f"{i}", "image": picture(tmp_path / f"{i}.png", *colours), "text": caption}])
        photos.commit()
        return photos

    @pytest.mark.parametrize(
        "how", [*({"method": m} for m in METHODS[:6] + METHODS[-5:]), *({"preset": p} for p in PRESETS)]
    )
    def test_found_by_a_text(self, photos: zf.Collection, how: dict[str, str]) -> None:
        found = photos.search("a red dog", k=6, exact_match_bonus=0.5, **how)  # type: ignore[arg-type]
        assert len(found)
        for hit in found:
            check_hit(found, hit)

    @pytest.mark.parametrize(
        "how",
        [{"method": "two-stage"}, {"method": "training-free"}, {"method": "late"}, {"method": "rrf"},
         *({"preset": p} for p in [*PRESETS, "latency-first"])],
    )  # fmt: skip
    def test_found_by_a_picture(self, photos: zf.Collection, tmp_path: Path, how: dict[str, str]) -> None:
        found = photos.search(image=tmp_path / "3.png", k=6, **how)  # type: ignore[arg-type]
        assert len(found)
        for hit in found:
            check_hit(found, hit)

    def test_agreement_of_captions_is_the_captions_share(self, photos: zf.Collection) -> None:
        found = photos.search("a red dog", k=6, method="training-free")
        (first,) = [hit for hit in found if hit.id == "0"]
        shares = {name: seen.share for name, seen in first.fields.items() if seen.share}
        assert set(shares) == {"captions", "aligned"}
        parts = {part.label: part for part in found.explain(first).parts}
        assert [part.field for part in parts.values()] == ["aligned", "captions", "aligned"]
        assert shares["captions"] == parts["text"].value
        assert shares["aligned"] == parts["cross"].value + parts["context"].value
        assert first.fields["captions"].score == pytest.approx(parts["text"].details["signal"], rel=1e-12)
        (bare,) = [hit for hit in found if hit.id == "1"]
        assert bare.fields["captions"].share == 0.0
