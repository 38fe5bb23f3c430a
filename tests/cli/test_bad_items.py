"""Texts and pictures that no encoder can have been made for, through the command a user types."""

from __future__ import annotations

import errno
import json
import os
import struct
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import zipfian as zf
from tests.cli.conftest import BLUE, GREEN, RED, Command, Toys, picture
from tests.encode.conftest import needed


def index(zipfian: Command, source: Path, into: Path, *options: str) -> tuple[dict[str, Any], str]:
    code, out, err = zipfian("index", source, "--into", into, "--json", *options)
    assert code == 0, err
    return json.loads(out), err


def giant(path: Path, side: int) -> Path:
    """The head of a PNG that says it has side x side pixels."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"\0" * 64)))
    return path


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """One picture for every way in which a picture can be odd or bad."""
    folder = tmp_path / "photos"
    picture(folder / "good.png", RED)
    Image.new("RGB", (1, 1), BLUE).save(folder / "one-pixel.png")
    Image.new("CMYK", (16, 16), (255, 0, 255, 0)).save(folder / "cmyk.jpg")
    Image.new("P", (16, 16), 3).save(folder / "palette.gif")
    Image.new("RGB", (16, 16), GREEN).save(folder / "jpeg-inside.png", format="JPEG")
    giant(folder / "giant.png", 30_000)
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(folder / "cut.jpg", quality=95)
    (folder / "cut.jpg").write_bytes((folder / "cut.jpg").read_bytes()[:2_000])
    (folder / "no-picture.jpg").write_text("<html>not found</html>")
    (folder / "empty.png").write_bytes(b"")
    return folder


GOOD = ["cmyk.jpg", "good.png", "jpeg-inside.png", "one-pixel.png", "palette.gif"]
BAD = {
    "giant.png": "30,000 x 30,000 pixels are more than 89,478,485 pixels",
    "cut.jpg": "damaged or cut short",
    "no-picture.jpg": "no picture of a known format",
    "empty.png": "the file is empty",
}


def test_odd_pictures_are_taken_and_bad_ones_named(photos: Path, tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    summary, err = index(zipfian, photos, tmp_path / "p.zf", "--on-bad", "skip")
    assert summary["added"] == len(GOOD)
    assert {Path(bad["where"]).name for bad in summary["bad"]} == set(BAD)
    for name, problem in BAD.items():
        assert f"skipped {photos / name}: {problem}" in err
    with zf.Collection.open(tmp_path / "p.zf") as collection:
        assert sorted(collection.ids()) == GOOD
        green = collection.search(image=picture(tmp_path / "q.png", GREEN), k=2, fields="visual")
    assert {hit.id for hit in green} <= {"jpeg-inside.png", "cmyk.jpg"}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_picture_is_fatal_if_asked_and_half_of_it_is_never_indexed(
    name: str, photos: Path, tmp_path: Path, zipfian: Command, toys: Toys
) -> None:
    for other in BAD:
        if other != name:
            (photos / other).unlink()
    code, _, err = zipfian("index", photos, "--into", tmp_path / "p.zf", "--on-bad", "fail")
    assert code == 1
    assert f"{photos / name}: {BAD[name]}" in err
    assert "--on-bad skip" in err
    with zf.Collection.open(tmp_path / "p.zf") as collection:
        assert name not in collection


def test_empty_texts_and_texts_without_words(tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text(" \n\t")
    (folder / "signs.txt").write_text("\u2603\u2620 ... !!!")
    (folder / "good.txt").write_text("A puppy.")
    summary, _ = index(zipfian, folder, tmp_path / "t.zf")
    assert (summary["added"], summary["empty"]) == (2, 2)
    found = json.loads(zipfian("search", tmp_path / "t.zf", "hound", "--json")[1])
    assert found["hits"][0]["id"] == "good.txt"


def test_a_full_disk_stops_the_cache_and_not_the_work(
    photos: Path, tmp_path: Path, zipfian: Command, toys: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in BAD:
        (photos / name).unlink()

    @contextmanager
    def full(*_: object, **__: object) -> Any:
        raise OSError(errno.ENOSPC, "No space left on device")
        yield

    monkeypatch.setattr("zipfian.encode.cache.replacing", full)
    summary, err = index(zipfian, photos, tmp_path / "p.zf")
    assert summary["added"] == len(GOOD)
    assert err.count("no longer cached") == 1
    assert "No space left on device; encoding goes on" in err


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real encoders with a cache of the test's own."""
    from zipfian.encode.cache import EncodingCache

    class OwnCache(EncodingCache):
        def __init__(self, path: Path | None = None, **options: int) -> None:
            super().__init__(path or tmp_path / "encodings", **options)

    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", OwnCache)


