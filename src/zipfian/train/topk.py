"""The k largest of each row, exactly and fast on wide rows."""

from __future__ import annotations

from typing import Any

from zipfian.train._torch import torch

_GROUP = 32
_WIDE = 2_048


def top_k(rows: Any, k: int) -> tuple[Any, Any]:
    """Values and columns of the k largest entries of every row, largest first."""
    width = rows.shape[1]
    wide = rows.device.type == "cuda" and width >= _WIDE and width % _GROUP == 0 and width // _GROUP > 2 * k
    if wide:
        return grouped_top_k(rows, k)
    found = torch.topk(rows, k, dim=1)
    return found.values, found.indices


def grouped_top_k(rows: Any, k: int) -> tuple[Any, Any]:
    """The same where selection over a wide row is far slower than reading it once, as on a GPU.

    Columns are put in groups; the k largest entries all lie in the k groups with the largest maxima, because any
    other group is beaten by k maxima. So two selections over a few hundred entries replace one over the whole row.
    """
    n, width = rows.shape
    grouped = rows.view(n, width // _GROUP, _GROUP)
    best = torch.topk(grouped.amax(dim=2), k, dim=1, sorted=False).indices
    inside = torch.gather(grouped, 1, best[:, :, None].expand(-1, -1, _GROUP))
    values, place = torch.topk(inside.reshape(n, k * _GROUP), k, dim=1)
    group = torch.gather(best, 1, torch.div(place, _GROUP, rounding_mode="floor"))
    return values, group * _GROUP + place % _GROUP
