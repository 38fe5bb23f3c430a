"""`zipfian encode`: shards made by several processes, one of them killed, give the index of one machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import BLUE, RED, Command, Toys, picture
from tests.toys import ToyImage, ToyText, toy_vocabulary
from zipfian.collection import Collection
from zipfian.encode.cache import EncodingCache
from zipfian.encode.registry import register
from zipfian.encode.shards import Manifest, share_of
from zipfian.storage.container import SectionFile
from zipfian.storage.directory import FSDirectory
from zipfian.storage.layout import HEADER
from zipfian.storage.lock import FileLock

ROOT = Path(__file__).resolve().parents[2]
WORDS = "dog puppy hound cat kitten car automobile sun light tree river stone cloud".split()
FIELDS = "words,latent,dense-text"


def text_of(i: int) -> str:
    return " ".join(WORDS[(i * step + step) % len(WORDS)] for step in range(1, 4 + i % 5)) + f" number{i % 7}"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"id": f"d{i}", "text": text_of(i)}) + "\n" for i in range(60)))
    return path


def start(tmp_path: Path, machine: str, *arguments: object, delay: float = 0.0) -> subprocess.Popen[str]:
    """A command on a machine of its own: its own cache, nothing shared but the source and what it writes."""
    sae = tmp_path / "sae"
    if not sae.exists():
        toy_vocabulary(sae)
    env = {
        **os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "TOY_CACHE": str(tmp_path / machine),
        "TOY_DELAY": str(delay), "TOY_LOG": str(tmp_path / f"{machine}.log"), "OMP_NUM_THREADS": "1",
    }  # fmt: skip
    command = [sys.executable, "-m", "tests.cli.toy_command", str(sae), *map(str, arguments)]
    return subprocess.Popen(command, env=env, cwd=ROOT, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out, err


def encoded_on(tmp_path: Path, machine: str) -> list[str]:
    log = tmp_path / f"{machine}.log"
    return log.read_text().splitlines() if log.exists() else []


def contents(path: Path) -> list[dict[str, Any]]:
    """Every section of every file of an index: all but the random ids of files and their checksums."""
    directory = FSDirectory(path)
    out: list[dict[str, Any]] = []
    for file in sorted(path.glob("s*.*")):
        kind = HEADER.unpack(file.read_bytes()[: HEADER.size])[3].rstrip(b"\0").decode()
        found = SectionFile.open(directory, file.name, kind)
        arrays = {name: found.array(name) for name in found.names}
        out.append({"kind": kind, "meta": found.meta} | {n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()})
    return sorted(out, key=repr)


def same_index(a: Path, b: Path) -> None:
    register(ToyText("process"))
    register(ToyImage("process"))
    vocabulary = a.parent / "sae"
    with Collection.open(a, trust=vocabulary) as one, Collection.open(b, trust=vocabulary) as two:
        assert list(one.ids()) == list(two.ids())
        assert one.stats() == two.stats()
        for field in one.fields:
            for asked in ("a dog in the sun", "automobile", "kitten number3 river"):
                left, right = (c.search(asked, k=60, fields=field) for c in (one, two))
                assert [(h.id, h.score) for h in left] == [(h.id, h.score) for h in right]
                assert len(left) > 0
        left, right = (c.search("puppy light", k=60) for c in (one, two))
        assert [(h.id, h.score) for h in left] == [(h.id, h.score) for h in right]
        for doc_id in one.ids():
            np.testing.assert_array_equal(one.vector(doc_id, "dense-text"), two.vector(doc_id, "dense-text"))


def test_four_processes_one_killed_give_the_index_of_one_machine(tmp_path: Path, source: Path) -> None:
    single = start(tmp_path, "single", "index", source, "--into", tmp_path / "single.zf", "--fields", FIELDS)
    shards = [tmp_path / f"shard-{i}" for i in range(1, 5)]

    def encode(i: int, delay: float = 0.0) -> subprocess.Popen[str]:
        arguments = "encode", source, "--shard", f"{i}/4", "--fields", FIELDS, "--out", shards[i - 1]
        return start(tmp_path, f"machine-{i}", *arguments, delay=delay)

    victim = encode(2, delay=0.2)
    others = [encode(i) for i in (1, 3, 4)]
    deadline = time.monotonic() + 60
    while len(list(shards[1].glob("part-*"))) < 3:  # it has begun, and is far from done
        assert victim.poll() is None and time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    victim.communicate()
    for process in (single, *others):
        finished(process)
    left = Manifest.read(shards[1])
    assert left.parts and not left.complete
    before = encoded_on(tmp_path, "machine-2")
    entries = sum(part.entries for part in left.parts)  # two of each text: latent and pooled
    share = [f"d{i}" for i in range(60) if share_of(f"d{i}", 4) == 2]
    assert 0 < entries // 2 <= len(before) < len(share)
    _, err = finished(encode(2))
    assert f"going on, {entries} entries are there from before" in err
    assert len(encoded_on(tmp_path, "machine-2")) - len(before) == len(share) - entries // 2
    assert Manifest.read(shards[1]).complete and not list(shards[1].glob(".new-*"))

    _, err = finished(
        start(tmp_path, "merging", "index", source, "--into", tmp_path / "merged.zf", "--fields", FIELDS, "--encoded",
              *shards)
    )  # fmt: skip
    assert encoded_on(tmp_path, "merging") == []  # nothing at all was encoded there
    assert "encoded here" not in err
    same_index(tmp_path / "single.zf", tmp_path / "merged.zf")
    one, two = contents(tmp_path / "single.zf"), contents(tmp_path / "merged.zf")
    assert len(one) >= 4 and one == two


@pytest.fixture
def own_cache(tmp_path: Path, toys: Toys, monkeypatch: pytest.MonkeyPatch) -> Toys:
    monkeypatch.setattr("zipfian.collection.opening.EncodingCache", EncodingCache)
    monkeypatch.setenv("ZIPFIAN_CACHE_DIR", str(tmp_path / "cache"))
    return toys


def test_pictures_and_what_no_shard_has(zipfian: Command, tmp_path: Path, own_cache: Toys) -> None:
    source = tmp_path / "photos"
    for i in range(12):
        picture(source / f"{i}.png", (20 * i, 0, 0), BLUE)
    fields = "visual,dense"
    for i in (1, 2):
        code, out, err = zipfian(
            "encode", source, "--shard", f"{i}/3", "--out", tmp_path / f"s{i}", "--fields", fields, "--json"
        )
        assert code == 0, err
        summary = json.loads(out)
        mine = [f"{j}.png" for j in range(12) if share_of(f"{j}.png", 3) == i]
        assert (summary["seen"], summary["documents"]) == (12, len(mine))
        assert summary["entries"] == 2 * len(mine) == summary["encoded_now"]
    seen = len(own_cache.image.seen)
    shards = [tmp_path / "s1", tmp_path / "s2"]
    code, out, err = zipfian(
        "index", source, "--into", tmp_path / "x.zf", "--fields", fields, "--encoded", *shards, "--json"
    )
    assert code == 0, err
    lost = sum(share_of(f"{j}.png", 3) == 3 for j in range(12))
    assert lost > 0 and json.loads(out)["encoded_here"] == lost == len(own_cache.image.seen) - seen
    assert "of 3 shards 1 is not given: 3/3" in err
    assert f"{lost} texts and pictures were in no shard and were encoded here" in err


def test_the_cache_of_the_machine_is_used_and_a_second_run_encodes_nothing(
    zipfian: Command, tmp_path: Path, source: Path, own_cache: Toys
) -> None:
    assert zipfian("index", source, "--into", tmp_path / "x.zf", "--fields", "latent")[0] == 0
    seen = len(own_cache.text.seen)
    for now, before in ((60, 0), (0, 60)):
        code, out, err = zipfian("encode", source, "--out", tmp_path / "all", "--fields", "latent", "--json")
        assert code == 0, err
        assert (json.loads(out)["encoded_now"], json.loads(out)["from_before"]) == (now, before)
    assert len(own_cache.text.seen) == seen


def test_other_fields_and_other_encoders_are_refused_and_nothing_is_made(
    zipfian: Command, tmp_path: Path, source: Path, own_cache: Toys, monkeypatch: pytest.MonkeyPatch
) -> None:
    shard, into = tmp_path / "s", tmp_path / "x.zf"
    assert zipfian("encode", source, "--out", shard, "--fields", "dense-text")[0] == 0
    code, _, err = zipfian("index", source, "--into", into, "--fields", "words,latent", "--encoded", shard)
    assert code == 1 and "nothing that the fields use" in err
    code, _, err = zipfian("index", source, "--into", into, "--fields", "dense-text,latent", "--encoded", shard)
    assert code == 1 and "no shard holds sae-" in err and "encode with the same fields" in err
    code, _, err = zipfian("index", source, "--into", into, "--fields", "words", "--encoded", shard)
    assert code == 1 and "nothing that the fields use" in err
    monkeypatch.setattr(own_cache.text, "name", "another")
    code, _, err = zipfian("index", source, "--into", into, "--fields", "dense-text", "--encoded", shard)
    assert code == 1 and f"{shard}: encoded with" in err and "another-text:1" in err
    assert not into.exists()
    code, _, err = zipfian("encode", source, "--out", shard, "--fields", "dense-text")
    assert code == 1 and "was begun with" in err


def test_a_damaged_shard_is_named_and_encoding_again_mends_it(
    zipfian: Command, tmp_path: Path, source: Path, own_cache: Toys
) -> None:
    shard = tmp_path / "s"
    assert zipfian("encode", source, "--out", shard, "--fields", "latent")[0] == 0
    part = shard / "part-000001.enc"
    data = bytearray(part.read_bytes())
    data[200] ^= 1
    part.write_bytes(data)
    index = "index", source, "--into", tmp_path / "x.zf", "--fields", "latent", "--encoded", shard
    code, _, err = zipfian(*index)
    assert code == 1 and str(part) in err and "damaged" in err
    code, _, err = zipfian("encode", source, "--out", shard, "--fields", "latent")
    assert code == 0 and "it is encoded again" in err
    code, _, err = zipfian(*index)
    assert code == 0 and "encoded here" not in err


def test_bad_documents_stop_or_are_skipped_and_what_was_encoded_stays(
    zipfian: Command, tmp_path: Path, own_cache: Toys
) -> None:
    source = tmp_path / "photos"
    for i in range(4):
        picture(source / f"{i}.png", RED if i else BLUE, (i, i, i))
    (source / "9.png").write_text("no picture")
    encode = "encode", source, "--out", tmp_path / "s", "--fields", "visual"
    code, _, err = zipfian(*encode, "--on-bad", "fail")
    assert code == 1 and "9.png" in err and "--on-bad skip" in err
    seen = len(own_cache.image.seen)
    assert not Manifest.read(tmp_path / "s").complete
    code, out, err = zipfian(*encode, "--on-bad", "skip")
    assert code == 0 and "skipped" in err and "1 skipped as unreadable" in out
    assert len(own_cache.image.seen) == seen + 1  # the bad one alone
    code, out, err = zipfian(*encode)
    assert code == 3 and "1 skipped as unreadable" in out
    assert "1 of 5 items were skipped, so the exit status is 3" in err


@pytest.mark.parametrize("share", ["0/4", "5/4", "1", "a/b", "1/0", "-1/4"])
def test_a_share_that_is_none_is_a_usage_error(zipfian: Command, tmp_path: Path, source: Path, share: str) -> None:
    code, _, err = zipfian("encode", source, f"--shard={share}", "--out", tmp_path / "s", "--fields", "latent")
    assert code == 2 and "i/n" in err


def test_fields_without_an_encoder_have_nothing_to_encode(zipfian: Command, tmp_path: Path, source: Path) -> None:
    code, _, err = zipfian("encode", source, "--out", tmp_path / "s", "--fields", "words")
    assert code == 1 and "nothing to encode" in err
    assert not (tmp_path / "s").exists()


def test_a_folder_with_other_files_and_one_in_use_are_left_alone(
    zipfian: Command, tmp_path: Path, source: Path, own_cache: Toys
) -> None:
    letters = tmp_path / "letters"
    letters.mkdir()
    (letters / "dear.txt").write_text("mine")
    code, _, err = zipfian("encode", source, "--out", letters, "--fields", "latent")
    assert code == 1 and "other files" in err and len(list(letters.iterdir())) == 1
    code, _, err = zipfian("encode", source, "--out", source, "--fields", "latent")
    assert code == 1 and "is a file" in err
    encode = "encode", source, "--out", tmp_path / "s", "--fields", "latent"
    assert zipfian(*encode)[0] == 0
    lock = FileLock(tmp_path / "s" / "write.lock")
    code, _, err = zipfian(*encode)
    assert code == 1 and "another 'zipfian encode'" in err
    lock.release()
    assert zipfian(*encode)[0] == 0


def test_an_address_stays_an_address(zipfian: Command, tmp_path: Path, source: Path) -> None:
    code, _, err = zipfian("index", source, "--into", "elsewhere://host:1/name", "--fields", "words")
    assert code == 1 and "'elsewhere://host:1/name' names no engine" in err
    code, _, err = zipfian("index", "--into", "opensearch://host:1/name", "--add-field", "dense")
    assert code == 1 and "takes no new fields" in err