@pytest.mark.usefixtures("own_cache")
def test_texts_through_the_real_encoder(tmp_path: Path, zipfian: Command) -> None:
    """More tokens than an encoder takes at once are read by passage; unknown characters have no latent terms."""
    needed("all-minilm-l6-v2", "onnxruntime", "tokenizers", "safetensors")
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "unknown.txt").write_text("\U00012000\U00012001 \U00012002")
    (folder / "good.txt").write_text("A dog sleeps in the sun.")
    (folder / "long.txt").write_text("antidisestablishmentarianism " * 50_000)  # about 300,000 tokens
    summary, _ = index(zipfian, folder, tmp_path / "t.zf", "--fields", "words,latent")
    assert summary["added"] == 3
    with zf.Collection.open(tmp_path / "t.zf") as collection:
        assert collection.search("a puppy", fields="latent")[0].id == "good.txt"
        assert collection.search("antidisestablishmentarianism", fields="latent")[0].id == "long.txt"
        assert collection.get("unknown.txt") is not None


@pytest.mark.usefixtures("own_cache")
def test_pictures_through_the_real_encoder(photos: Path, tmp_path: Path, zipfian: Command) -> None:
    needed("efficientnet-lite2", "onnxruntime", "PIL", "safetensors")
    summary, _ = index(zipfian, photos, tmp_path / "p.zf", "--fields", "dense-image", "--on-bad", "skip")
    assert (summary["added"], len(summary["bad"])) == (len(GOOD), len(BAD))
    with zf.Collection.open(tmp_path / "p.zf") as collection:
        assert collection.search(image=photos / "good.png", k=1)[0].id == "good.png"


def test_no_item_ends_a_run_that_was_told_to_skip(tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    """Ids that no document can have, metadata of a wrong kind, the same id twice, somebody else's document."""
    own = tmp_path / "own.jsonl"
    own.write_text(json.dumps({"id": "theirs", "text": "a puppy"}))
    index(zipfian, own, tmp_path / "t.zf", "--fields", "words")
    records: list[dict[str, Any]] = [
        {"id": "first", "text": "a dog", "year": 2020},
        {"id": "x" * 600, "text": "an id too long"},
        {"id": "half \ud800", "text": "an id that is no text"},
        {"id": "kind", "text": "a year that is a word", "year": "late"},
        {"id": "deep", "text": "metadata too large", "more": "x" * 2_000_000},
        {"id": "first", "text": "the same again"},
        {"id": "theirs", "text": "of another source"},
        {"id": "half text", "text": "half a character \ud800"},
        {"id": "last", "text": "a cat", "year": 2021},
    ]
    source = tmp_path / "t.jsonl"
    source.write_text("".join(json.dumps(record) + "\n" for record in records))
    summary, err = index(zipfian, source, tmp_path / "t.zf", "--on-bad", "skip")
    assert summary["added"] == 3, "metadata of a wrong kind are left out, not the document"
    assert [bad["where"].rpartition(":")[2] for bad in summary["bad"]] == ["2", "3", "6", "7", "5", "8"]
    assert err.count("skipped ") == 6
    with zf.Collection.open(tmp_path / "t.zf") as collection:
        assert sorted(collection.ids()) == ["first", "kind", "last", "theirs"]
        assert collection.get("first").text == "a dog"  # type: ignore[union-attr]
        assert collection.get("theirs").text == "a puppy"  # type: ignore[union-attr]


def test_pipes_devices_and_links_beside_good_files(tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    folder = tmp_path / "photos"
    picture(folder / "good.png", RED)
    picture(tmp_path / "outside.png", BLUE)
    os.mkfifo(folder / "pipe.jpg")
    os.symlink("/dev/zero", folder / "zero.png")
    os.symlink(tmp_path / "outside.png", folder / "outside.png")
    summary, err = index(zipfian, folder, tmp_path / "p.zf", "--on-bad", "skip")
    assert (summary["added"], [Path(bad["where"]).name for bad in summary["bad"]]) == (1, ["pipe.jpg"])
    assert "links that were not followed" in err and ": 2; --follow-links" in err
    summary, err = index(zipfian, folder, tmp_path / "q.zf", "--on-bad", "skip", "--follow-links")
    assert (summary["added"], len(summary["bad"])) == (2, 2)
    assert "zero.png: a device, not a regular file" in err


@pytest.mark.parametrize("command", ["search", "explain"])
def test_a_pipe_to_search_with(command: str, tmp_path: Path, zipfian: Command, toys: Toys) -> None:
    folder = tmp_path / "photos"
    picture(folder / "good.png", RED)
    index(zipfian, folder, tmp_path / "p.zf")
    os.mkfifo(tmp_path / "pipe.jpg")
    rest = ["good.png"] if command == "explain" else []
    code, _, err = zipfian(command, tmp_path / "p.zf", *rest, "--image", tmp_path / "pipe.jpg")
    assert code == 1
    assert "pipe.jpg: a pipe, not a regular file" in err
