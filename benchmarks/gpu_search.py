"""Batches of queries on a GPU beside what else could answer them there, and the engine on all cores of a processor."""

from __future__ import annotations

import argparse
import itertools
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import workloads
from benchmarks.gpu_bench import Bench
from benchmarks.workloads import Shape, Workload
from zipfian import BM25, SparseIndex
from zipfian.retrieve.device_index import DeviceIndex

FULL = ("visual-1m", "latent-1m", "visual-10m")
SMALL = ("visual-10k", "latent-5k")
BATCHES = (1, 32, 500)
DEPTHS = (10, 1_000)
DIMS = (384, 1280)
"""Components of the vectors of the dense products: those of the default encoders of texts and of pictures."""
MOST_DENSE = 40 << 30
"""Bytes of vectors that are tried at most."""
DENSE_ROWS = 1 << 20
"""Vectors that a dense product takes at a time."""


def search(bench: Bench, _: argparse.Namespace) -> dict[str, Any]:
    """Each workload: queries a second, and the share of the memory bandwidth that reading the postings alone takes.

    A batch may read a posting for several queries from the cache, so its share can be above 1.
    """
    copied = bench.torch.empty(bench.sized(1 << 30, 1 << 20), dtype=bench.torch.uint8, device=bench.where)
    bandwidth = 2 * copied.numel() / bench.seconds(copied.clone)
    del copied
    found = {name: _workload(bench, name, bandwidth) for name in (SMALL if bench.quick else FULL)}
    return {"copied_bytes_per_s": bandwidth, **found}


def _workload(bench: Bench, name: str, bandwidth: float) -> dict[str, Any]:
    made, shape = workloads.load(name), workloads.SHAPES[name]
    index = SparseIndex.from_csr(made.indptr, made.indices, made.values, shape.n_terms, BM25(k1=shape.k1, b=shape.b))
    moved = index.to(bench.device)
    out: dict[str, Any] = {
        "documents": made.n_docs, "postings": len(made.indices), "index_bytes_host": index.nbytes,
        "index_bytes_device": moved.nbytes, "kernels": moved.compiled,
        "equal_to_the_processor": _equal(index, moved, made, bench),
    }  # fmt: skip
    df = np.bincount(made.indices, minlength=shape.n_terms)
    peers = {"csr_product": _csr_product(bench, made, shape)}
    try:
        peers["splade_index"] = _splade_index(bench, made, shape)
    except ImportError as error:
        out["splade_index"] = {"left_out": str(error)}
    for dim in DIMS:
        if made.n_docs * dim * 2 < MOST_DENSE:
            peers[f"dense_product {dim}"] = _dense_product(bench, made.n_docs, dim)
    cores = os.cpu_count() or 1
    for batch in BATCHES:
        rows, terms, weights = _rows(made, batch)
        read = 12 * int(df[terms].sum())  # each posting once: a document number and an impact
        for k in DEPTHS:
            queries = (rows, terms, weights)
            found: dict[str, Callable[[], object]] = {
                "zipfian": partial(moved.search_batch, *queries, k=k),
                "zipfian, plain torch": partial(_plainly, moved, *queries, k=k),
                f"processor, {cores} threads": partial(index.search_batch, *queries, k=k, threads=cores),
                **{name: partial(peer, *queries, k) for name, peer in peers.items()},
            }
            row: dict[str, Any] = {"posting_bytes": read}
            for name, work in found.items():
                row[name] = _timed(bench, work, batch)
            if row["zipfian"]["seconds"]:
                row["share_of_bandwidth"] = read / row["zipfian"]["seconds"] / bandwidth
            out[f"batch {batch} k {k}"] = row
    return out


def _plainly(moved: DeviceIndex, rows: Any, terms: Any, weights: Any, k: int) -> object:
    """Without the kernels: what torch's own operations come to."""
    kernels, moved._kernels = moved._kernels, None
    try:
        return moved.search_batch(rows, terms, weights, k)
    finally:
        moved._kernels = kernels


