"""What is kept of a trained image vocabulary beside its weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import save_file

from training.codes import Codes

STATISTICS_K = (2, 4, 8, 16)


def statistics(codes: Codes, width: int, folder: Path) -> None:
    """In how many patches and in how many training pictures each term fires, by the terms kept per patch."""
    tensors = {}
    for k in STATISTICS_K:
        fired = codes.terms[:, :k][codes.values[:, :k] > 0]
        tensors[f"term_count_k{k}"] = torch.bincount(fired, minlength=width).cpu().numpy().astype(np.int32)
        tensors[f"term_df_k{k}"] = codes.df(k, width).cpu().numpy().astype(np.int32)
    save_file(tensors, folder / "statistics.safetensors")


def picture_terms(codes: Codes, names: list[str], width: int, k: int, target: Path) -> None:
    """Max-pooled terms of pictures as a sparse matrix, unpruned; names in the file's header."""
    weights = codes.pooled(k, width, "max")
    rows, columns = torch.nonzero(weights, as_tuple=True)
    indptr = torch.cumsum(torch.bincount(rows, minlength=len(weights)), dim=0)
    tensors = {
        "indptr": np.concatenate([[0], indptr.cpu().numpy()]).astype(np.int64),
        "terms": columns.cpu().numpy().astype(np.uint16),
        "weights": weights[rows, columns].cpu().numpy().astype(np.float16),
    }
    save_file(tensors, target, metadata={"names": json.dumps(names), "k": str(k)})
