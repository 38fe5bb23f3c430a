from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import BLACK, BLUE, GREEN, RED, Command, picture
from zipfian.cli import _demo_data, _demo_texts, demo
from zipfian.cli._demo_data import GALLERY, QUERY, Package, Picture
from zipfian.cli._stdlib import stdlib_documents, stdlib_folder
from zipfian.errors import InvalidInput, WeightsNotFound


def test_the_standard_library_has_documentation() -> None:
    documents = {d["id"]: d for d in stdlib_documents(stdlib_folder())}
    assert len(documents) > 3_000
    assert documents["shlex.split"]["metadata"] == {"kind": "function", "module": "shlex"}
    assert documents["shlex.split"]["text"].startswith("shlex.split(s, ")
    assert documents["textwrap"]["metadata"]["kind"] == "module"
    assert documents["collections.Counter.most_common"]["metadata"]["kind"] == "method"
    assert documents["topic:with"]["metadata"]["kind"] == "topic"
    assert not any(part.startswith("_") for d in documents for part in d.split("."))


def test_sources_that_are_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    with pytest.raises(InvalidInput, match="standard library"):
        stdlib_folder()


def test_broken_and_private_sources_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def (")
    (tmp_path / "_private.py").write_text("'''Doc'''")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "x.py").write_text("'''Doc'''")
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(
        "'''Doc'''\nasync def f(a, *, b=1):\n  '''F.'''\ndef _g():\n  '''G.'''"
    )
    assert [(d["id"], d["text"]) for d in stdlib_documents(tmp_path)] == [
        ("pack", "pack\n\nDoc"),
        ("pack.f", "pack.f(a, *, b=1)\n\nF."),
    ]


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A few modules instead of all of them."""
    folder = tmp_path / "library"
    folder.mkdir()
    for name in ("shlex.py", "tempfile.py", "textwrap.py", "difflib.py"):
        (folder / name).write_bytes((stdlib_folder() / name).read_bytes())
    monkeypatch.setattr(_demo_texts, "stdlib_folder", lambda: folder)
    return folder


@pytest.fixture
def pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stripes instead of photographs."""
    colours = {"red.png": (RED,), "blue.png": (BLUE,), "mixed.png": (GREEN, BLACK), "query.png": (RED, RED, BLACK)}

    def fetch(package: Package, folder: Path, progress: object = None) -> dict[Path, Picture]:
        names = {"scikit-image": ["red.png", "blue.png"], "scikit-learn": ["mixed.png"]}.get(
            package.name, ["query.png"]
        )
        known = package.pictures[0]
        return {picture(folder / name, *colours[name]): known for name in names}

    monkeypatch.setattr(_demo_data, "fetch", fetch)


@pytest.mark.usefixtures("library", "pictures", "toys")
def test_the_demo_runs_from_end_to_end(tmp_path: Path, zipfian: Command) -> None:
    target = tmp_path / "demo"
    code, out, err = zipfian("demo", "--into", target)
    assert (code, err) == (0, "")
    assert "shlex.split" in out
    assert "**" in out, "matches are marked"
    assert f"{_demo_texts.MEANING}  -- latent terms" in out
    assert "delete one document and commit" in out
    assert "Search with a picture: query.png" in out
    assert "of 3 find the picture they were cut from" in out
    assert f"drawn, query and hit side by side, one colour for each visual word: {target / 'why-red.png'}" in out
    assert (target / "why-red.png").stat().st_size > 100
    assert f"search {target / 'python.zf'}" in out.split("What to type next")[1]
    assert zipfian("search", target / "python.zf", "quotes included")[0] == 0
    code, _, err = zipfian("demo", "--into", target)
    assert code == 1
    assert "python.zf is there already" in err


@pytest.mark.usefixtures("library", "pictures", "toys")
def test_the_demo_as_json(tmp_path: Path, zipfian: Command) -> None:
    began = time.perf_counter()
    code, out, err = zipfian("demo", "--into", tmp_path / "demo", "--json")
    passed = time.perf_counter() - began
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["texts"]["fields"] == ["words", "latent"]
    assert found["texts"]["check"] is True
    assert found["pictures"]["by_part"]["pictures"] == 3
    assert found["pictures"]["by_picture"]["drawn"].endswith(".png")
    seconds = [step["seconds"] for step in found["steps"]]
    assert len(seconds) > 5 and all(0.0 < taken < passed for taken in seconds)
    assert sum(seconds) < passed, "no step is timed twice"


@pytest.mark.usefixtures("library", "toys")
def test_the_quick_demo_has_few_texts_and_no_pictures(
    tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_demo_texts, "QUICK", ("shlex", "tempfile", "difflib"))
    code, out, err = zipfian("demo", "--quick", "--into", tmp_path / "demo", "--json")
    assert (code, err) == (0, "")
    found = json.loads(out)
    whole = [d for d in stdlib_documents(tmp_path / "library") if d["metadata"]["kind"] in _demo_texts.KINDS]
    quick = [d for d in whole if d["metadata"]["module"] != "textwrap"]
    assert found["texts"]["documents"] == len(quick) < len(whole)
    assert found["texts"]["fields"] == ["words", "latent"]
    assert "pictures" not in found


