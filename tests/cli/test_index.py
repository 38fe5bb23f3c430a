"""`zipfian index` with encoders: fields, estimates, changes, interruptions. Toy encoders stand in for the real ones."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zipfian as zf
from tests.cli.conftest import BLACK, BLUE, GREEN, RED, Command, Toys, picture
from zipfian.cli import _fields
from zipfian.errors import MissingExtra, WeightsNotFound
from zipfian.ingest import Survey, follow, open_source


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    picture(folder / "red.png", RED)
    picture(folder / "blue.png", BLUE)
    picture(folder / "both.png", RED, BLUE)
    (folder / "red.txt").write_text("My puppy in the sun")
    return folder


def index(zipfian: Command, *arguments: object) -> dict[str, object]:
    code, out, err = zipfian("index", *arguments, "--json")
    assert code == 0, err
    found: dict[str, object] = json.loads(out)
    return found


@pytest.fixture
def path(tmp_path: Path, photos: Path, zipfian: Command, toys: Toys) -> Path:
    summary = index(zipfian, photos, "--into", tmp_path / "p.zf")
    assert (summary["added"], summary["fields"]) == (
        3,
        ["words", "latent", "dense-text", "visual", "dense-image", "aligned", "translated"],
    )
    return tmp_path / "p.zf"


def test_what_is_said_before_and_after(tmp_path: Path, photos: Path, zipfian: Command, toys: Toys) -> None:
    code, out, err = zipfian("index", photos, "--into", tmp_path / "p.zf")
    assert code == 0
    assert (
        "fields: words, latent, dense-text, visual, dense-image, aligned, translated (3 pictures, 1 with captions)"
        in err
    )
    assert "encoding 3 pictures, about 48 patches: seconds; the cache keeps about" in err
    assert "encoding 1 text, about 5 tokens" in err
    assert "3 added; 3 documents in all" in out
    assert "search it: zipfian search" in err


def test_words_alone_ask_no_encoder(tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    (tmp_path / "n").mkdir()
    (tmp_path / "n" / "a.txt").write_text("Plants")
    assert index(zipfian, tmp_path / "n", "--into", tmp_path / "n.zf", "--fields", "words")["fields"] == ["words"]
    assert toys.text.seen == []


def test_running_again_encodes_only_what_changed(path: Path, photos: Path, zipfian: Command, toys: Toys) -> None:
    toys.image.seen.clear()
    assert index(zipfian, photos, "--into", path)["unchanged"] == 3
    os.utime(photos / "blue.png", (1, 1))  # touched, the same content
    assert index(zipfian, photos, "--into", path)["unchanged"] == 3
    assert toys.image.seen == []
    picture(photos / "blue.png", GREEN)
    picture(photos / "new.png", BLACK)
    (photos / "both.png").unlink()
    (photos / "red.txt").write_text("My kitten in the sun")
    summary = index(zipfian, photos, "--into", path)
    assert (summary["added"], summary["updated"], summary["removed"], summary["unchanged"]) == (1, 2, 1, 0)
    assert sorted(toys.image.seen) == [str(photos / "blue.png"), str(photos / "new.png")], "red.png came from the cache"
    with zf.Collection.open(path) as collection:
        assert sorted(collection.ids()) == ["blue.png", "new.png", "red.png"]
        red = collection.get("red.png")
    assert red is not None
    assert red.text == "My kitten in the sun"
    assert red.metadata["image"] == str(photos / "red.png")
    assert len(red.metadata["_image_sha256"]) == 64


def test_a_bad_picture_stops_or_is_skipped_by_name(path: Path, photos: Path, zipfian: Command) -> None:
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(photos / "bad.png")
    (photos / "bad.png").write_bytes((photos / "bad.png").read_bytes()[:5_000])
    (photos / "lie.jpg").write_text("no picture at all")
    picture(photos / "blue.png", GREEN)
    code, _, err = zipfian("index", photos, "--into", path, "--on-bad", "fail")
    assert code == 1
    assert f"{photos / 'bad.png'}: damaged or cut short" in err
    assert "--on-bad skip" in err
    code, out, err = zipfian("index", photos, "--into", path, "--on-bad", "skip")
    assert code == 0
    assert "1 updated, 2 unchanged, 2 skipped as unreadable; 3 documents in all" in out
    assert f"skipped {photos / 'bad.png'}: damaged" in err
    assert f"skipped {photos / 'lie.jpg'}: no picture of a known format" in err


def test_a_picture_that_became_unreadable_keeps_its_old_self(path: Path, photos: Path, zipfian: Command) -> None:
    (photos / "blue.png").write_bytes(b"")
    summary = index(zipfian, photos, "--into", path, "--on-bad", "skip")
    assert (summary["removed"], summary["total"]) == (0, 3)


def test_an_interrupted_run_keeps_what_it_committed(
    tmp_path: Path, photos: Path, zipfian: Command, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "ADD_PICTURES", 1)
    done: list[Any] = []
    real = toys.image.one

    def one(item: str) -> object:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(item)
        return real(item)

    monkeypatch.setattr(toys.image, "one", one)
    target = tmp_path / "p.zf"
    code, _, err = zipfian("index", photos, "--into", target, "--commit-every", 1, "--fields", "visual")
    assert code == 130
    assert "stopped: 2 documents of this run are committed, 2 are in" in err
    assert "run the same command again" in err
    monkeypatch.setattr(toys.image, "one", real)
    toys.image.seen.clear()
    summary = index(zipfian, photos, "--into", target)
    assert (summary["added"], summary["unchanged"]) == (1, 2)
    assert len(toys.image.seen) == 1


def test_long_runs_commit_by_the_clock(
    tmp_path: Path, photos: Path, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zipfian.fields.named import make_fields

    monkeypatch.setattr(follow, "ADD_PICTURES", 1)
    ticks = iter(range(0, 100_000, 50))
    with zf.Collection.create(tmp_path / "p.zf", make_fields(["visual"])) as collection:
        run = follow.Sync(collection, open_source(photos), clock=lambda: float(next(ticks)))
        assert run.run().commits >= 2


def test_a_field_is_added_without_encoding_again(tmp_path: Path, photos: Path, zipfian: Command, toys: Toys) -> None:
    path = tmp_path / "few.zf"
    assert zipfian("index", photos, "--into", path, "--fields", "words,latent,visual,dense-image")[0] == 0
    toys.text.seen.clear()
    toys.image.seen.clear()
    code, out, err = zipfian("index", "--into", path, "--add-field", "dense-text")
    assert (code, toys.image.seen) == (0, []), err
    assert "added dense-text" in out
    assert "adding dense-text to 3 documents" in err
    with zf.Collection.open(path) as collection:
        assert "dense-text" in collection.fields
    code, _, err = zipfian("index", "--into", path, "--add-field", "words")
    assert code == 1
    assert "has a field 'words' already" in err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--fields", "wurds"], "no field is called 'wurds'; there are: words, latent, visual"),
        (["--fields", ","], "no field is named"),
        (["--add-field", "nonsense"], "no field is called 'nonsense'"),
    ],
)
def test_unknown_fields(arguments: list[str], problem: str, photos: Path, tmp_path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("index", photos, "--into", tmp_path / "new.zf", *arguments)
    assert code == 1
    assert problem in err
    assert not (tmp_path / "new.zf").exists()


def test_other_fields_for_a_collection_that_is_there(path: Path, photos: Path, zipfian: Command) -> None:
    code, _, err = zipfian("index", photos, "--into", path, "--fields", "words,latent")
    assert code == 1
    assert "--add-field NAME" in err
    assert (
        zipfian(
            "index", photos, "--into", path, "--fields", "latent,words,visual,dense-image,translated,dense-text,aligned"
        )[0]
        == 0
    )


def test_nothing_to_do_and_nothing_to_read(tmp_path: Path, path: Path, zipfian: Command) -> None:
    code, _, err = zipfian("index", "--into", path)
    assert code == 1
    assert "name a SOURCE" in err
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "a.exe").write_text("x")
    code, _, err = zipfian("index", tmp_path / "empty", "--into", tmp_path / "e.zf")
    assert code == 1
    assert "no text (" in err
    assert "It holds 1 .exe." in err
    assert not (tmp_path / "e.zf").exists()
    (tmp_path / "none.jsonl").write_text("\n")
    assert "no record in it" in zipfian("index", tmp_path / "none.jsonl", "--into", tmp_path / "e.zf")[2]


def test_pictures_without_captions_in_a_collection_of_words(tmp_path: Path, photos: Path, zipfian: Command) -> None:
    code, out, err = zipfian("index", photos, "--into", tmp_path / "w.zf", "--fields", "words")
    assert code == 0
    assert "1 added, 2 pictures without captions left out" in out
    assert "--add-field visual" in err


def test_no_weights_and_no_network(
    tmp_path: Path, photos: Path, zipfian: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from zipfian.encode import weights

    def nothing(model: object, **_: object) -> None:
        raise WeightsNotFound("all-minilm-l6-v2", "model.safetensors", "53aa", ["hub: cannot be reached"])

    monkeypatch.setattr(weights, "get", nothing)
    monkeypatch.setattr("zipfian.cli._encoding._is_here", lambda model: False)
    code, _, err = zipfian("index", photos, "--into", tmp_path / "c.zf", "--fields", "words,latent")
    assert code == 1
    assert "fetching the weights of all-minilm-l6-v2 once, 87.1 MiB" in err
    assert "zipfian weights get all-minilm-l6-v2 --from FILE" in err
    assert "--fields words" in err
    assert not (tmp_path / "c.zf").exists()


@pytest.mark.parametrize(
    ("survey", "missing", "fields"),
    [
        (Survey(5, 5, 0, 0), (), ["words", "latent", "dense"]),
        (Survey(5, 0, 5, 0), (), ["visual", "dense", "aligned", "translated"]),
        (Survey(5, 2, 5, 2), (), ["words", "latent", "dense-text", "visual", "dense-image", "aligned", "translated"]),
        (Survey(9, 6, 5, 2), (), ["words", "latent", "dense-text", "visual", "dense-image", "aligned", "translated"]),
        (Survey(5, 5, 0, 0), ("tokenizers",), ["words"]),
        (Survey(5, 2, 5, 2), ("tokenizers",), ["visual", "dense", "translated", "words"]),
        (Survey(5, 2, 5, 2), ("PIL",), ["words", "latent"]),
        (Survey(5, 2, 5, 2), ("onnxruntime",), ["words"]),
    ],
)
def test_the_fields_that_are_chosen(
    survey: Survey, missing: tuple[str, ...], fields: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_fields, "installed", lambda modules: not set(modules) & set(missing))
    choice = _fields.choose(survey)
    assert list(choice.fields) == fields
    assert ("pip install" in str(choice)) == bool(missing)


def test_pictures_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fields, "installed", lambda modules: False)
    with pytest.raises(MissingExtra, match=r"zipfian\[image\]"):
        _fields.choose(Survey(5, 0, 5, 0))


def test_field_names_are_those_of_the_library() -> None:
    from zipfian.errors import InvalidInput
    from zipfian.fields.named import default_field

    with pytest.raises(InvalidInput) as error:
        default_field("nothing")
    assert all(name in str(error.value) for name in _fields.NAMES)
