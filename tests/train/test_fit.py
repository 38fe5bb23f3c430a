"""`fit_sae` from Python: the same vocabulary as the command's, and what is told on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_train import SMALL, write_texts
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from zipfian.cli import main
from zipfian.errors import FormatTooOld, IndexExists, InvalidInput
from zipfian.train.fit import Plan, Watcher, fit_sae


def test_the_folder_is_looked_at_before_anything_else(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(InvalidInput, match=r"no training to resume: leave resume \(--resume\) out"):
        fit_sae(tmp_path / "none", out, resume=True)
    out.mkdir()
    (out / "run.json").write_text("{}")
    with pytest.raises(IndexExists, match=r"did not finish: go on with it \(resume=True, --resume\)"):
        fit_sae(tmp_path / "none", out)
    (out / "checkpoint.safetensors").write_bytes(b"of 0.1")
    with pytest.raises(FormatTooOld, match=r"checkpoint\.safetensors is a checkpoint of an older zipfian"):
        fit_sae(tmp_path / "none", out, resume=True)
    (out / "sae.json").write_text("{}")
    with pytest.raises(IndexExists, match="a finished vocabulary"):
        fit_sae(tmp_path / "none", out, resume=True)
    with pytest.raises(IndexExists, match="is a file"):
        fit_sae(tmp_path / "none", out / "run.json")
    with pytest.raises(InvalidInput, match="no preset is called 'best'"):
        fit_sae(tmp_path / "none", tmp_path / "new", preset="best")


@needs_hub
def test_python_makes_what_the_command_makes(tmp_path: Path) -> None:
    from zipfian.encode import hub
    from zipfian.train.settings import SaeSettings
    from zipfian.vocabulary.sae import SaeVocabulary

    model, texts = tmp_path / "tiny-bert", write_texts(tmp_path / "texts.jsonl")
    tiny.bert(model)
    with texts.open("a") as file:
        file.write('{"id": "bad"}\n')
    typed = [*map(str, ("train", "sae", "--encoder", model, "--data", texts, "--out", tmp_path / "a", *SMALL))]
    assert main(typed) == 0
    told: list[Any] = []

    class Told(Watcher):
        def planned(self, plan: Plan) -> None:
            told.append(plan)

        def skipped(self, where: str, problem: str) -> None:
            told.append(where)

        def encoded(self, items: int) -> None:
            told.append(items)

    settings = SaeSettings(width=48, k=3, batch=128, epochs=2)  # those of SMALL
    fitted = fit_sae(texts, tmp_path / "b", encoder=hub.load(str(model)), settings=settings, device="cpu", watch=Told())
    assert (fitted.items, fitted.left_out) == (120, 1)
    assert told[0] == f"{texts}:121"
    assert isinstance(told[1], Plan) and (told[1].items, told[1].kind, told[1].on_disk) == (120, "text", False)
    assert told[-1] == 120
    ours, theirs = (tmp_path / name / "sae.safetensors" for name in "ba")
    assert ours.read_bytes() == theirs.read_bytes()
    assert SaeVocabulary.load(fitted.folder).n_terms == settings.width
    assert sorted(p.name for p in fitted.folder.iterdir()) == sorted(p.name for p in (tmp_path / "a").iterdir())