def test_the_quick_demo_asks_of_modules_that_are_there() -> None:
    documents = {d["id"]: d for d in stdlib_documents(stdlib_folder(), _demo_texts.QUICK)}
    assert {d["metadata"]["module"] for d in documents.values()} == set(_demo_texts.QUICK)
    assert {"shlex.split", "tempfile.TemporaryDirectory", "difflib.get_close_matches", "getpass"} <= set(documents)
    assert 150 < len(documents) < 400  # methods included


def test_quick_and_half_of_it_are_two_choices(zipfian: Command) -> None:
    code, _, err = zipfian("demo", "--quick", "--only", "pictures")
    assert code == 2
    assert "--only: not allowed with argument --quick" in err


@pytest.mark.usefixtures("library")
def test_without_weights_the_demo_shows_words_and_says_so(
    tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: object, **__: object) -> None:
        raise WeightsNotFound("all-minilm-l6-v2", "model.safetensors", "53aa", ["hub: cannot be reached"])

    monkeypatch.setattr("zipfian.cli._encoding._is_here", lambda model: False)
    monkeypatch.setattr("zipfian.encode.weights.get", nothing)
    code, out, err = zipfian("demo", "--into", tmp_path / "demo")
    assert code == 0, err
    assert "words only, without latent terms: all-minilm-l6-v2: no source has model.safetensors" in out
    assert "search by picture is left out:" in out
    assert "the demo goes on with words alone" in err
    assert "shlex.split" in out


@pytest.mark.usefixtures("library", "toys")
def test_the_demo_ends_with_a_page_on_request(
    tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("fastapi", reason="NO SERVICE TESTS: pip install 'zipfian[serve]'")
    served: list[list[str]] = []

    class Server:
        def run(self, sockets: Any) -> None:
            pass

    def create_app(shelf: Any, settings: Any) -> None:
        served.append([one.name for one in shelf if len(one.collection)])
        shelf.close()

    monkeypatch.setattr("zipfian.serve.app.create_app", create_app)
    monkeypatch.setattr("zipfian.serve.server.make_server", lambda app, settings: Server())
    code, out, err = zipfian("demo", "--only", "texts", "--into", tmp_path / "unserved")
    assert (code, served, "serving" in err) == (0, [], False)
    assert f"serve {tmp_path / 'unserved' / 'python.zf'}" in out
    code, out, err = zipfian("demo", "--only", "texts", "--into", tmp_path / "demo", "--serve")
    assert (code, served) == (0, [["python"]])
    assert "serving python at http://127.0.0.1:" in err
    assert out.rstrip().endswith("== In a browser (Ctrl-C ends it)")


def test_a_page_that_cannot_be_served_is_no_surprise_at_the_end(
    tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "zipfian.serve.app", None)
    code, out, err = zipfian("demo", "--into", tmp_path / "demo", "--serve")
    assert (code, out) == (1, "")
    assert "serve" in err
    assert not (tmp_path / "demo").exists()


ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(not shutil.which("make"), reason="NO MAKE TESTS: install make")
@pytest.mark.parametrize(
    ("terminal", "more", "expected"),
    [(True, [], "demo --serve --quick"), (True, ["SERVE=0"], "demo --quick"), (False, [], "demo --quick")],
)
def test_make_demo_serves_where_somebody_looks(tmp_path: Path, terminal: bool, more: list[str], expected: str) -> None:
    """The real Makefile; in place of the program one that says how it was called."""
    for name in ("Makefile", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    program = tmp_path / ".venv" / "bin" / "zipfian"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    (tmp_path / ".venv" / ".ready").touch()
    command = ["make", "--no-print-directory", "demo", "ARGS=--quick", *more]
    ours, theirs = os.openpty()
    try:
        given: Any = {"stdin": theirs, "stdout": theirs, "stderr": theirs}
        if not terminal:
            given = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        done = subprocess.run(command, cwd=tmp_path, timeout=60, check=True, **given)
        told = os.read(ours, 1_000) if terminal else done.stdout
    finally:
        os.close(ours)
        os.close(theirs)
    assert told.decode().split() == expected.split()


def test_every_picture_is_pinned_credited_and_named_once() -> None:
    pictures = [p for package in (*GALLERY, QUERY) for p in package.pictures]
    assert len({p.name for p in pictures}) == len({p.sha256 for p in pictures}) == len(pictures) == 18
    assert all(len(p.sha256) == 64 and p.size > 1_000 and p.caption and p.licence for p in pictures)
    assert {p.licence.partition(" (")[0] for p in pictures} <= {
        "CC0", "public domain", "CC BY 2.0", "no known copyright restrictions",
    }  # fmt: skip
    model = GALLERY[0].model
    assert {name for name, _ in model.carriers[0].members} == {file.name for file in model.files}


def test_the_program_is_called_as_it_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/somewhere/zipfian/__main__.py"])
    assert demo._program().endswith("-m zipfian")
