"""One posting set of a segment, for writing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, LimitExceeded
from zipfian.index._arrays import Ints, smallest_uint, stable_order
from zipfian.index.field import KIND, FieldWriteSpec
from zipfian.index.forward import ForwardWriter
from zipfian.index.lengths import document_lengths, exact_sum
from zipfian.index.passages import check_passages, write_passages
from zipfian.index.postings import Docs, PostingsWriter, Tf
from zipfian.index.terms import IdTerms, WordTerms, make_terms
from zipfian.limits import MAX_DOCUMENT_TERMS, MAX_DOCUMENTS, MAX_WEIGHT
from zipfian.storage.container import FileRef, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.types import FieldBatch, Passages

_ROWS = 1 << 16
"""Documents whose rows are encoded at once."""


def write_field(directory: Directory, name: str, batch: FieldBatch, spec: FieldWriteSpec) -> FileRef:
    """Write a field file; terms that no document has are left out of its dictionary.

    `InvalidInput` unless the batch is what `FieldBatch` promises: what is written is never checked against it again.
    """
    terms = make_terms(batch.terms)
    indptr, indices = check_batch(batch, len(terms), spec)
    n_docs = len(indptr) - 1
    df = np.bincount(indices, minlength=len(terms)).astype(np.int64)
    used = np.flatnonzero(df)
    if len(used) < len(terms):
        renumber = np.zeros(len(terms), np.int32)
        renumber[used] = np.arange(len(used))
        terms, df, indices = terms.select(used), df[used], renumber[indices]
    order = stable_order(indices, max(len(terms) - 1, 0))
    docs = np.repeat(np.arange(n_docs, dtype=np.int32), np.diff(indptr))[order]
    tf = batch.tf[order]
    return write_field_file(
        directory,
        name,
        spec,
        terms,
        df,
        postings=[(df, docs, tf)],
        lengths=document_lengths(indptr, batch.tf, spec.tf, spec.scale, spec.phi),
        rows=_rows(indptr, indices),
        passages=batch.passages,
    )


def write_field_file(
    directory: Directory,
    name: str,
    spec: FieldWriteSpec,
    terms: IdTerms | WordTerms,
    df: Ints,
    *,
    postings: Iterable[tuple[Ints, Docs, Tf]],
    lengths: npt.NDArray[Any],
    rows: Iterable[tuple[Ints, npt.NDArray[np.int32]]],
    passages: Passages | None = None,
) -> FileRef:
    """Write a field file from pieces, each needed only once, so that a field may be larger than memory.

    `postings` gives (df, documents, tf) of consecutive terms, `rows` (terms per document, terms) of consecutive
    documents; both describe the same postings. `df` is that of all terms, `lengths` those of all documents. With
    `passages`, it is these that all of it counts.
    """
    n_docs, n_postings = len(lengths), int(df.sum())
    if passages is not None:
        check_passages(passages, len(passages.first) - 1, n_docs)
    meta: dict[str, Any] = {
        "n_docs": n_docs,
        "n_terms": len(terms),
        "n_postings": n_postings,
        "terms": terms.kind,
        "tf": spec.tf,
        "scale": spec.scale,
        "phi": spec.phi,
        "total_length": exact_sum(lengths),
    }
    with SectionWriter(directory, name, KIND, meta) as file:
        terms.write(file)
        file.add("df", smallest_uint(df))
        file.add("lengths", smallest_uint(lengths))
        blocks = PostingsWriter(file)
        for piece in postings:
            blocks.append(*piece)
        blocks.close()
        forward = ForwardWriter(file, n_docs, len(terms), n_postings)
        for row in rows:
            forward.append(*row)
        forward.close()
        file.meta["forward_low"] = forward.low
        if passages is not None:
            write_passages(file, passages)
        return file.close()


def check_batch(batch: FieldBatch, n_terms: int, spec: FieldWriteSpec) -> tuple[Ints, npt.NDArray[np.int32]]:
    """The batch's structure, or `InvalidInput` saying what is wrong with it."""
    indptr, indices, tf = batch.indptr.astype(np.int64), batch.indices, batch.tf
    if not len(indptr) or int(indptr[0]) != 0 or np.any(np.diff(indptr) < 0):
        raise InvalidInput("indptr must start at 0 and never fall")
    if not int(indptr[-1]) == len(indices) == len(tf):
        raise InvalidInput(f"indptr ends at {indptr[-1]}, but there are {len(indices)} indices and {len(tf)} tf")
    if len(indptr) - 1 > MAX_DOCUMENTS:
        raise LimitExceeded(f"{len(indptr) - 1} documents are over the limit of {MAX_DOCUMENTS}")
    if len(indptr) > 1 and int(np.diff(indptr).max()) > MAX_DOCUMENT_TERMS:
        raise LimitExceeded(f"a document has {np.diff(indptr).max()} terms; the limit is {MAX_DOCUMENT_TERMS}")
    if indices.dtype != np.int32 or tf.dtype != (np.float32 if spec.tf == "float32" else np.uint32):
        raise InvalidInput(f"a field of kind {spec.tf!r} cannot take {indices.dtype} indices with {tf.dtype} tf")
    if len(indices):
        if int(indices.min()) < 0 or int(indices.max()) >= n_terms:
            raise InvalidInput(f"term indices must be from 0 to {n_terms - 1}")
        starts = np.zeros(len(indices) + 1, np.bool_)
        starts[indptr] = True
        if np.any((indices[1:] <= indices[:-1]) & ~starts[1:-1]):
            raise InvalidInput("the terms of a document must be ascending, without repeats")
        if spec.tf == "float32" and not np.all(np.isfinite(tf) & (tf > 0)):
            raise InvalidInput("weights must be positive, finite numbers")
        if spec.tf == "float32" and float(tf.max()) > MAX_WEIGHT:
            raise LimitExceeded(f"a weight of {tf.max():g} is over the limit of {MAX_WEIGHT:g}")
        if spec.tf != "float32" and int(tf.min()) == 0:
            raise InvalidInput("a stored term frequency must be at least 1; leave terms of weight 0 out")
        if spec.tf == "fixed" and int(tf.max()) > 0xFFFF:
            raise InvalidInput(f"a fixed-point term frequency of {tf.max()} does not fit 16 bits; clip it first")
    return indptr, indices


def _rows(indptr: Ints, indices: npt.NDArray[np.int32]) -> Iterator[tuple[Ints, npt.NDArray[np.int32]]]:
    """The rows of a batch, some thousand documents at a time."""
    for first in range(0, len(indptr) - 1, _ROWS):
        ends = indptr[first : first + _ROWS + 1]
        yield np.diff(ends), indices[int(ends[0]) : int(ends[-1])]
