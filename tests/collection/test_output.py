"""Results for programs and notebooks: plain values, tables, and a page that nothing in a collection can take over."""

from __future__ import annotations

import base64
import html.parser
import io
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zipfian as zf
from tests.toys import ToyText, toy_vocabulary
from zipfian import limits
from zipfian.encode.images import decode
from zipfian.encode.picture_files import Stamp
from zipfian.errors import MissingExtra
from zipfian.fields import Dense, Latent, Words


@pytest.fixture
def two(tmp_path: Path) -> zf.Collection:
    """Words and vectors; one document has no vector, and a date among its metadata."""
    c = zf.Collection.create(tmp_path / "two.zf", {"words": Words(), "near": Dense(vector="v")})
    c.add(
        [
            {"id": "a", "text": "Plants make food.", "metadata": {"day": date(2024, 1, 31), "tags": ["x", "y"]}},
            {"id": "b", "text": "Plants and cats.", "vector": {"v": [1.0, 0.0]}},
        ]
    )
    c.commit()
    return c


class TestValues:
    def test_they_are_json_and_complete(self, two: zf.Collection) -> None:
        found = two.search("plants food", fields="words", where={"day": {"<": date(2025, 1, 1)}})
        values = found.to_dict()
        assert json.loads(json.dumps(values, allow_nan=False)) == values
        assert list(values) == ["query", "generation", "hits", "notes", "settings", "timings"]
        assert (values["query"], values["generation"]) == ("plants food", 2)
        assert values["settings"]["where"] == {"day": {"<": "2025-01-01"}}
        assert values["timings"] == dict(found.timings)
        hit, seen = found[0], found[0].fields["words"]
        field = {"rank": 1, "score": seen.score, "share": seen.share, "normalised": None}
        about = {"rank": 1, "id": "a", "score": hit.score, "confidence": hit.confidence, "first_rank": 1}
        assert values["hits"] == [{**about, "exact_match": False, "fields": {"words": field}}]
        (full,) = found.to_dict(documents=True)["hits"]
        assert full["text"] == "Plants make food."
        assert full["metadata"] == {"day": "2024-01-31", "tags": ["x", "y"]}

    def test_queries_that_are_no_texts(self, two: zf.Collection, notes: zf.Collection) -> None:
        for found in (two.search(np.array([1.0, 1.0]), fields="near"), notes.search({1: 1.0}, fields="latent")):
            assert found and json.dumps(found.to_dict(documents=True), allow_nan=False)


