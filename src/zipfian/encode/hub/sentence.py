"""What the files of the sentence-transformers layout say: how to pool, which prefixes, which projections."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.encode.hub.files import read_json
from zipfian.errors import InvalidInput
from zipfian.types import FloatArray

Pooling = Literal["mean", "cls"]

_ACTIVATIONS = ("Identity", "Tanh")


@dataclass(frozen=True, slots=True, eq=False)
class Dense:
    """One linear layer, as models of this layout have after the network."""

    weight: FloatArray
    bias: FloatArray | None
    activation: str

    def __call__(self, vectors: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """`vectors` (n, in) to (n, out)."""
        found = vectors @ self.weight.T
        if self.bias is not None:
            found = found + self.bias
        return np.tanh(found) if self.activation == "Tanh" else found


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Defaults that a model's folder gives; None where it says nothing."""

    pooling: Pooling | None
    document_prefix: str | None
    query_prefix: str | None
    expanded_query: int | None
    """Tokens that a late-interaction query is filled up to with [MASK], where the real ones look at those."""
    dense: tuple[Dense, ...]
    late: bool
    """Whether it is a late-interaction model: projections apply to tokens, not to a pooled vector."""


def layout_of(folder: Path) -> Layout:
    """Read the files beside the model's own."""
    modules = _modules(folder)
    kinds = [str(m.get("type", "")).rpartition(".")[2] for m in modules]
    about = read_json(folder, "config_sentence_transformers.json")
    prompts = about.get("prompts") if isinstance(about.get("prompts"), dict) else {}
    prompts = {} if prompts is None else prompts
    dense = tuple(_dense(folder / m["path"]) for m, kind in zip(modules, kinds, strict=True) if kind == "Dense")
    late = bool(dense) and "Pooling" not in kinds
    expand = about.get("do_query_expansion", True) and about.get("attend_to_expansion_tokens", False)
    return Layout(
        pooling=_pooling(folder, modules, kinds),
        document_prefix=_text(about.get("document_prefix", prompts.get("document", prompts.get("passage")))),
        query_prefix=_text(about.get("query_prefix", prompts.get("query"))),
        expanded_query=int(about.get("query_length", 32)) if late and expand else None,
        dense=dense,
        late=late,
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _modules(folder: Path) -> list[dict[str, Any]]:
    path = folder / "modules.json"
    if not path.is_file():
        return []
    try:
        modules = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    inside = isinstance(modules, list) and all(
        isinstance(m, dict) and isinstance(m.get("path"), str) and Path(m["path"]).name == m["path"] for m in modules
    )
    if not inside:
        raise InvalidInput(f"{path} is not a list of modules with folders of their own")
    return list(modules)


def _pooling(folder: Path, modules: list[dict[str, Any]], kinds: list[str]) -> Pooling | None:
    if "Pooling" not in kinds:
        return None
    path = f"{modules[kinds.index('Pooling')]['path']}/config.json"
    about = read_json(folder, path)
    mode = about.get("pooling_mode")
    chosen = {key for key, value in about.items() if key.startswith("pooling_mode_") and value is True}
    if mode == "mean" or chosen == {"pooling_mode_mean_tokens"}:
        return "mean"
    if mode == "cls" or chosen == {"pooling_mode_cls_token"}:
        return "cls"
    raise InvalidInput(f"{folder / path}: only mean and cls pooling are known; say pooling='mean' or pooling='cls'")


def _dense(folder: Path) -> Dense:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    about = read_json(folder, "config.json", needed=True)
    activation = str(about.get("activation_function", "Identity")).rpartition(".")[2]
    if activation not in _ACTIVATIONS:
        raise InvalidInput(f"{folder}: its activation {activation!r} is not known, only {', '.join(_ACTIVATIONS)}")
    path = folder / "model.safetensors"
    if not path.is_file():
        raise InvalidInput(f"{folder} has no model.safetensors; pickled weights are never loaded")
    try:
        tensors = load_file(path)
    except (SafetensorError, ValueError) as error:
        raise InvalidInput(f"{path} is not a readable safetensors file: {error}") from error
    weight = tensors.get("linear.weight")
    if weight is None or weight.ndim != 2:
        raise InvalidInput(f"{path} holds no matrix 'linear.weight'")
    bias = tensors.get("linear.bias")
    return Dense(weight.astype(np.float32), None if bias is None else bias.astype(np.float32), activation)
