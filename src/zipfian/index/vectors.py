"""Pooled vectors of documents: float32 rows by name, for dense scoring and reranking.

    <i>.values     n_docs * dim float32, row by row; a document without a vector has a row of zeros
    <i>.present    bits: which documents have the vector; left out when all do

<i> is the place of the vector's name in the list `vectors` of the file's meta data. A file whose rows are passages of
documents says so (`passages.py`), and then counts those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from zipfian.errors import IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index._arrays import Bools
from zipfian.index.passages import check_passages, documents_in, read_passages, write_passages
from zipfian.limits import MAX_DOCUMENTS, MAX_VECTOR_DIM, MAX_VECTORS
from zipfian.storage.container import FileRef, SectionFile, SectionWriter
from zipfian.storage.directory import Directory
from zipfian.storage.sections import Declared, flags, meta_int, pack_flags, require, unpack_flags
from zipfian.types import Passages

KIND = "vec"

Matrix = npt.NDArray[np.float32]

_ROWS_BYTES = 8 * 1024 * 1024
"""Bytes of vectors held at once while files are merged."""

_CHECKED = 1 << 18
"""Numbers looked at together: the flags of the comparison then stay in the processor's cache."""


def write_vectors(
    directory: Directory, name: str, n_docs: int, vectors: Mapping[str, Matrix], passages: Passages | None = None
) -> FileRef:
    """Write the vectors of a new segment; a row of NaN means that the document, or the passage, has none."""
    return write_vector_file(directory, name, n_docs, _prepared(n_docs, vectors), passages)


def add_vectors(
    directory: Directory, name: str, old: VectorReader | None, n_docs: int, vectors: Mapping[str, Matrix]
) -> FileRef:
    """Write the vectors of a segment again with more of them."""
    kept: list[tuple[str, int, Bools, Iterable[Matrix]]] = []
    for key, dim in (old.dims if old else {}).items():
        everything = [(old, np.ones(n_docs, np.bool_))]
        kept.append((key, dim, _merged_presence(everything, key), _merged_rows(everything, key, dim)))
    return write_vector_file(directory, name, n_docs, [*kept, *_prepared(n_docs, vectors)])


def _prepared(n_docs: int, vectors: Mapping[str, Matrix]) -> list[tuple[str, int, Bools, Iterable[Matrix]]]:
    prepared: list[tuple[str, int, Bools, Iterable[Matrix]]] = []
    for key, matrix in vectors.items():
        if matrix.ndim != 2 or len(matrix) != n_docs:
            raise InvalidInput(f"vectors {key!r} have shape {matrix.shape}; {n_docs} rows are needed")
        rows: Matrix = matrix.astype(np.float32, copy=False)
        present: Bools = np.asarray(~np.isnan(rows).all(axis=1), np.bool_)
        if not present.all():
            rows = rows.copy()
            rows[~present] = 0
        if not np.isfinite(rows).all():
            raise InvalidInput(f"a vector {key!r} holds NaN or infinite numbers")
        prepared.append((key, rows.shape[1], present, [rows]))
    return prepared


def write_vector_file(
    directory: Directory, name: str, n_docs: int, vectors: Iterable[tuple[str, int, Bools, Iterable[Matrix]]],
    passages: Passages | None = None,
) -> FileRef:  # fmt: skip
    """Write a vector file from (name, dimensions, presence, rows in pieces)."""
    if passages is not None:
        check_passages(passages, len(passages.first) - 1, n_docs)
    listed: list[dict[str, Any]] = []
    with SectionWriter(directory, name, KIND, {"n_docs": n_docs}) as file:
        for i, (key, dim, present, pieces) in enumerate(vectors):
            if not 1 <= dim <= MAX_VECTOR_DIM:
                raise LimitExceeded(f"vectors {key!r} have {dim} dimensions; 1 to {MAX_VECTOR_DIM} are allowed")
            stream = file.stream(f"{i}.values", np.float32)
            for piece in pieces:
                stream.append(piece.reshape(-1))
            stream.end()
            some = not bool(present.all())
            if some:
                file.add(f"{i}.present", pack_flags(present))
            listed.append({"name": key, "dim": dim, "some": some})
        file.meta["vectors"] = listed
        if passages is not None:
            write_passages(file, passages)
        return file.close()


