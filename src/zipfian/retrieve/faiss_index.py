"""Approximate first stages over pooled vectors through FAISS (extra `faiss`): a shortlist, refined exactly.

FAISS proposes, the float32 rows decide: whatever the index, returned scores are the exact ones of `DenseSearcher`, and
only membership in the shortlist is approximate. Filters, and deletes since the index was built, go through an id
selector; where an index takes none, or then yields fewer documents than it should, the search falls back to the exact
scan and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.retrieve.codes import F64, DenseQuery
from zipfian.retrieve.dense import Bools, DenseSearcher, Ints
from zipfian.retrieve.validate import check_k

Family = Literal["flat", "ivf-flat", "ivf-pq", "opq-pq", "hnsw"]

POINTS_PER_CENTROID = 39
"""FAISS warns below so many training vectors per centroid; lists and code bits are chosen to stay above."""

LEAST_BITS = 4
"""Of a sub-quantiser; FAISS trains none on fewer vectors than it has values."""

_ROWS_AT_ONCE = 65_536

OPQ_ROUNDS = 5
"""Rounds in which OPQ turns the space and fits codes to it. Each of FAISS' 50 takes a full singular value decomposition
of dim x dim, 5 s at 1,280 dimensions: minutes in all. Most of the gain comes first (overlap with the exact ten on
Oxford Pets, m=16: .39 unturned, .48 after 2 rounds, .50 after 5)."""

_SEED = 20_240_917


@dataclass(frozen=True, slots=True)
class FaissSettings:
    """Which index, and its parameters; those of other families are ignored."""

    family: Family
    lists: int | None = None
    """Cells of an inverted file; None: about 4 sqrt(N)."""
    probes: int = 16
    """Cells that a search looks into."""
    m: int = 16
    """Sub-quantisers of a product quantiser; the nearest divisor of the dimension is taken."""
    bits: int | None = 8
    """Bits of a sub-quantiser; None: 4 to 8, as many as there are vectors to train."""
    links: int = 32
    """HNSW's M."""
    ef_construction: int = 200
    ef_search: int = 100
    shortlist: int = 4
    """Candidates that are refined, as a multiple of k (at least 100); for `flat` and `hnsw` k itself would do."""
    seed: int = _SEED

    def to_json(self) -> dict[str, Any]:
        """Plain settings."""
        return asdict(self)


FAMILIES: dict[str, FaissSettings] = {
    "flat": FaissSettings("flat"),
    "ivf-flat": FaissSettings("ivf-flat"),
    "ivf-pq": FaissSettings("ivf-pq"),
    "opq16": FaissSettings("opq-pq", m=16),
    "opq64": FaissSettings("opq-pq", m=64),
    "hnsw": FaissSettings("hnsw"),
    "bm25v-hnsw": FaissSettings("hnsw", ef_construction=40, shortlist=1),
    "bm25v-ivfpq": FaissSettings("ivf-pq", lists=100, probes=1, m=48, bits=None, shortlist=1),
}
"""By name: the families of hybrid vision-language retrieval, and BM25-V's two baselines (HNSW32 with ef 100, and IVF+PQ
with 48 sub-quantisers of 4 to 8 bits, 100 lists, one probe)."""


@dataclass(frozen=True, slots=True)
class FaissFound:
    """Hits with exact scores, and how they were found."""

    docs: Ints
    scores: F64
    shortlist: int
    """Documents that FAISS proposed."""
    scanned: int | None
    """Vectors that were compared, where that is known."""
    fallback: str | None
    """Why the exact scan was used instead; None if it was not."""


def nearest_divisor(dim: int, m: int) -> int:
    """The divisor of `dim` nearest to m; the larger one where two are equally near."""
    if m < 1:
        raise InvalidInput(f"m must be at least 1, not {m}")
    divisors = [d for d in range(1, dim + 1) if dim % d == 0]
    return min(divisors, key=lambda d: (abs(d - m), -d))


