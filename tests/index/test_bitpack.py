"""Bit packing against a reference that builds the stream as one big Python integer."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zipfian.index.bitpack import BitWriter, bit_widths, pack, unpack, word_count

runs_of_values = st.lists(
    st.integers(0, 32).flatmap(lambda w: st.tuples(st.just(w), st.lists(st.integers(0, 2**w - 1), max_size=150))),
    max_size=12,
)


def arrays(
    runs: list[tuple[int, list[int]]],
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    values = np.array([v for _, vs in runs for v in vs], np.uint32)
    widths = np.array([w for w, _ in runs], np.uint8)
    counts = np.array([len(vs) for _, vs in runs], np.int64)
    return values, widths, counts


def reference(runs: list[tuple[int, list[int]]], used: int = 0) -> tuple[list[int], int]:
    number, at = 0, used
    for width, values in runs:
        for value in values:
            number |= value << at
            at += width
    n_words = (at + 63) // 64
    return [(number >> (64 * i)) & (2**64 - 1) for i in range(n_words)], at


@given(runs_of_values, st.integers(0, 63))
def test_pack_sets_exactly_the_bits_of_the_definition(runs: list[tuple[int, list[int]]], used: int) -> None:
    words, bits = pack(*arrays(runs), used)
    assert (words.tolist(), bits) == reference(runs, used)


@given(runs_of_values)
def test_unpack_inverts_pack(runs: list[tuple[int, list[int]]]) -> None:
    values, widths, counts = arrays(runs)
    words, bits = pack(values, widths, counts)
    words = np.concatenate([words, np.zeros(word_count(bits) - len(words), np.uint64)])
    ends = np.cumsum(widths.astype(np.int64) * counts)
    starts = np.concatenate([[0], ends]).astype(np.int64)[:-1]
    assert unpack(words, starts, widths, counts).tolist() == values.tolist()


@given(runs_of_values, st.lists(st.integers(0, 12), max_size=5))
def test_a_stream_written_in_pieces_is_the_same_stream(runs: list[tuple[int, list[int]]], cuts: list[int]) -> None:
    pieces = []
    writer = BitWriter(lambda words: pieces.append(words.copy()))
    edges = [0, *sorted(min(c, len(runs)) for c in cuts), len(runs)]
    for low, high in itertools.pairwise(edges):
        writer.append(*arrays(runs[low:high]))
    writer.close()
    expected, bits = reference(runs)
    found = np.concatenate(pieces).tolist()
    assert found == expected + [0] * (len(found) - len(expected))
    assert writer.bits == bits and len(found) == word_count(bits) > bits // 64 + 1


def test_more_values_than_fit_one_chunk() -> None:
    rng = np.random.default_rng(1)
    counts = rng.integers(0, 300, 1500)
    widths = rng.integers(0, 33, 1500).astype(np.uint8)
    limit = np.repeat((1 << widths.astype(np.int64)) - 1, counts)
    values = (rng.integers(0, 2**32, counts.sum()) & limit).astype(np.uint32)
    pieces = []
    writer = BitWriter(lambda words: pieces.append(words.copy()))
    writer.append(values, widths, counts)
    writer.close()
    starts = np.concatenate([[0], np.cumsum(widths.astype(np.int64) * counts)])[:-1]
    assert np.array_equal(unpack(np.concatenate(pieces), starts, widths, counts), values)


@pytest.mark.parametrize("value", [0, 1, 2, 3, 4, 127, 128, 2**16 - 1, 2**31, 2**32 - 1])
def test_bit_widths(value: Any) -> None:
    assert bit_widths(np.array([value], np.uint64)).tolist() == [value.bit_length()]
