"""`zipfian search` and `zipfian explain` by text and by picture. Toy encoders stand in for the real ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from tests.cli.conftest import BLACK, BLUE, RED, Command, Toys, picture
from zipfian.cli._shapes import search_settings
from zipfian.cli._show import why_line
from zipfian.cli._tree import tree_lines
from zipfian.collection import Collection
from zipfian.explain.reasons import ordinal, position, reasons_of
from zipfian.types import Explanation


@pytest.fixture
def path(tmp_path: Path, zipfian: Command, toys: Toys) -> Path:
    folder = tmp_path / "photos"
    picture(folder / "red.png", RED)
    picture(folder / "blue.png", BLUE)
    picture(folder / "half.png", BLACK, BLUE)
    (folder / "red.txt").write_text("My puppy in the sun")
    out = zipfian("index", folder, "--into", tmp_path / "p.zf")
    assert out[0] == 0, out
    return tmp_path / "p.zf"


@pytest.fixture
def query(tmp_path: Path) -> Path:
    return picture(tmp_path / "query.png", BLUE, BLUE, BLACK)


def _why(out: str) -> str:
    """The reasons of the first hit."""
    return next(line.strip() for line in out.splitlines() if "why: " in line)


def test_search_with_a_picture(path: Path, query: Path, tmp_path: Path, zipfian: Command) -> None:
    code, out, err = zipfian("search", path, "--image", query, "--fields", "visual")
    assert code == 0
    assert "half.png" in out.splitlines()[0], "black and blue, as the query"
    assert str(tmp_path / "photos" / "blue.png") in out, "the path of the picture"
    assert "why: 100% latent 3 (top left: row 1, column 1 of 4 x 4)" in out, "all blue"
    assert "hits (" in err


def test_every_field_is_shown_where_several_answer(path: Path, query: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("search", path, "--image", query)
    assert code == 0
    assert "visual 1st" in out and "dense-image 1st" in out, "both rank"
    assert "before reranking" not in out
    assert "latent 3 (" in out, "the visual words and their places"


def test_what_only_reranked_is_shown(path: Path, query: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("search", path, "--image", query, "--method", "two-stage")
    assert code == 0
    assert "visual 1st" in out
    assert "dense-image -" in out, "it only reranked"
    assert "before reranking" in out
    assert "% alike as a whole (cosine 0." in _why(out)
    assert "latent 3 (" in out, "and the visual words all the same"


def test_an_explanation_after_reranking_has_the_visual_words_too(
    path: Path, query: Path, tmp_path: Path, zipfian: Command
) -> None:
    asked = ("explain", path, "blue.png", "--image", query, "--method", "two-stage")
    code, out, _ = zipfian(*asked, "--out", tmp_path / "why.png")
    assert code == 0
    assert "the visual words that made it a candidate:" in out
    assert (tmp_path / "why.png").stat().st_size > 100
    found = json.loads(zipfian(*asked, "--json")[1])
    assert (found["visual"]["kind"], found["visual"]["field"]) == ("field", "visual")


def test_search_with_a_text_marks_what_a_latent_term_found(path: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("search", path, "hound", "--fields", "latent", "--highlight")
    assert code == 0
    assert "red.png" in out
    assert "My **puppy** in the sun" in out
    assert _why(out) == "why: 100% latent 1"
    assert zipfian("search", path, "hound", "--fields", "words")[1] == ""
    both = json.loads(zipfian("search", path, "hound", "--fields", "words, latent", "--json")[1])
    assert set(both["hits"][0]["legs"]) == {"words", "latent"}


def test_json_carries_everything(path: Path, query: Path, zipfian: Command) -> None:
    found = json.loads(zipfian("search", path, "--image", query, "--json", "--highlight", "-k", 2)[1])
    first = found["hits"][0]
    assert found["image"] == str(query)
    assert first["metadata"]["image"].endswith("half.png"), "black and blue, as the query"
    assert set(first["legs"]["visual"]) >= {"rank", "score", "share"}
    assert first["explanation"]["value"] == pytest.approx(first["score"])
    assert {"settings", "timings", "generation"} <= set(found)
    assert found["settings"]["legs"] and "fields" not in found["settings"]


@pytest.fixture
def notes(tmp_path: Path, zipfian: Command) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for i in range(20):
        (folder / f"{i}.txt").write_text(f"Plants of the number{i} kind grow slowly.")
    (folder / "bike.txt").write_text("The chain of a bicycle.")
    assert zipfian("index", folder, "--into", tmp_path / "n.zf", "--fields", "words")[0] == 0
    return tmp_path / "n.zf"


def test_hits_say_how_likely_they_are(notes: Path, zipfian: Command) -> None:
    code, out, err = zipfian("search", notes, "bicycle chain")
    assert code == 0 and out.splitlines()[0].split()[2:] == ["100%", "bike.txt"]
    assert "nothing good" not in err and "1 hit (" in err


def test_nothing_good_was_found(notes: Path, zipfian: Command) -> None:
    asked = ("search", notes, "repair my broken bicycle tyre")
    code, out, err = zipfian(*asked)
    assert code == 0 and "bike.txt" in out
    code, out, err = zipfian(*asked, "--min-confidence", "0.3")
    assert (code, out) == (0, "")
    said = "nothing good was found: of 1 document none has a confidence of 0.3; the best has 0."
    assert err.startswith(said) and "no hit (" in err and "shares a term" not in err
    code, out, _ = zipfian(*asked, "--min-confidence", "0.3", "--json")
    found = json.loads(out)
    assert found["hits"] == [] and found["notes"][0].startswith(said) and found["settings"]["min_confidence"] == 0.3
    found = json.loads(zipfian(*asked, "--json")[1])
    assert 0.0 < found["hits"][0]["confidence"] < 0.3 and "min_confidence" not in found["settings"]


@pytest.mark.parametrize("least", ["1.5", "-1", "nan"])
def test_a_confidence_that_is_no_probability(notes: Path, zipfian: Command, least: str) -> None:
    code, out, err = zipfian("search", notes, "bicycle", f"--min-confidence={least}")
    assert (code, out) == (1, "") and "min_confidence is a probability from 0 (every hit) to 1, not" in err


def test_the_keys_of_a_filter_are_the_users_own() -> None:
    asked = {"where": {"field": "north", "fields": ["a"]}, "k": 3, "fields": {"words": {"field": "words", "k1": 1.5}}}
    assert search_settings(asked) == {
        "where": {"field": "north", "fields": ["a"]}, "k": 3, "legs": {"words": {"leg": "words", "k1": 1.5}}
    }  # fmt: skip
    assert search_settings({"field": "words", "fields": ["words"]}) == {"leg": "words", "legs": ["words"]}


def test_search_with_both(path: Path, query: Path, zipfian: Command) -> None:
    code, out, _ = zipfian("search", path, "hound", "--image", query, "-k", 3)
    assert code == 0
    assert "latent 1st" in out


STRONGEST, SECOND = (0xE6, 0x19, 0x4B), (0x3C, 0xB4, 0x4B)
"""The colours of the term that brought most, and of the next."""


def pixels(path: Path) -> npt.NDArray[np.uint8]:
    with Image.open(path) as image:
        return np.array(image.convert("RGB"))


def frame(
    image: npt.NDArray[np.uint8], rows: tuple[int, int], columns: tuple[int, int], colour: tuple[int, int, int]
) -> None:
    """Two pixels wide, inside these rows and columns."""
    (top, bottom), (left, right) = rows, columns
    inside = image[top + 2 : bottom - 2, left + 2 : right - 2].copy()
    image[top:bottom, left:right] = colour
    image[top + 2 : bottom - 2, left + 2 : right - 2] = inside


def test_explain_draws_the_patches(path: Path, query: Path, tmp_path: Path, zipfian: Command) -> None:
    out_file = tmp_path / "why.png"
    code, out, err = zipfian("explain", path, "half.png", "--image", query, "--fields", "visual", "--out", out_file)
    assert code == 0, err
    blue, black = out.split("latent 4")
    assert "patch (top centre: row 1, column 3 of 4 x 4) 3.00, patch (top right: row 1, column 4 of 4 x 4) 3.00" in blue
    assert "patch (top left: row 1, column 1 of 4 x 4) 1.00, patch (top left: row 1, column 2 of 4 x 4) 1.00" in black
    assert f"drawn: {out_file}" in err
    with Image.open(out_file) as drawn:
        assert drawn.format == "PNG"
        assert drawn.width == 480
        sheet = np.asarray(drawn)
    asked, hit = pixels(query), pixels(tmp_path / "photos" / "half.png")
    frame(asked, (0, 8), (0, 12), STRONGEST)  # six patches at most: two rows of three blue columns
    frame(asked, (0, 16), (12, 16), SECOND)
    frame(hit, (0, 12), (8, 16), STRONGEST)
    frame(hit, (0, 12), (0, 8), SECOND)
    assert sheet[:16, :16].tolist() == asked.tolist()
    assert sheet[:16, 28:44].tolist() == hit.tolist()
    assert sheet[22 + 10, 10].tolist() == list(STRONGEST) and sheet[22 + 22 + 10, 10].tolist() == list(SECOND)
    tree = json.loads(zipfian("explain", path, "half.png", "--image", query, "--fields", "visual", "--json")[1])
    assert tree["value"] == pytest.approx(sum(part["value"] for part in tree["parts"]))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["hound", "red.png", "--fields", "latent", "--out", "x.png"], "nothing to draw"),
        (["hound", "red.png", "--out", "x.jpg"], "ends in .png"),
        (["hound", "red.png", "--above", "blue.png", "--out", "x.png"], "leave --above out"),
        (["red.png"], "nothing to look for"),
    ],
)
def test_explanations_that_cannot_be_drawn(
    arguments: list[str], problem: str, path: Path, zipfian: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = zipfian("explain", path, *arguments)
    assert code == 1
    assert problem in err
    assert not (tmp_path / "x.png").exists()


class TestMistakes:
    def test_nothing_to_look_for(self, path: Path, zipfian: Command) -> None:
        code, _, err = zipfian("search", path)
        assert code == 1
        assert "give a QUERY, a picture with --image FILE, or both" in err

    def test_a_picture_that_is_not_there(self, path: Path, zipfian: Command) -> None:
        assert zipfian("search", path, "--image", "none.png")[2] == "zipfian: none.png: No such file or directory\n"

    def test_a_picture_that_is_none(self, path: Path, tmp_path: Path, zipfian: Command) -> None:
        (tmp_path / "x.png").write_text("no picture")
        code, _, err = zipfian("search", path, "--image", tmp_path / "x.png")
        assert code == 1
        assert "x.png: no picture of a known format" in err

    def test_a_field_that_could_be_added(self, tmp_path: Path, zipfian: Command, toys: Toys) -> None:
        picture(tmp_path / "few" / "a.png", RED)
        path = tmp_path / "few.zf"
        assert zipfian("index", tmp_path / "few", "--into", path, "--fields", "visual")[0] == 0
        code, _, err = zipfian("search", path, "x", "--fields", "dense-text")
        assert code == 1
        assert f"add it: zipfian index --into {path} --add-field dense-text" in err

    def test_an_unknown_field_and_method(self, path: Path, zipfian: Command) -> None:
        assert "there is no field 'wurds'" in zipfian("search", path, "x", "--fields", "wurds")[2]
        code, _, err = zipfian("search", path, "x", "--method", "magic")
        assert code == 1
        assert "magic" in err

    def test_a_text_for_pictures_without_captions(self, tmp_path: Path, zipfian: Command, toys: Toys) -> None:
        picture(tmp_path / "bare" / "a.png", RED)
        assert zipfian("index", tmp_path / "bare", "--into", tmp_path / "b.zf", "--fields", "visual")[0] == 0
        code, _, err = zipfian("search", tmp_path / "b.zf", "a red square")
        assert code == 1
        assert "takes a text" in err
        assert "--image FILE" in err
        assert "--add-field aligned" in err
        assert zipfian("index", "--into", tmp_path / "b.zf", "--add-field", "aligned,translated")[0] == 0
        code, out, _ = zipfian("search", tmp_path / "b.zf", "a red dog")
        assert (code, "a.png" in out) == (0, True)

    def test_a_picture_for_texts(self, tmp_path: Path, query: Path, zipfian: Command) -> None:
        (tmp_path / "a.txt").write_text("x")
        assert zipfian("index", tmp_path / "a.txt", "--into", tmp_path / "t.zf", "--fields", "words")[0] == 0
        code, _, err = zipfian("search", tmp_path / "t.zf", "--image", query)
        assert code == 1
        assert "--add-field visual" in err


def test_reasons_name_a_field_and_leave_out_what_counts_against() -> None:
    leaf = Explanation(2.0, "eat", (), {}, ({"start": 0, "end": 3},), "term", "latent", 7)
    against = Explanation(-1.0, "what its best documents score on average", kind="baseline", field="latent")
    dense = Explanation(0.5, "dense: cosine", kind="cosine", field="dense")
    latent = Explanation(1.0, "latent: BM25", (leaf, against), kind="field", field="latent")
    tree = Explanation(1.5, "fused", (latent, dense), kind="fusion")
    assert [(r.label, r.field) for r in reasons_of(tree)] == [
        ("eat", "latent"),
        ("alike as a whole (cosine 0.500)", "dense"),
    ]
    assert why_line(tree, name_fields=True) == "why: 80% eat [latent]; 20% alike as a whole (cosine 0.500) [dense]"


def test_what_is_no_reason_is_not_shown() -> None:
    """Where cosines are below 0 on average, the point they are counted from is above it; rounding may be, too."""
    cosine = Explanation(-0.25, "score", (), {"raw": -0.1}, kind="cosine", field="dense")
    above = Explanation(0.5, "less what its best documents score on average", kind="baseline", field="dense")
    rest = Explanation(1e-17, "rounding", kind="correction")
    tree = Explanation(0.25, "dense: cosine", (cosine, above, rest), kind="field", field="dense")
    assert reasons_of(tree) == []
    assert "rounding" not in "".join(tree_lines(tree)) and len(list(tree_lines(tree))) == 3


TELLING = ("score", "rounding", "cosine", "rank", "fused: rrf", "reranked: late", "correction")
"""Words that labels of explanations are made of."""


@pytest.mark.parametrize("word", TELLING)
def test_words_that_labels_are_made_of_are_words(word: str, tmp_path: Path, zipfian: Command) -> None:
    (tmp_path / "a.jsonl").write_text(
        json.dumps({"id": "a", "text": f"What {word} means here."}) + "\n" + json.dumps({"id": "b", "text": "Else."})
    )
    assert zipfian("index", tmp_path / "a.jsonl", "--into", tmp_path / "t.zf", "--fields", "words")[0] == 0
    with Collection.open(tmp_path / "t.zf") as collection:
        tree = collection.explain(word, "a")
    reasons = reasons_of(tree)
    assert [(reason.label, reason.field) for reason in reasons] == [(part.term, "words") for part in tree.parts]
    assert len(reasons) == len(word.split()) and all(reason.places for reason in reasons)
    shown = "".join(tree_lines(tree))
    assert all(str(part.term) in shown for part in tree.parts)
    marked = " ".join(f"**{piece.strip(':')}**{':' * piece.endswith(':')}" for piece in word.split())
    out = zipfian("search", tmp_path / "t.zf", word, "--highlight")[1]
    assert f"What {marked} means here." in out and "alike" not in out


def test_reasons_of_ranks(path: Path, zipfian: Command) -> None:
    """Fused by ranks, no term has a value; the place in each field's list is what there is to say."""
    code, out, _ = zipfian("search", path, "puppy in the sun", "--method", "rrf", "--highlight")
    assert code == 0
    why = next(line for line in out.splitlines() if "why: " in line)
    assert "1st in its list [words]" in why and "1st in its list [latent]" in why
    assert "cosine" not in why and "[fused]" not in why


