"""The needles: what is hidden where, how it is asked for, and what counts as found."""

from __future__ import annotations

import json
import lzma
import random
from pathlib import Path
from typing import Any

import pytest

from experiments import needles as n
from experiments.base import Context
from experiments.catalogue import run_table
from tests.toys import ToyText, toy_vocabulary
from zipfian import vocabulary
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import load_beir
from zipfian.fields import Dense, Latent, Words

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("needles", "before")
NEEDLES = {
    "p1": "The gardener hid a copper kettle under the oldest walnut tree. It was there for years and nobody saw it.",
    "p2": "Nobody knows much about it at all. Her violin crossed the frozen harbour inside a barrel of herring.",
    "p3": "An unrelated paragraph about very little that goes on and on.",
}
QUESTIONS = {
    "q1": "Where was the copper kettle of the gardener?",
    "q2": "What crossed the harbour in a barrel of herring?",
    "q3": "Which comet returned?",
}
ANSWERS = {"q1": "p1", "q2": "p2", "q3": "p3"}
SENTENCES = {"q1": NEEDLES["p1"].split(". ")[0] + ".", "q2": NEEDLES["p2"].split(". ")[1]}


def written(folder: Path) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", NEEDLES), ("queries", QUESTIONS)):
        (folder / f"{name}.jsonl").write_text("\n".join(json.dumps({"_id": k, "text": t}) for k, t in texts.items()))
    rows = [f"{query}\t{document}\t1" for query, document in ANSWERS.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return folder


def paragraph(i: int, words: int = 30) -> str:
    """Two sentences of words that are nobody else's."""
    said = [f"w{i}x{j}" for j in range(words)]
    return f"{' '.join(said[: words // 2])}. {' '.join(said[words // 2 :])}."


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Path]:
    lines = [paragraph(i) if i % 3 else f"Heading {i}" for i in range(180)]
    with lzma.open(tmp_path / "wiki.xz", "wt", encoding="utf-8") as file:
        file.write("\n".join(lines))
    sae, text = toy_vocabulary(tmp_path / "toy-sae"), ToyText()
    made: dict[str, Any] = {"words": Words(), "latent": Latent(sae, encoder=text), "dense": Dense(encoder=text)}
    monkeypatch.setattr(n, "fields", lambda: made)
    short, long = n.Haystack("short", 2, 1, 12, 40, chose=True), n.Haystack("long", 2, 3, 10, 170, start=60)
    monkeypatch.setattr(n, "HAYSTACKS", (short, n.Haystack("abstracts", 2, 2), long))
    return {"wiki": tmp_path / "wiki.xz", **{name: written(tmp_path / name) for name in ("xquad-en", *n.ABSTRACTS)}}


def test_a_needle_is_the_sentence_that_has_the_words_of_its_question(data: dict[str, Path]) -> None:
    found = n.pick(load_beir(data["xquad-en"]), 10, random.Random(1))
    assert {needle.question: needle.sentence for needle in found} == {QUESTIONS[q]: s for q, s in SENTENCES.items()}
    for needle in found:  # the comet is in no sentence
        asked = needle.keywords.split()
        assert len(asked) == 4 and all(word in needle.sentence.lower().split() for word in asked)
        assert [needle.asked(form) for form in n.FORMS] == [needle.sentence, needle.keywords, needle.question]
    assert len(n.pick(load_beir(data["xquad-en"]), 1, random.Random(1))) == 1


def test_keywords_are_the_rarest() -> None:
    words = vocabulary.Words(vocabulary.WordSettings(language="english"))
    df = {"copper": 9, "kettl": 3, "walnut": 4, "garden": 2, "tree": 1}
    found = n.rarest("The copper kettle, a walnut, the garden, TREE, tree and oak", words, df)
    assert found == ["tree", "garden", "kettle", "walnut"]


def test_haystacks_share_no_paragraph(data: dict[str, Path]) -> None:
    (_, short), (_, abstracts), (_, long) = n.haystacks(Context("needles", data, ()))
    assert short == [" ".join(f"{paragraph(i)} {paragraph(i + 1)}".split()[:40]) for i in range(1, 36, 3)]
    assert abstracts == list(NEEDLES.values()) * 3
    rest = [i for i in range(60, 180) if i % 3]
    assert long == ["\n\n".join(map(paragraph, rest[i : i + 6])) for i in range(0, 60, 6)]
    ((only, texts),) = n.haystacks(Context("needles", {**data, "sets": Path("long")}, ()))
    assert (only.name, texts) == ("long", long)


