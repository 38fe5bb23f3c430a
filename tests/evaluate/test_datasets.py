from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.evaluate.conftest import QRELS, Touch, write_beir
from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets import half_of, load_beir, load_class_folders, take_half


def test_a_beir_folder_is_read(beir: Path) -> None:
    data = load_beir(beir)
    assert (data.name, data.kind, data.n_docs) == ("tiny", "text", 5)
    assert list(data.queries) == ["q1", "q2", "q3", "q4"]  # q5 was never judged
    assert data.qrels["q1"] == {"d1": 2, "d3": 1}
    assert data.qrels["q3"]["d3"] == 0
    assert next(data.documents()) == {"id": "d1", "text": "Plants make food from light."}
    assert len(list(data.documents())) == len(list(data.documents())) == 5


def test_a_title_is_part_of_the_text(beir: Path) -> None:
    (beir / "corpus.jsonl").write_text('{"_id": "d1", "title": "On plants", "text": "They grow."}')
    (beir / "qrels" / "test.tsv").write_text("q1\td1\t1\n")
    assert next(load_beir(beir).documents())["text"] == "On plants\n\nThey grow."


def test_queries_without_a_relevant_document_are_left_out_and_told(tmp_path: Path) -> None:
    data = load_beir(write_beir(tmp_path / "x", [("q1", "d1", 1), ("q2", "d2", 0)]))
    assert list(data.queries) == ["q1"]
    assert "1 judged queries without a relevant document" in data.notes[0]


@pytest.mark.parametrize(
    ("qrels", "problem"),
    [
        ([*QRELS, ("q1", "gone", 1)], "1 judged document is not in the collection ('gone')"),
        (
            [("q1", f"g{i}", 1) for i in range(5)],
            "5 judged documents are not in the collection ('g0', 'g1', 'g2', ...)",
        ),
        ([("nobody", "d1", 1)], "judgements for query 'nobody'"),
        ([], "the split is empty"),
        ([("q1", "d1", 0)], "no query has a relevant document"),
    ],
)
def test_qrels_that_do_not_fit_are_refused(tmp_path: Path, qrels: list[tuple[str, str, int]], problem: str) -> None:
    folder = write_beir(tmp_path / "bad", qrels)
    with pytest.raises(InvalidInput) as caught:
        load_beir(folder)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("corpus.jsonl", "", "holds no documents"),
        ("corpus.jsonl", "[1]", "corpus.jsonl:1: not an object"),
        ("corpus.jsonl", '{"_id": "a", "text": 3}', "'text' must be a string"),
        ("corpus.jsonl", '{"_id": "a", "text": "x"}\n{"_id": "a", "text": "y"}', "'a' was there before"),
        ("qrels/test.tsv", "q1\td1\tyes\nq1\td1\tno\n", "test.tsv:2: query, document and a whole number"),
    ],
)
def test_damaged_files_are_refused(beir: Path, file: str, text: str, problem: str) -> None:
    (beir / file).write_text(text)
    with pytest.raises(InvalidInput, match=problem):
        load_beir(beir)


def test_a_missing_split_names_those_there(beir: Path) -> None:
    with pytest.raises(InvalidInput, match=r"no such split; there are: test"):
        load_beir(beir, "dev")


def test_missing_files_are_named(beir: Path, tmp_path: Path) -> None:
    (beir / "queries.jsonl").unlink()
    with pytest.raises(InvalidInput, match=r"queries\.jsonl: no such file"):
        load_beir(beir)
    with pytest.raises(InvalidInput, match="no such folder"):
        load_beir(tmp_path / "nowhere")


def test_halves_share_nothing_and_lose_nothing(beir: Path) -> None:
    data = load_beir(beir)
    even, odd = take_half(data, "even"), take_half(data, "odd")
    assert set(even.queries) | set(odd.queries) == set(data.queries)
    assert not set(even.queries) & set(odd.queries)
    assert even.qrels.keys() == even.queries.keys()
    assert take_half(data, "all") is data
    for query in data.queries:
        parity = int(hashlib.sha1(query.encode()).hexdigest(), 16) % 2
        assert half_of(query) == ("odd" if parity else "even")


def test_a_half_without_queries_is_an_error(tmp_path: Path) -> None:
    data = load_beir(write_beir(tmp_path / "one", [("q1", "d1", 1)]))
    other = "odd" if half_of("q1") == "even" else "even"
    with pytest.raises(InvalidInput, match=f"the {other} half has no queries"):
        take_half(data, other)  # type: ignore[arg-type]


def test_class_folders(classes: Path) -> None:
    data = load_class_folders(classes)
    assert data.kind == "image"
    assert data.document_ids == {"gallery/cat/a.jpg", "gallery/cat/b.png", "gallery/dog/c.webp", "gallery/dog/d.jpg"}
    assert data.qrels["query/cat/q.jpg"] == {"gallery/cat/a.jpg": 1, "gallery/cat/b.png": 1}
    picture = data.queries["query/cat/q.jpg"].image
    assert picture is not None and picture.path.name == "q.jpg"
    assert next(data.documents())["metadata"] == {"class": "cat"}


def test_a_query_picture_is_never_in_its_own_gallery(classes: Path) -> None:
    data = load_class_folders(classes)
    assert data.ignore == {"query/dog/own.jpg": frozenset({"gallery/dog/c.webp"})}
    assert data.qrels["query/dog/own.jpg"] == {"gallery/dog/d.jpg": 1}
    assert "1 query pictures also lie in the gallery" in data.notes[0]


def test_distractors_are_relevant_to_nothing(classes: Path, tmp_path: Path, touch: Touch) -> None:
    touch(tmp_path / "more" / "x" / "y.jpg")
    data = load_class_folders(classes, tmp_path / "more")
    assert "distractor/x/y.jpg" in data.document_ids
    assert all("distractor/x/y.jpg" not in grades for grades in data.qrels.values())


def test_folders_that_cannot_be_used(classes: Path, tmp_path: Path, touch: Touch) -> None:
    with pytest.raises(InvalidInput, match="no such folder"):
        load_class_folders(tmp_path / "nothing")
    touch(tmp_path / "empty" / "gallery" / "cat" / "notes.txt")
    (tmp_path / "empty" / "query").mkdir()
    with pytest.raises(InvalidInput, match="holds no readable picture"):
        load_class_folders(tmp_path / "empty")
    touch(classes / "gallery" / "loose.jpg")
    with pytest.raises(InvalidInput, match="lies in no class folder"):
        load_class_folders(classes)
    (tmp_path / "none").mkdir()
    (classes / "gallery" / "loose.jpg").unlink()
    with pytest.raises(InvalidInput, match="none: holds no readable picture"):
        load_class_folders(classes, tmp_path / "none")


def test_the_half_of_a_picture_goes_by_its_file_name(classes: Path) -> None:
    data = load_class_folders(classes)
    for half in ("even", "odd"):
        wanted = {q for q in data.queries if half_of(q.rpartition("/")[2]) == half}
        if wanted:
            assert set(take_half(data, half).queries) == wanted
