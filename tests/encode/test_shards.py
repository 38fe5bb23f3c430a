"""Encoded shards: what is written comes back, damage is named, an interrupted writer goes on."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from zipfian.encode import shards as module
from zipfian.encode._shard_part import ROW, Places
from zipfian.encode.cache import EncodingCache
from zipfian.encode.shards import Form, Manifest, Shard, ShardDamaged, ShardedCache, ShardWriter, share_of
from zipfian.errors import FingerprintMismatch, FormatTooNew, FormatTooOld, IndexLocked, IndexNotFound, InvalidInput
from zipfian.limits import MAX_MANIFEST_BYTES
from zipfian.storage.directory import FSDirectory
from zipfian.storage.packed import Array
from zipfian.storage.record import pack_record, unpack_record

POOLED = Form("enc:1", "text", "pooled")
LATENT = Form("enc:1", "text", "sae:1")
FORMS = (POOLED, LATENT)


def content(i: int) -> str:
    return hashlib.sha256(str(i).encode()).hexdigest()


def arrays(i: int) -> dict[str, Array]:
    return {"pooled": np.full(3, i, np.float32), "ids": np.arange(i % 5, dtype=np.uint16)}


def fill(writer: ShardWriter, items: range, forms: tuple[Form, ...] = FORMS) -> None:
    for i in items:
        for form in forms:
            writer.put(form.key, content(i), arrays(i))


def make(path: Path, items: range, share: int = 1, of: int = 1, forms: tuple[Form, ...] = FORMS) -> Path:
    with ShardWriter(path, share, of, forms) as writer:
        fill(writer, items, forms)
        writer.finish({"documents": len(items)})
    return path


def same(found: dict[str, Array] | None, i: int) -> None:
    assert found is not None and list(found) == list(arrays(i))
    for name, array in arrays(i).items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def test_shares_are_disjoint_cover_everything_and_never_change() -> None:
    counts = Counter(share_of(f"doc-{i}", 4) for i in range(4_000))
    assert set(counts) == {1, 2, 3, 4} and min(counts.values()) > 900
    assert [share_of(doc_id, 10) for doc_id in ("a", "b", "ä", "d17")] == [1, 7, 3, 2]
    assert all(share_of(f"doc-{i}", 1) == 1 for i in range(10))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sizes=st.lists(st.integers(0, 12), min_size=1, max_size=24))
def test_what_was_written_in_any_number_of_parts_is_found(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    path = tmp_path_factory.mktemp("shard")
    writer = ShardWriter(path, 1, 2, FORMS)
    done = 0
    for size in sizes:
        fill(writer, range(done, done + size))
        done += size
        writer.flush()
        if done:
            same(writer.get(LATENT.key, content(done - 1)), done - 1)
    writer.finish({})
    shard = Shard(path)
    shard.check()
    assert len(shard) == 2 * done and shard.manifest.complete
    assert len(shard.manifest.parts) == sum(size > 0 for size in sizes)
    for i in range(done):
        same(shard.get(POOLED.key, content(i)), i)
        same(shard.get(LATENT.key, content(i)), i)
    assert shard.get(POOLED.key, content(done)) is None
    assert shard.get("enc:2\npooled", content(0)) is None


def test_hashes_that_begin_alike_are_told_apart() -> None:
    table = np.zeros(3, ROW)
    table["content"][:, :8] = 7
    table["content"][1, 31] = 1
    table["form"] = [0, 0, 1]
    table["offset"] = [10, 20, 30]
    places = Places()
    places.add(0, table)
    first, second = (table["content"][i].tobytes().hex() for i in (0, 1))
    assert [places.find(0, first), places.find(0, second), places.find(1, first)] == [
        (0, 10, 0),
        (0, 20, 0),
        (0, 30, 0),
    ]
    assert places.find(1, second) is None


def test_a_part_is_written_when_it_is_large_or_old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    writer = ShardWriter(tmp_path / "s", 1, 1, FORMS, clock=lambda: now[0])
    fill(writer, range(3))
    assert Manifest.read(tmp_path / "s").parts == ()
    now[0] = module.PART_SECONDS
    fill(writer, range(3, 4))
    assert [part.entries for part in Manifest.read(tmp_path / "s").parts] == [7]
    monkeypatch.setattr(module, "PART_BYTES", 1)
    fill(writer, range(4, 5))
    assert [part.entries for part in Manifest.read(tmp_path / "s").parts] == [7, 2, 1]


def test_an_abandoned_writer_is_followed_by_one_that_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "s"
    first = ShardWriter(path, 1, 4, FORMS)
    fill(first, range(5))
    first.flush()
    fill(first, range(5, 9))  # never written
    first.close()
    (path / ".new-abc").write_bytes(b"half a part")
    (path / "part-000002.enc").write_bytes(b"a part that no manifest names")
    second = ShardWriter(path, 1, 4, FORMS)
    assert second.resumed == 10 and second.get(POOLED.key, content(7)) is None
    assert sorted(p.name for p in path.iterdir()) == ["part-000001.enc", "shard.json", "write.lock"]
    fill(second, range(9))
    second.finish({})
    assert second.written == 8
    shard = Shard(path)
    for i in range(9):
        same(shard.get(LATENT.key, content(i)), i)


def test_the_cache_under_a_writer_saves_encoding_and_becomes_part_of_the_shard(tmp_path: Path) -> None:
    cache = EncodingCache(tmp_path / "cache")
    cache.put(POOLED.key, content(1), arrays(1))
    writer = ShardWriter(tmp_path / "s", 1, 1, FORMS, under=cache)
    same(writer.get(POOLED.key, content(1)), 1)
    assert writer.get(LATENT.key, content(1)) is None
    writer.finish({})
    same(Shard(tmp_path / "s").get(POOLED.key, content(1)), 1)


@pytest.mark.parametrize("at", ["start", "entry", "contents", "table", "footer", "cut", "gone", "empty"])
def test_damage_is_named_on_reading_and_mended_by_writing_again(tmp_path: Path, at: str) -> None:
    path = make(tmp_path / "s", range(6))
    part = path / "part-000001.enc"
    data = bytearray(part.read_bytes())
    places = {"start": 0, "entry": 100, "contents": len(data) - 200, "table": len(data) - 46, "footer": len(data) - 3}
    if at in places:
        data[places[at]] ^= 0x10
        part.write_bytes(data)
    elif at == "gone":
        part.unlink()
    else:
        part.write_bytes(data[: -1 if at == "cut" else 0])
    with pytest.raises(ShardDamaged, match=r"part-000001\.enc") as caught:
        shard = Shard(path)
        for i in range(6):
            shard.get(POOLED.key, content(i))
    assert caught.value.file == part
    with pytest.warns(RuntimeWarning, match="part-000001.enc.*encoded again"):
        writer = ShardWriter(path, 1, 1, FORMS)
    assert writer.resumed == 0 and not writer.manifest.complete
    fill(writer, range(6))
    writer.finish({})
    writer.close()
    mended = Shard(path)
    mended.check()
    assert len(mended) == 12


def test_every_flipped_bit_is_an_error_or_harmless(tmp_path: Path) -> None:
    path = make(tmp_path / "s", range(2))
    part = path / "part-000001.enc"
    whole = part.read_bytes()
    for byte in range(len(whole)):
        part.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << byte % 8]) + whole[byte + 1 :])
        with pytest.raises(ShardDamaged):
            Shard(path).check()
        try:
            shard = Shard(path)
            for i in range(2):
                same(shard.get(POOLED.key, content(i)), i)
        except ShardDamaged:
            pass


def test_a_manifest_that_was_changed_or_is_of_the_future_is_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "s", range(2))
    file = path / "shard.json"
    whole = json.loads(file.read_text())
    for wrong, problem in (
        ("{", "not JSON"),
        ("[]", "holds a list"),
        ("[" * 100_000, "not JSON"),
        (json.dumps(whole | {"complete": False}), "fails its checksum"),
        (json.dumps(whole | {"shard": [2, 2]}), "fails its checksum"),
        (json.dumps(whole | {"crc": True}), "fails its checksum"),
        (json.dumps(whole) + " " * MAX_MANIFEST_BYTES, "too large"),
    ):
        file.write_text(wrong)
        with pytest.raises(ShardDamaged, match=problem):
            Shard(path)
    with pytest.raises(IndexNotFound, match="no encoded shard"):
        Shard(tmp_path / "nowhere")


def test_a_manifest_with_a_right_checksum_is_not_believed(tmp_path: Path) -> None:
    path = make(tmp_path / "s", range(2))
    file = path / "shard.json"
    known = unpack_record("shard.json", file.read_bytes())
    (part,) = known["parts"]
    for change, problem in (
        ({"parts": [part | {"file": part["file"] | {"name": "../part-000001.enc"}}]}, "called part-000001"),
        ({"parts": [part | {"file": part["file"] | {"checksum": 7}}]}, "names no file"),
        ({"parts": [part | {"file": []}]}, "'file' must be"),
        ({"parts": [part | {"more": 1}]}, "unknown 'more'"),
        ({"parts": [part | {"entries": 5}]}, r"part-000001\.enc.*'content' has"),
        ({"parts": [part | {"file": part["file"] | {"file_id": "0" * 16}}]}, "not the one"),
        ({"forms": known["forms"][:1]}, "form 1, and the shard has 1"),
        ({"kind": "index"}, "'kind' must be one of shard"),
        ({"shard": [3, 2]}, "must be a whole number from 1 to 2"),
        ({"more": 1}, "unknown 'more'"),
    ):
        file.write_bytes(pack_record({**known, **change}))
        with pytest.raises(ShardDamaged, match=problem):
            Shard(path)
    file.write_bytes(pack_record({**known, "format": 99}))
    with pytest.raises(FormatTooNew, match="has format 99"):
        Shard(path)


def test_a_shard_of_an_older_release_is_refused_in_one_sentence(tmp_path: Path) -> None:
    path = make(tmp_path / "s", range(2))
    file = path / "shard.json"
    known = unpack_record("shard.json", file.read_bytes())
    first = {"format": "zipfian-shard", "version": 1, "shard": [1, 1], "complete": True, "forms": [], "parts": []}
    for old in (json.dumps(first | {"sha256": "0" * 64}).encode(), pack_record({**known, "format": 1})):
        file.write_bytes(old)
        for opened in (lambda: Shard(path), lambda: ShardWriter(path, 1, 1, FORMS)):
            with pytest.raises(FormatTooOld, match=r"shard\.json is of .* older zipfian.*'zipfian encode'.*new folder"):
                opened()
    assert file.read_bytes() == old


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "s", 1, 1, FORMS) as writer:
        with pytest.raises(IndexLocked, match="another 'zipfian encode'"):
            ShardWriter(tmp_path / "s", 1, 1, FORMS)
        fill(writer, range(2))
        writer.finish({})
    with pytest.raises(InvalidInput, match="holds shard 1/1"):
        ShardWriter(tmp_path / "s", 1, 2, FORMS)
    ShardWriter(tmp_path / "s", 1, 1, FORMS).close()  # the one that was refused holds no lock


def test_a_shard_of_many_parts_keeps_few_files_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "OPEN_PARTS", 2)
    monkeypatch.setattr(module, "PART_BYTES", 1)
    path = make(tmp_path / "s", range(20), forms=(POOLED,))
    shard = Shard(path)
    assert len(shard.manifest.parts) == 20
    before = len(os.listdir("/proc/self/fd"))
    for i in (*range(20), *range(20)):
        same(shard.get(POOLED.key, content(i)), i)
        assert len(os.listdir("/proc/self/fd")) <= before + 2


def test_a_part_is_synced_before_the_manifest_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a power cut could leave a manifest that names a part which is not there."""
    done: list[str] = []
    real_sync, real_write = FSDirectory.sync, Manifest.write

    def sync(directory: FSDirectory) -> None:
        done.append("folder")
        real_sync(directory)

    def write(manifest: Manifest, path: Path) -> None:
        done.append("manifest")
        real_write(manifest, path)

    monkeypatch.setattr(FSDirectory, "sync", sync)
    monkeypatch.setattr(Manifest, "write", write)
    writer = ShardWriter(tmp_path / "s", 1, 1, FORMS)
    fill(writer, range(2))
    done.clear()
    writer.flush()
    assert done == ["folder", "manifest"]


