"""`fit_alignment` from Python: the same alignment as the command's, and what is told on the way."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.test_train_align import SMALL, write_set
from tests.encode.hub import tiny
from tests.encode.hub.tiny import needs_hub
from zipfian.cli import main
from zipfian.encode.cache import EncodingCache
from zipfian.errors import IndexExists
from zipfian.train import Parts, fit_alignment
from zipfian.train.align_fit import AlignWatcher
from zipfian.train.align_settings import AlignSettings


def test_a_folder_that_holds_a_model_is_refused(tmp_path: Path) -> None:
    for name in ("align.json", "config.json"):
        (tmp_path / name[:5]).mkdir()
        (tmp_path / name[:5] / name).write_text("{}")
        with pytest.raises(IndexExists, match=r"holds a finished model: choose another folder \(out, --out\)"):
            fit_alignment(Parts([], []), tmp_path / name[:5])
    with pytest.raises(IndexExists, match="is a file"):
        fit_alignment(Parts([], []), tmp_path / "align" / "align.json")


@needs_hub
def test_python_makes_what_the_command_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from zipfian.encode import hub
    from zipfian.evaluate.datasets.captions import load_captions
    from zipfian.vocabulary._sae_weights import SaeWeights, save_weights

    monkeypatch.setattr("zipfian.encode.cache.EncodingCache", lambda: EncodingCache(tmp_path / "encodings"))
    data, bert, clip, sae = write_set(tmp_path / "data"), tmp_path / "bert", tmp_path / "clip", tmp_path / "sae"
    tiny.bert(bert)
    tiny.clip(clip)
    matrix = np.random.default_rng(1).normal(size=(64, 40)).astype(np.float32)
    save_weights(SaeWeights(matrix, np.zeros(64, np.float32), np.zeros(40, np.float32), 1.0, 4), sae, "float32")
    captions, pictures = data / "captions.jsonl", data / "pictures"
    typed = ("train", "align", "--captions", captions, "--images", pictures, "--text-encoder", bert,
             "--image-encoder", clip, "--vocabulary", sae, "--out", tmp_path / "a", *SMALL)  # fmt: skip
    assert main([str(part) for part in typed]) == 0
    told: list[tuple[str, int]] = []

    class Told(AlignWatcher):
        def encoding(self, split: str, pictures: int) -> None:
            told.append((split, pictures))

        def member(self, number: int, members: int) -> None:
            told.append(("member", number))

        def translating(self) -> None:
            told.append(("table", 0))

    train, dev = (
        [(found.path, found.captions) for found in load_captions(captions, pictures, split).pictures]
        for split in ("train", "dev")
    )
    settings = AlignSettings(
        dim=16, hidden=16, word_rank=8, epochs=12, batch=30, lr=0.01, dropout=0.1, hidden_dropout=0, patience=10
    )  # those of SMALL, and the command's patience
    fitted = fit_alignment(
        Parts(train, dev), tmp_path / "b", settings=settings, text_encoder=str(bert),
        image_encoder=hub.load(str(clip), kind="image", device="cpu"), vocabulary=str(sae), members=2, least=2,
        data_name="captions.jsonl", device="cpu", watch=Told(),
    )  # fmt: skip
    assert told == [("train", 60), ("dev", 20), ("member", 0), ("member", 1), ("table", 0)]
    assert (len(fitted.members), fitted.left_out, sorted(fitted.measured)) == (2, 0, ["dev"])
    ours, theirs = (tmp_path / name / "align.safetensors" for name in "ba")
    assert ours.read_bytes() == theirs.read_bytes()