class TestTables:
    def test_arrow(self, two: zf.Collection) -> None:
        found = two.search("plants food", fields="words")
        table = found.to_arrow()
        assert table.column_names == ["rank", "id", "score", "confidence", "words.rank", "words.score", "words.share"]
        assert table.to_pylist()[0] == {
            "rank": 1, "id": "a", "score": found[0].score, "confidence": found[0].confidence, "words.rank": 1,
            "words.score": found[0].score, "words.share": found[0].score,
        }  # fmt: skip
        full = found.to_arrow(documents=True)
        assert full.column("text").to_pylist() == ["Plants make food.", "Plants and cats."]
        assert json.loads(full.column("metadata").to_pylist()[0])["day"] == "2024-01-31"
        nothing = two.search("unheard", fields="words").to_arrow(documents=True)
        assert len(nothing) == 0 and nothing.schema.field("score").type == "double"
        assert nothing.column_names == ["rank", "id", "score", "confidence", "text", "metadata"]

    def test_what_is_not_installed_is_named(self, two: zf.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        found = two.search("plants", fields="words")
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(MissingExtra, match=r"a data frame of results needs .* pip install 'zipfian\[pandas\]'"):
            found.to_pandas()
        monkeypatch.setitem(sys.modules, "pyarrow", None)
        with pytest.raises(MissingExtra, match=r"a table of results needs .* pip install 'zipfian\[parquet\]'"):
            found.to_arrow()

    def test_pandas_takes_the_table(self, two: zf.Collection) -> None:
        pandas = pytest.importorskip("pandas")
        frame = two.search("plants", fields="words").to_pandas()
        assert isinstance(frame, pandas.DataFrame) and set(frame["id"]) == {"a", "b"}


class Page(html.parser.HTMLParser):
    """What a browser would see: elements with their attributes, and text."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


ELEMENTS = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "b", "br", "bdi", "mark", "img"}
EVIL = "<script>alert(1)</script><img src=x onerror='alert(2)'>\"'&lt;<style>*{}</style></td></table>"


def harmless(source: str) -> Page:
    page = Page(source)
    for tag, attributes in page.elements:
        assert tag in ELEMENTS
        assert set(attributes) <= {"style", "src", "alt"}
        assert (attributes.get("src") or "data:image/jpeg;base64,").startswith("data:image/jpeg;base64,")
        assert "url" not in (attributes.get("style") or "")
    return page


class TestNotebook:
    def test_hits_passages_and_reasons(self, two: zf.Collection) -> None:
        found = two.search("plants food", fields="words")
        page = harmless(found._repr_html_())
        assert [tag for tag, _ in page.elements].count("mark") == 3
        for part in ("2 hits for plants food", "Plants make food.", f"{found[0].score:.4f}", "food", "plant"):
            assert part in page.text
        parts = {part.label: part.value for part in found.explain(found[0]).parts}
        assert f"{parts['food'] / found[0].score:.0%} food" in page.text, "what brought most, and how much of it"
        assert f"{parts['plant'] / found[0].score:.0%} plant" in page.text
        assert "0 hits" in harmless(two.search("unheard", fields="words")._repr_html_()).text

    def test_how_likely_each_hit_is(self, two: zf.Collection) -> None:
        found = two.search("food for unheard dogs", fields="words")
        (hit,) = found
        page = harmless(found._repr_html_())
        assert f"{hit.confidence:.2f}" in page.text and found.notes[0] in page.text
        assert found.notes[0].startswith("nothing good was found")

    def test_each_field_gets_its_share(self, tmp_path: Path) -> None:
        latent = Latent(toy_vocabulary(tmp_path / "toy-sae"), encoder=ToyText())
        with zf.Collection.create(tmp_path / "c.zf", {"words": Words(), "latent": latent}) as c:
            c.add([{"id": "a", "text": "A puppy sleeps in the sun."}, {"id": "b", "text": "The automobile is red."}])
            c.commit()
            found = c.search("my red puppy")
            page = harmless(found._repr_html_())
            for name, seen in found[0].fields.items():
                assert f"{name} {seen.share:+.3f}" in page.text

    def test_nothing_stored_or_asked_becomes_markup(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "evil.zf") as c:
            c.add([{"id": EVIL[:80], "text": f"beware {EVIL} alert", "metadata": {"x": EVIL, "image": EVIL}}])
            c.commit()
            page = harmless(c.search(f"alert {EVIL}")._repr_html_())
            plain = harmless(c.search("beware")._repr_html_())  # marks would come between the parts of a tag
        assert plain.text.count(EVIL) == 1
        assert EVIL[:80] in page.text  # as text
        assert "no picture: " in page.text
        tags = [tag for tag, _ in page.elements]
        assert tags.count("table") == 1 and "img" not in tags

    def test_its_size_is_bounded(self, tmp_path: Path) -> None:
        with zf.Collection.create(tmp_path / "long.zf") as c:
            c.add({"id": f"{i} " + "&" * 500, "text": "plant " + "<&> " * 50_000} for i in range(40))
            c.add([{"id": "marks", "text": "plant a" + "\u0301" * 300_000}])
            c.commit()
            found = c.search("plant " + "&" * 100_000, k=41)
            source = found._repr_html_()
            assert len(source) < 400_000
            assert "and 21 more" in harmless(source).text
            marks = c.search("plant", k=1, offset=[h.id for h in c.search("plant", k=41)].index("marks"))
            assert len(marks._repr_html_()) < 10_000


class TestThumbnails:
    @pytest.fixture
    def seen(self, tmp_path: Path) -> zf.Collection:
        rng = np.random.default_rng(7)
        (tmp_path / "in").mkdir()
        comment = b"<script>alert(1)</script>"
        for name, size in (("wide", (900, 300)), ("small", (40, 60))):
            pixels = rng.integers(0, 255, (*size[::-1], 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / "in" / f"{name}.jpg", comment=comment)
        c = zf.Collection.create(tmp_path / "p.zf")
        for name in ("wide", "small"):
            path = str(tmp_path / "in" / f"{name}.jpg")
            stamp = Stamp.take(path)
            assert stamp is not None
            c.add([{"id": name, "text": "picture", "metadata": {"image": path, **stamp.metadata()}}])
        c.commit()
        return c

    def thumbnails(self, source: str) -> list[bytes]:
        sources = [attributes["src"] or "" for tag, attributes in harmless(source).elements if tag == "img"]
        return [base64.b64decode(s.partition(",")[2]) for s in sources]

    def test_small_pictures_made_anew(self, seen: zf.Collection) -> None:
        found = seen.search("picture")
        made = self.thumbnails(found._repr_html_())
        assert [decode(one).size for one in made] == [(160, 53), (40, 60)]
        assert all(b"script" not in one and len(one) < limits.MAX_THUMBNAIL_BYTES for one in made)
        assert all(Image.open(io.BytesIO(one)).format == "JPEG" for one in made)

    def test_only_what_may_be_opened(self, seen: zf.Collection, tmp_path: Path) -> None:
        """A file that is no longer what was indexed, a damaged one, and one that a stranger's collection names."""
        (tmp_path / "in" / "small.jpg").write_bytes((tmp_path / "in" / "wide.jpg").read_bytes())
        with zf.Collection.create(tmp_path / "q.zf") as other:
            other.add([{"id": "s", "text": "picture", "metadata": {"image": str(tmp_path / "in" / "wide.jpg")}}])
            other.commit()
            source = other.search("picture")._repr_html_()
            assert self.thumbnails(source) == [] and "was not opened" in source
        source = seen.search("picture")._repr_html_()
        assert len(self.thumbnails(source)) == 1 and "no longer what was indexed" in source
        (tmp_path / "in" / "wide.jpg").write_bytes(b"no picture at all")
        with zf.Collection.open(tmp_path / "p.zf", pictures=[tmp_path / "in"]) as named:
            source = named.search("picture")._repr_html_()
            assert len(self.thumbnails(source)) == 1  # in a folder that was named, small.jpg is read as it is now

    def test_a_large_thumbnail_is_left_out(self, seen: zf.Collection, monkeypatch: pytest.MonkeyPatch) -> None:
        sizes = sorted(map(len, self.thumbnails(seen.search("picture")._repr_html_())))
        monkeypatch.setattr(limits, "MAX_THUMBNAIL_BYTES", sizes[1] - 1)
        source = seen.search("picture")._repr_html_()
        assert len(self.thumbnails(source)) == 1 and "its thumbnail is too large" in source
