"""Files of an alignment: arrays in int8 or fp16, settings in JSON, a hash that ties them together."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, MissingExtra
from zipfian.objects import JsonObject
from zipfian.storage.regular import sha256_of
from zipfian.types import FloatArray
from zipfian.vocabulary._sae_weights import Tensors, check_sha256, quantise, read_settings, read_tensors

WEIGHTS_FILE = "align.safetensors"
SETTINGS_FILE = "align.json"
FORMAT = 1


def pack(name: str, matrix: FloatArray) -> Tensors:
    """A matrix as int8 with one step per row."""
    steps, step = quantise(matrix)
    return {name: steps, f"{name}.step": step}


def unpack(tensors: Mapping[str, npt.NDArray[Any]], name: str) -> FloatArray:
    """What `pack` made, or a plain float array, in float32."""
    if name not in tensors:
        raise InvalidInput(f"the alignment has no array {name!r}: its file is not whole; get the folder again")
    array = tensors[name]
    if array.dtype == np.int8:
        step = tensors.get(f"{name}.step")
        if step is None or array.ndim != 2 or step.shape != array.shape[:1]:
            raise InvalidInput(f"the int8 array {name!r} of the alignment needs one step per row")
        found: FloatArray = array.astype(np.float32) * step.astype(np.float32)[:, None]
    elif array.dtype.kind == "f":
        found = array.astype(np.float32)
    else:
        raise InvalidInput(f"the array {name!r} of the alignment holds {array.dtype}, not weights")
    if not np.isfinite(found).all():
        raise InvalidInput(f"the array {name!r} of the alignment holds values that are not finite")
    return found


def write(folder: Path, tensors: Tensors, settings: Mapping[str, Any]) -> None:
    """Both files."""
    try:
        from safetensors.numpy import save_file
    except ImportError as error:
        raise MissingExtra("writing an alignment", "text") from error
    folder.mkdir(parents=True, exist_ok=True)
    save_file({name: np.ascontiguousarray(array) for name, array in tensors.items()}, folder / WEIGHTS_FILE)
    whole = {**settings, "format": FORMAT, "kind": "align", "sha256": sha256_of(folder / WEIGHTS_FILE)}
    (folder / SETTINGS_FILE).write_text(json.dumps(whole, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def read(folder: Path) -> tuple[Tensors, dict[str, Any]]:
    """Arrays and settings; a file whose hash differs is refused."""
    settings, weights = read_about(folder), folder / WEIGHTS_FILE
    check_sha256(weights, settings.get("sha256"), SETTINGS_FILE)
    return read_tensors(weights), settings


def read_about(folder: Path) -> dict[str, Any]:
    """The settings alone, with the types that their readers count on."""
    path = folder / SETTINGS_FILE
    settings = read_settings(path, "align", "an alignment", FORMAT)
    words = settings.get("words")
    most = limits.MAX_ALIGNED_WORDS
    if not isinstance(words, list) or len(words) > most or not all(isinstance(word, str) for word in words):
        raise InvalidInput(f"'words' of {path} must be a list of at most {most:,} words")
    found = JsonObject(settings, str(path))
    if found.has("name"):
        found.text("name")
    if found.has("terms"):
        terms = found.object("terms")
        for name in ("vocabulary", "fingerprint"):
            if terms.has(name):
                terms.text(name, limits.MAX_PATH_CHARS)
    if found.has("encoders"):
        encoders = found.object("encoders")
        for kind in ("text", "image"):
            if encoders.has(kind):
                _check_encoder(encoders.object(kind))
    return settings


def _check_encoder(about: JsonObject) -> None:
    """What heads say about the encoder they were trained on: fingerprints, and perhaps how to make it."""
    if about.has("fingerprint"):
        about.text("fingerprint")
    if about.has("also"):
        also = JsonObject(known := about.mapping("also", limits.MAX_ALIGNED_MEMBERS), f"{about.what}, 'also'")
        for name in known:
            also.text(name)
