"""The numbers of a sparse autoencoder that turn token vectors into terms, in memory and on disk.

A folder holds `sae.safetensors` (encoder, bias, mu) and `sae.json` (settings and where it came from). The encoder may
be stored as int8 with one step per term: the loss is far below what retrieval can see, and a file stays small enough
to ship inside the package.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, MissingExtra
from zipfian.objects import JsonObject
from zipfian.storage.regular import sha256_of
from zipfian.types import FloatArray

WEIGHTS_FILE = "sae.safetensors"
SETTINGS_FILE = "sae.json"
FORMAT = 1
Stored = Literal["int8", "float16", "float32"]
Tensors = dict[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class SaeWeights:
    """top-k(ReLU(encoder @ (z - mu) / scale + bias)) of a token vector z."""

    encoder: FloatArray
    """(terms, dim)."""
    bias: FloatArray
    """(terms,)."""
    mu: FloatArray
    """(dim,): what is taken from a token vector first."""
    scale: float
    """What the centred vector is divided by."""
    k: int
    """Terms kept per token in training."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """Settings, data hash, metrics: plain JSON values."""

    def __post_init__(self) -> None:
        if self.encoder.ndim != 2 or 0 in self.encoder.shape:
            raise InvalidInput(f"an encoder is a matrix of terms x dimensions, not of shape {self.encoder.shape}")
        terms, dim = self.encoder.shape
        if terms > limits.MAX_SAE_TERMS or dim > limits.MAX_VECTOR_DIM:
            raise LimitExceeded(
                f"an autoencoder of {terms:,} terms x {dim:,} dimensions: at most {limits.MAX_SAE_TERMS:,} x "
                f"{limits.MAX_VECTOR_DIM:,} are read"
            )
        if self.bias.shape != (terms,) or self.mu.shape != (dim,):
            raise InvalidInput(
                f"bias and mu of shapes {self.bias.shape} and {self.mu.shape} do not fit an encoder of {terms} x {dim}"
            )
        if isinstance(self.k, bool) or not isinstance(self.k, int) or not 1 <= self.k <= terms:
            raise InvalidInput(f"k must be a whole number between 1 and {terms}, not {self.k!r}")
        if not np.isfinite(self.scale) or self.scale <= 0:
            raise InvalidInput(f"the scale must be a finite number above 0, not {self.scale!r}")
        for name in ("encoder", "bias", "mu"):
            if not np.isfinite(getattr(self, name)).all():
                raise InvalidInput(f"the {name} of the autoencoder holds values that are not finite")

    @property
    def n_terms(self) -> int:
        """Size of the vocabulary."""
        return int(self.encoder.shape[0])

    @property
    def dim(self) -> int:
        """Width of the token vectors it reads."""
        return int(self.encoder.shape[1])

    def folded(self) -> tuple[FloatArray, FloatArray]:
        """The same affine map without centring and scaling: (matrix, offset) with matrix @ z + offset."""
        matrix = (self.encoder.astype(np.float64) / self.scale).astype(np.float32)
        offset = self.bias.astype(np.float64) - matrix.astype(np.float64) @ self.mu.astype(np.float64)
        return matrix, offset.astype(np.float32)


def quantise(encoder: npt.NDArray[np.floating]) -> tuple[npt.NDArray[np.int8], FloatArray]:
    """The matrix in int8 and the step of every row."""
    step = np.abs(encoder).max(axis=1).astype(np.float32) / np.float32(127.0)
    step[step == 0] = 1.0
    return np.rint(encoder / step[:, None]).astype(np.int8), step


def to_tensors(weights: SaeWeights, stored: Stored) -> Tensors:
    """The arrays of the weight file."""
    tensors: Tensors = {
        "bias": weights.bias.astype(np.float32),
        "mu": weights.mu.astype(np.float32),
        "scale": np.array([weights.scale], dtype=np.float32),
    }
    if stored == "int8":
        tensors["encoder"], tensors["encoder_step"] = quantise(weights.encoder)
    elif stored in ("float16", "float32"):
        tensors["encoder"] = weights.encoder.astype(stored)
    else:
        raise InvalidInput(f"weights are stored as int8, float16 or float32, not {stored!r}")
    return tensors


def from_tensors(tensors: Mapping[str, npt.NDArray[Any]], k: int, info: Mapping[str, Any]) -> SaeWeights:
    """What `to_tensors` gave, back in float32."""
    missing = {"encoder", "bias", "mu", "scale"} - set(tensors)
    if missing:
        raise InvalidInput(f"the weight file has no {', '.join(sorted(missing))}: it is no zipfian autoencoder")
    encoder = tensors["encoder"].astype(np.float32)
    if tensors["encoder"].dtype == np.int8:
        step = tensors.get("encoder_step")
        if step is None or step.shape != encoder.shape[:1]:
            raise InvalidInput("an int8 encoder needs one step per term in 'encoder_step'")
        encoder *= step.astype(np.float32)[:, None]
    if tensors["scale"].shape != (1,):
        raise InvalidInput(f"'scale' must hold one number, not an array of shape {tensors['scale'].shape}")
    return SaeWeights(
        encoder=encoder,
        bias=tensors["bias"].astype(np.float32),
        mu=tensors["mu"].astype(np.float32),
        scale=float(tensors["scale"][0]),
        k=k,
        info=info,
    )


def save_weights(
    weights: SaeWeights, folder: str | Path, stored: Stored = "int8", extra: Tensors | None = None
) -> None:
    """Write both files; `extra` arrays (a query table, say) travel in the weight file."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {**to_tensors(weights, stored), **(extra or {})}
    _safetensors().save_file({name: np.ascontiguousarray(a) for name, a in tensors.items()}, folder / WEIGHTS_FILE)
    settings = {
        "format": FORMAT,
        "kind": "sae",
        "terms": weights.n_terms,
        "dim": weights.dim,
        "k": weights.k,
        "stored": stored,
        "sha256": sha256_of(folder / WEIGHTS_FILE),
        "info": dict(weights.info),
    }
    (folder / SETTINGS_FILE).write_text(json.dumps(settings, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def load_weights(folder: str | Path) -> tuple[SaeWeights, Tensors, dict[str, Any]]:
    """Weights, all arrays of the file and the settings; a file whose hash differs is refused."""
    tensors, settings = load_tensors(folder)
    return from_tensors(tensors, settings["k"], settings.get("info", {})), tensors, settings


def load_tensors(folder: str | Path) -> tuple[Tensors, dict[str, Any]]:
    """The arrays of the weight file as stored, and the settings; a file whose hash differs is refused."""
    folder = Path(folder)
    settings = read_settings(folder / SETTINGS_FILE)
    path = folder / WEIGHTS_FILE
    check_sha256(path, settings.get("sha256"))
    tensors = read_tensors(path)
    shape = tensors["encoder"].shape if "encoder" in tensors else (0,)
    if shape != (settings.get("terms"), settings.get("dim")):
        raise InvalidInput(
            f"{path} has an encoder of shape {shape}, {SETTINGS_FILE} says {settings.get('terms')} terms of "
            f"{settings.get('dim')} dimensions"
        )
    k = settings.get("k")
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(tensors["encoder"]):
        raise InvalidInput(f"{folder / SETTINGS_FILE}: k must be a whole number between 1 and {shape[0]}, not {k!r}")
    return tensors, settings


def check_sha256(path: Path, expected: object, named_in: str = SETTINGS_FILE) -> None:
    """Refuse a file that is not the one its settings name."""
    if not path.is_file():
        raise InvalidInput(f"{path.parent} holds no {path.name}")
    found = sha256_of(path)
    if found != expected:
        raise InvalidInput(
            f"{path} does not have the sha256 that {named_in} names ({found[:12]}... instead of "
            f"{str(expected)[:12]}...): it is damaged or from another training; get the folder again"
        )


def read_settings(path: Path, kind: str = "sae", what: str = "an autoencoder", newest: int = FORMAT) -> dict[str, Any]:
    """A settings file as JSON, refused when it is not one of ours."""
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist: it is no folder of {what}")
    if path.stat().st_size > limits.MAX_MANIFEST_BYTES:
        raise LimitExceeded(f"{path} has {path.stat().st_size:,} bytes, more than {limits.MAX_MANIFEST_BYTES:,}")
    try:
        settings = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(settings, dict) or settings.get("kind") != kind:
        raise InvalidInput(f"{path} does not describe {what} of zipfian")
    JsonObject(settings, str(path)).version(newest, "format")
    return settings


def read_tensors(path: Path) -> Tensors:
    """All arrays of a safetensors file; damage is an `InvalidInput`."""
    module = _safetensors()
    from safetensors import SafetensorError

    try:
        try:
            tensors: Tensors = module.load_file(path)
        except TypeError:  # numpy has no bfloat16
            tensors = _with_bfloat16(path)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{path} is not a safetensors file that can be read here: {error}") from error
    return tensors


def _with_bfloat16(path: Path) -> Tensors:
    """A bfloat16 is the upper half of a float32."""
    from safetensors import deserialize as untyped

    deserialize: Any = untyped
    known = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I8": np.int8}
    out: Tensors = {}
    for name, part in deserialize(path.read_bytes()):
        if part["dtype"] == "BF16":
            half = np.frombuffer(part["data"], np.uint16)
            array: npt.NDArray[Any] = (half.astype(np.uint32) << 16).view(np.float32)
        elif part["dtype"] in known:
            array = np.frombuffer(part["data"], known[part["dtype"]])
        else:
            raise ValueError(f"{name} holds values of type {part['dtype']}")
        out[name] = array.reshape(part["shape"])
    return out


def _safetensors() -> Any:
    try:
        import safetensors.numpy as module
    except ImportError as error:
        raise MissingExtra("reading an autoencoder", "text") from error
    return module
