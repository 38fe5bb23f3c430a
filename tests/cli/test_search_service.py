"""`zipfian search http://HOST:PORT/NAME QUERY`: what a service answers is shown as a search at hand is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import zipfian as zf
from tests.cli.conftest import BLUE, RED, Command, picture

pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")

from tests.serve.live import running
from zipfian.cli._service import KEY
from zipfian.serve.keys import hashed, new_key


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    with zf.Collection.create(tmp_path / "notes.zf") as collection:
        collection.add(
            {"id": name, "text": text, "metadata": {"n": n}}
            for n, (name, text) in enumerate({"a": "Plants make food from light.", "b": "Cats like food."}.items())
        )
        collection.commit()
    return tmp_path / "notes.zf"


@pytest.fixture
def address(notes: Path) -> Iterator[str]:
    with running(notes) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.mark.parametrize("options", [[], ["--highlight"], ["-k", "1"], ["--where", '{"n": 1}'], ["--fields", "words"]])
def test_it_is_shown_as_a_search_at_hand(notes: Path, address: str, zipfian: Command, options: list[str]) -> None:
    near, far = (
        zipfian("search", notes, "food from plants", *options),
        zipfian("search", f"{address}/notes", "food from plants", *options),
    )
    assert far[:2] == near[:2] and near[0] == 0 and near[1]
    assert "hit" in far[2] and "2 documents" in far[2]


def test_json_has_the_same_keys_and_hits(notes: Path, address: str, zipfian: Command) -> None:
    asked = ("food from plants", "--json", "--highlight")
    near, far = (json.loads(zipfian("search", where, *asked)[1]) for where in (notes, f"{address}/notes"))
    assert far["hits"] == near["hits"] and len(near["hits"]) == 2
    assert far.keys() == near.keys()


def test_the_only_collection_needs_no_name(address: str, zipfian: Command) -> None:
    for where in (address, f"{address}/"):
        assert zipfian("search", where, "food")[0] == 0
    code, _, err = zipfian("search", f"{address}/other", "food")
    assert code == 1 and "has no collection 'other'; it has notes" in err


def test_what_is_wrong_is_said(address: str, zipfian: Command) -> None:
    assert "nothing to look for" in zipfian("search", address)[2]
    assert "leave --trust out" in zipfian("search", address, "food", "--trust", "x")[2]
    for where in (address.replace("//", "//me:secret@"), f"{address}/notes?key=secret", f"{address}/notes#a"):
        code, _, err = zipfian("search", where, "food")
        assert (code, KEY in err, "secret" in err) == (1, True, False)
    code, _, err = zipfian("search", address, "food", "--fields", "latent")
    assert code == 1 and "latent" in err
    assert zipfian("search", "http://127.0.0.1:1/notes", "food")[0] == 1


def test_a_key_comes_from_the_environment(notes: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    key = new_key()
    with running(notes, read_keys=(hashed(key),)) as port:
        address = f"http://127.0.0.1:{port}/notes"
        assert zipfian("search", address, "food")[0] == 1
        monkeypatch.setenv(KEY, key)
        assert zipfian("search", address, "food")[0] == 0


@pytest.mark.usefixtures("toys")
def test_pictures_have_their_reasons(tmp_path: Path, zipfian: Command) -> None:
    folder = tmp_path / "photos"
    picture(folder / "red.png", RED)
    picture(folder / "blue.png", BLUE)
    assert zipfian("index", folder, "--into", tmp_path / "p.zf")[0] == 0
    asked = ("--image", folder / "blue.png", "--fields", "visual")
    with running(tmp_path / "p.zf") as port:
        code, out, err = zipfian("search", f"http://127.0.0.1:{port}/p", *asked)
    assert code == 0, err
    assert "why: 100% latent 3 (top left: row 1, column 1 of 4 x 4)" in out
    assert str(folder) not in out, "a service keeps back where its pictures are"