def test_positions_and_ordinals() -> None:
    assert position({"row": 5, "column": 6, "rows": 12, "columns": 12}).startswith("(middle: row 6, column 7")
    assert position({"row": 11, "column": 0, "rows": 12, "columns": 12}).startswith("(bottom left")
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 112)] == "1st 2nd 3rd 4th 11th 12th 21st 112th".split()


@pytest.mark.parametrize(
    "order",
    [
        "PATH QUERY --image FILE", "PATH --image FILE QUERY", "--image FILE PATH QUERY", "PATH -k 2 QUERY --image FILE",
        "--image FILE -k 2 PATH --highlight QUERY",
    ],
)  # fmt: skip
def test_arguments_in_any_order(path: Path, query: Path, zipfian: Command, order: str) -> None:
    words = {"PATH": path, "QUERY": "red", "FILE": query}
    code, out, err = zipfian("search", "--json", *(words.get(word, word) for word in order.split()))
    assert code == 0, err
    found = json.loads(out)
    assert (found["query"], found["image"]) == ("red", str(query))


def test_explain_in_any_order(path: Path, query: Path, zipfian: Command) -> None:
    plain = zipfian("explain", path, "red", "blue.png", "--image", query)
    assert plain[0] == 0 and zipfian("explain", path, "--image", query, "red", "blue.png") == plain
    one = zipfian("explain", path, "blue.png", "--image", query)
    assert one[0] == 0 and zipfian("explain", "--image", query, path, "blue.png") == one != plain


