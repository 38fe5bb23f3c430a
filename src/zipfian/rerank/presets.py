"""Ready-made ways to search, as frozen settings.

A preset never reranks where that would lose to its own first stage: text is fused and left as fused (its pooled vector
is the weakest field). Pictures are found by visual words and pooled vectors together, which is better than each alone
or level with it (table `visual-words`). Where time matters, visual words find the candidates and pooled vectors order
as many of them as the query needs: no vector of the others is looked at.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from zipfian.errors import InvalidInput
from zipfian.fuse.adaptive import Adaptive
from zipfian.fuse.methods import Method
from zipfian.rerank.adaptive_k import AdaptiveK

Content = Literal["text", "image"]


@dataclass(frozen=True, slots=True)
class Preset:
    """What to search with: fields of terms always take part, the others as it says.

    Examples
    --------
    >>> quick = Preset("mine", "text", "table")
    >>> quick.vectors, quick.rerank_depth
    (False, 0)
    """

    name: str
    """What it is called by."""
    content: Content
    """What it searches: texts or pictures."""
    query_encoder: Literal["table", "encoder"]
    """How a text query becomes latent terms: by the table (no neural network) or by the encoder."""
    vectors: bool = False
    """Whether fields of vectors take part in the first stage."""
    across: bool = False
    """Whether fields take part that lead from texts to pictures or back."""
    fusion: Method = dataclasses.field(default_factory=Adaptive)
    """How fields become one ranking."""
    rerank: Literal["none", "dense"] = "none"
    """What reorders the first hits: nothing, or their pooled vectors."""
    rerank_depth: int = 0
    """Candidates to rerank; 0: none."""
    adaptive_k: AdaptiveK | None = None
    """Chooses how many for every query, at most `rerank_depth`."""

    def to_json(self) -> dict[str, Any]:
        """Plain settings, reported with the hits."""
        return {
            "name": self.name,
            "content": self.content,
            "query": self.query_encoder,
            "vectors": self.vectors,
            "across": self.across,
            "fusion": self.fusion.to_json(),
            "rerank": self.rerank,
            "K": self.rerank_depth,
            "adaptive_k": self.adaptive_k.to_json() if self.adaptive_k else None,
        }


PRESETS: dict[str, dict[Content, Preset]] = {
    "latency-first": {
        "text": Preset("latency-first", "text", "table", across=True),
        "image": Preset("latency-first", "image", "table", rerank="dense", rerank_depth=100, adaptive_k=AdaptiveK()),
    },
    "balanced": {
        "text": Preset("balanced", "text", "encoder", vectors=True, across=True),
        "image": Preset("balanced", "image", "encoder", vectors=True),
    },
    "accuracy-first": {
        "text": Preset("accuracy-first", "text", "encoder", vectors=True, across=True),
        "image": Preset("accuracy-first", "image", "encoder", vectors=True),
    },
}
"""The presets by name, each for texts and for pictures."""


def preset(name: str, content: Content = "text") -> Preset:
    """A preset by name.

    Parameters
    ----------
    name
        `latency-first`, `balanced` or `accuracy-first`.
    content
        What is searched: `text` or `image`.

    Returns
    -------
    Preset
        One of `PRESETS`.

    Raises
    ------
    InvalidInput
        A name or content that no preset has.

    Examples
    --------
    >>> preset("latency-first").query_encoder
    'table'
    """
    if name not in PRESETS:
        raise InvalidInput(f"unknown preset {name!r}; one of {', '.join(PRESETS)}")
    if content not in PRESETS[name]:
        raise InvalidInput(f"presets are for 'text' or 'image', not {content!r}")
    return PRESETS[name][content]
