"""The kernels of a GPU, compiled for the processor, against the engine: the same documents, order and bits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.device import emulated
from tests.device.emulated import needs_compiler
from tests.device.faults import TORCH_CPU, needs_torch, out_of_memory
from tests.device.test_index import SCORINGS, build, same
from tests.retrieve import corpora
from tests.retrieve.brute import Corpus, from_columns
from zipfian import BM25, Dot, SparseIndex
from zipfian.errors import DeviceMemory
from zipfian.retrieve import device_blocks, device_index, device_parts, device_sums

pytestmark = [needs_torch, needs_compiler]

SIZES = (*corpora.SMALL, 1_023, 1_024, 1_025, 5_000, 33_000)


@contextmanager
def by_blocks(short: int = device_parts.SHORT, **kernels: Any) -> Iterator[None]:
    """Indexes that are moved here use the kernels."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(device_index, "kernels_for", lambda _: emulated.kernels(**kernels))
        patch.setattr(device_parts, "PART_WINDOWS", 1)
        patch.setattr(device_parts, "SHORT", short)
        yield


@corpora.examples(60)
@given(
    data=st.data(), corpus=corpora.corpora(SIZES), scoring=st.sampled_from(SCORINGS),
    k=st.sampled_from([1, 2, 10, 200, 1_000]), short=st.sampled_from([0, 3, 512]),
)  # fmt: skip
def test_any_index_any_queries(data: st.DataObject, corpus: Corpus, scoring: Any, k: int, short: int) -> None:
    index = build(corpus, scoring)
    queries = [data.draw(corpora.queries(corpus.n_terms)) for _ in range(3)]
    with by_blocks(short):
        same(index, index.to(TORCH_CPU), queries, k, data.draw(corpora.masks(corpus.n_docs)))


def skewed(n_docs: int, n_terms: int, seed: int) -> SparseIndex:
    """Terms of very different frequency, weights of any size."""
    rng = np.random.default_rng(seed)
    columns = []
    for term in range(n_terms):
        docs = np.flatnonzero(rng.random(n_docs) < 0.9 / (1 + term))
        columns.append((docs, rng.random(len(docs)) * 5 + 0.01))
    return build(from_columns(n_docs, columns), BM25())


@pytest.mark.parametrize("k", [1, 10, 100, 1_000])
def test_several_parts_and_many_terms(k: int) -> None:
    """More terms than are looked up at a time, lists longer than a block has threads, a second part."""
    index = skewed(40_000, 300, k)
    rng = np.random.default_rng(k)
    queries = [(rng.permutation(300)[:n], rng.random(n) + 0.1) for n in (300, 40, 1)]
    with by_blocks(short=40):
        moved = index.to(TORCH_CPU)
        assert len(moved._parts) == 2
        same(index, moved, queries, k)
        same(index, moved, queries, k, rng.random(40_000) < 0.1)


def test_sums_grow_in_the_order_of_the_terms() -> None:
    weights = np.tile([1e-3, 1e6, 3.3e-4, 7e5], 500) * np.random.default_rng(0).random(2_000).clip(0.1)
    index = SparseIndex.from_csr(np.arange(501) * 4, np.tile([0, 1, 2, 3], 500), weights, 4, Dot())
    queries = [(np.random.default_rng(i).permutation(4), np.random.default_rng(i).random(4) + 0.1) for i in range(20)]
    with by_blocks():
        same(index, index.to(TORCH_CPU), queries, 500)


