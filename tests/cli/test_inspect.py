from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")

from tests.cli.conftest import Command
from tests.cli.tiny import TinyEncoder, vocabulary
from zipfian import Collection
from zipfian.fields import Latent, Visual, Words

TEXTS = {
    "one": "The cat saw a dog. The cat ran <script>alert(1)</script>.",
    "two": "A dog and a fish at the river.",
    "three": "Cat, cat, cat and a stone house.",
    "four": "Nothing known here.",
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return vocabulary(tmp_path / "model")


@pytest.fixture
def path(tmp_path: Path, model: Path) -> Path:
    """A collection of words and latent terms."""
    where = tmp_path / "texts.zf"
    fields = {"words": Words(), "latent": Latent(model, encoder=TinyEncoder())}
    with Collection.create(where, fields=fields, encodings=False) as collection:
        collection.add({"id": name, "text": text} for name, text in TEXTS.items())
        collection.commit()
    return where


@pytest.fixture
def pictures(tmp_path: Path, model: Path) -> Path:
    """A collection of one picture: white but for one black cell."""
    image = pytest.importorskip("PIL.Image")
    pixels = np.full((64, 64, 3), 255, np.uint8)
    pixels[16:32, 32:48] = 0  # row 1, column 2
    image.fromarray(pixels).save(tmp_path / "p.png")
    where = tmp_path / "pictures.zf"
    fields = {"visual": Visual(model, encoder=TinyEncoder("image"))}
    with Collection.create(where, fields=fields, encodings=False) as collection:
        collection.add([{"id": "p", "image": str(tmp_path / "p.png")}])
        collection.commit()
    return where


# ---------------------------------------------------------------------- a vocabulary


def test_a_vocabulary_in_a_folder(model: Path, zipfian: Command) -> None:
    code, out, err = zipfian("inspect", model)
    assert (code, err) == (0, "")
    assert "broad" in out and "fitted exponent" in out
    told = json.loads(zipfian("inspect", model, "--json")[1])
    assert told["terms"] == 8
    assert told["zipf"]["head_share"] == pytest.approx(2 / 8)


def test_the_shipped_vocabulary_by_name(zipfian: Command) -> None:
    code, out, _ = zipfian("inspect", "text-16k", "--find", "telescope", "--json")
    assert code == 0
    assert "telescope" in json.loads(out)["terms"][0]["label"]


def test_terms_are_listed_commonest_first_and_found_by_label(model: Path, zipfian: Command) -> None:
    rows = json.loads(zipfian("inspect", model, "--terms", "--limit", "3", "--json")[1])
    assert [row["term"] for row in rows["terms"]] == [0, 1, 2]
    assert rows["found"] == 8
    code, _, err = zipfian("inspect", model, "--terms", "--limit", "3")
    assert code == 0 and "5 more" in err
    assert [r["term"] for r in json.loads(zipfian("inspect", model, "--find", "WATER", "--json")[1])["terms"]] == [2]
    assert "no term" in zipfian("inspect", model, "--find", "zebra")[1]


def test_a_page_of_a_term(model: Path, tmp_path: Path, zipfian: Command) -> None:
    page = json.loads(zipfian("inspect", model, "--term", "0", "--json")[1])
    assert page["label"] == "cat, cats"
    assert (page["kind"], page["df"], page["documents"]) == ("lexical", 60, 100)
    assert page["pieces"] == [{"piece": "cat", "share": 0.9}]
    html = tmp_path / "term.html"
    code, out, _ = zipfian("inspect", model, "--term", "4", "--html", html)
    assert code == 0 and "tree <b>" in out
    assert "tree &lt;b&gt;" in html.read_text() and "<b>" not in html.read_text().split("</style>")[1]


@pytest.mark.parametrize("wrong", ["8", "-1", "cat"])
def test_a_term_that_is_none(model: Path, wrong: str, zipfian: Command) -> None:
    code, _, err = zipfian("inspect", model, f"--term={wrong}")
    assert code == 1
    assert "0 to 7" in err


def test_a_vocabulary_without_labels(tmp_path: Path, zipfian: Command) -> None:
    bare = vocabulary(tmp_path / "bare", labels=False)
    assert zipfian("inspect", bare)[0] == 0
    assert "latent 3" in zipfian("inspect", bare, "--term", "3")[1]
    assert "latent 7" in zipfian("inspect", bare, "--terms")[1]
    for what in (("--find", "cat"), ("--zipf",)):
        code, _, err = zipfian("inspect", bare, *what)
        assert code == 1 and "tiny" in err


def test_a_vocabulary_has_no_fields(model: Path, zipfian: Command) -> None:
    code, _, err = zipfian("inspect", model, "--field", "latent")
    assert code == 1 and "is a vocabulary" in err


# ---------------------------------------------------------------------- a collection


def test_the_distributions_of_all_fields_side_by_side(path: Path, tmp_path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("inspect", path, "--zipf")
    assert code == 0
    assert out.split("\n", 1)[0].split() == ["words", "latent"]
    found = json.loads(zipfian("inspect", path, "--zipf", "--json")[1])["distributions"]
    words, latent = found
    assert (words["documents"], latent["documents"]) == (4, 3)  # a text without known words has no latent term
    assert (latent["vocabulary"], latent["active"], words["vocabulary"]) == (8, 6, None)
    only = json.loads(zipfian("inspect", path, "--zipf", "--field", "latent", "--json")[1])["distributions"]
    assert only == [latent]


def test_postings_of_queries_are_counted(path: Path, tmp_path: Path, zipfian: Command) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("cat\n\nfish\n", encoding="utf-8")
    found = json.loads(zipfian("inspect", path, "--zipf", "--queries", queries, "--json")[1])["distributions"]
    assert [row["query_postings"] for row in found] == [1.5, 1.5]  # cat in two documents, fish in one
    queries.write_text("\n", encoding="utf-8")
    assert "holds no query" in zipfian("inspect", path, "--zipf", "--queries", queries)[2]


def test_a_plot(path: Path, tmp_path: Path, zipfian: Command) -> None:
    pytest.importorskip("matplotlib")
    code, _, err = zipfian("inspect", path, "--zipf", "--plot", tmp_path / "z.svg")
    assert code == 0 and "z.svg" in err
    assert (tmp_path / "z.svg").exists()


def test_a_latent_term_with_its_strongest_places(path: Path, tmp_path: Path, zipfian: Command) -> None:
    page = json.loads(zipfian("inspect", path, "--field", "latent", "--term", "0", "--json")[1])
    assert (page["df"], page["documents"]) == (2, 4)
    assert [(e["id"], len(e["places"])) for e in page["examples"]] == [("three", 3), ("one", 2)]
    place = page["examples"][1]["places"][0]
    assert TEXTS["one"][place["start"] : place["end"]].lower() == "cat"
    html = tmp_path / "term.html"
    code, out, _ = zipfian("inspect", path, "--field", "latent", "--term", "0", "--limit", "1", "--html", html)
    assert code == 0
    assert "**Cat**, **cat**, **cat** and a stone house" in out and "  one\n" not in out
    assert "<mark>Cat</mark>" in html.read_text()


def test_a_page_escapes_what_documents_hold(path: Path, tmp_path: Path, zipfian: Command) -> None:
    html = tmp_path / "term.html"
    zipfian("inspect", path, "--field", "latent", "--term", "0", "--html", html)
    assert "<script" not in html.read_text()
    assert "&lt;script&gt;" in html.read_text()


def test_terms_of_a_field_of_words(path: Path, zipfian: Command) -> None:
    page = json.loads(zipfian("inspect", path, "--field", "words", "--term", "cats", "--json")[1])
    assert (page["term"], page["df"]) == ("cat", 2)
    assert page["examples"][0]["id"] == "three"
    rows = json.loads(zipfian("inspect", path, "--field", "words", "--find", "ca", "--json")[1])["terms"]
    assert [row["term"] for row in rows] == ["cat"]
    assert "one word" in zipfian("inspect", path, "--field", "words", "--term", "two words")[2]


def test_terms_of_a_latent_field(path: Path, zipfian: Command) -> None:
    rows = json.loads(zipfian("inspect", path, "--field", "latent", "--terms", "--json")[1])["terms"]
    assert [(row["term"], row["df"]) for row in rows[:2]] == [(0, 2), (1, 2)]
    assert rows[0]["label"] == "cat, cats"
    found = json.loads(zipfian("inspect", path, "--field", "latent", "--find", "bird", "--json")[1])
    assert found["terms"] == []  # no document of the collection has it


def test_the_field_must_be_said_where_there_are_several(path: Path, zipfian: Command) -> None:
    for given in ((), ("--field", "visual")):
        code, _, err = zipfian("inspect", path, "--term", "0", *given)
        assert code == 1
        assert "--field words or --field latent" in err


# ---------------------------------------------------------------------- pictures


def test_patches_of_a_visual_term_are_cut_out(pictures: Path, tmp_path: Path, zipfian: Command) -> None:
    out = tmp_path / "cut"
    page = json.loads(zipfian("inspect", pictures, "--term", "0", "--out", out, "--json")[1])
    (example,) = page["examples"]
    assert [(p["row"], p["column"]) for p in example["places"]] == [(1, 2)]
    (file,) = example["files"]
    assert Path(file).read_bytes().startswith(b"\x89PNG")
    html = tmp_path / "term.html"
    zipfian("inspect", pictures, "--term", "0", "--html", html)
    assert "data:image/png;base64," in html.read_text()


def test_the_visual_words_of_a_picture(
    pictures: Path, model: Path, tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zipfian.fields.model.named_encoder", TinyEncoder)
    drawn = tmp_path / "drawn.png"
    arguments = ("inspect", "--image", tmp_path / "p.png", "--vocabulary", model)
    told = json.loads(zipfian(*arguments, "--out", drawn, "--json")[1])
    assert [(row["term"], len(row["places"])) for row in told["terms"]] == [(7, 15), (0, 1)]
    assert drawn.read_bytes().startswith(b"\x89PNG")
    code, out, _ = zipfian(*arguments)
    assert code == 0 and "(1,2)" in out
    assert ".png" in zipfian(*arguments, "--out", tmp_path / "drawn.jpg")[2]


# ---------------------------------------------------------------------- a text


def test_the_terms_of_a_text(model: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zipfian.fields.model.named_encoder", TinyEncoder)
    arguments = ("inspect", "--text", "A cat, a dog and a cat", "--vocabulary", model)
    told = json.loads(zipfian(*arguments, "--json")[1])
    assert [(row["label"], row["weight"]) for row in told["terms"]] == [("cat, cats", 4.0), ("dog", 2.0)]
    assert told["terms"][0]["places"][0] == {"start": 2, "end": 5, "text": "cat", "strength": 2.0}
    code, out, err = zipfian(*arguments)
    assert code == 0 and "cat@2" in out and "2 terms" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "say what to inspect"),
        (("--text", " "), "empty"),
        (("--text", "a", "--image", "b.png"), "not both"),
        (("--text", "a", "--out", "x.png"), "--image"),
        (("somewhere", "--text", "a"), "leave out somewhere"),
        (("text-16k", "--terms", "--limit", "-1"), "0 or more"),
    ],
)
def test_what_makes_no_sense(arguments: tuple[str, ...], problem: str, zipfian: Command) -> None:
    code, out, err = zipfian("inspect", *arguments)
    assert (code, out) == (1, "")
    assert problem in err