def test_each_needle_in_a_document_of_its_own(data: dict[str, Path]) -> None:
    asked = load_beir(data["xquad-en"])
    texts = [paragraph(i) for i in range(5)]
    hidden = n.hide(n.Haystack("h", 2, 4), texts, asked)
    assert len(set(hidden.places)) == 2
    for sentence, place in zip(hidden.queries["sentence"], hidden.places, strict=True):
        first, last = texts[int(place[1:])].split(". ")
        around = [[sentence, f"{first}.", last], [f"{first}.", sentence, last], [f"{first}.", last, sentence]]
        assert hidden.documents[place] in [" ".join(parts) for parts in around]
    assert sum(hidden.documents[f"h{i}"] == text for i, text in enumerate(texts)) == 3
    assert n.hide(n.Haystack("h", 2, 4), texts, asked) == hidden, "a seed gives the same needles"


def test_a_needle_may_stand_anywhere(data: dict[str, Path]) -> None:
    asked, text = load_beir(data["xquad-en"]), paragraph(1)
    at = set()
    for seed in range(20):
        hidden = n.hide(n.Haystack("h", 1, seed), [text], asked)
        before, _, after = hidden.documents["h0"].partition(hidden.queries["sentence"][0])
        at.add((bool(before), bool(after)))
    assert at == {(False, True), (True, True), (True, False)}


def test_the_hybrid_beside_the_best_field(data: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"words": 0, "latent": 2, "dense": 1, "rrf": 0, "hybrid": 1}
    monkeypatch.setattr(
        n, "firsts", lambda _: {(method, form): counts[method] for method in counts for form in n.FORMS}
    )
    row = run_table("needles", {**data, "sets": Path("short")}).rows[0]
    assert (row["best field"], row["latent"], row["hybrid"], row["over field"]) == ("latent", 1.0, 0.5, -0.5)


def test_the_table(data: dict[str, Path]) -> None:
    made = run_table("needles", {**data, "sets": Path("short,long")})
    assert [(row["haystack"], row["form"]) for row in made.rows] == [(h, f) for h in ("short", "long") for f in n.FORMS]
    for row in made.rows:
        assert (row["words"], row["hybrid"], row["needles"]) == (1.0, 1.0, 2)
        assert row["best field"] == "words" and row["over field"] == 0.0
    assert [row["chose"] for row in made.rows] == [True] * 3 + [False] * 3
    assert [row["documents"] for row in made.rows] == [12] * 3 + [10] * 3
    assert "12 queries, 3 for each needle" in made.notes


def test_a_needle_counts_where_its_own_document_is_first(data: dict[str, Path]) -> None:
    documents = {"a": "copper kettle", "b": "violin harbour", "c": "puppy"}
    hidden = n.Hidden(documents, {"sentence": ["violin harbour", "copper kettle", "nothing"]}, ["b", "b", "c"])
    assert n.firsts(hidden)["words", "sentence"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sets": Path("short,huge")}, "no haystack 'huge'; sets= takes: short, abstracts, long"),
        ({"wiki": None}, "needs wiki: give --data wiki=PATH"),
    ],
)
def test_what_was_not_given(data: dict[str, Path], change: dict[str, Any], message: str) -> None:
    given = {name: path for name, path in {**data, **change}.items() if path is not None}
    with pytest.raises(InvalidInput, match=message):
        run_table("needles", given)


def test_too_little_to_hide_in(data: dict[str, Path]) -> None:
    with pytest.raises(InvalidInput, match="ran out after 2: 2 documents of 50 words need more"):
        n.joined(iter([paragraph(1), paragraph(2)]), 2, 50)
    with pytest.raises(InvalidInput, match="h: 2 needles need as many documents, not 1"):
        n.hide(n.Haystack("h", 2, 4), [paragraph(1)], load_beir(data["xquad-en"]))


def test_the_page_shows_what_was_measured() -> None:
    after, before = (json.loads((ROOT / "results/needles" / f"{x}.json").read_text("utf-8"))["rows"] for x in PAGES)
    lines = (ROOT / "docs" / "needles.md").read_text("utf-8").splitlines()
    shown = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines if line.startswith("| n")]
    assert len(shown) == len(after) == len(before)
    for cells, row, old in zip(shown, after, before, strict=True):
        assert (row["haystack"], row["form"], row["needles"]) == (old["haystack"], old["form"], old["needles"])
        named = row["haystack"] + (" (chose)" if row["chose"] else "")
        assert cells[:5] == [named, f"{row['documents']:,}", f"{row['mean words']:,}", row["form"], str(row["needles"])]
        values = [*(row[method] for method in ("words", "latent", "dense", "rrf")), old["hybrid"], row["hybrid"]]
        assert cells[5:] == [f"{value:.3f}".removeprefix("0") for value in values]
