"""A heap of hits (score, document) whose root is the worst kept."""

from __future__ import annotations

from typing import Any

from zipfian.retrieve.kernels.jit import inlined, kernel


@inlined
def worse(score_a: float, doc_a: int, score_b: float, doc_b: int) -> bool:
    """Whether hit a ranks behind hit b: lower score, or the same and later in document order."""
    return score_a < score_b or (score_a == score_b and doc_a > doc_b)


@kernel
def _sink(scores: Any, docs: Any, n: int, score: float, doc: int) -> None:
    """Put a hit in the place of the root (the worst) of a heap of n."""
    i = 0
    while True:
        c = 2 * i + 1
        if c >= n:
            break
        if c + 1 < n and worse(scores[c + 1], docs[c + 1], scores[c], docs[c]):
            c += 1
        if not worse(scores[c], docs[c], score, doc):
            break
        scores[i] = scores[c]
        docs[i] = docs[c]
        i = c
    scores[i] = score
    docs[i] = doc


@kernel
def offer(scores: Any, docs: Any, n: int, k: int, score: float, doc: int) -> int:
    """Put a hit into a heap of at most k whose root is the worst kept; returns the new size."""
    if n == k:
        if worse(scores[0], docs[0], score, doc):
            _sink(scores, docs, n, score, doc)
        return n
    i = n
    while i > 0:
        up = (i - 1) >> 1
        if not worse(score, doc, scores[up], docs[up]):
            break
        scores[i] = scores[up]
        docs[i] = docs[up]
        i = up
    scores[i] = score
    docs[i] = doc
    return n + 1


@kernel
def drain(scores: Any, docs: Any, n: int, out_docs: Any, out_scores: Any) -> None:
    """Empty the heap into the output, best first."""
    while n > 0:
        n -= 1
        out_docs[n] = docs[0]
        out_scores[n] = scores[0]
        _sink(scores, docs, n, scores[n], docs[n])
