"""What encoders of texts share: cut a text into windows, run these on some threads, put the results together."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from zipfian.encode import base
from zipfian.encode._gather import Gathering
from zipfian.encode.plan import Batch, Job, jobs_of
from zipfian.encode.session import checked_threads, side_by_side
from zipfian.encode.tokens import Pieces, PieceTokenizer
from zipfian.encode.windows import LongTexts, checked_long_texts, checked_overlap, checked_tokens
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded

TOKENIZE_ITEMS = 512


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done for a list of texts."""

    items: list[Pieces | ZipfianError]
    """The pieces of each text, or what is wrong with it."""
    jobs: list[Job]
    """The windows of all of them, in order."""

    def add(self, pieces: Pieces | ZipfianError, size: int, overlap: int) -> None:
        """The next text, or what is wrong with it."""
        if isinstance(pieces, Pieces):
            self.jobs.extend(jobs_of(len(self.items), pieces, size, overlap))
        self.items.append(pieces)


class Results:
    """Where the results of a plan go."""

    def __init__(self, plan: Plan, dim: int) -> None:
        parts = Counter(job.item for job in plan.jobs)
        self.gatherings: list[Gathering | ZipfianError] = [
            Gathering(pieces, parts[number], dim) if isinstance(pieces, Pieces) else pieces
            for number, pieces in enumerate(plan.items)
        ]

    def of(self, job: Job) -> Gathering:
        """Where a job's results go."""
        found = self.gatherings[job.item]
        if isinstance(found, ZipfianError):
            raise found
        return found


class WindowedTexts(ABC):
    """The verbs of an encoder whose network takes a window of tokens between a start and an end token."""

    def __init__(
        self, max_tokens: int, most: int, long_texts: LongTexts, overlap: int | None, threads: int | None
    ) -> None:
        self.max_tokens = checked_tokens(max_tokens, most)
        self.long_texts: LongTexts = checked_long_texts(long_texts)
        self.overlap = checked_overlap(max_tokens // 4 if overlap is None else overlap, max_tokens - 2)
        self.keep_special = False
        self.threads = checked_threads(threads)

    @property
    def kind(self) -> Literal["text"]:
        """Items are texts."""
        return "text"

    @property
    @abstractmethod
    def dim(self) -> int:
        """Components of a token vector."""

    @abstractmethod
    def load(self) -> None:
        """Fetch, check and load the weights now instead of at the first use."""

    @abstractmethod
    def _pieces(self) -> PieceTokenizer:
        """The tokenizer, loaded without the network's weights."""

    @abstractmethod
    def _batches(self, jobs: Sequence[Job]) -> Iterator[Batch]:
        """Which windows go through the network together."""

    @abstractmethod
    def _worker(self, results: Results) -> Callable[[Batch], Batch]:
        """The network's pass over a batch, which hands over what it made of each window."""

    def encode_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode texts that will be found; results in the order of `items`, all in memory at once.

        `progress` is called with (texts done, texts in all).
        """
        plan = self._plan(items)
        for pieces in plan.items:
            if isinstance(pieces, ZipfianError):
                raise pieces
        return [_sound(result) for result in self._run(plan, progress)]

    def try_documents(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[base.Outcome]:
        """As `encode_documents`, but a text of `items` that cannot be encoded gives its error; `progress` likewise."""
        return self._run(self._plan(items), progress)

    def encode_queries(self, items: Sequence[str], *, progress: base.Progress | None = None) -> list[Encoded]:
        """Encode texts to search with: this model has no prefixes, so `items` and `progress` mean the same work."""
        return self.encode_documents(items, progress=progress)

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        """Word pieces of each of `items`, special ones left out; for estimates, and cheap beside encoding."""
        return self._pieces().counts(items)

    def _plan(self, items: Sequence[str]) -> Plan:
        if isinstance(items, str):
            raise InvalidInput("a list of texts was expected, not one text")
        self.load()  # first, so that weights that are missing are an error even for no texts
        tokenizer = self._pieces()
        content = self.max_tokens - 2
        plan = Plan([], [])
        for start in range(0, len(items), TOKENIZE_ITEMS):
            part = items[start : start + TOKENIZE_ITEMS]
            for pieces in tokenizer.tokenize(part, content if self.long_texts == "cut" else None):
                plan.add(pieces, content, self.overlap)
        return plan

    def _run(self, plan: Plan, progress: base.Progress | None) -> list[base.Outcome]:
        done = 0
        results = Results(plan, self.dim)
        for batch in side_by_side(self._worker(results), self._batches(plan.jobs), self.threads):
            for job in batch.jobs:
                done += results.of(job).finished_one()
            if progress is not None:
                progress(done, len(plan.items))
        tokenizer = self._pieces()
        return [g.encoded(tokenizer, self.keep_special) if isinstance(g, Gathering) else g for g in results.gatherings]


def _sound(outcome: base.Outcome) -> Encoded:
    if not isinstance(outcome, Encoded):
        raise outcome
    return outcome
