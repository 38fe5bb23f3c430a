"""A whole search in one call: terms -> weights -> candidates -> exact scores -> the k best.

How a query is answered, and why it is fast *and* exact:

1. Documents are summed in windows of 2**LOG_WINDOW, so that the accumulators stay in the cache.
2. Each posting carries its impact rounded *up* to 8 bits (relative to the largest impact of its term). The query maps
   these onto 16-bit integers; a document's sum is then an upper bound of its score, off by a known slack.
3. Frequent terms are also kept as one byte per document ("dense rows"). Adding such a row is a vector instruction per
   64 documents, and it is only done for the chunks of 64 whose sum so far could still reach the k-th best.
4. Every document whose bound reaches the proved k-th best is scored again in float64 from its stored term weights,
   terms in query order. What is returned, scores and order, is decided by these numbers alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from zipfian.retrieve.kernels.arrays import Postings
from zipfian.retrieve.kernels.candidates import score_candidates
from zipfian.retrieve.kernels.exact import exact_topk
from zipfian.retrieve.kernels.heaps import drain, offer
from zipfian.retrieve.kernels.jit import kernel
from zipfian.retrieve.kernels.sweep import collect
from zipfian.retrieve.kernels.window import compact
from zipfian.retrieve.layout import SUMMED_TERMS, WINDOW


@kernel
def scale_query(p: Postings, slots: Any, weight: Any, mult: Any) -> Any:
    """Fill the terms' integer multipliers -> (slack, faint, unit); slack < 0: this query cannot be done in integers.

    With `unit` integer steps per score and c = weight x top x unit, a posting of impact v adds (q x mult) >> 8, where
    mult = ceil(c x 256 / 255). As v / top <= q / 255 < v / top + 1 / 255, this lies above c x v / top - 1 and below
    c x v / top + c / 255 + 1. So for every document, with m terms and loose = sum of (c / 255 + 1):

        sum - loose  <  score x unit  <  sum + m

    k documents with sums of at least S then put the k-th best score above (S - loose) / unit, and no document with a
    sum of S - slack or less can reach it. Rounding of floats stays below one step and is covered by the 2 in `slack`.
    No sum reaches 2**16. `faint`: some term can add 0 to a sum though it adds to the score.
    """
    m = len(slots)
    total = 0.0
    for j in range(m):
        total += weight[j] * p.top[slots[j]]
    if m > SUMMED_TERMS or not 1e-200 < total < 1e300:
        return -1, True, 0.0
    unit = (65535.0 - 260.0 - 2.0 * m) / total
    loose = 0.0
    faint = False
    for j in range(m):
        c = weight[j] * p.top[slots[j]] * unit
        loose += c / 255.0 + 1.0
        mult[j] = np.uint16(math.ceil(c * 256.0 / 255.0))
        faint |= mult[j] < 256 and c > 0.0
    return int(loose) + m + 2, faint, unit


@kernel
def topk(
    p: Postings, n_windows: int, norm: Any, spec: Any, slots: Any, weight: Any, k: int, mask: Any, acc: Any,
    out_docs: Any, out_scores: Any,
) -> Any:  # fmt: skip
    """Exact top-k through the 8-bit impacts; returns how many. `weight` is idf x query weight.

    `acc` (uint16 per document of a window) is the caller's buffer, zeroed before and after.
    """
    mult = np.empty(len(slots), np.uint16)
    slack, faint, unit = scale_query(p, slots, weight, mult)
    if slack < 0:
        return exact_topk(p, n_windows, norm, spec, slots, weight, k, mask, out_docs, out_scores)
    room = min(4096 + 4 * k, n_windows * WINDOW)
    cand_doc = np.empty(room, np.int64)
    cand_sum = np.empty(room, np.int64)
    none, first = np.int64(0), np.bool_(True)  # typed: a literal would compile the sweep once more
    n, floor, kth = collect(p, len(norm), slots, mult, k, slack, none, first, mask, acc, cand_doc, cand_sum)
    proved = max(none, kth - slack)
    if n >= 0 and proved < floor:
        # the guessed floor was too high: sweep again from what is proved
        n, floor, kth = collect(
            p, len(norm), slots, mult, k, slack, proved, not first, mask, acc, cand_doc, cand_sum
        )  # fmt: skip
    if n < 0 or (faint and kth < slack):
        # too many near-ties, or the k-th best is so low that documents with a sum of 0 may be among the hits
        return exact_topk(p, n_windows, norm, spec, slots, weight, k, mask, out_docs, out_scores)
    scores = np.empty(k, np.float64)
    docs = np.empty(k, np.int64)
    # Those whose sums are the best are scored first: their exact scores leave few of the others in question.
    first = _best_first(cand_doc, cand_sum, n, kth)
    size = _keep_best(p, norm, spec, slots, weight, k, cand_doc[:first], scores, docs, np.int64(0))
    if size == k:
        # score x unit < sum + m, see `scale_query`; one step more for the rounding of floats
        n = first + compact(cand_doc[first:n], cand_sum[first:n], n - first, int(scores[0] * unit) - len(slots) - 1)
    size = _keep_best(p, norm, spec, slots, weight, k, cand_doc[first:n], scores, docs, size)
    drain(scores, docs, size, out_docs, out_scores)
    return size


@kernel
def _best_first(cand_doc: Any, cand_sum: Any, n: int, kth: int) -> int:
    """Move the candidates whose sum is at least kth to the front; returns how many. Otherwise their order is kept."""
    doc, total = cand_doc[:n].copy(), cand_sum[:n].copy()
    front = 0
    for i in range(n):
        front += int(total[i] >= kth)
    x, y = 0, front
    for i in range(n):
        if total[i] >= kth:
            cand_doc[x], cand_sum[x] = doc[i], total[i]
            x += 1
        else:
            cand_doc[y], cand_sum[y] = doc[i], total[i]
            y += 1
    return front


@kernel
def _keep_best(
    p: Postings, norm: Any, spec: Any, slots: Any, weight: Any, k: int, cand_doc: Any, scores: Any, docs: Any, size: int
) -> int:
    """Score candidates and offer them to the heap of the best; returns its new size."""
    if len(cand_doc) > 0:
        exact = score_candidates(p, norm, spec, slots, weight, cand_doc)
        for i in range(len(cand_doc)):
            if exact[i] > 0.0:
                size = offer(scores, docs, size, k, exact[i], cand_doc[i])
    return size


@kernel
def weigh(terms: Any, given: Any, n_given: int, idf: Any, n_terms: int, slots: Any, weight: Any) -> int:
    """Query terms -> ascending slots and idf x weight, terms worth nothing left out; how many, or < 0 if unusable.

    -1: a term outside the term space. -2: a weight that is not finite or not above 0. -3: a term twice.
    `given` holds n_given weights (after phi), or none: all 1.
    """
    n = len(terms)
    for i in range(n):
        t = terms[i]
        if t < 0 or t >= n_terms:
            return -1
        w = 1.0
        if n_given > 0:
            w = given[i]
            if not (w > 0.0 and w <= 1e6):
                return -2
        y = i
        while y > 0 and slots[y - 1] > t:  # queries are short, and most come sorted
            slots[y] = slots[y - 1]
            weight[y] = weight[y - 1]
            y -= 1
        if y > 0 and slots[y - 1] == t:
            return -3
        slots[y] = t
        weight[y] = w
    kept = 0
    for i in range(n):
        x = weight[i] * idf[slots[i]]
        if x > 0.0:
            slots[kept] = slots[i]
            weight[kept] = x
            kept += 1
    return kept


@kernel
def weigh_many(
    rows: Any, terms: Any, given: Any, n_given: int, idf: Any, n_terms: int, slots: Any, weight: Any, ends: Any
) -> int:  # fmt: skip
    """`weigh` for a batch, one query behind the other; `ends[q + 1]` is where query q ends, or its error.

    Returns the query that cannot be used, or -1.
    """
    at = 0
    for q in range(len(rows) - 1):
        a, b = rows[q], rows[q + 1]
        theirs = given[a:b] if n_given > 0 else given
        n = weigh(terms[a:b], theirs, len(theirs), idf, n_terms, slots[at:], weight[at:])
        if n < 0:
            ends[q + 1] = n
            return q
        at += n
        ends[q + 1] = at
    return -1


@kernel
def query_many(
    p: Postings, n_windows: int, norm: Any, spec: Any, idf: Any, indptr: Any, terms: Any, given: Any, n_given: int,
    k: int, mask: Any, begin: int, end: int, acc: Any, out_docs: Any, out_scores: Any, code: Any,
) -> None:  # fmt: skip
    """Queries begin .. end of a batch into rows of the output; `code` gets each query's count or error.

    A single search is a batch of one: everything happens in one call, and Python's share stays at a few microseconds.
    """
    for i in range(begin, end):
        lo, hi = indptr[i], indptr[i + 1]
        slots = np.empty(hi - lo, np.int64)
        weight = np.empty(hi - lo, np.float64)
        some = given[lo:hi] if n_given > 0 else given
        m = weigh(terms[lo:hi], some, n_given, idf, len(idf), slots, weight)
        if m > 0:
            m = topk(p, n_windows, norm, spec, slots[:m], weight[:m], k, mask, acc, out_docs[i], out_scores[i])
        code[i] = m