@pytest.mark.parametrize("k", [1, 10, 1_000])
def test_more_equal_scores_than_room_are_left_to_plain_torch(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 documents of three kinds only: every place of every query is shared."""
    kinds = np.random.default_rng(1).integers(0, 3, 20_000)
    indices = np.concatenate([[[0, 1], [1, 2], [0, 2]][kind] for kind in kinds])
    index = SparseIndex.from_csr(np.arange(20_001) * 2, indices, np.ones(40_000), 3, Dot())
    left: list[int] = []

    def plain(torch: Any, parts: Any, queries: Any, *rest: Any) -> Any:
        left.append(queries.n)
        return device_sums.best_of_parts(torch, parts, queries, *rest)

    monkeypatch.setattr(device_index, "best_of_parts", plain)
    with by_blocks():
        same(index, index.to(TORCH_CPU), [([0], None), ([0, 1, 2], [1.0, 2.0, 0.5]), ([], [])], k)
    assert left == [1, 1], "the query without terms has no equal scores"


def test_few_reach_the_last_place_and_few_blocks_are_added_up_again() -> None:
    """What makes it fast: of 40 blocks, those of the ten best documents."""
    index = skewed(40_000, 50, 3)
    seen: dict[str, Any] = {}
    with by_blocks():
        kernels = emulated.kernels()

        def collect(queries: int, blocks: int, args: Any) -> None:
            kernels.collect(queries, blocks, args)
            seen["best"], seen["least"], seen["count"] = args[13].clone(), args[16].clone(), args[19].clone()

        with pytest.MonkeyPatch.context() as patch:
            watched = device_blocks.Kernels(kernels.maxima, collect, kernels.block_docs)
            patch.setattr(device_index, "kernels_for", lambda _: watched)
            moved = index.to(TORCH_CPU)
            same(index, moved, [(np.arange(20), None)], 10)
    reached = (seen["best"] >= seen["least"][:, None]).view(1, -1, 32).any(dim=2)
    assert reached.shape == (1, 40) and int(reached.sum()) <= 10 <= int(seen["count"][0]) < 20


@pytest.mark.parametrize(
    "broken",
    [
        ("first + block * BLOCK_DOCS + i", "first + i"),
        ("found >= floor", "found > floor"),
        ("sums[i] >= floor", "sums[i] > floor"),
        ("me + THREADS; i < size", "me + 2 * THREADS; i < size"),
        ("to = from + cut[1]", "to = from + cut[0]"),
        ("if (hidden[first + i])", "if (hidden[i])"),
        ("j + u < n && me < size[j + u]", "j + u < n - 1 && me < size[j + u]"),
        ("chunk += AT_A_TIME", "chunk += 2 * AT_A_TIME"),
        ("if (at[half] > *at) *at = at[half];", ""),
        ("column + block * buckets + i] = sums", "column + i] = sums"),
    ],
)
def test_a_wrong_line_is_noticed(broken: tuple[str, str]) -> None:
    """A test that no wrong line can break is none."""
    index = skewed(5_000, 300, 1)
    rng = np.random.default_rng(1)
    queries = [(np.arange(300), rng.random(300) + 0.1), (np.arange(5), None)]
    with by_blocks(short=40, replaced=broken):
        moved = index.to(TORCH_CPU)
        with pytest.raises(AssertionError):
            same(index, moved, queries, 1)
            same(index, moved, queries, 10)
            same(index, moved, queries, 10, rng.random(5_000) < 0.1)


def test_too_many_queries_at_once_are_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    index = skewed(2_000, 20, 5)
    sizes: list[int] = []

    def best(torch: Any, kernels: Any, parts: Any, queries: Any, *rest: Any) -> Any:
        sizes.append(len(queries[0]) - 1)
        return out_of_memory() if sizes[-1] > 2 else device_blocks.best_of_blocks(torch, kernels, parts, queries, *rest)

    monkeypatch.setattr(device_index, "best_of_blocks", best)
    with by_blocks():
        moved = index.to(TORCH_CPU)
        with pytest.warns(RuntimeWarning, match="no room for 5 queries at a time; going on with 2"):
            same(index, moved, [([i, i + 1], None) for i in range(5)], 5)
        assert sizes == [5, 2, 2, 1]
        monkeypatch.setattr(device_index, "best_of_blocks", out_of_memory)
        with warnings.catch_warnings(), pytest.raises(DeviceMemory, match="the sums of one query"):
            warnings.simplefilter("ignore")
            moved.search_batch([0, 1], [0])


def test_kernels_that_cannot_be_compiled_are_told_and_done_without(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    device_blocks.kernels_for.cache_clear()
    monkeypatch.setattr(torch.cuda, "device", lambda _: warnings.catch_warnings())

    def broken(*_: object) -> Any:
        raise RuntimeError("Kernel compilation failed:\nline 3: no such thing")

    monkeypatch.setattr(torch.cuda, "_compile_kernel", broken)
    with pytest.warns(RuntimeWarning, match=r"'cuda' could not be compiled \(Kernel compilation failed:\); batches"):
        assert device_blocks.kernels_for("cuda") is None
    device_blocks.kernels_for.cache_clear()
    made: list[tuple[str, str]] = []

    def compiled(code: str, name: str) -> Any:
        made.append((code, name))
        return kernel

    monkeypatch.setattr(torch.cuda, "_compile_kernel", compiled)
    asked: list[Any] = []
    kernel: Any = lambda **how: asked.append(how)  # noqa: E731 - it gets an attribute
    kernel.set_shared_memory_config = asked.append
    found = device_blocks.kernels_for("cuda")
    device_blocks.kernels_for.cache_clear()
    assert found is not None and [name for _, name in made] == ["maxima", "collect"] and asked == [65_536, 65_536]
    assert made[0][0].startswith("#define BLOCK_DOCS 8192\n#define THREADS 512\n")
    found.collect(3, 7, (SimpleNamespace(), 2))
    assert (asked[2]["grid"], asked[2]["block"], asked[2]["shared_mem"]) == ((3, 7, 1), (512, 1, 1), 65_536)
    assert device_blocks.kernels_for(TORCH_CPU) is None