def test_what_is_too_much_is_refused_wherever_it_stands(path: Path, query: Path, zipfian: Command) -> None:
    for arguments in ([path, "a", "b"], [path, "a", "--image", query, "b"], [path, "--nonsense", "a"]):
        code, _, err = zipfian("search", *arguments)
        assert code == 2 and "unrecognized arguments" in err
    code, _, err = zipfian("search", "--image", query)
    assert code == 2 and "the following arguments are required: PATH" in err


def test_a_query_that_begins_with_a_dash(path: Path, zipfian: Command) -> None:
    assert zipfian("search", path, "--", "-red")[0] == 0
    assert json.loads(zipfian("search", "--json", path, "--", "-red")[1])["query"] == "-red"


def test_the_others_without_the_picture_itself(path: Path, tmp_path: Path, zipfian: Command) -> None:
    own = tmp_path / "photos" / "blue.png"
    every = json.loads(zipfian("search", path, "--image", own, "--json")[1])
    others = json.loads(zipfian("search", path, "--image", own, "--json", "--exclude-self")[1])
    assert every["hits"][0]["id"] == "blue.png"
    assert [hit["id"] for hit in others["hits"]] == [hit["id"] for hit in every["hits"][1:]]
    code, _, err = zipfian("search", path, "red", "--exclude-self")
    assert code == 1 and "--exclude-self leaves out the picture that is looked for" in err
