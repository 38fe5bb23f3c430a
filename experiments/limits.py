"""How much is too much for a table; the limits of the package are in `zipfian.limits`."""

MAX_SCORE_CELLS = 500_000_000
"""Queries x documents of one matrix of scores: 4 GB."""

MAX_LOG_BYTES = 64 * 1024 * 1024
"""Bytes of a training log that a table is made from, unpacked."""
