"""The collection under test, through the lowest layer: a `Writer` and segments.

All that the reliability tests need of a collection is here (open, put, delete, merge, commit, and reading back all
content), so that they can be pointed at another layer by replacing this one file.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from tests.reliability.workload import Action, Content, Doc
from zipfian.index.commit import Writer
from zipfian.index.merge import merge_segments
from zipfian.index.segment import FieldWriteSpec, SegmentReader, delete_documents, write_segment
from zipfian.index.snapshot import Snapshot
from zipfian.storage.directory import Directory
from zipfian.types import FieldBatch, SegmentBatch

FIELDS = {"words": FieldWriteSpec("count"), "latent": FieldWriteSpec("fixed", 100.0, "sqrt")}
COLUMNS: dict[str, Any] = {"commit": "integer", "tag": "string", "even": "boolean"}
MAX_SEGMENTS = 8


class Store:
    """A writer and the readers it needs for finding documents. `n` is the number of the last commit."""

    def __init__(self, directory: Directory, create: bool = False) -> None:
        self.directory = directory
        self.writer = Writer(directory, create=create, settings={"test": True} if create else None)
        self.n = int(self.writer.user.get("n", 0))
        self._readers: dict[str, SegmentReader] = {}

    def run(self, action: Action) -> None:
        """Do one action of a workload."""
        if action.verb == "merge":
            self.merge(action.where)
        else:
            self.delete([*action.ids, *(doc.id for doc in action.docs)])
            if action.docs:
                self.writer.add_segment(
                    write_segment(self.directory, self.writer.new_segment_id(), batch(action.docs), FIELDS, COLUMNS)
                )
        if len(self.writer.entries) > MAX_SEGMENTS:
            self.merge(0.0, all_of_them=True)

    def delete(self, ids: list[str]) -> None:
        """Mark documents as deleted wherever they are."""
        for entry in self.writer.entries:
            reader = self._reader(entry.id)
            docs = [doc for doc in map(reader.find, ids) if doc >= 0]
            if docs:
                self.writer.update(delete_documents(self.directory, reader, np.array(docs)))

    def merge(self, where: float, all_of_them: bool = False) -> None:
        """Merge two or three neighbours."""
        entries = self.writer.entries
        first = 0 if all_of_them else int(where * len(entries))
        chosen = entries[first:] if all_of_them else entries[first : first + 3]
        if len(chosen) >= 2:
            readers = [self._reader(entry.id) for entry in chosen]
            merged = merge_segments(self.directory, self.writer.new_segment_id(), readers)
            self.writer.replace(chosen, merged if merged.n_docs else None)

    def commit(self, n: int) -> None:
        """Commit as number `n`."""
        self.writer.commit(user={"n": n})
        self.n = n

    def close(self) -> None:
        self.writer.close()

    def _reader(self, seg_id: str) -> SegmentReader:
        entry = next(entry for entry in self.writer.entries if entry.id == seg_id)
        known = self._readers.get(seg_id)
        if known is None or known.entry != entry:
            known = self._readers[seg_id] = SegmentReader(self.directory, entry)
        return known


def batch(docs: tuple[Doc, ...]) -> SegmentBatch:
    """Documents as a segment's batch."""
    return SegmentBatch(
        ids=[doc.id for doc in docs],
        texts=[doc.text for doc in docs],
        metadata=[doc.metadata for doc in docs],
        fields={
            "words": _field([doc.words for doc in docs], lambda terms: terms),
            "latent": _field([doc.latent for doc in docs], lambda terms: np.array(terms, np.int64)),
        },
        vectors={"pooled": np.array([doc.vector for doc in docs], np.float32)},
    )


def _field(rows: list[dict[Any, int]], as_terms: Any) -> FieldBatch:
    terms = sorted({term for row in rows for term in row})
    number = {term: i for i, term in enumerate(terms)}
    pairs = [sorted((number[term], tf) for term, tf in row.items()) for row in rows]
    return FieldBatch(
        indptr=np.cumsum([0, *map(len, pairs)]),
        terms=as_terms(terms),
        indices=np.array([i for row in pairs for i, _ in row], np.int32),
        tf=np.array([tf for row in pairs for _, tf in row], np.uint32),
    )


def read_commit(directory: Directory, generation: int | None = None) -> tuple[int, Content]:
    """The number of the newest commit (or of a given generation) and all its documents, in order."""
    with Snapshot.open(directory, generation) as snapshot:
        return int(snapshot.user.get("n", 0)), read_content(snapshot)


def read_content(snapshot: Snapshot) -> Content:
    """All live documents, from the stored documents, the postings of both fields and the vectors."""
    found: Content = {}
    for segment in snapshot.segments:
        rows = {name: _rows(segment, name) for name in FIELDS}
        for doc in np.flatnonzero(segment.live).tolist():
            key, text = segment.docs.id(doc), segment.docs.text(doc)
            read = Doc(key, text or "", segment.docs.metadata(doc), rows["latent"][doc])
            vector = segment.vectors.part("pooled", doc, doc + 1)[0].tolist() if segment.vectors else None
            assert key not in found and read.words == rows["words"][doc] and read.vector == vector
            found[key] = read
    return found


def _rows(segment: SegmentReader, name: str) -> list[dict[Any, int]]:
    field = segment.fields[name].to_batch()
    terms = field.terms.tolist() if isinstance(field.terms, np.ndarray) else field.terms
    ends, indices, tf = field.indptr.tolist(), field.indices.tolist(), field.tf.tolist()
    return [{terms[i]: int(n) for i, n in zip(indices[a:b], tf[a:b], strict=True)} for a, b in pairwise(ends)]
