"""Ready-made ways to search, as frozen settings.

A preset never reranks where that would lose to its own first stage: text is fused and left as fused (its pooled vector
is the weakest field). Pictures found by their visual terms alone are reranked by their pooled vectors (there the
stronger judge); where both already rank together, nothing comes after.
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
    """What to search with. Fields that a collection does not have are left out of `fields`.

    Examples
    --------
    >>> quick = Preset("mine", "text", ("words", "latent"), "table")
    >>> quick.rerank, quick.rerank_depth
    ('none', 0)
    """

    name: str
    """What it is called by."""
    content: Content
    """What it searches: texts or pictures."""
    fields: tuple[str, ...]
    """Kinds of fields that take part in the first stage."""
    query_encoder: Literal["table", "encoder"]
    """How a text query becomes latent terms: by the table (no neural network) or by the encoder."""
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
            "fields": list(self.fields),
            "query": self.query_encoder,
            "fusion": self.fusion.to_json(),
            "rerank": self.rerank,
            "K": self.rerank_depth,
            "adaptive_k": self.adaptive_k.to_json() if self.adaptive_k else None,
        }


_TEXT = ("words", "latent", "splade")
_NETWORK = ("dense", "aligned", "translated")
"""Fields that a text query reaches through the encoder, and the translation table that needs none."""

PRESETS: dict[str, dict[Content, Preset]] = {
    "latency-first": {
        "text": Preset("latency-first", "text", (*_TEXT, "translated"), "table"),
        "image": Preset("latency-first", "image", ("visual",), "table"),
    },
    "balanced": {
        "text": Preset("balanced", "text", (*_TEXT, *_NETWORK), "encoder"),
        "image": Preset(
            "balanced", "image", ("visual",), "encoder", rerank="dense", rerank_depth=100, adaptive_k=AdaptiveK()
        ),
    },
    "accuracy-first": {
        "text": Preset("accuracy-first", "text", (*_TEXT, *_NETWORK), "encoder"),
        "image": Preset("accuracy-first", "image", ("visual", "dense"), "encoder"),
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
