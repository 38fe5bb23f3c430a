"""SPLADE: a masked language model whose guesses, over all positions of a text, are weighted words.

A word piece's weight is log(1 + ReLU(logit)) where it is largest. The result has the shape of any encoder's, with the
active pieces in the place of tokens: `pieces` are their ids, `vectors` (n, 1) their weights, `places` the characters of
the token that spoke for each. `vocabulary.splade` turns that into terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from zipfian.device import Precision
from zipfian.encode import base
from zipfian.encode.hub._settings import array, from_one, model_of, passed, tokens_of
from zipfian.encode.hub._torch import module
from zipfian.encode.hub._windows import Batch, batches, unit
from zipfian.encode.hub.model import HubModel
from zipfian.encode.hub.tokenizing import Prefixed
from zipfian.encode.hub.towers import PlainTower
from zipfian.encode.plan import Job, jobs_of
from zipfian.encode.tokens import Pieces
from zipfian.encode.windows import LongTexts, checked_long_texts, checked_overlap, window_fingerprint, window_settings
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded, FloatArray, IntArray

REVISION = 1
"""Counted up when the same text may get other weights."""

MASKED = "AutoModelForMaskedLM"


class _Words:
    """One text while its windows come in: the largest weight of every piece of the vocabulary, and where."""

    def __init__(self, item: int, pieces: Pieces, content: int, overlap: int) -> None:
        self.pieces = pieces
        self.jobs = jobs_of(item, pieces, content, overlap)
        self.weights: FloatArray = np.zeros(0, dtype=np.float32)
        self.places: IntArray = np.zeros((0, 2), dtype=np.int32)
        self.sum: Any = 0.0
        self._missing = len(self.jobs)

    def add(self, job: Job, weights: FloatArray, positions: IntArray, before: int) -> None:
        """The maxima of one window, and the positions in its row that had them."""
        spans = self.pieces.spans[job.window.start : job.window.stop]
        end = int(spans[-1, 1]) if len(spans) else 0
        start = int(spans[0, 0]) if len(spans) else 0
        row = np.concatenate((np.full((before, 2), start), spans, np.full((2, 2), end))).astype(np.int32)
        if not len(self.weights):  # only now: as large as the vocabulary, and there may be many texts
            self.weights = np.zeros_like(weights)
            self.places = np.zeros((len(weights), 2), dtype=np.int32)
        better = weights > self.weights
        self.weights[better] = weights[better]
        self.places[better] = row[np.minimum(positions[better], len(row) - 1)]

    def finished_one(self) -> bool:
        """Count a window as done; whether it was the last."""
        self._missing -= 1
        return self._missing == 0

    def clear(self) -> None:
        """Let go of the dense rows."""
        self.weights, self.places = self.weights[:0].copy(), self.places[:0].copy()

    def encoded(self) -> Encoded:
        """The active pieces alone."""
        ids = np.flatnonzero(self.weights > 0).astype(np.int32)
        return Encoded(self.weights[ids][:, None], self.places[ids], ids, unit(self.sum))


class SpladeEncoder:
    """Texts to weighted word pieces of a masked language model trained for it.

    Parameters
    ----------
    model
        A folder, a hub name or a `HubModel` to share.
    max_tokens, long_texts, overlap
        As for `HubTextEncoder`; over windows, too, the largest weight counts.
    batch_tokens
        Tokens of a batch. A row of logits has as many numbers as the vocabulary: 30 MB for 256 tokens.
    """

    def __init__(
        self,
        model: str | Path | HubModel,
        *,
        max_tokens: int | None = None,
        long_texts: LongTexts = "windows",
        overlap: int | None = None,
        batch_tokens: int | None = None,
        **where: Any,
    ) -> None:
        self.model = model_of(model, where)
        if self.model.family.kinds != ("text",) or not _masked(self.model):
            raise InvalidInput(
                f"{self.model.name} is no masked language model (architectures: "
                f"{self.model.family.config.get('architectures')}); SPLADE needs one"
            )
        self._tower = PlainTower(self.model)
        self._tokenizer = Prefixed(self._tower.tokenizer, "")
        self._frame = self._tower.frame(())
        self.n_terms = int(self.model.family.config["vocab_size"])
        self.max_tokens = tokens_of(max_tokens, self._tower.positions)
        self.long_texts = checked_long_texts(long_texts)
        self._content = self.max_tokens - self._frame.size
        self.overlap = checked_overlap(self.max_tokens // 4 if overlap is None else overlap, self._content)
        default = 512 if self.model.device == "cpu" else 16_384
        self.batch_tokens = from_one("batch_tokens", default if batch_tokens is None else batch_tokens)

    @property
    def kind(self) -> Literal["text"]:
        """Items are texts."""
        return "text"

    @property
    def dim(self) -> int:
        """A weight is one number."""
        return 1

    @property
    def precision(self) -> Precision:
        """Of the large products."""
        return self.model.precision

    @property
    def pooled_dim(self) -> int:
        """Components of the mean hidden state."""
        return self._tower.width

    @property
    def fingerprint(self) -> str:
        """All files of the model and every setting that changes a weight."""
        return self.model.fingerprint("splade", REVISION, window_fingerprint(self))

    @property
    def hub_settings(self) -> dict[str, Any]:
        """What `encode.hub.load` makes an equal encoder from."""
        return {**self.model.settings, "kind": "splade", **window_settings(self)}

    def labels(self) -> list[str]:
        """The word piece of each term id."""
        tokenizer = self.model.tokenizer()
        known = tokenizer.convert_ids_to_tokens(list(range(min(self.n_terms, len(tokenizer)))))
        return [*known, *(f"[{i}]" for i in range(len(known), self.n_terms))]

    def encode_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Expand texts that will be found; results in the order of `items`."""
        plan = self._plan(items)
        for text in plan:
            if isinstance(text, ZipfianError):
                raise text
        return [result for result in self._run(plan, progress) if isinstance(result, Encoded)]

    def encode_queries(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Expand texts to search with: the same work."""
        return self.encode_documents(items, progress=progress)

    def try_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[base.Outcome]:
        """As `encode_documents`, but a text that cannot be encoded gives its error in its place."""
        return self._run(self._plan(items), progress)

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        """Word pieces of each text; how many become active is known only after a pass."""
        return [len(p) if isinstance(p, Pieces) else 0 for p in self._tokenizer.tokenize(items)]

    def _plan(self, items: Sequence[str]) -> list[_Words | ZipfianError]:
        if isinstance(items, str):
            raise InvalidInput("a list of texts was expected, not one text")
        found = self._tokenizer.tokenize(items, self._content if self.long_texts == "cut" else None)
        return [
            _Words(i, pieces, self._content, self.overlap) if isinstance(pieces, Pieces) else pieces
            for i, pieces in enumerate(found)
        ]

    def _run(self, plan: list[_Words | ZipfianError], progress: base.Progress | None) -> list[base.Outcome]:
        jobs = [job for text in plan if isinstance(text, _Words) for job in text.jobs]
        results: dict[int, base.Outcome] = {i: text for i, text in enumerate(plan) if isinstance(text, ZipfianError)}
        for batch in batches(jobs, self._frame, self.batch_tokens, 1):
            for part, (weights, positions, sums) in passed(self.model, batch, self._pass):
                for row, job in enumerate(part.jobs):
                    text = plan[job.item]
                    if isinstance(text, ZipfianError):
                        raise text
                    text.add(job, weights[row], positions[row], len(self._frame.before))
                    text.sum = text.sum + sums[row].astype(np.float64)
                    if text.finished_one():
                        results[job.item] = text.encoded()
                        text.clear()
            if progress is not None:
                progress(len(results), len(plan))
        return [results[i] for i in range(len(plan))]

    def _pass(self, batch: Batch) -> tuple[FloatArray, IntArray, FloatArray]:
        """Weights and positions (n, terms), and the sum of the last hidden states (n, width)."""
        torch = module("torch")
        with self.model.running(MASKED) as network:
            ids = torch.from_numpy(batch.rows).to(self.model.device)
            found = network(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
            best = torch.log1p(torch.relu(found.logits.float())).max(dim=1)
            sums = found.hidden_states[-1].float().sum(dim=1)
            if not bool(torch.isfinite(best.values).all()):
                raise InvalidInput(
                    f"{self.model.name}: logits are not finite; the weights or the precision are at fault"
                )
            return array(best.values), best.indices.int().cpu().numpy(), array(sums)


def _masked(model: HubModel) -> bool:
    names = model.family.config.get("architectures") or []
    return any(str(name).endswith("ForMaskedLM") for name in names)