def test_a_folder_is_not_continued_as_another_shard_nor_mixed_with_other_files(tmp_path: Path) -> None:
    path = make(tmp_path / "s", range(2), 1, 4)
    with pytest.raises(InvalidInput, match="holds shard 1/4, not 2/4"):
        ShardWriter(path, 2, 4, FORMS)
    with pytest.raises(FingerprintMismatch, match="was begun with"):
        ShardWriter(path, 1, 4, (POOLED,))
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="other files"):
        ShardWriter(tmp_path / "letters", 1, 4, FORMS)
    with pytest.raises(InvalidInput, match="5/4"):
        ShardWriter(tmp_path / "new", 5, 4, FORMS)
    with pytest.raises(InvalidInput, match="not for"):
        ShardWriter(tmp_path / "new", 1, 4, FORMS).put("enc:9\npooled", content(0), arrays(0))


def test_shards_come_before_the_cache_and_only_what_they_lack_goes_into_it(tmp_path: Path) -> None:
    cache = ShardedCache(
        [make(tmp_path / "a", range(3), 1, 2), make(tmp_path / "b", range(3, 5), 2, 2)], tmp_path / "c"
    )
    assert cache.check_forms(FORMS) == []
    for i in range(5):
        same(cache.get(POOLED.key, content(i)), i)
    assert cache.get(POOLED.key, content(5)) is None
    encoder = object()
    for form in FORMS:
        cache.keep(encoder, form.key, content(5), arrays(5))
    cache.keep(encoder, POOLED.key, content(6), arrays(6))
    assert cache.missing == 2
    same(cache.get(LATENT.key, content(5)), 5)
    same(EncodingCache(tmp_path / "c").get(LATENT.key, content(5)), 5)
    assert EncodingCache(tmp_path / "c").get(LATENT.key, content(0)) is None