def fitted(settings: FaissSettings, n: int, dim: int) -> tuple[FaissSettings, tuple[str, ...]]:
    """Settings that fit n vectors of `dim` numbers, and what had to be changed, in words."""
    if settings.family not in ("flat", "ivf-flat", "ivf-pq", "opq-pq", "hnsw"):
        raise InvalidInput(f"unknown FAISS family {settings.family!r}")
    notes: list[str] = []
    lists = settings.lists if settings.lists is not None else round(4 * n**0.5)
    most = max(1, n // POINTS_PER_CENTROID)
    if settings.family.startswith("ivf") and lists > most:
        notes.append(f"{lists} lists are too many for {n} vectors: {most}")
        lists = most
    m = settings.m
    if settings.family in ("ivf-pq", "opq-pq"):
        m = nearest_divisor(dim, settings.m)
        if m != settings.m:
            notes.append(f"m={settings.m} does not divide {dim}: m={m}")
        # FAISS refuses to train fewer codes than a sub-quantiser has values; OPQ's rotation, fitted to fewer vectors
        # than dimensions, writes past its memory and takes the process with it.
        least = max(2**LEAST_BITS, dim if settings.family == "opq-pq" else 0)
        if n < least:
            raise InvalidInput(f"{settings.family} needs at least {least} vectors, there are {n}: use 'flat'")
    able = next((b for b in (8, 7, 6, 5) if n >= POINTS_PER_CENTROID * 2**b), LEAST_BITS)
    bits = able if settings.bits is None else settings.bits
    if settings.family in ("ivf-pq", "opq-pq") and bits > able:
        notes.append(f"{bits} bits need {POINTS_PER_CENTROID * 2**bits} vectors, there are {n}: {able} bits")
        bits = able
    return replace(settings, lists=lists, m=m, bits=bits, probes=min(settings.probes, lists)), tuple(notes)


class FaissIndex:
    """An index over the vectors of a `DenseSearcher`, which stays the judge of scores."""

    def __init__(self, searcher: DenseSearcher, settings: FaissSettings, index: Any, notes: tuple[str, ...]) -> None:
        self.searcher = searcher
        self.settings = settings
        self.notes = notes
        """What of the settings asked for did not fit and was changed."""
        self._index = index
        self._numbers = np.flatnonzero(searcher.present)
        self._place = np.full(searcher.n_docs, -1, np.int64)
        self._place[self._numbers] = np.arange(len(self._numbers))

    @classmethod
    def build(cls, searcher: DenseSearcher, settings: FaissSettings | str, threads: int = 1) -> FaissIndex:
        """Train and fill an index. With one thread the same vectors give the same index; HNSW differs with more."""
        faiss = _faiss()
        chosen = _named(settings)
        if searcher.n_vectors == 0:
            raise InvalidInput(f"{searcher.name!r} has no vectors to build a FAISS index from")
        ready, notes = fitted(chosen, searcher.n_vectors, searcher.dim)
        rows = _rows(searcher)
        with faiss_threads(threads):
            index = _make(faiss, ready, rows)
            index.train(rows)
            index.add(rows)
        return cls(searcher, ready, index, notes)

    @property
    def n_vectors(self) -> int:
        """Vectors in the index."""
        return int(self._index.ntotal)

    def search(self, query: npt.ArrayLike | DenseQuery, k: int, mask: Bools | None = None) -> tuple[Ints, F64]:
        """The k best of the shortlist, with exact scores."""
        found = self.find(query, k, mask)
        return found.docs, found.scores

    def score(self, query: npt.ArrayLike | DenseQuery, docs: Ints) -> F64:
        """Exact scores, as `DenseSearcher.score`."""
        return self.searcher.score(query, docs)

    def find(self, query: npt.ArrayLike | DenseQuery, k: int, mask: Bools | None = None) -> FaissFound:
        """As `search`, with what it took; falls back to the exact scan where the filter leaves too few to find."""
        ready = self.searcher.prepare(query)
        allowed = self._numbers if mask is None else np.flatnonzero(self.searcher.allowed(mask))
        limit = min(check_k(k), len(allowed))
        if not limit:
            return FaissFound(np.empty(0, np.int64), np.empty(0, np.float64), 0, 0, None)
        wanted = min(len(allowed), max(limit * self.settings.shortlist, limit if self.settings.shortlist == 1 else 100))
        if mask is not None and self.settings.family == "opq-pq":
            return self._exactly(ready, k, mask, 0, "a product quantiser takes no filter: scanned exactly")
        docs, scanned = self.propose(ready, wanted, None if mask is None else allowed)
        if len(docs) < limit and mask is not None:
            why = f"the index gave {len(docs)} of {limit} documents under this filter: scanned exactly"
            return self._exactly(ready, k, mask, len(docs), why)
        docs = np.sort(docs)
        scores = self.searcher.score(ready, docs)
        best = np.lexsort((docs, -scores))[:limit]
        return FaissFound(docs[best], scores[best], len(docs), scanned, None)

    def _exactly(self, query: DenseQuery, k: int, mask: Bools, proposed: int, why: str) -> FaissFound:
        exact = self.searcher.find(query, k, mask)
        return FaissFound(exact.docs, exact.scores, proposed, exact.scanned, why)

    def propose(self, query: DenseQuery, wanted: int, allowed: Ints | None) -> tuple[Ints, int | None]:
        """The index's own answer, best first: document numbers, not scored again, and how many vectors it compared.

        `allowed` are the only documents it may name. None for the vectors compared: FAISS does not count them.
        """
        faiss = _faiss()
        s = self.settings
        options: dict[str, Any] = {}
        if allowed is not None:
            bits = np.zeros(len(self._numbers), np.bool_)
            bits[self._place[allowed]] = True
            packed = np.packbits(bits, bitorder="little")
            options["sel"] = faiss.IDSelectorBitmap(packed)
        vector = query.vector.astype(np.float32)[None, :]
        scanned: int | None = len(self._numbers) if allowed is None else len(allowed)
        if s.family in ("ivf-flat", "ivf-pq"):
            params = faiss.SearchParametersIVF(nprobe=s.probes, **options)
            cells = self._index.quantizer.search(vector, s.probes)[1][0]
            scanned = sum(int(self._index.invlists.list_size(int(c))) for c in cells if c >= 0)
        elif s.family == "hnsw":
            params = faiss.SearchParametersHNSW(efSearch=max(s.ef_search, wanted), **options)
            scanned = None
        elif s.family == "opq-pq":
            params = None
        else:
            params = faiss.SearchParameters(**options)
        ids = self._index.search(vector, wanted, params=params)[1][0]
        return self._numbers[ids[ids >= 0]], scanned

    def to_bytes(self) -> bytes:
        """The index as FAISS serialises it."""
        return bytes(_faiss().serialize_index(self._index).tobytes())


@contextmanager
def faiss_threads(threads: int) -> Iterator[None]:
    """FAISS, training or searching, on so many threads."""
    faiss = _faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(max(1, threads))
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


def _named(settings: FaissSettings | str) -> FaissSettings:
    if isinstance(settings, FaissSettings):
        return settings
    if settings not in FAMILIES:
        raise InvalidInput(f"unknown FAISS index {settings!r}; one of {', '.join(FAMILIES)}")
    return FAMILIES[settings]


def _rows(searcher: DenseSearcher) -> npt.NDArray[np.float32]:
    """The vectors to index, of length 1 for cosine; some at a time: float64 copies take four times their room."""
    numbers = np.flatnonzero(searcher.present)
    out = np.empty((len(numbers), searcher.dim), np.float32)
    for start in range(0, len(numbers), _ROWS_AT_ONCE):
        rows = searcher.vectors(numbers[start : start + _ROWS_AT_ONCE])
        if searcher.metric == "cosine":
            size = np.sqrt((rows.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
            rows = (rows / np.where(size > 0.0, size, 1.0)).astype(np.float32)
        out[start : start + len(rows)] = rows
    return out


def _make(faiss: Any, s: FaissSettings, rows: npt.NDArray[np.float32]) -> Any:
    """An empty index, untrained but for OPQ's rotation. FAISS keeps the parts alive that it was made of."""
    dim = rows.shape[1]
    by_product = faiss.METRIC_INNER_PRODUCT
    if s.family == "flat":
        return faiss.IndexFlatIP(dim)
    if s.family == "hnsw":
        index = faiss.IndexHNSWFlat(dim, s.links, by_product)
        index.hnsw.efConstruction, index.hnsw.efSearch = s.ef_construction, s.ef_search
        index.hnsw.rng = faiss.RandomGenerator(s.seed)
        return index
    if s.family == "opq-pq":
        inner = faiss.IndexPQ(dim, s.m, s.bits, by_product)
        _seeded(inner.pq.cp, s.seed)
        rotation = faiss.OPQMatrix(dim, s.m)
        rotation.niter = OPQ_ROUNDS
        # the rotation is trained with a product quantiser of its own: of the same bits, not of FAISS' default 8
        trial = faiss.ProductQuantizer(dim, s.m, s.bits)
        _seeded(trial.cp, s.seed)
        rotation.pq = trial
        rotation.train(rows)
        rotation.pq = None
        return faiss.IndexPreTransform(rotation, inner)
    quantizer = faiss.IndexFlatIP(dim)
    if s.family == "ivf-flat":
        index = faiss.IndexIVFFlat(quantizer, dim, s.lists, by_product)
    else:
        index = faiss.IndexIVFPQ(quantizer, dim, s.lists, s.m, s.bits, by_product)
        _seeded(index.pq.cp, s.seed)
    _seeded(index.cp, s.seed)
    index.nprobe = s.probes
    return index


def _seeded(clustering: Any, seed: int) -> None:
    clustering.seed = seed
    clustering.min_points_per_centroid = 1  # `fitted` has seen to that; FAISS would print a warning


def _faiss() -> Any:
    try:
        import faiss
    except ImportError as error:
        raise MissingExtra("an approximate vector index", "faiss") from error
    return faiss
