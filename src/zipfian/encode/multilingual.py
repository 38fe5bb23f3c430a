"""The text encoder for 16 languages: the multilingual Universal Sentence Encoder without TensorFlow.

A text and its translation get similar vectors, so a query in one language finds texts in another. Every window runs
alone, so a text's vectors are the same bits whatever else is encoded with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from zipfian.encode import base, models, weights
from zipfian.encode._texts import Results, WindowedTexts
from zipfian.encode.plan import Batch, Job, batches
from zipfian.encode.sentencepiece import SentencePieceTokenizer
from zipfian.encode.session import Session
from zipfian.encode.use import POOLED, TOKENS, WIDTH, PieceTable, read_arrays, use_graph
from zipfian.encode.windows import LongTexts, window_fingerprint

LANGUAGES = frozenset({"ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"})
"""What the model was trained on; `zh` is both ways to write Chinese, which makes it 16."""

REVISION = 1
"""Counted up when the same text may get other vectors."""

DEFAULT_TOKENS = 256
"""The network takes any number. Windows of this length found paragraphs of XQuAD as well as whole ones did (nDCG@10
within .004), and texts of 16 of them better by .02 to .03."""
MOST_TOKENS = 8_192


@dataclass(frozen=True, slots=True)
class _Loaded:
    table: PieceTable
    session: Session


class MultilingualEncoder(WindowedTexts):
    """Pieces of a text in any of 16 languages to vectors of 512 numbers, and one pooled vector of length 1.

    A token's vector is what the network adds up over the text before its last layers: the piece and its neighbours, up
    to four on each side. Weights are looked for, checked and loaded at the first use, not here.

    Parameters
    ----------
    max_tokens
        Tokens that go through the network at once, the two special ones included.
    long_texts
        `windows`: a longer text is encoded in overlapping windows, and its pooled vector is their mean. `cut`: only its
        beginning is encoded.
    overlap
        Tokens that neighbouring windows share at least; by default a quarter of `max_tokens`.
    threads
        Windows encoded side by side; by default one per processor.
    source
        File, folder or archive to take the weights from when the cache has none.
    progress
        Called with (bytes done, bytes in all) while weights are fetched.

    Raises
    ------
    InvalidInput
        A number out of its range.

    Examples
    --------
    >>> encoder = MultilingualEncoder()
    >>> encoder.pooled_dim, len(encoder.languages), "ko" in encoder.languages
    (512, 15, True)
    """

    languages = LANGUAGES
    """ISO 639-1 codes of the languages that it reads."""

    def __init__(
        self,
        *,
        max_tokens: int = DEFAULT_TOKENS,
        long_texts: LongTexts = "windows",
        overlap: int | None = None,
        threads: int | None = None,
        source: Path | None = None,
        progress: base.Progress | None = None,
    ) -> None:
        super().__init__(max_tokens, MOST_TOKENS, long_texts, overlap, threads)
        self._source = source
        self._progress = progress
        self._lock = threading.RLock()
        self._tokenizer: SentencePieceTokenizer | None = None
        self._loaded: _Loaded | None = None

    @property
    def dim(self) -> int:
        """Components of a token vector."""
        return WIDTH

    @property
    def pooled_dim(self) -> int:
        """Components of the pooled vector."""
        return WIDTH

    @property
    def fingerprint(self) -> str:
        """Model, tokenizer and every setting that changes a vector."""
        files = {file.name: file.sha256 for file in models.USE_MULTILINGUAL.files}
        settings = {"revision": REVISION, "files": files, **window_fingerprint(self)}
        return base.fingerprint(models.USE_MULTILINGUAL.name, settings)

    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""
        self._ready()

    def _batches(self, jobs: Sequence[Job]) -> Iterator[Batch]:
        return batches(jobs, batch_tokens=1)

    def _worker(self, results: Results) -> Callable[[Batch], Batch]:
        loaded, tokenizer = self._ready(), self._pieces()

        def work(batch: Batch) -> Batch:
            rows = batch.rows(tokenizer.start, tokenizer.end)
            share = np.array([1 / np.sqrt(rows.shape[1])], dtype=np.float32)
            for job, row in zip(batch.jobs, rows, strict=True):
                inputs = {"embeddings": loaded.table[row], "share": share}
                states, pooled = loaded.session.run([TOKENS, POOLED], inputs)
                results.of(job).add_pooled(job, states, pooled[0] / np.linalg.norm(pooled[0]))
            return batch

        return work

    def _ready(self) -> _Loaded:
        with self._lock:
            if self._loaded is None:
                files = weights.get(models.USE_MULTILINGUAL, source=self._source, progress=self._progress)
                arrays = read_arrays(files["weights.npz"])
                self._loaded = _Loaded(PieceTable(arrays), Session(use_graph(arrays), "text"))
            return self._loaded

    def _pieces(self) -> SentencePieceTokenizer:
        """The tokenizer, whose file is small: loaded without the network's weights."""
        with self._lock:
            if self._tokenizer is None:
                only = replace(models.USE_MULTILINGUAL, files=(models.USE_MULTILINGUAL.file("sp.model"),))
                files = weights.get(only, source=self._source, progress=self._progress)
                self._tokenizer = SentencePieceTokenizer(files["sp.model"])
            return self._tokenizer
