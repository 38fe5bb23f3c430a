"""Text encoders of the hub: single-vector retrievers, late-interaction models, the text halves of CLIP and SigLIP.

By default only windows of exactly equal length run together on a CPU and nothing is padded; on a GPU lengths are
rounded up to a multiple of 32 and the rest is masked. Either way a text's vectors do not depend on its neighbours
beyond rounding: to 1e-5 of their length in float32. With `batch_tokens=1` every window runs alone and they are equal
bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zipfian.encode import base
from zipfian.encode.hub._settings import HubEncoder, array, from_one, model_of, passed, tokens_of
from zipfian.encode.hub._windows import Batch, Planned, Text, batches, unit
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.sentence import Layout, Pooling, layout_of
from zipfian.encode.hub.tokenizing import Frame, Prefixed
from zipfian.encode.hub.towers import Passed, TextTower, text_tower
from zipfian.encode.layers import LayerChoice, checked_layers
from zipfian.encode.tokens import Pieces
from zipfian.encode.windows import LongTexts, checked_long_texts, checked_overlap, window_fingerprint, window_settings
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded, FloatArray

REVISION = 1
"""Counted up when the same text may get other vectors."""

TOKENIZE_ITEMS = 512

Verb = Literal["document", "query"]

PREFIXES = {"nomic_bert": ("search_document: ", "search_query: ")}
"""Of models whose files do not say which prefixes they were trained with."""


class HubTextEncoder(HubEncoder):
    """Word pieces of a text to hidden states of a hub model, and one pooled vector of length 1.

    Parameters
    ----------
    model
        A folder, a hub name (fetched now unless it is in the hub's cache) or a `HubModel` to share.
    layers
        Hidden states to use, side by side: block numbers (-1 the last), each optionally with a factor.
    pooling
        `mean` over all tokens or `cls`, the first one's state; by default what the model's files say, else `mean`.
        The text halves of CLIP and SigLIP have a pooled vector of their own.
    document_prefix, query_prefix
        Task prefixes. By default what the model's files say, and for nomic-embed `search_document: ` and
        `search_query: `. They go through the network and yield no terms.
    projection
        Of a late-interaction model: take token vectors after its projection, of length 1, instead of the hidden states
        before it.
    max_tokens
        Tokens that go through the network at once, special ones and prefix included; by default 512 or what the model
        allows.
    long_texts, overlap
        `windows`: a longer text is encoded in overlapping windows and no token is lost. `cut`: only its beginning is.
    batch_tokens, round_to
        Tokens of a batch; lengths are rounded up to a multiple of `round_to` to share one (1: no padding at all).
    """

    def __init__(
        self,
        model: str | Path | HubModel,
        layers: Sequence[LayerChoice] = (-1,),
        *,
        pooling: Pooling | None = None,
        document_prefix: str | None = None,
        query_prefix: str | None = None,
        projection: bool = False,
        max_tokens: int | None = None,
        long_texts: LongTexts = "windows",
        overlap: int | None = None,
        batch_tokens: int | None = None,
        round_to: int | None = None,
        **where: Any,
    ) -> None:
        self.model = model_of(model, where)
        self._tower: TextTower = text_tower(self.model)
        layout = layout_of(self.model.folder)
        self.layers = checked_layers(layers, self._tower.blocks)
        self.pooling = _pooling(pooling, layout, self._tower)
        self._dense = layout.dense
        self._late = layout.late
        self.projection = _projection(projection, layout, self.layers, self._tower.blocks)
        known = PREFIXES.get(self.model.family.model_type, ("", ""))
        self.document_prefix = _first(document_prefix, layout.document_prefix, known[0])
        self.query_prefix = _first(query_prefix, layout.query_prefix, known[1])
        self.max_tokens = tokens_of(max_tokens, self._tower.positions)
        self._verbs: dict[Verb, tuple[Prefixed, Frame]] = {
            "document": self._verb(self.document_prefix, None),
            "query": self._verb(self.query_prefix, layout.expanded_query),
        }
        self.long_texts = checked_long_texts(long_texts)
        room = min(self._content(verb) for verb in self._verbs)
        if room < 4:
            raise InvalidInput(f"max_tokens {self.max_tokens} leaves {room} tokens for the text beside its prefix")
        self.overlap = checked_overlap(min(self.max_tokens // 4, room // 2) if overlap is None else overlap, room)
        gpu = self.model.device != "cpu"
        self.batch_tokens = from_one(
            "batch_tokens", (32_768 if gpu else 1_024) if batch_tokens is None else batch_tokens
        )
        self.round_to = from_one("round_to", (32 if gpu else 1) if round_to is None else round_to)
        if not self._tower.masks:
            self.round_to = 1

    @property
    def kind(self) -> Literal["text"]:
        """Items are texts."""
        return "text"

    @property
    def dim(self) -> int:
        """Components of a token vector."""
        return self._dense[-1].weight.shape[0] if self.projection else self._tower.width * len(self.layers)

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        if self._tower.own_pooled is not None:
            return self._tower.own_pooled
        return self._dense[-1].weight.shape[0] if self._dense and not self._late else self._tower.width

    @property
    def fingerprint(self) -> str:
        """All files of the model and every setting that changes a vector; where the files came from does not."""
        settings = {
            "library": self.model.family.library,
            "layers": self.layers,
            "pooling": self.pooling,
            "prefixes": [self.document_prefix, self.query_prefix],
            "projection": self.projection,
            **window_fingerprint(self),
        }
        return self.model.fingerprint("text", REVISION, settings)

    @property
    def hub_settings(self) -> dict[str, Any]:
        """What `encode.hub.load` makes an equal encoder from."""
        return {
            **self.model.settings,
            "kind": "text",
            "layers": [list(pair) for pair in self.layers],
            "document_prefix": self.document_prefix,
            "query_prefix": self.query_prefix,
            "projection": self.projection,
            **window_settings(self),
            **({} if self.pooling is None else {"pooling": self.pooling}),
        }

    def encode_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode texts that will be found; results in the order of `items`, all in memory at once."""
        return self._all(items, "document", progress)

    def encode_queries(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode texts to search with: with the query prefix, where the model has one."""
        return self._all(items, "query", progress)

    def try_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[base.Outcome]:
        """As `encode_documents`, but a text that cannot be encoded gives its error in its place."""
        return self._run(self._plan(items, "document"), "document", progress)

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        """Word pieces of each text, special ones and prefix left out; for estimates."""
        tokenizer = self._verbs["document"][0]
        return [len(p) if isinstance(p, Pieces) else 0 for p in tokenizer.tokenize(items)]

    # ------------------------------------------------------------------ settings

    def _verb(self, prefix: str, expanded: int | None) -> tuple[Prefixed, Frame]:
        prefixed = Prefixed(self._tower.tokenizer, prefix)
        frame = self._tower.frame(prefixed.ids)
        if expanded is not None and self._tower.mask_token is not None:
            width = min(expanded, self.max_tokens)
            frame = Frame(frame.before, frame.after, self._tower.mask_token, width)
        return prefixed, frame

    def _content(self, verb: Verb) -> int:
        frame = self._verbs[verb][1]
        return (self.max_tokens if frame.width is None else min(frame.width, self.max_tokens)) - frame.size

    # ------------------------------------------------------------------ work

    def _all(self, items: Sequence[str], verb: Verb, progress: base.Progress | None) -> list[Encoded]:
        plan = self._plan(items, verb)
        for text in plan:
            if isinstance(text, ZipfianError):
                raise text
        return [result for result in self._run(plan, verb, progress) if isinstance(result, Encoded)]

    def _plan(self, items: Sequence[str], verb: Verb) -> list[Planned]:
        if isinstance(items, str):
            raise InvalidInput("a list of texts was expected, not one text")
        tokenizer, frame = self._verbs[verb]
        content = self._content(verb)
        most = content if self.long_texts == "cut" else None
        plan: list[Planned] = []
        for start in range(0, len(items), TOKENIZE_ITEMS):
            for pieces in tokenizer.tokenize(items[start : start + TOKENIZE_ITEMS], most):
                if isinstance(pieces, Pieces):
                    plan.append(Text(len(plan), pieces, frame, content, self.overlap, self.dim))
                else:
                    plan.append(pieces)
        return plan

    def _run(self, plan: list[Planned], verb: Verb, progress: base.Progress | None) -> list[base.Outcome]:
        frame = self._verbs[verb][1]
        jobs = [job for text in plan if isinstance(text, Text) for job in text.jobs]
        done = len(plan) - sum(isinstance(text, Text) for text in plan)
        for batch in batches(jobs, frame, self.batch_tokens, self.round_to):
            for part, found in passed(self.model, batch, self._pass):
                self._place(part, found, plan)
            for job in batch.jobs:
                text = plan[job.item]
                done += isinstance(text, Text) and text.finished_one()
            if progress is not None:
                progress(done, len(plan))
        return [self._encoded(text) if isinstance(text, Text) else text for text in plan]

    def _pass(self, batch: Batch) -> Passed:
        """One batch through the network."""
        return self._tower.run(batch.rows, batch.mask, [layer for layer, _ in self.layers])

    def _place(self, batch: Batch, found: Passed, plan: list[Planned]) -> None:
        """The results of a batch, put where they belong."""
        states = [array(state) for state in found.states]
        factors = [factor for _, factor in self.layers]
        last = array(found.last) if self.pooling is not None else np.empty(0, dtype=np.float32)
        pooled = None if found.pooled is None else array(found.pooled)
        if self.projection:
            states = [self._projected(states[0])]
        for row, job in enumerate(batch.jobs):
            text, start = plan[job.item], int(batch.starts[row])
            if isinstance(text, ZipfianError):
                raise text
            text.place(job, start, [state[row] for state in states], factors)
            if pooled is not None:
                text.pool_one(job, pooled[row])
            elif self.pooling == "mean":
                text.pool_mean(job, start, last[row])
            else:
                text.pool_one(job, last[row, start])

    def _projected(self, states: FloatArray) -> FloatArray:
        found = states.reshape(-1, states.shape[2]).astype(np.float64)
        for dense in self._dense:
            found = dense(found)
        lengths = np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-12)
        result: FloatArray = (found / lengths).astype(np.float32).reshape(*states.shape[:2], -1)
        return result

    def _encoded(self, text: Text) -> Encoded:
        pooled = text.pooled()
        if self._dense and not self._late:
            if self.pooling == "mean":  # a bias and an activation want the mean, not the sum
                pooled = pooled / text.size
            for dense in self._dense:
                pooled = dense(pooled[None])[0]
        vector = unit(pooled)
        ids, spans, vectors = text.pieces.ids, text.pieces.spans, text.vectors
        kept = ~np.isin(ids, list(self._tower.special))
        if not kept.all():
            vectors, spans, ids = vectors[kept], spans[kept], ids[kept]
        return Encoded(vectors, spans, ids, vector)


def _pooling(chosen: Pooling | None, layout: Layout, tower: TextTower) -> Pooling | None:
    if tower.own_pooled is not None:
        if chosen is not None:
            raise InvalidInput("this model has a pooled vector of its own; leave `pooling` out")
        return None
    if chosen not in (None, "mean", "cls"):
        raise InvalidInput(f"pooling must be 'mean' or 'cls', not {chosen!r}")
    return chosen or layout.pooling or "mean"


def _projection(wanted: bool, layout: Layout, layers: Sequence[tuple[int, float]], blocks: int) -> bool:
    if wanted and not layout.late:
        raise InvalidInput("projection=True needs a late-interaction model with a Dense module after its network")
    if wanted and [layer for layer, _ in layers] != [blocks]:
        raise InvalidInput("projection=True reads the last layer; leave `layers` as it is")
    return wanted


def _first(*choices: str | None) -> str:
    return next(choice for choice in choices if choice is not None)
