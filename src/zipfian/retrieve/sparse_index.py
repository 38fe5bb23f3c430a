"""`SparseIndex`: the engine without files. CSR arrays in, exact top-k out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.index.phi import parse_phi
from zipfian.retrieve import weighing
from zipfian.retrieve.arena import NO_MASK, Layout
from zipfian.retrieve.cache import PostingCache
from zipfian.retrieve.formulas import OtherFormulas
from zipfian.retrieve.layout import WINDOW
from zipfian.retrieve.scoring import BM25, Scoring, TfIdf
from zipfian.retrieve.validate import (
    check_csr,
    check_k,
    check_query,
    check_scoring,
    explain_code,
    plain,
    whole_numbers,
)

if TYPE_CHECKING:
    from zipfian.retrieve.device_index import DeviceIndex

Ids = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float64]

_OTHER_BYTES = 1 << 28
"""Bytes of posting lists kept under each formula other than the index's own; a query that needs more goes without."""


class SparseIndex:
    """An immutable in-memory index over sparse vectors, exact for every query.

    Build it with `from_csr`. Weights are kept at the precision given. Searches may run in any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> ix = SparseIndex.from_csr(np.array([0, 2, 3]), np.array([0, 3, 3]), np.array([1.0, 2.0, 1.0]), n_terms=4)
    >>> ids, scores = ix.search(np.array([3]), k=10)
    >>> ids.tolist()  # both have term 3; in the second it is all there is
    [1, 0]
    """

    def __init__(self, layout: Layout, scoring: Scoring, lengths: Scores) -> None:
        """Use `from_csr`."""
        self._layout = layout
        self._scoring = scoring
        self._lengths = lengths
        df = layout.df
        self._idf = np.where(df > 0, scoring.idf(df.astype(np.float64), len(lengths)), 0.0)
        self._phi = parse_phi(scoring.phi)
        self._buffers = threading.local()
        self._others = OtherFormulas(self._lists_under)

    @classmethod
    def from_csr(
        cls,
        indptr: npt.ArrayLike,
        indices: npt.ArrayLike,
        weights: npt.ArrayLike,
        n_terms: int,
        scoring: Scoring | None = None,
    ) -> SparseIndex:
        """Index n documents given as CSR rows.

        Parameters
        ----------
        indptr, indices, weights
            Row starts (n + 1), term ids (ascending within a row, 0 .. n_terms - 1), weights (finite, > 0).
        n_terms
            Size of the term space.
        scoring
            `BM25(...)` (default), `Dot()` or `TfIdf()`. N, df and the mean length are those of these documents.

        Returns
        -------
        SparseIndex
            Document i is row i.

        Raises
        ------
        InvalidInput
            Arrays that do not fit each other, ids that are not ascending or not below `n_terms`, weights that are not
            finite and above 0.
        """
        from zipfian.retrieve import build

        chosen = BM25() if scoring is None else check_scoring(scoring)
        ip, ix, w = check_csr(indptr, indices, weights, n_terms)
        layout, lengths = build.from_csr(ip, ix, w, int(n_terms), chosen)
        return cls(layout, chosen, lengths)

    @property
    def n_docs(self) -> int:
        """Documents in the index."""
        return len(self._lengths)

    @property
    def n_terms(self) -> int:
        """Size of the term space."""
        return len(self._idf)

    @property
    def nbytes(self) -> int:
        """Bytes of every array the index holds."""
        return self._layout.nbytes + self._lengths.nbytes + self._idf.nbytes + self._others.nbytes

    @property
    def scoring(self) -> Scoring:
        """The formula whose impacts are cached."""
        return self._scoring

    def __len__(self) -> int:
        return self.n_docs

    def search(
        self,
        terms: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        k: int = 10,
        *,
        scoring: Scoring | None = None,
        mask: npt.NDArray[np.bool_] | None = None,
    ) -> tuple[Ids, Scores]:
        """The k best documents, best first; fewer when fewer share a term with the query.

        Parameters
        ----------
        terms, weights
            Ids of the query's terms, each once, and their weights; 1 by default. Terms no document has are ignored.
        k
            Hits at most.
        scoring
            Another formula for this search. Its norms, and the impacts of terms when they are first asked for, are
            made and kept, for a few formulas at a time.
        mask
            One bool per document: where it is False, the document is left out before scoring.

        Returns
        -------
        ids, scores
            Document numbers and their exact scores. Equal scores keep document order.

        Raises
        ------
        InvalidInput
            A term outside the term space or named twice, a weight that is no weight, a mask of another length.
        """
        from zipfian.retrieve import kernels

        limit = min(check_k(k), self.n_docs)
        formula = self._scoring if scoring is None else check_scoring(scoring)
        query, given = check_query(terms, weights, formula)
        lay = self._layout
        allowed = NO_MASK if mask is None else lay.pad_mask(mask)
        out_docs = np.empty(limit, np.int64)
        out_scores = np.empty(limit, np.float64)
        if formula is not self._scoring and formula != self._scoring:
            n = self._search_as(formula, query, given, limit, allowed, out_docs, out_scores)
        else:
            query, given = self._cosine(query, given)
            rows, code = np.array([0, len(query)]), np.empty(1, np.int64)
            kernels.query_many(
                lay.postings, lay.n_windows, lay.norm, lay.spec, self._idf, rows, query, given, len(given), limit,
                allowed, 0, 1, self._accumulator(), out_docs[np.newaxis], out_scores[np.newaxis], code,
            )  # fmt: skip
            n = int(code[0])
        if n < 0:
            raise explain_code(n, self.n_terms)
        return out_docs[:n], out_scores[:n]

    def search_batch(
        self,
        indptr: npt.ArrayLike,
        terms: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        k: int = 10,
        threads: int = 1,
    ) -> tuple[Ids, Scores]:
        """Many queries at once.

        Parameters
        ----------
        indptr, terms, weights
            The queries as CSR rows: row starts, term ids, and weights (1 by default).
        k
            Hits at most for each query.
        threads
            Queries searched side by side.

        Returns
        -------
        ids, scores
            Of shape (queries, k); unused places hold id -1 and score 0.

        Raises
        ------
        InvalidInput
            As for `search`; the message names the query.
        LimitExceeded
            More hits in all than one call may give.
        """
        from zipfian.retrieve import kernels

        if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
            raise InvalidInput(f"threads must be a whole number >= 1, not {shown(threads)}")
        width = check_k(k)
        limit = min(width, self.n_docs)
        rows, flat, given = weighing.batch(self._scoring, self._idf, indptr, terms, weights)
        n_queries = len(rows) - 1
        if n_queries * width > limits.MAX_BATCH_HITS:
            raise LimitExceeded(f"{n_queries} queries x {width} hits, the limit is {limits.MAX_BATCH_HITS}")
        out_docs = np.full((n_queries, width), -1, np.int64)
        out_scores = np.zeros((n_queries, width), np.float64)
        if n_queries == 0:
            return out_docs, out_scores
        code = np.zeros(n_queries, np.int64)
        lay = self._layout

        def run(begin: int, end: int) -> None:
            kernels.query_many(
                lay.postings, lay.n_windows, lay.norm, lay.spec, self._idf, rows, flat, given, len(given), limit,
                NO_MASK, begin, end, self._accumulator(), out_docs, out_scores, code,
            )  # fmt: skip

        if threads == 1 or n_queries < 2:
            run(0, n_queries)
        else:
            # several slices per thread, so that one slow slice does not decide the wall time
            cuts = np.linspace(0, n_queries, min(n_queries, threads * 8) + 1).astype(int).tolist()
            with ThreadPoolExecutor(min(threads, n_queries)) as pool:
                for done in [pool.submit(run, lo, hi) for lo, hi in pairwise(cuts)]:
                    done.result()
        if code.min() < 0:
            bad = int(np.argmin(code))
            raise explain_code(int(code[bad]), self.n_terms, f"query {bad}: ")
        return out_docs, out_scores

    def score(self, terms: npt.ArrayLike, ids: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Scores:
        """Exact scores of the documents `ids` for a query of `terms` and `weights`; 0.0 where no term is shared."""
        from zipfian.retrieve import kernels

        docs = whole_numbers(ids, "document numbers")
        if len(docs) and (int(docs.min()) < 0 or int(docs.max()) >= self.n_docs):
            raise InvalidInput(f"document numbers must lie in 0 .. {self.n_docs - 1}")
        docs = plain(docs, np.int64)
        slots, weight = self._weigh(*self._cosine(*check_query(terms, weights, self._scoring)), self._idf)
        lay = self._layout
        found: Scores = kernels.score_docs(lay.postings, lay.norm, lay.spec, slots, weight, docs)
        return found

    def to(self, device: str) -> DeviceIndex:
        """The index on a GPU (extra `gpu`), for many queries at once: same documents, same scores, same order.

        Parameters
        ----------
        device
            `cuda` or `cuda:N`.

        Returns
        -------
        DeviceIndex
            A copy of its own, of 12 bytes a posting.

        Raises
        ------
        InvalidInput
            A device that is not there, or the processor.
        MissingExtra
            No torch.
        DeviceMemory
            Too little of it on the device.

        Examples
        --------
        >>> on_gpu = index.to("cuda")  # doctest: +SKIP
        >>> ids, scores = on_gpu.search_batch(indptr, terms, k=100)  # doctest: +SKIP
        """
        from zipfian.retrieve.device_index import DeviceIndex

        return DeviceIndex(self._layout, self._scoring, self._idf, device)

    def _search_as(
        self, scoring: Scoring, query: Ids, given: Scores, k: int, allowed: npt.NDArray[np.bool_],
        out_docs: Ids, out_scores: Scores,
    ) -> int:  # fmt: skip
        """Another formula than the usual one: its norms and the impacts of the query's terms are made once and kept."""
        from zipfian.retrieve import kernels

        if isinstance(scoring, TfIdf):
            raise InvalidInput("TfIdf cannot be chosen per search on a SparseIndex: build it with scoring=TfIdf()")
        if parse_phi(scoring.phi) != self._phi:
            raise InvalidInput("phi changes the document lengths: build another SparseIndex with that phi")
        idf = np.zeros(self.n_terms)
        known = query[(query >= 0) & (query < self.n_terms)]
        df = self._layout.df_of(known)
        idf[known] = np.where(df > 0, scoring.idf(df.astype(np.float64), self.n_docs), 0.0)
        terms, weight = self._weigh(query, given, idf)
        if not len(terms):
            return 0
        lay, cache = self._layout, self._others.under(scoring)
        found = cache.lists(terms.tolist(), lay.df_of(terms), lambda i: self._list(int(terms[i])))
        if found is None:
            n: int = kernels.exact_topk(
                lay.postings, lay.n_windows, cache.norm, cache.spec, terms, weight, k, allowed, out_docs, out_scores
            )
        else:
            n = kernels.topk(
                found[0], lay.n_windows, cache.norm, cache.spec, found[1], weight, k, allowed, self._accumulator(),
                out_docs, out_scores,
            )  # fmt: skip
        return n

    def _lists_under(self, scoring: Scoring) -> PostingCache:
        norm = scoring.norms(self._lengths, float(self._lengths.mean()) if self.n_docs else 0.0)
        return PostingCache(
            self.n_docs,
            len(self._layout.postings.q),
            norm,
            scoring.kernel().array(),
            _OTHER_BYTES,
            self._layout.weights,
        )

    def _list(self, term: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
        """A posting list as it was given: documents, weights."""
        from zipfian.retrieve import kernels

        p = self._layout.postings
        n = int(p.stop[term] - p.start[term])
        docs, tf = np.empty(n, np.int32), np.empty(n, np.float64)
        kernels.unfold(p, term, docs, tf)
        return docs, tf

    def _weigh(self, query: Ids, given: Scores, idf: Scores) -> tuple[Ids, Scores]:
        from zipfian.retrieve import kernels

        slots = np.empty(len(query), np.int64)
        weight = np.empty(len(query), np.float64)
        n = kernels.weigh(query, given, len(given), idf, self.n_terms, slots, weight)
        if n < 0:
            raise explain_code(n, self.n_terms)
        return slots[:n], weight[:n]

    def _cosine(self, query: Ids, given: Scores) -> tuple[Ids, Scores]:
        return weighing.cosine(self._scoring, self._idf, query, given)

    def _accumulator(self) -> npt.NDArray[np.uint16]:
        """Per thread: one window of sums, left zeroed by every search."""
        found: npt.NDArray[np.uint16] | None = getattr(self._buffers, "sums", None)
        if found is None:
            found = self._buffers.sums = np.zeros(WINDOW, np.uint16)
        return found
