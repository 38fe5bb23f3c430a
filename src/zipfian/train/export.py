"""A trained autoencoder as a vocabulary folder: weights, settings, metrics and a model card."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.train._torch import torch
from zipfian.train.sae import TrainResult
from zipfian.vocabulary._sae_weights import SaeWeights, Stored, Tensors, save_weights


def to_weights(result: TrainResult, info: Mapping[str, Any] | None = None, gain: float = 1.0) -> SaeWeights:
    """The inference half of a training result.

    `gain` multiplies all activations: it changes no selection, only the unit that term frequencies are counted in.
    """
    return SaeWeights(
        encoder=result.sae.encoder.cpu().numpy() * np.float32(gain),
        bias=result.sae.bias.cpu().numpy() * np.float32(gain),
        mu=result.mu.cpu().numpy(),
        scale=result.scale,
        k=result.settings.k,
        info={"settings": result.settings.to_json(), "metrics": result.metrics, "gain": gain, **(info or {})},
    )


def nearest_terms(result: TrainResult, count: int = 16) -> Tensors:
    """For every term the terms with the most similar decoder rows, as small arrays that ship instead of the decoder."""
    with torch.no_grad():
        rows = result.sae.decoder / result.sae.decoder.norm(dim=1, keepdim=True).clamp(min=1e-12)
        count = min(count, len(rows) - 1)
        terms, cosines = [], []
        for start in range(0, len(rows), 2_048):
            part = rows[start : start + 2_048] @ rows.T
            part[torch.arange(len(part)), torch.arange(start, start + len(part))] = -2.0
            found = torch.topk(part, count, dim=1)
            terms.append(found.indices.cpu().numpy())
            cosines.append(found.values.cpu().numpy())
    small = np.uint16 if len(rows) <= 65_536 else np.uint32
    return {
        "nearest_terms": np.concatenate(terms).astype(small),
        "nearest_cosines": np.concatenate(cosines).astype(np.float16),
    }


def save_vocabulary(
    result: TrainResult,
    folder: str | Path,
    *,
    info: Mapping[str, Any] | None = None,
    stored: Stored = "int8",
    gain: float = 1.0,
    extra: Tensors | None = None,
    keep_decoder: bool = False,
) -> SaeWeights:
    """Write `sae.safetensors`, `sae.json`, `history.json`, `README.md` and, if asked, `decoder.safetensors`."""
    folder = Path(folder)
    weights = to_weights(result, info, gain)
    save_weights(weights, folder, stored, {**nearest_terms(result), **(extra or {})})
    history = [asdict(progress) for progress in result.history]
    (folder / "history.json").write_text(json.dumps(history, indent=1) + "\n", encoding="utf-8")
    (folder / "README.md").write_text(model_card(weights, stored), encoding="utf-8")
    if keep_decoder:
        from safetensors.numpy import save_file

        save_file({"decoder": result.sae.decoder.cpu().numpy().astype(np.float16)}, folder / "decoder.safetensors")
    return weights


def model_card(weights: SaeWeights, stored: str) -> str:
    """What it is, what it was trained on and how good it is, in Markdown."""
    info = dict(weights.info)
    metrics, settings = info.get("metrics", {}), info.get("settings", {})
    held_out = metrics.get("held_out") or metrics.get("train") or {}
    lines = [
        f"# {info.get('name', 'Sparse autoencoder vocabulary')}",
        "",
        f"{weights.n_terms:,} terms over token vectors of width {weights.dim}; top-{weights.k} sparse autoencoder, "
        f"encoder stored as {stored}.",
        "",
        "| what | value |",
        "|---|---|",
        f"| encoder model | {info.get('encoder', 'not stated')} |",
        f"| training data | {info.get('data', 'not stated')} |",
        f"| training tokens | {metrics.get('tokens', 'not stated')} |",
        f"| fraction of variance unexplained | {_number(held_out.get('fvu'))} |",
        f"| active terms per token | {_number(held_out.get('l0'))} |",
        f"| terms that never fire | {_number((metrics.get('train') or {}).get('dead'))} |",
    ]
    lines += [f"| {name} | {value} |" for name, value in sorted(settings.items())]
    return "\n".join([*lines, "", str(info.get("notes", "")), ""])


def _number(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "not measured"
