"""N, df and lengths are integer sums: the same however the documents are spread over segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.retrieve.segments import Row, random_rows, write
from zipfian.errors import FingerprintMismatch, IndexCorrupt
from zipfian.index.deletes import Deletes, FieldDeletes, write_deletes
from zipfian.index.field import FieldWriteSpec
from zipfian.index.segment import SegmentReader
from zipfian.retrieve.statistics import FieldStatistics
from zipfian.storage.directory import FSDirectory
from zipfian.vocabulary import Pruning

ROWS = random_rows(4, 90, 25, 6.0)
GONE = {0, 1, 2, 33, 50, 89}
LIVE = [row for d, row in enumerate(ROWS) if d not in GONE]
FIXED = FieldWriteSpec("fixed", 64.0)
SPECS = {
    "fixed": FIXED,
    "sqrt": FieldWriteSpec("fixed", 64.0, "sqrt"),
    "float32": FieldWriteSpec("float32"),
    "power": FieldWriteSpec("float32", 1.0, "power:0.7"),
}


def exponent(phi: str) -> float:
    return {"identity": 1.0, "sqrt": 0.5}.get(phi) or float(phi.removeprefix("power:"))


def cut(*ends: int) -> tuple[list[list[Row]], list[list[int]]]:
    """The documents in several segments, and the deleted ones of each."""
    bounds = list(zip((0, *ends), (*ends, len(ROWS)), strict=True))
    return [ROWS[a:b] for a, b in bounds], [[d - a for d in sorted(GONE) if a <= d < b] for a, b in bounds]


@pytest.mark.parametrize("stored", SPECS)
@pytest.mark.parametrize("phi", ["identity", "sqrt", "power:0.7"])
def test_the_same_over_any_segments(tmp_path: Path, stored: str, phi: str) -> None:
    spec = SPECS[stored]
    whole = FieldStatistics("t", write(tmp_path / "whole", [LIVE], spec), phi, Pruning())
    parts, gone = cut(20, 21, 60)
    cuts = FieldStatistics("t", write(tmp_path / "cut", parts, spec, gone), phi, Pruning())
    assert cuts.n_live == whole.n_live == len(LIVE)
    assert cuts.n_docs == len(ROWS)
    assert cuts.vocabulary[0] == whole.vocabulary[0]
    assert cuts.vocabulary[1].tolist() == whole.vocabulary[1].tolist()
    assert (cuts.n_terms, cuts.n_live_postings) == (whole.n_terms, whole.n_live_postings)
    assert cuts.n_live_postings == sum(map(len, LIVE))
    assert cuts.lengths[1] == whole.lengths[1]
    assert cuts.mean_length == whole.mean_length
    live = [d for d in range(len(ROWS)) if d not in GONE]
    assert cuts.lengths[0][live].tolist() == whole.lengths[0].tolist()
    # and they are what they are called
    real = [sum(w ** exponent(phi) for w in row.values()) for row in LIVE]
    np.testing.assert_allclose(whole.lengths[0] * whole.unit, real, atol=1e-4)
    for term in range(25):
        docs, weights = cuts.postings(term)
        assert docs.tolist() == [d for d in live if term in ROWS[d]]
        assert weights.tolist() == [ROWS[d][term] for d in docs.tolist()]
        assert cuts.df(term) == len(docs)


@pytest.mark.parametrize(
    "pruning", [Pruning(max_df_share=0.3), Pruning(drop_top_share=0.2), Pruning(max_df_share=0.5, drop_top_share=0.1)]
)
@pytest.mark.parametrize("phi", ["identity", "sqrt"])
def test_a_dropped_term_is_as_if_it_had_never_been(tmp_path: Path, pruning: Pruning, phi: str) -> None:
    parts, gone = cut(45)
    pruned = FieldStatistics("t", write(tmp_path / "c", parts, FIXED, gone), phi, pruning)
    assert pruned.dropped
    without = [{t: w for t, w in row.items() if t not in pruned.dropped} for row in LIVE]
    fresh = FieldStatistics("t", write(tmp_path / "d", [without], FIXED), phi, Pruning())
    assert pruned.lengths[1] == fresh.lengths[1]
    assert pruned.mean_length == fresh.mean_length
    live = [d for d in range(len(ROWS)) if d not in GONE]
    assert pruned.lengths[0][live].tolist() == fresh.lengths[0].tolist()
    for term in range(25):
        assert pruned.df(term) == fresh.df(term)
    df = dict(zip(*(list(x) for x in pruned.vocabulary), strict=True))
    assert min(df[t] for t in pruned.dropped) >= max(n for t, n in df.items() if t not in pruned.dropped)


def test_pruning_follows_deletes(tmp_path: Path) -> None:
    """Which terms are dropped depends on the live documents only."""
    rows: list[Row] = [{1: 1.0, 2: 1.0}, {1: 1.0}, {1: 1.0, 3: 1.0}, {3: 1.0}]
    rule = Pruning(max_df_share=0.5)
    before = FieldStatistics("t", write(tmp_path / "a", [rows], FIXED), "identity", rule)
    after = FieldStatistics("t", write(tmp_path / "b", [rows], FIXED, [[0, 1]]), "identity", rule)
    assert before.dropped == {1}
    assert after.dropped == {3}
    assert after.df(2) == 0


def test_segments_without_the_field_count_as_documents_without_terms(tmp_path: Path) -> None:
    readers = write(tmp_path / "c", [None, [{1: 1.0}, {2: 3.0}], None], FIXED)
    stats = FieldStatistics("t", readers, "identity", Pruning())
    assert (stats.n_docs, stats.n_live) == (8, 8)
    assert stats.postings(2)[0].tolist() == [4]
    assert stats.lengths[0].tolist() == [0, 0, 0, 64, 192, 0, 0, 0]
    assert stats.mean_length * stats.unit == 0.5


def test_words_sort_as_their_bytes_do(tmp_path: Path) -> None:
    rows: list[Row] = [{"z": 1.0, "é": 1.0}, {"日本": 2.0, "a": 1.0}, {"\U00010348": 1.0, "\uffee": 1.0}]
    readers = write(tmp_path / "c", [rows[:1], rows[1:]], FieldWriteSpec("count"))
    stats = FieldStatistics("t", readers, "identity", Pruning())
    assert stats.vocabulary[0] == ["a", "z", "é", "日本", "\uffee", "\U00010348"]
    assert [t.encode() for t in stats.vocabulary[0]] == sorted(t.encode() for t in stats.vocabulary[0])


def test_fields_that_store_weights_in_different_ways_do_not_mix(tmp_path: Path) -> None:
    one = write(tmp_path / "a", [[{1: 1.0}]], FIXED)
    two = write(tmp_path / "b", [[{1: 1.0}]], FieldWriteSpec("fixed", 100.0))
    with pytest.raises(FingerprintMismatch, match="store the weights of field 't' in different ways"):
        FieldStatistics("t", [*one, *two], "identity", Pruning())


def test_huge_lengths_do_not_overflow(tmp_path: Path) -> None:
    """Fixed-point lengths of the largest weights: sums are Python integers."""
    rows: list[Row] = [dict.fromkeys(range(200), 1000000.0) for _ in range(40)]
    readers = write(tmp_path / "c", [rows[:10], rows[10:]], FieldWriteSpec("float32"))
    stats = FieldStatistics("t", readers, "identity", Pruning())
    assert stats.lengths[1] == 40 * 200 * 10**6 * 2**20
    assert stats.mean_length * stats.unit == 200 * 1e6


def forged_deletes(folder: Path, share: FieldDeletes) -> list[SegmentReader]:
    """A segment of three documents, the first deleted, whose delete file takes this away from the field."""
    (reader,) = write(folder, [[{1: 1.0, 2: 1.0}, {1: 1.0}, {2: 1.0}]], FIXED)
    deletes = Deletes(np.array([True, False, False]), {"t": share})
    ref = write_deletes(FSDirectory(folder), "s9.del", deletes)
    return [SegmentReader(FSDirectory(folder), reader.entry.with_file("del", ref))]


def test_deletes_that_count_wrong_are_found_before_room_is_made_for_a_list(tmp_path: Path) -> None:
    right = FieldDeletes(np.array([0, 1]), np.array([1, 1]), 128)
    stats = FieldStatistics("t", forged_deletes(tmp_path / "a", right), "identity", Pruning())
    assert stats.postings(1)[0].tolist() == [1] and stats.df(1) == 1
    wrong = FieldDeletes(np.array([1]), np.array([1]), 128)
    stats = FieldStatistics("t", forged_deletes(tmp_path / "b", wrong), "identity", Pruning())
    assert stats.postings(2)[0].tolist() == [2]
    with pytest.raises(IndexCorrupt, match="takes away from field 't'"):
        stats.postings(1)


def test_a_length_shorter_than_a_dropped_term_is_an_error(tmp_path: Path) -> None:
    (reader,) = write(tmp_path / "a", [[{1: 1.0, 2: 1.0}, {1: 1.0}]], FIXED)
    reader.fields["t"].__dict__["lengths"] = np.array([128, 63], np.uint8)  # term 1 alone takes 64
    stats = FieldStatistics("t", [reader], "identity", Pruning(max_df_share=0.5))
    assert stats.dropped == {1}
    with pytest.raises(IndexCorrupt, match="do not follow from its postings"):
        stats.lengths  # noqa: B018
