"""One posting set of a segment, for reading: terms, postings, lengths and the forward index of one field file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput
from zipfian.index._arrays import Ints, chunks, offsets, stable_order
from zipfian.index.forward import GROUP, Forward, Rows
from zipfian.index.lengths import exact_sum, length_unit
from zipfian.index.passages import documents_in, read_passages
from zipfian.index.phi import parse_phi
from zipfian.index.postings import Docs, Postings, Tf
from zipfian.index.terms import IdTerms, WordTerms, read_terms
from zipfian.limits import MAX_DOCUMENTS, MAX_SCALE, MAX_TERMS
from zipfian.storage.container import FileRef, SectionFile
from zipfian.storage.directory import Directory
from zipfian.storage.sections import BYTES, UINT, UINT32, meta_int, meta_str, require
from zipfian.types import FieldBatch, Passages, TfKind

KIND = "field"
MERGE_POSTINGS = 1 << 20
"""Postings that a scan holds decoded at once (a single longer list is not cut)."""


@dataclass(frozen=True, slots=True)
class FieldWriteSpec:
    """How a field stores weights: the kind of tf, steps per unit weight (`fixed`), and phi of the stored lengths."""

    tf: TfKind = "count"
    scale: float = 1.0
    phi: str = "identity"

    def __post_init__(self) -> None:
        if self.tf not in get_args(TfKind):
            raise InvalidInput(f"unknown kind of term frequency {self.tf!r}; use one of {get_args(TfKind)}")
        if not 1 / MAX_SCALE <= self.scale <= MAX_SCALE:
            raise InvalidInput(
                f"the scale of a field must be from {1 / MAX_SCALE:g} to {MAX_SCALE:g}, not {self.scale!r}"
            )
        if not isinstance(self.phi, str):
            raise InvalidInput(f"phi of a field must be a name such as 'sqrt', not {self.phi!r}")
        parse_phi(self.phi)

    @property
    def unit(self) -> float:
        """What one unit of a stored document length is worth."""
        return length_unit(self.tf, self.scale, self.phi)


class FieldReader:
    """A field file open for reading. Opening reads a few numbers; everything else is read when first used.

    Its rows are documents, or passages of documents (`passages`); then whatever counts documents here counts those.
    """

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        self.meta = file.meta
        self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        self.n_documents = documents_in(file, self.n_docs)
        """Documents whose passages its rows are; as many as there are rows where those are documents."""
        self.n_terms = meta_int(file, "n_terms", 0, MAX_TERMS)
        self.term_kind = meta_str(file, "terms", "int", "str")
        self._require_sections()
        # each posting takes at least one bit of the forward index, so this number is no larger than the file allows
        most = min(self.n_docs * self.n_terms, 64 * file.length("forward"))
        self.n_postings = meta_int(file, "n_postings", 0, most)
        self.total_length = meta_int(file, "total_length", 0, 2**63 * MAX_DOCUMENTS)
        try:
            self.spec = FieldWriteSpec(file.meta["tf"], float(file.meta["scale"]), file.meta["phi"])
        except (InvalidInput, KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as e:
            raise IndexCorrupt(file.name, f"does not say how its weights are stored ({e})"[:300]) from e

    def _require_sections(self) -> None:
        blocks = self.file.length("block_first")
        words = self.term_kind == "str"
        require(
            self.file,
            {
                "df": (UINT32, self.n_terms),
                "lengths": (UINT, self.n_docs),
                "postings": (("uint64",), None),
                "block_first": (("uint32",), blocks),
                "block_doc_width": (BYTES, blocks),
                "block_tf_width": (BYTES, blocks),
                "forward": (("uint64",), None),
                "forward_counts": (UINT32, -(-self.n_docs // GROUP)),
                "terms": (BYTES, None) if words else (UINT32, self.n_terms),
                **({"term_offsets": (UINT, self.n_terms + 1)} if words else {}),
            },
        )

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> FieldReader:
        """Open a field file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @cached_property
    def passages(self) -> Passages | None:
        """Which part of which document each row is; None where rows are documents."""
        return read_passages(self.file, self.n_docs)

    @cached_property
    def df(self) -> Ints:
        """Documents of each term, deleted ones included."""
        df = self.file.array("df").astype(np.int64)
        if len(df) and (int(df.min()) < 1 or int(df.max()) > self.n_docs):
            raise IndexCorrupt(self.file.name, "a document frequency is out of range")
        if int(df.sum()) != self.n_postings:
            raise IndexCorrupt(self.file.name, "its document frequencies do not add up to its postings")
        return df

    @cached_property
    def lengths(self) -> npt.NDArray[Any]:
        """Length of each document in units of `spec.unit` (unsigned integers below 2**63)."""
        lengths = self.file.array("lengths")
        if (len(lengths) and int(lengths.max()) >= 2**63) or exact_sum(lengths) != self.total_length:
            raise IndexCorrupt(self.file.name, "its document lengths do not add up to their sum")
        return lengths

    @cached_property
    def terms(self) -> IdTerms | WordTerms:
        """The dictionary."""
        return read_terms(self.file, self.term_kind)

    @cached_property
    def blocks(self) -> Postings:
        """The posting lists as blocks, with the arrays a kernel needs."""
        return Postings(self.file, self.df, self.n_docs, self.spec.tf == "float32")

    @cached_property
    def rows(self) -> Forward:
        """The forward index."""
        low = meta_int(self.file, "forward_low", 0, 31)
        return Forward(self.file, self.n_docs, self.n_terms, self.n_postings, low)

    def lookup(self, term: str | int) -> int:
        """The local index of a term, -1 when no document of this segment has it."""
        return self.terms.lookup(term)

    def term(self, index: int) -> str | int:
        """The term of a local index."""
        return self.terms.term(index)

    def postings(self, index: int, compiled: bool = False) -> tuple[Docs, Tf]:
        """Documents (ascending) and stored tf of a term. `compiled` decodes with numba, to the same arrays."""
        return self.blocks.terms(index, index + 1, compiled)

    def all_postings(self, compiled: bool = False) -> tuple[Ints, Docs, Tf]:
        """Every posting by term: where each term starts, documents, tf."""
        docs, tf = self.blocks.terms(0, self.n_terms, compiled)
        return offsets(self.df), docs, tf

    def scan(self, size: int = MERGE_POSTINGS) -> Iterator[tuple[int, int, Docs, Tf]]:
        """All postings in pieces of about `size`: (first term, term after the last, documents, tf)."""
        for low, high in chunks(np.cumsum(self.df), size):
            yield low, high, *self.blocks.terms(low, high)

    def forward(self, doc: int) -> npt.NDArray[np.int32]:
        """Local indices of the terms of a document, ascending."""
        if not 0 <= doc < self.n_docs:
            raise InvalidInput(f"no document {doc} in a segment of {self.n_docs}")
        return self.rows.rows(doc, doc + 1)[1]

    def forward_many(self, docs: npt.NDArray[Any]) -> Rows:
        """Terms of several documents (ascending), and where each document starts."""
        if len(docs) and not 0 <= int(docs.min()) <= int(docs.max()) < self.n_docs:
            raise InvalidInput(f"documents out of range in a segment of {self.n_docs}")
        return self.rows.select(docs.astype(np.int64))

    def tf(self, index: int, doc: int) -> int | float:
        """The stored tf of a term in a document, 0 when it is not there: decodes one block."""
        found: int | float = self.tf_of(index, np.array([doc])).item()
        return found

    def tf_of(self, index: int, docs: npt.NDArray[Any]) -> Tf:
        """The stored tf of a term in each of some documents (any order), 0 where it is not there."""
        low, high = int(self.blocks.term_block[index]), int(self.blocks.term_block[index + 1])
        out: npt.NDArray[Any] = np.zeros(len(docs), np.float32 if self.spec.tf == "float32" else np.uint32)
        block = low + np.searchsorted(self.blocks.first[low:high], docs, side="right") - 1
        for b in np.unique(block[block >= low]).tolist():
            found, tf = self.blocks.blocks(b, b + 1)
            here = np.flatnonzero(block == b)
            at = np.minimum(np.searchsorted(found, docs[here]), len(found) - 1)
            out[here] = np.where(found[at] == docs[here], tf[at], 0)
        return out

    def to_batch(self) -> FieldBatch:
        """The whole field by document, as it was written."""
        indptr, docs, tf = self.all_postings()
        order = stable_order(docs, self.n_docs)
        term_of = np.repeat(np.arange(self.n_terms, dtype=np.int32), np.diff(indptr))
        terms = (
            self.terms.ids.astype(np.int64)
            if isinstance(self.terms, IdTerms)
            else [self.terms.term(i) for i in range(self.n_terms)]
        )
        indptr = offsets(np.bincount(docs, minlength=self.n_docs))
        return FieldBatch(indptr, terms, term_of[order], tf[order], self.passages)