def test_shards_that_do_not_fit_are_refused_and_missing_ones_are_remarked(tmp_path: Path) -> None:
    one = make(tmp_path / "one", range(2), 1, 3)
    begun = tmp_path / "begun"
    fill(ShardWriter(begun, 2, 3, FORMS), range(2))
    remarks = ShardedCache([one, begun], tmp_path / "c").check_forms([POOLED])
    assert len(remarks) == 2
    assert f"{begun} is not finished" in remarks[0] and remarks[1] == "of 3 shards 1 is not given: 3/3"
    picture = Form("pic:1", "image", "pooled")
    other = make(tmp_path / "other", range(1), forms=(Form("enc:2", "text", "pooled"),))
    for paths, wanted, problem in (
        ([one, other], FORMS, f"{other}: encoded with enc:2, the fields use enc:1"),
        ([one], (picture,), "nothing that the fields use"),
        ([one], (POOLED, picture), "no shard holds pooled of the encoder pic:1"),
        ([one], (Form("enc:1", "text", "sae:2"),), "nothing that the fields use"),
        ([one], (), "nothing that the fields use"),
    ):
        with pytest.raises(FingerprintMismatch, match=problem):
            ShardedCache(paths, tmp_path / "c").check_forms(wanted)
    pictures = make(tmp_path / "pictures", range(1), forms=(picture,))
    assert ShardedCache([make(tmp_path / "t", range(1)), pictures], tmp_path / "c").check_forms((POOLED, picture)) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_a_full_disk_is_an_error_and_the_shard_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = make(tmp_path / "s", range(2))
    writer = ShardWriter(path, 1, 1, FORMS)
    fill(writer, range(2, 4))

    def full(*_: object) -> None:
        with open("/dev/full", "wb", buffering=0) as device:
            device.write(b"x")

    monkeypatch.setattr(module, "write_part", full)
    with pytest.raises(OSError, match="No space left"):
        writer.flush()
    assert len(Shard(path)) == 4
