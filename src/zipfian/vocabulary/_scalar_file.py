"""A fitted rotation on disk: two arrays in safetensors and their settings in JSON, tied together by a fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput, MissingExtra
from zipfian.types import FloatArray

ARRAYS = "scalar.safetensors"
SETTINGS = "scalar.json"
FORMAT = 1


def fingerprint(settings: Mapping[str, Any], rotation: FloatArray, mean: FloatArray) -> str:
    """`scalar:hash` over everything that changes a term."""
    known = hashlib.sha256(json.dumps(dict(settings), sort_keys=True).encode())
    for array in (rotation, mean):
        known.update(np.ascontiguousarray(array, "<f4").tobytes())
    return f"scalar:{known.hexdigest()[:20]}"


def pack(settings: Mapping[str, Any], rotation: FloatArray, mean: FloatArray) -> tuple[bytes, bytes]:
    """The bytes of both files: arrays, then settings."""
    arrays: bytes = _safetensors().save({"rotation": rotation.copy(), "mean": mean.copy()})
    about = {"format": FORMAT, "kind": "scalar", "fingerprint": fingerprint(settings, rotation, mean), **settings}
    return arrays, (json.dumps(about, indent=1, sort_keys=True) + "\n").encode()


def save(folder: Path, settings: Mapping[str, Any], rotation: FloatArray, mean: FloatArray) -> None:
    """Both files; the settings come last, so a folder without them is an unfinished one."""
    arrays, about = pack(settings, rotation, mean)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SETTINGS).unlink(missing_ok=True)
    (folder / ARRAYS).write_bytes(arrays)
    (folder / SETTINGS).write_bytes(about)


def load(folder: Path) -> tuple[dict[str, Any], FloatArray, FloatArray]:
    """Settings, rotation and mean, checked against each other."""
    try:
        about, arrays = (folder / SETTINGS).read_bytes(), (folder / ARRAYS).read_bytes()
    except FileNotFoundError as e:
        raise InvalidInput(f"{folder}: no scalar vocabulary is saved here ({Path(e.filename).name} is missing)") from e
    except OSError as e:
        raise InvalidInput(f"{folder}: the scalar vocabulary cannot be read ({e})") from e
    return unpack(arrays, about, str(folder))


def unpack(packed: bytes, about: bytes, folder: str) -> tuple[dict[str, Any], FloatArray, FloatArray]:
    """What `pack` was given; `folder` says in messages where the bytes come from."""
    read = _safetensors()
    try:
        settings = json.loads(about)
        arrays: dict[str, npt.NDArray[Any]] = read.load(packed)
    except (ValueError, _damaged()) as e:
        raise InvalidInput(f"{folder}: the scalar vocabulary cannot be read ({e})") from e
    if not isinstance(settings, dict) or settings.pop("kind", None) != "scalar":
        raise InvalidInput(f"{folder}: {SETTINGS} does not describe a scalar vocabulary")
    version = settings.pop("format", None)
    if isinstance(version, int) and version > FORMAT:
        raise FormatTooNew(f"{folder}: a scalar vocabulary of format {version}; this zipfian reads {FORMAT}: upgrade")
    if set(arrays) != {"rotation", "mean"}:
        raise InvalidInput(f"{folder}: {ARRAYS} holds {', '.join(sorted(arrays))}, not rotation and mean")
    written = settings.pop("fingerprint", None)
    found = fingerprint(settings, arrays["rotation"], arrays["mean"])
    if written != found:
        raise FingerprintMismatch(
            f"{folder}: its files make the scalar vocabulary {found}, its settings say {written}: one of them was "
            "changed or belongs elsewhere; copy both again, or fit and index anew"
        )
    return settings, arrays["rotation"], arrays["mean"]


def _damaged() -> type[Exception]:
    from safetensors import SafetensorError

    found: type[Exception] = SafetensorError
    return found


def _safetensors() -> Any:
    try:
        import safetensors.numpy
    except ImportError:
        raise MissingExtra("saving or loading a scalar vocabulary", "text") from None
    return safetensors.numpy