def _timed(bench: Bench, work: Callable[[], object], batch: int) -> dict[str, Any]:
    """Seconds, queries a second and memory; a peer that the device has no room for says so."""
    bench.memory()
    try:
        seconds = bench.seconds(work)
    except bench.torch.OutOfMemoryError as error:
        bench.torch.cuda.empty_cache()
        return {"left_out": str(error).partition("\n")[0][:200], "seconds": None}
    return {"seconds": seconds, "queries_per_s": batch / seconds, "most_bytes_on_device": bench.memory()}


def _rows(made: Workload, batch: int) -> tuple[Any, Any, Any]:
    """The first queries of a workload."""
    rows = made.q_indptr[: batch + 1]
    return rows, made.q_terms[: rows[-1]].astype(np.int64), made.q_weights[: rows[-1]].astype(np.float64)


def _equal(index: SparseIndex, moved: DeviceIndex, made: Workload, bench: Bench) -> bool:
    """Whether ids and scores are those of the processor, to the last bit."""
    queries = _rows(made, bench.sized(200, 20))
    ours, theirs = moved.search_batch(*queries, k=1_000), index.search_batch(*queries, k=1_000)
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


def _csr_product(bench: Bench, made: Workload, shape: Shape) -> Callable[..., object]:
    """What torch's own sparse matrices do: documents x terms in CSR, times a dense matrix of queries, then top-k."""
    torch, where = bench.torch, bench.where
    matrix = torch.sparse_csr_tensor(
        torch.from_numpy(made.indptr), torch.from_numpy(made.indices.astype(np.int64)), torch.from_numpy(made.values),
        size=(made.n_docs, shape.n_terms),
    ).to(where)  # fmt: skip

    def run(rows: Any, terms: Any, weights: Any, k: int) -> object:
        n = len(rows) - 1
        dense = np.zeros((shape.n_terms, n), np.float32)
        dense[terms, np.repeat(np.arange(n), np.diff(rows))] = weights
        scores = matrix @ torch.from_numpy(dense).to(where)
        return [part.cpu() for part in scores.T.topk(min(k, made.n_docs), dim=1)]

    return run


def _splade_index(bench: Bench, made: Workload, shape: Shape) -> Callable[..., object]:
    """What splade-index does on a GPU, given the lists it would have made: a query after the other."""
    from splade_index.pytorch import SPLADE_GPU

    torch, where = bench.torch, bench.where
    terms, order = torch.from_numpy(made.indices).to(where).sort(stable=True)
    rows = torch.from_numpy(np.repeat(np.arange(made.n_docs, dtype=np.int32), np.diff(made.indptr))).to(where)
    counts = torch.bincount(terms, minlength=shape.n_terms).cpu().numpy()
    retriever = SPLADE_GPU(device=where.type)
    retriever.unique_token_ids_set = set(range(shape.n_terms))
    retriever.scores = {
        "data": torch.from_numpy(made.values).to(where)[order], "indices": rows[order],
        "indptr": np.concatenate([[0], np.cumsum(counts)]), "num_docs": made.n_docs,
    }  # fmt: skip

    def run(rows: Any, terms: Any, weights: Any, k: int) -> object:
        return [
            retriever._get_top_k_results(terms[a:b], weights[a:b], k=k, device=where.type)
            for a, b in itertools.pairwise(rows)
        ]

    return run


def _dense_product(bench: Bench, n_docs: int, dim: int) -> Callable[..., object]:
    """What a user of vectors does: half-precision vectors, all products, top-k block by block."""
    torch, where = bench.torch, bench.where
    half = torch.float16 if where.type == "cuda" else torch.float32
    vectors = torch.randn(n_docs, dim, device=where, dtype=half)

    def run(rows: Any, _terms: Any, _weights: Any, k: int) -> object:
        asked = torch.randn(len(rows) - 1, dim, device=where, dtype=half)
        best = None
        for start in range(0, n_docs, DENSE_ROWS):
            part = asked @ vectors[start : start + DENSE_ROWS].T
            values, places = part.topk(min(k, part.shape[1]), dim=1)
            places = places + start
            if best is not None:
                values, places = torch.cat([best[0], values], 1), torch.cat([best[1], places], 1)
                values, order = values.topk(min(k, values.shape[1]), dim=1)
                places = places.gather(1, order)
            best = values, places
        return None if best is None else [column.cpu() for column in best]

    return run
