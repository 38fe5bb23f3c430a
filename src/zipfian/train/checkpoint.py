"""A training's whole state in one safetensors file: stop anywhere, go on exactly."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from zipfian.errors import InvalidInput
from zipfian.train._torch import torch
from zipfian.train.model import TopKSae
from zipfian.train.settings import SaeSettings

_PARTS = ("encoder", "bias", "decoder")


def write_checkpoint(
    path: str | Path, step: int, sae: TopKSae, optimizer: Any, settings: SaeSettings, mu: Any, scale: float
) -> None:
    """Write beside the old file and rename: there is always one whole checkpoint."""
    from safetensors.torch import save_file

    tensors = {"mu": mu, "silent": sae.silent, "dead": sae.dead}
    for name, parameter in zip(_PARTS, sae.parameters(), strict=True):
        tensors[name] = parameter
        for part, value in optimizer.state[parameter].items():
            tensors[f"{name}.{part}"] = value
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".part")
    about = {"step": step, "scale": scale, "settings": settings.to_json()}
    save_file(
        {name: value.detach().cpu().contiguous() for name, value in tensors.items()},
        unfinished,
        metadata={"zipfian": json.dumps(about)},
    )
    os.replace(unfinished, path)


def read_checkpoint(
    path: str | Path, sae: TopKSae, optimizer: Any, settings: SaeSettings, device: Any
) -> tuple[int, Any, float]:
    """Put the state back; returns the steps done, mu and the scale."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(str(path), framework="pt") as stream:
            about = json.loads((stream.metadata() or {}).get("zipfian", "null"))
            tensors = {name: stream.get_tensor(name) for name in stream.keys()}  # noqa: SIM118
    except (SafetensorError, ValueError) as error:
        raise InvalidInput(f"{path} is not a checkpoint that can be read ({error}): delete it to start over") from error
    if not isinstance(about, dict) or about.get("settings") != json.loads(json.dumps(settings.to_json())):
        raise InvalidInput(f"{path} belongs to a training with other settings: delete it or give those settings")
    if tensors["encoder"].shape != sae.encoder.shape:
        raise InvalidInput(f"{path} was trained on vectors of width {tensors['encoder'].shape[1]}, not {sae.dim}")
    for name, parameter in zip(_PARTS, sae.parameters(), strict=True):
        parameter.copy_(tensors[name])
        prefix = name + "."
        optimizer.state[parameter] = {
            key.removeprefix(prefix): value if key.endswith(".step") and not _fused(sae) else value.to(device)
            for key, value in tensors.items()
            if key.startswith(prefix)
        }
    sae.silent.copy_(tensors["silent"])
    sae.dead = tensors["dead"].to(device)
    return int(about["step"]), tensors["mu"].to(device), float(about["scale"])


def _fused(sae: TopKSae) -> bool:
    return bool(torch.device(sae.device).type == "cuda")
