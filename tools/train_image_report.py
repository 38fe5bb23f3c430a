"""Part of train_image_vocabulary.py: what is kept of a trained vocabulary beside its weights."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from train_image_eval import Codes, Scoring, impacts, measure, stored

from zipfian.train.sae import TrainResult
from zipfian.vocabulary._sae_weights import quantise

STATISTICS_K = (2, 4, 8, 16)


def quantise_in_place(result: TrainResult) -> None:
    steps, step = quantise(result.sae.encoder.cpu().numpy())
    result.sae.encoder.copy_(torch.from_numpy(steps.astype(np.float32) * step[:, None]))


def int8_change(
    result: TrainResult, bench: Any, codes_of: Callable[[TrainResult, torch.Tensor], Codes], scoring: Scoring
) -> float:
    """Put the weights in steps of int8 and say what that did to R@1 (k=8, no cap)."""
    found = []
    for exact in (True, False):
        if not exact:
            quantise_in_place(result)
        k, width = min(8, result.settings.width), result.settings.width
        documents, asked = (
            stored(codes_of(result, side).pooled(k, width, "sum"), None) for side in (bench.gallery, bench.queries)
        )
        found.append(measure(asked, impacts(documents, scoring), scoring, bench.test)["r1"]["all"])
    return found[1] - found[0]


def best_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The best on the even queries under several limits of postings."""
    found = []
    for limit in (32, 64, 128, 256, 512, 1e9):
        few = [row for row in rows if row["postings"] <= limit]
        if few:
            found.append(max(few, key=lambda row: row["r1"]["even"]))
    return found


def statistics(codes: Codes, width: int, folder: Path) -> None:
    """In how many patches and in how many training pictures each term fires, by the terms kept per patch."""
    from safetensors.numpy import save_file

    tensors = {}
    for k in STATISTICS_K:
        fired = codes.values[:, :, :k] > 0
        terms = codes.terms[:, :, :k].long()
        tensors[f"term_count_k{k}"] = torch.bincount(terms[fired], minlength=width).cpu().numpy().astype(np.int32)
        df = torch.zeros(width, dtype=torch.int64, device=terms.device)
        for start in range(0, len(terms), 512):
            part = codes._replace(values=codes.values[start : start + 512], terms=codes.terms[start : start + 512])
            df += (part.pooled(k, width, "max") > 0).sum(dim=0)
        tensors[f"term_df_k{k}"] = df.cpu().numpy().astype(np.int32)
    save_file(tensors, folder / "statistics.safetensors")


def picture_terms(codes: Codes, names: list[str], width: int, k: int, target: Path) -> None:
    """Max-pooled terms of pictures as a sparse matrix, unpruned; names in the file's header."""
    import json

    from safetensors.numpy import save_file

    weights = codes.pooled(k, width, "max")
    rows, columns = torch.nonzero(weights, as_tuple=True)
    indptr = torch.cumsum(torch.bincount(rows, minlength=len(weights)), dim=0)
    tensors = {
        "indptr": np.concatenate([[0], indptr.cpu().numpy()]).astype(np.int64),
        "terms": columns.cpu().numpy().astype(np.uint16),
        "weights": weights[rows, columns].cpu().numpy().astype(np.float16),
    }
    save_file(tensors, target, metadata={"names": json.dumps(names), "k": str(k)})
