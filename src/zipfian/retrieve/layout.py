"""Numbers that both the kernels and the code around them must agree on (no numba here)."""

from __future__ import annotations

LOG_WINDOW = 15
WINDOW = 1 << LOG_WINDOW
"""Documents per window: 16-bit accumulators of one window take 64 KiB and stay in the second-level cache."""

MASK = WINDOW - 1
"""document & MASK = its place within the window."""

LOG_CHUNK = 6
CHUNK = 1 << LOG_CHUNK
"""Documents tested at once against the threshold: two AVX-512 or four AVX2 registers of accumulators."""

DENSE_SHARE = 16
"""A term in more than 1/16 of the documents also gets a dense row of one byte per document."""

ALWAYS_DENSE = 8
"""A term in more than 1/8 of the documents is always read from its row, one in fewer where that saves time."""

ROW_PADDING = 192
"""Bytes after each dense row: rows a power of two apart would fight for the same cache sets."""

SHORT_PER_WINDOW = 4
"""A list with fewer than 4 postings per window stores window numbers instead of window bounds."""

CODES = 65_535
"""Up to this many different weights a `SparseIndex` keeps as 16-bit numbers of a table."""

SPAN = 64
"""Positions of a list that are compared with a document at once, in a few vector instructions."""

SAMPLE = 8
"""Every 8th window is swept first; the k-th best of all documents is then guessed from it (and checked)."""

LOG_STEP = 4
"""The k-th best sum is known to within 2**LOG_STEP of 65,536; see `kernels.counts`."""

MIN_SAMPLED = 4
"""Windows below which there is nothing to gain from a sample."""

SUMMED_TERMS = 1024
"""Queries with more terms are summed in float64: 16-bit sums would be too coarse to leave many documents out."""

TINY = 1e-290
"""Impacts up to this are quantised as if they were equal: 255 / top must stay finite."""

SATURATE, BM25L, LINEAR, LOGTF = 0, 1, 2, 3
"""Scoring families: a x / (x + norm) + b; the same of x / norm + b; x itself; (1 + ln x) / norm."""
