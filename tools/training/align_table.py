"""The table from words to visual words, and its fusion with the heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from texts import Array

from training.align_data import Coder, Flickr
from training.ranking import impacts, saturated
from zipfian.train.translate import ridge_table

Table = tuple[Array, Array]
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
KEEPS = (32, 64, 128)


def table_scores(table: Table, flickr: Flickr, split: str, coder: Coder, chosen: dict[str, Any]) -> torch.Tensor:
    """Pictures x captions: what a search of the visual field with the translated caption would score."""
    stored = flickr.terms[split].float()
    device = stored.device
    weights = impacts(stored, coder.scoring)
    dense = torch.zeros(len(table[0]), stored.shape[1], device=device)
    dense.scatter_(1, torch.from_numpy(table[0].astype(np.int64)).to(device), torch.from_numpy(table[1]).to(device))
    said = (flickr.parts[split].words.to(device) > 0).float()
    asked = (said @ dense).clamp(min=0.0)
    scores = weights @ asked.pow(float(chosen["query_power"])).T
    # Captions of many words score higher with every picture; only the direction from pictures to texts notices.
    return scores / asked.pow(float(chosen["query_power"])).norm(dim=1).clamp(min=1e-9)


def choose_table(
    flickr: Flickr, coder: Coder, recalls_of: Callable[[torch.Tensor], dict[str, float]], say: Callable[[str], None]
) -> tuple[Table, dict[str, Any]]:
    """The strength of the ridge, the length of a row and whether rows hold idf: by the sum of dev's R@10."""
    train = flickr.parts["train"]
    n = len(flickr.terms["train"])
    per = len(train.words) // n
    said = (train.words > 0).float().view(n, per, -1).mean(dim=1).cpu().numpy()
    best: tuple[float, Table, dict[str, Any]] | None = None
    bare = saturated(flickr.terms["train"].float(), coder.scoring)
    for idf in (True, False):
        target = (bare * flickr.term_idf if idf else bare).cpu().numpy()
        for strength in STRENGTHS:
            whole = ridge_table(said, target, strength=strength, keep=max(KEEPS))
            for keep in KEEPS:
                table = (whole[0][:, :keep], whole[1][:, :keep])
                for power in (0.5, 1.0):
                    chosen = {"idf": idf, "strength": strength, "keep": keep, "query_power": power}
                    found = recalls_of(table_scores(table, flickr, "dev", coder, chosen))
                    score = found["t2i_r@10"] + found["i2t_r@10"]
                    if best is None or score > best[0]:
                        best = (score, table, chosen)
            if best is not None:
                say(f"table idf {idf} strength {strength}: best so far {best[0]:.4f} {best[2]}")
    if best is None:
        raise SystemExit("no table was tried")
    return best[1], best[2]


def fused(heads: torch.Tensor, table: torch.Tensor, weight: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of standard scores over each query's candidates: for captions as queries, and for pictures as queries."""
    found = [standard(heads, over) + weight * standard(table, over) for over in (0, 1)]
    return found[0], found[1]


def standard(scores: torch.Tensor, over: int) -> torch.Tensor:
    """Each query's scores brought to mean 0 and deviation 1."""
    spread = scores.std(dim=over, keepdim=True).clamp(min=1e-9)
    return (scores - scores.mean(dim=over, keepdim=True)) / spread
