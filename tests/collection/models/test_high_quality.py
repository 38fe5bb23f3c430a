"""The set of fields `high-quality` on real weights: two encoders side by side, and long texts by their passages."""

from __future__ import annotations

from pathlib import Path

import pytest

import zipfian as zf
from tests.encode.conftest import needed

LONG = "The harbour was quiet and the boats lay still in the evening. " * 60
TEXTS = {
    "plants": "Plants make sugar out of light, water and air.",
    "cats": "Cats sleep most of the day.",
    "diary": f"{LONG} Then the doctor found that penicillin had cured the infection. {LONG}",
}


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    needed("gte-small", "onnxruntime", "tokenizers")
    needed("all-minilm-l6-v2", "onnxruntime", "tokenizers", "safetensors")
    path = tmp_path_factory.mktemp("high") / "notes.zf"
    with zf.Collection.create(path, "high-quality") as made:
        made.add([{"id": name, "text": text} for name, text in TEXTS.items()])
        made.commit()
    return path


def test_it_opens_without_leave_and_fuses_three_fields(notes: Path) -> None:
    with zf.Collection.open(notes) as there:
        assert list(there.fields) == ["words", "latent", "gte-small"]
        found = there.search("how does photosynthesis work?")
        assert found[0].id == "plants"
        assert set(found[0].fields) == {"words", "latent", "gte-small"}
        assert found.explain(found[0]).value == pytest.approx(found[0].score)


def test_a_long_text_is_found_by_its_passage(notes: Path) -> None:
    with zf.Collection.open(notes) as there:
        passages = there.stats()["fields"]["gte-small"]["passages"]
        assert passages > len(TEXTS) and passages == there.stats()["fields"]["latent"]["passages"]
        assert there.search("an antibiotic against bacteria", fields="gte-small")[0].id == "diary"


def test_what_is_not_there_is_not_likely(notes: Path) -> None:
    """Its cosines are above .7 whatever is asked."""
    with zf.Collection.open(notes) as there:
        off, on = (there.search(text, fields="gte-small")[0] for text in ("a bicycle chain", "when do cats sleep?"))
        assert off.score > 0.7 and off.confidence < 0.1
        assert on.confidence > 0.3
