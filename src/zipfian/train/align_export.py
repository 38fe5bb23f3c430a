"""Trained heads and the translation table as a folder that `zipfian.vocabulary.aligned` reads."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput
from zipfian.train.align import AlignResult
from zipfian.train.align_model import Tower
from zipfian.types import FloatArray
from zipfian.vocabulary import _aligned_file as file
from zipfian.vocabulary._sae_weights import Tensors


def head_tensors(tower: Tower, side: str, sparse: str) -> Tensors:
    """Arrays of one head.

    The standardisation of the input stays apart: folded into the matrices it would give columns of very different size,
    and one int8 step per row would wipe out the small ones.
    """
    state = {name: value.detach().cpu().float().numpy() for name, value in tower.state_dict().items()}
    tensors: Tensors = {f"{side}.{name}": state[name] for name in ("mean", "spread")}
    for name in ("linear", "wide", "narrow"):
        tensors |= file.pack(f"{side}.{name}", state[f"{name}.weight"])
    tensors[f"{side}.wide_bias"] = state["wide.bias"]
    tensors[f"{side}.bias"] = state["linear.bias"] + state["narrow.bias"]
    if tower.embed is not None:
        tensors |= file.pack(f"{side}.{sparse}", state["embed"] * np.float32(math.sqrt(tower.rank)))
    return tensors


def save_alignment(
    results: Sequence[AlignResult],
    folder: str | Path,
    *,
    words: Sequence[str],
    idf: FloatArray,
    term_idf: FloatArray | None = None,
    table: tuple[npt.NDArray[Any], FloatArray] | None = None,
    info: Mapping[str, Any] | None = None,
) -> None:
    """Write `align.safetensors` (int8) and `align.json`.

    Several results are put side by side: their cosines are averaged. `table` is (terms, weights) by word, strongest
    first.
    """
    if not results:
        raise InvalidInput("there are no heads to save")
    tensors: Tensors = {"words.idf": idf.astype(np.float32)}
    for number, result in enumerate(results):
        tensors |= head_tensors(result.heads.text, f"text.{number}", "words")
        tensors |= head_tensors(result.heads.image, f"image.{number}", "terms")
        known = tensors.get(f"text.{number}.words")
        if known is None or len(words) != len(known) or idf.shape != (len(words),):
            raise InvalidInput(f"{len(words)} words do not belong to these heads")
        if result.heads.image.embed is not None:
            if term_idf is None or term_idf.shape != (len(result.heads.image.embed),):
                raise InvalidInput("heads that read visual words need the idf of every one of them")
            tensors["terms.idf"] = term_idf.astype(np.float32)
    if table is not None:
        tensors["table.terms"] = table[0].astype(np.uint16)
        tensors["table.weights"] = table[1].astype(np.float16)
    settings = {
        "words": list(words),
        "members": len(results),
        "dim": sum(result.settings.dim for result in results),
        "training": [result.settings.to_json() for result in results],
        "metrics": [result.metrics() for result in results],
        **(info or {}),
    }
    file.write(Path(folder), tensors, settings)
