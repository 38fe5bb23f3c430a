"""A training's whole state in one container file: stop anywhere, go on exactly."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.errors import FormatTooOld, IndexCorrupt, InvalidInput
from zipfian.objects import JsonObject
from zipfian.storage.container import SectionFile
from zipfian.storage.regular import map_regular
from zipfian.storage.replace import replacing_sections
from zipfian.train._checks import too_old
from zipfian.train._torch import torch
from zipfian.train.model import TopKSae
from zipfian.train.settings import SaeSettings

KIND = "training"
_PARTS = ("encoder", "bias", "decoder")


def write_checkpoint(
    path: str | Path, step: int, sae: TopKSae, optimizer: Any, settings: SaeSettings, mu: Any, scale: float
) -> None:
    """Replace the old file in one step: there is always one whole checkpoint."""
    tensors = {"mu": mu, "silent": sae.silent, "dead": sae.dead}
    for name, parameter in zip(_PARTS, sae.parameters(), strict=True):
        tensors[name] = parameter
        for part, value in optimizer.state[parameter].items():
            tensors[f"{name}.{part}"] = value
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    scalars = [name for name, value in tensors.items() if not value.ndim]
    about = {"step": step, "scale": scale, "settings": settings.to_json(), "scalars": scalars}
    with replacing_sections(path, KIND, about) as writer:
        for name, value in tensors.items():
            writer.add(name, np.atleast_1d(value.detach().cpu().numpy()))


def read_checkpoint(
    path: str | Path, sae: TopKSae, optimizer: Any, settings: SaeSettings, device: Any
) -> tuple[int, Any, float]:
    """Put the state back; returns the steps done, mu and the scale."""
    about, tensors = _read(Path(path))
    if about.get("settings") != json.loads(json.dumps(settings.to_json())):
        raise InvalidInput(f"{path} belongs to a training with other settings: delete it or give those settings")
    if missing := {*_PARTS, "mu", "silent", "dead"} - tensors.keys():
        raise _unreadable(path, f"it has no {min(missing)}")
    if tensors["encoder"].shape != sae.encoder.shape:
        raise InvalidInput(f"{path} was trained on vectors of width {tensors['encoder'].shape[-1]}, not {sae.dim}")
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
    found = JsonObject(about, str(path))
    return found.whole("step", 0, 2**53), tensors["mu"].to(device), found.number("scale")


def _read(path: Path) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """What the file says about itself, and its tensors, every byte verified."""
    data = map_regular(path)
    try:
        file = SectionFile.parse(data, path.name, KIND)
        arrays = {name: np.array(file.array(name)) for name in file.names}
    except IndexCorrupt as error:
        if data[8:9].tobytes() == b"{":  # as safetensors files begin, behind the length of their header
            raise too_old(path) from None
        raise _unreadable(path, f"it {error.problem}") from error
    except FormatTooOld:
        raise too_old(path) from None
    scalars = file.meta.get("scalars")
    for name in scalars if isinstance(scalars, list) else ():
        if arrays.get(name, np.empty(0)).shape != (1,):
            raise _unreadable(path, f"its {name!r} is not one number")
        arrays[name] = arrays[name].reshape(())
    return file.meta, {name: torch.from_numpy(array) for name, array in arrays.items()}


def _unreadable(path: str | Path, problem: str) -> InvalidInput:
    return InvalidInput(f"{path} is not a checkpoint that can be read ({problem}): delete it to start over")


def _fused(sae: TopKSae) -> bool:
    return bool(torch.device(sae.device).type == "cuda")