class VectorReader:
    """A vector file open for reading."""

    def __init__(self, file: SectionFile) -> None:
        self.file = file
        self.n_docs = meta_int(file, "n_docs", 0, MAX_DOCUMENTS)
        self.n_documents = documents_in(file, self.n_docs)
        """Documents whose passages its rows are; as many as there are rows where those are documents."""
        self._listed: dict[str, tuple[int, int, bool]] = {}
        try:
            for i, entry in enumerate(file.meta["vectors"]):
                name, dim = entry["name"], entry["dim"]
                if not isinstance(name, str) or type(dim) is not int or not 1 <= dim <= MAX_VECTOR_DIM:
                    raise ValueError(f"vectors {i} have no name, or not 1 to {MAX_VECTOR_DIM} dimensions")
                if i >= MAX_VECTORS or name in self._listed:
                    raise ValueError(f"more than {MAX_VECTORS} kinds of vectors, or one of them twice")
                self._listed[name] = (i, dim, bool(entry["some"]))
        except (KeyError, TypeError, ValueError) as e:
            raise IndexCorrupt(file.name, f"its list of vectors cannot be read ({e!r})"[:300]) from e
        for i, dim, some in self._listed.values():
            sections: dict[str, Declared] = {f"{i}.values": (("float32",), self.n_docs * dim)}
            require(file, sections | ({f"{i}.present": flags(self.n_docs)} if some else {}))

    @classmethod
    def open(cls, directory: Directory, ref: FileRef | str) -> VectorReader:
        """Open a vector file."""
        return cls(SectionFile.open(directory, ref, KIND))

    @cached_property
    def passages(self) -> Passages | None:
        """Which part of which document each row is; None where rows are documents."""
        return read_passages(self.file, self.n_docs)

    @property
    def dims(self) -> dict[str, int]:
        """The vectors that are there, and their dimensions."""
        return {name: dim for name, (_, dim, _) in self._listed.items()}

    def present(self, name: str) -> Bools:
        """Which documents have the vector."""
        i, _, some = self._entry(name)
        return unpack_flags(self.file, f"{i}.present", self.n_docs) if some else np.ones(self.n_docs, np.bool_)

    def array(self, name: str) -> Matrix:
        """All rows (n_docs, dim): a view on the mapped file, verified as a whole."""
        return self.part(name, 0, self.n_docs)

    def part(self, name: str, start: int, stop: int) -> Matrix:
        """The rows [start, stop), all of them finite numbers."""
        i, dim, _ = self._entry(name)
        values = self.file.part(f"{i}.values", start * dim, stop * dim)
        for at in range(0, len(values), _CHECKED):
            if not np.isfinite(values[at : at + _CHECKED]).all():
                raise IndexCorrupt(self.file.name, f"a vector {name!r} holds NaN or infinite numbers")
        return values.reshape(-1, dim)

    def rows(self, name: str, docs: npt.NDArray[Any]) -> Matrix:
        """The rows of some documents; only the parts of the file that hold them are read and verified."""
        out = np.empty((len(docs), self._entry(name)[1]), np.float32)
        for at, doc in enumerate(docs.tolist()):
            out[at] = self.part(name, doc, doc + 1)[0]
        return out

    def _entry(self, name: str) -> tuple[int, int, bool]:
        try:
            return self._listed[name]
        except KeyError:
            known = ", ".join(map(repr, self._listed)) or "none"
            raise InvalidInput(f"no vectors {name!r} in this segment; there are: {known}") from None


Part = tuple["VectorReader | None", Bools]
"""The vectors of one of several segments that are joined, and which of its rows are kept."""


def merge_vectors(
    directory: Directory, name: str, parts: Mapping[str, Sequence[Part]], passages: Passages | None = None
) -> FileRef | None:
    """Write vectors of several segments, each by name from its `parts`; None if there are none.

    `passages` are those that the rows of the new file are.
    """
    dims: dict[str, int] = {}
    for key, readers in parts.items():
        for dim in (reader.dims[key] for reader, _ in readers if reader and key in reader.dims):
            if dims.setdefault(key, dim) != dim:
                raise InvalidInput(f"vectors {key!r} have {dims[key]} dimensions in one segment and {dim} in another")
    if not dims:
        return None
    n_docs = sum(int(keep.sum()) for _, keep in parts[next(iter(dims))])
    vectors = (
        (key, dim, _merged_presence(parts[key], key), _merged_rows(parts[key], key, dim)) for key, dim in dims.items()
    )
    return write_vector_file(directory, name, n_docs, vectors, passages)


def _merged_presence(parts: Sequence[Part], key: str) -> Bools:
    return np.concatenate(
        [
            reader.present(key)[keep] if reader and key in reader.dims else np.zeros(int(keep.sum()), np.bool_)
            for reader, keep in parts
        ]
    )


def _merged_rows(parts: Sequence[Part], key: str, dim: int) -> Iterator[Matrix]:
    step = max(1, _ROWS_BYTES // (4 * dim))
    for reader, keep in parts:
        for start in range(0, len(keep), step):
            flags = keep[start : start + step]
            if reader and key in reader.dims:
                yield reader.part(key, start, start + len(flags))[flags]
            else:
                yield np.zeros((int(flags.sum()), dim), np.float32)
