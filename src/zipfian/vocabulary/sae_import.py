"""Autoencoders that others trained: the folder layouts of SAELens and of EleutherAI's sparsify.

Both keep a decoder bias that is usually taken from the input first, which is our mu; their settings say when it is not.
Whatever would make our terms differ from theirs (another activation function, a normalisation we do not do) is refused,
not ignored. `convert_sae` writes what is read here as a folder that `SaeVocabulary.load` and `Latent` take.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from zipfian import limits
from zipfian.errors import IndexExists, InvalidInput, LimitExceeded
from zipfian.vocabulary._sae_weights import SETTINGS_FILE, SaeWeights, Stored, Tensors, read_tensors, save_weights

_CONFIG = "cfg.json"
_SAELENS = "sae_weights.safetensors"
_SPARSIFY = "sae.safetensors"


def convert_sae(source: str | Path, out: str | Path, *, name: str | None = None, stored: Stored = "int8") -> SaeWeights:
    """Read the folder of an autoencoder and write it as a vocabulary's folder; returns the weights as they were read.

    `name` is the vocabulary's, that of `out` unless given. What the folder `out` holds already is left alone.
    """
    target = Path(out)
    if (target / SETTINGS_FILE).exists():
        raise IndexExists(f"{target} holds a vocabulary: choose another folder, or delete it")
    if target.exists() and not target.is_dir():
        raise IndexExists(f"{target} is a file: choose another folder")
    weights = import_sae(source)
    save_weights(replace(weights, info={**weights.info, "name": name or target.resolve().name}), target, stored)
    return weights


def import_sae(folder: str | Path) -> SaeWeights:
    """Read a folder with `cfg.json` and the weights beside it, in either layout."""
    folder = Path(folder)
    config = _config(folder / _CONFIG)
    if (folder / _SAELENS).is_file():
        return _from_saelens(config, read_tensors(folder / _SAELENS), str(folder.name))
    if (folder / _SPARSIFY).is_file():
        return _from_sparsify(config, read_tensors(folder / _SPARSIFY), str(folder.name))
    raise InvalidInput(f"{folder} holds neither {_SAELENS} (SAELens) nor {_SPARSIFY} (sparsify) beside {_CONFIG}")


def _config(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise InvalidInput(f"{path} does not exist: it is no folder of SAELens or sparsify")
    if path.stat().st_size > limits.MAX_MANIFEST_BYTES:
        raise LimitExceeded(f"{path} has {path.stat().st_size:,} bytes, more than {limits.MAX_MANIFEST_BYTES:,}")
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path} is not JSON: {error}") from error
    if not isinstance(config, dict):
        raise InvalidInput(f"{path} does not hold a JSON object")
    return config


def _from_saelens(config: Mapping[str, Any], tensors: Tensors, name: str) -> SaeWeights:
    _need(tensors, ("W_enc", "b_enc", "W_dec", "b_dec"), "SAELens")
    usual = "topk" if config.get("architecture") == "topk" else "relu"
    activation = config.get("activation_fn_str", config.get("activation_fn", usual))
    if config.get("architecture", "standard") not in ("topk", "standard") or activation != "topk":
        raise InvalidInput(
            f"only top-k autoencoders can be imported, not architecture {config.get('architecture')!r} with "
            f"activation {activation!r}"
        )
    if config.get("normalize_activations", "none") not in ("none", None):
        raise InvalidInput(f"activations normalised by {config['normalize_activations']!r} cannot be imported")
    if config.get("reshape_activations", "none") not in ("none", None):
        raise InvalidInput(f"activations reshaped by {config['reshape_activations']!r} cannot be imported")
    k = config.get("k", (config.get("activation_fn_kwargs") or {}).get("k"))
    encoder, bias = tensors["W_enc"].astype(np.float32).T, tensors["b_enc"].astype(np.float32)
    if config.get("rescale_acts_by_decoder_norm", False):
        norm = np.linalg.norm(tensors["W_dec"].astype(np.float32), axis=1)
        encoder, bias = encoder * norm[:, None], bias * norm
    mu = tensors["b_dec"].astype(np.float32)
    return _weights(encoder, bias, mu if config.get("apply_b_dec_to_input", True) else np.zeros_like(mu), k, {
        "name": name, "imported_from": "SAELens", "config": _plain(config),
    })  # fmt: skip


def _from_sparsify(config: Mapping[str, Any], tensors: Tensors, name: str) -> SaeWeights:
    _need(tensors, ("encoder.weight", "encoder.bias", "W_dec", "b_dec"), "sparsify")
    if config.get("activation", "topk") != "topk":
        raise InvalidInput(f"only top-k autoencoders can be imported, not activation {config['activation']!r}")
    if config.get("signed", False):
        raise InvalidInput("an autoencoder with signed activations cannot be imported: terms have weights above 0")
    mu = tensors["b_dec"].astype(np.float32)
    if config.get("transcode", False):
        mu = np.zeros_like(mu)
    encoder = tensors["encoder.weight"].astype(np.float32)
    return _weights(encoder, tensors["encoder.bias"].astype(np.float32), mu, config.get("k"), {
        "name": name, "imported_from": "sparsify", "config": _plain(config),
    })  # fmt: skip


def _weights(encoder: Any, bias: Any, mu: Any, k: object, info: dict[str, Any]) -> SaeWeights:
    if isinstance(k, float) and k.is_integer():
        k = int(k)
    if isinstance(k, bool) or not isinstance(k, int):
        raise InvalidInput(f"the configuration names no whole number k, but {k!r}")
    return SaeWeights(np.ascontiguousarray(encoder), bias, mu, 1.0, k, info)


def _need(tensors: Tensors, names: tuple[str, ...], layout: str) -> None:
    missing = [name for name in names if name not in tensors]
    if missing:
        raise InvalidInput(f"the weights lack {', '.join(missing)}: this is not the layout of {layout}")


def _plain(config: Mapping[str, Any]) -> dict[str, Any]:
    """Configuration values worth keeping: numbers, texts and flags."""
    return {key: value for key, value in config.items() if isinstance(value, (int, float, str, bool))}
