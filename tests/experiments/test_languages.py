"""The tables of languages: which texts they count, in which half, and what they ask for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments import languages
from experiments.catalogue import run_table
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import half_of
from zipfian.vocabulary import Words, WordSettings

ROOT = Path(__file__).resolve().parents[2]
GERMAN = {"a": "Der Zug kam wegen des Regens zu spät an.", "b": "Kraftfahrzeuge dürfen hier nicht parken."}
ENGLISH = {"a": "The train arrived late because of the heavy rain.", "b": "Cars must not be parked in this street."}
ASKED = {
    "de": {"q1": "Züge im Regen", "q2": "wo darf ein Fahrzeug nicht stehen", "q3": "verspäteter Zug", "q4": "parken"},
    "en": {"q1": "a late train", "q2": "parking cars", "q3": "the rain", "q4": "streets"},
}
ANSWERS = {"q1": "a", "q2": "b", "q3": "a", "q4": "b"}


def written(folder: Path, documents: dict[str, str], queries: dict[str, str]) -> Path:
    (folder / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", documents), ("queries", queries)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in texts.items()]
        (folder / f"{name}.jsonl").write_text("\n".join(lines))
    judged = [f"{query}\t{document}\t1" for query, document in ANSWERS.items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged]))
    return folder


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Path]:
    return {
        "de:eins": written(tmp_path / "eins", GERMAN, ASKED["de"]),
        "en:two": written(tmp_path / "two", ENGLISH, ASKED["en"]),
    }


def test_words_of_each_collection(data: dict[str, Path]) -> None:
    made = run_table("languages", data)
    german, english = made.rows
    assert (german["collection"], german["language"], english["queries"]) == ("eins", "de", 4)
    assert {half_of(key) for key in ANSWERS} == {"even", "odd"}
    assert english["chosen even"] == english["chosen odd"] == 1.0
    assert german["postings grams"] > german["postings chosen"]
    asked = Words(WordSettings(language="de", grams=4))
    found = languages.searched(asked, list(GERMAN.values()), list(GERMAN), {"q": "Fahrzeug"})
    assert [doc for doc, _ in found.run["q"]] == ["b"]
    plain = languages.searched(Words(languages.PLAIN), list(GERMAN.values()), list(GERMAN), {"q": "Fahrzeug"})
    assert plain.run == {"q": []}


def test_one_collection_of_both(data: dict[str, Path]) -> None:
    made = run_table("languages-mixed", data)
    assert [row["analysis"] for row in made.rows] == ["each in its own", "none", "all in de", "all in en"]
    own, none = made.rows[:2]
    assert (own["two even"], own["two odd"]) == (1.0, 1.0)
    assert none["two even"] < 1.0
    for half in ("even", "odd"):
        assert own[f"all {half}"] == (own[f"eins {half}"] + own[f"two {half}"]) / 2


def test_how_often_a_language_is_found(data: dict[str, Path]) -> None:
    rows = run_table("languages-detector", data).rows
    found = {(row["collection"], row["texts"]): row for row in rows}
    assert found["two", "documents"]["right"] == 1.0
    assert found["eins", "queries, own prior"]["right"] == 1.0
    assert {what for name, what in found if name == "eins"} == {
        "documents", "queries", "queries, own prior", "queries, prior en", "queries, prior fr"
    }  # fmt: skip


def test_a_half_goes_by_the_querys_own_id() -> None:
    values = {f"some name {key}": float(half_of(key) == "odd") for key in ANSWERS}
    assert (languages.mean_of(values, "even"), languages.mean_of(values, "odd")) == (0.0, 1.0)


def test_a_collection_without_its_language_is_refused(data: dict[str, Path]) -> None:
    with pytest.raises(InvalidInput, match=r"CODE:NAME=PATH here, such as .* not 'eins'"):
        run_table("languages", {"eins": data["de:eins"]})


def test_the_guide_shows_what_was_measured() -> None:
    rows = json.loads((ROOT / "results" / "languages" / "languages.json").read_text("utf-8"))["rows"]
    lines = (ROOT / "docs" / "languages.md").read_text("utf-8").splitlines()
    shown = {line.split("|")[1].strip(): line.split("|")[2:-1] for line in lines if line.startswith("|")}
    labels = {"plain": "plain", "stems": "stems", "chosen": "chosen: stop words too", "auto": "auto"}
    for way, label in {**labels, "grams": "chosen, `grams=4`"}.items():
        assert [cell.strip() for cell in shown[label]] == [f"{row[f'{way} odd']:.3f}"[1:] for row in rows]
