from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from zipfian import limits
from zipfian.errors import FormatTooNew, InvalidInput, LimitExceeded
from zipfian.vocabulary.labels import LABELS_FILE, Labels, read_labels, write_labels
from zipfian.vocabulary.models import SHIPPED

SOME = Labels(
    ("galaxy, galaxies", "topic: café, tea", "born in (year)"),
    ("lexical", "broad", "narrow"),
    {"thresholds": {"a": 1}},
    ((("galaxy", 0.5), ("galaxies", 0.25)), (), (("##n", 1.0),)),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_labels(tmp_path, SOME)
    assert read_labels(tmp_path, 3) == SOME
    first = (tmp_path / LABELS_FILE).read_bytes()
    write_labels(tmp_path, SOME)
    assert (tmp_path / LABELS_FILE).read_bytes() == first


def test_a_folder_without_labels(tmp_path: Path) -> None:
    assert read_labels(tmp_path) is None


def test_one_term() -> None:
    assert (SOME.label(2), SOME.kind(1), len(SOME)) == ("born in (year)", "broad", 3)
    assert SOME.counts() == {"lexical": 1, "narrow": 1, "broad": 1}
    for wrong in (-1, 3):
        with pytest.raises(InvalidInput, match="no term"):
            SOME.label(wrong)
        with pytest.raises(InvalidInput, match="no term"):
            SOME.kind(wrong)


def test_labels_are_found_by_words_and_beginnings() -> None:
    assert SOME.find("galax") == [0]
    assert SOME.find("CAFE") == [1]
    assert SOME.find("year born") == [2]
    assert SOME.find("zebra") == []
    both = Labels(("teapot", "tea"), ("lexical", "lexical"))
    assert both.find("tea") == [1, 0]  # the whole word first
    with pytest.raises(InvalidInput, match="no word"):
        SOME.find("...")


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"labels": ["a", "b"]}, "one of each"),
        ({"labels": ["a", "b", ""]}, "printable"),
        ({"labels": ["a", "b", "\x1b[1m"]}, "printable"),
        ({"labels": ["a", "b", 7]}, "printable"),
        ({"kinds": ["lexical", "broad", "odd"]}, "odd"),
        ({"labels": "abc"}, "lists"),
        ({"rule": None}, "rule"),
        ({"pieces": [[]]}, "one per term"),
        ({"pieces": [["a"], [], []]}, "labels"),
        ({"version": "1"}, "version"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, change: dict[str, Any], problem: str) -> None:
    write_labels(tmp_path, SOME)
    path = tmp_path / LABELS_FILE
    content = json.loads(gzip.decompress(path.read_bytes())) | change
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    with pytest.raises(InvalidInput, match=problem):
        read_labels(tmp_path)


def test_labels_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    write_labels(tmp_path, SOME)
    with pytest.raises(InvalidInput, match="do not belong"):
        read_labels(tmp_path, 4)


@pytest.mark.parametrize(
    "data",
    [b"", b"not gzip", gzip.compress(b"{}")[:-6], gzip.compress(b"[]"), gzip.compress(b"{")],
    ids=["empty", "not gzip", "cut", "a list", "no JSON"],  # gzip writes the time: names must not differ by worker
)
def test_a_damaged_file_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / LABELS_FILE).write_bytes(data)
    with pytest.raises(InvalidInput):
        read_labels(tmp_path)


def test_a_newer_version_and_a_bomb_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / LABELS_FILE
    path.write_bytes(gzip.compress(b'{"version": 2}'))
    with pytest.raises(FormatTooNew):
        read_labels(tmp_path)
    monkeypatch.setattr(limits, "MAX_LABEL_JSON_BYTES", 1_000)
    path.write_bytes(gzip.compress(b" " * 2_000))
    with pytest.raises(LimitExceeded):
        read_labels(tmp_path)


def test_the_shipped_text_vocabulary_has_a_label_for_every_term() -> None:
    found = read_labels(SHIPPED / "text-16k", 16_384)
    assert found is not None
    assert len({label.casefold() for label in found.labels}) == 16_384
    assert max(map(len, found.labels)) <= 100
    assert min(found.counts().values()) > 1_000
    assert found.rule["agreement"]["judged"]["terms"] == 200
    telescope = found.find("telescope")[0]
    assert found.pieces is not None
    assert any(piece.startswith("telescope") for piece, _ in found.pieces[telescope])
