from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Command
from zipfian.cli import demo
from zipfian.cli._stdlib import stdlib_documents, stdlib_folder
from zipfian.errors import InvalidInput


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


@pytest.mark.usefixtures("collections")
def test_the_demo_runs_from_end_to_end(tmp_path: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    library = tmp_path / "library"
    library.mkdir()
    for name in ("shlex.py", "subprocess.py", "tempfile.py", "textwrap.py"):
        (library / name).write_bytes((stdlib_folder() / name).read_bytes())
    monkeypatch.setattr(demo, "stdlib_folder", lambda: library)
    code, out, err = zipfian("demo", "--into", tmp_path / "demo.zf")
    assert (code, err) == (0, "")
    assert "shlex.split" in out
    assert "**" in out, "matches are marked"
    assert "delete one document and commit" in out
    assert f"search {tmp_path / 'demo.zf'}" in out.split("What to type next")[1]
    assert zipfian("search", tmp_path / "demo.zf", "quotes included")[0] == 0
