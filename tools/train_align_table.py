"""Part of train_align.py: the table from words to visual words, and its fusion with the heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from train_align_data import Coder, Flickr, Words

from zipfian.train.translate import ridge_table

Table = tuple[np.ndarray, np.ndarray]
STRENGTHS = (1.0, 3.0, 10.0, 30.0)
KEEPS = (32, 64, 128)


def impacts(documents: torch.Tensor, scoring: tuple[float, float, Any], idf: torch.Tensor | None) -> torch.Tensor:
    """BM25's part of every posting; with idf of these documents, or without."""
    k1, b, phi = scoring
    power = {"identity": 1.0, "sqrt": 0.5}.get(phi)
    tf = documents.float().pow(float(str(phi).removeprefix("power:")) if power is None else power)
    length = tf.sum(dim=1, keepdim=True)
    found = tf * (k1 + 1.0) / (tf + k1 * (1.0 - b + b * length / length.mean()))
    return found if idf is None else found * idf


def own_idf(documents: torch.Tensor) -> torch.Tensor:
    n, df = len(documents), (documents > 0).sum(dim=0).float()
    return torch.log(1.0 + (n - df + 0.5) / (df + 0.5))


def table_scores(
    table: Table, flickr: Flickr, split: str, coder: Coder, words: Words, chosen: dict[str, Any]
) -> torch.Tensor:
    """Pictures x captions: what a search of the visual leg with the translated caption would score."""
    del words
    stored = flickr.terms[split]
    device = stored.device
    weights = impacts(stored, coder.scoring, own_idf(stored))
    dense = torch.zeros(len(table[0]), stored.shape[1], device=device)
    dense.scatter_(1, torch.from_numpy(table[0].astype(np.int64)).to(device), torch.from_numpy(table[1]).to(device))
    said = (flickr.parts[split].words.to(device) > 0).float()
    asked = (said @ dense).clamp(min=0.0)
    scores = weights @ asked.pow(float(chosen["query_power"])).T
    # Captions of many words score higher with every picture; only the direction from pictures to texts notices.
    return scores / asked.pow(float(chosen["query_power"])).norm(dim=1).clamp(min=1e-9)


def choose_table(
    flickr: Flickr, words: Words, coder: Coder, recalls_of: Callable[[torch.Tensor], dict[str, float]], say: Any
) -> tuple[Table, dict[str, Any]]:
    """The strength of the ridge, the length of a row and whether rows hold idf: by the sum of dev's R@10."""
    train = flickr.parts["train"]
    n = len(flickr.terms["train"])
    per = len(train.words) // n
    said = (train.words > 0).float().view(n, per, -1).mean(dim=1).cpu().numpy()
    best: tuple[float, Table, dict[str, Any]] | None = None
    for idf in (True, False):
        target = impacts(flickr.terms["train"], coder.scoring, flickr.term_idf if idf else None).cpu().numpy()
        for strength in STRENGTHS:
            whole = ridge_table(said, target, strength=strength, keep=max(KEEPS))
            for keep in KEEPS:
                table = (whole[0][:, :keep], whole[1][:, :keep])
                for power in (0.5, 1.0):
                    chosen = {"idf": idf, "strength": strength, "keep": keep, "query_power": power}
                    found = recalls_of(table_scores(table, flickr, "dev", coder, words, chosen))
                    score = found["t2i_r@10"] + found["i2t_r@10"]
                    if best is None or score > best[0]:
                        best = (score, table, chosen)
            say(f"table idf {idf} strength {strength}: best so far {best[0] if best else 0:.4f} {best and best[2]}")
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
