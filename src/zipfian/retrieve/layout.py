"""The geometry shared by the arena that lays postings out and the kernels that read them (no numba here)."""

from __future__ import annotations

LOG_WINDOW = 15
WINDOW = 1 << LOG_WINDOW
"""Documents per window: 16-bit accumulators of one window take 64 KiB and stay in the second-level cache."""

LOG_CHUNK = 6
CHUNK = 1 << LOG_CHUNK
"""Documents tested at once against the threshold: two AVX-512 or four AVX2 registers of accumulators."""

DENSE_SHARE = 8
"""A term in more than 1/8 of the documents also gets a dense row of one byte per document."""

SHORT_PER_WINDOW = 4
"""A list with fewer than 4 postings per window stores window numbers instead of window bounds."""

FORWARD_TERMS = 1 << 22
"""Up to this many terms a `SparseIndex` keeps the rows as well; a search then needs 2 bytes per term of scratch."""
