"""Surrogate text without training: a vector's components, rotated, rectified and rounded down, are its terms.

Documents are centred and rotated, w = R(v - mu), queries rotated only, w = R q: for a given query that shifts every
dot product by the same amount, so the order of documents stays. R is a random orthogonal matrix, which spreads the
variance evenly and so balances the posting lists. CReLU, [w, -w] with negative parts set to 0, keeps what a plain ReLU
would lose; components at or under 1/gamma are dropped; floor(s w) of the rest are the term frequencies.

The paper's text applies CReLU to the vector before it is centred and rotated. A rotation of [v, -v] has twice the size,
and components of both signs again; taken of the rotated vector, CReLU does what it is for.

The threshold acts on the real values. Taken after rounding down, as it is sometimes written, every threshold below 1
would keep exactly the components that are not 0, and gamma would do nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from zipfian import limits
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.objects import JsonObject, finite_number
from zipfian.types import Encoded, FieldBatch, FloatArray, Terms, TfKind
from zipfian.vocabulary import _scalar_file as files

Vector = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class ScalarVocabulary:
    """Turns a pooled vector into integer terms. Make one with `fit`; `save` and `load` keep it with a collection.

    Parameters
    ----------
    rotation, mean
        R (dim x dim, orthogonal) and mu (dim).
    gamma
        Components at or under 1/gamma are dropped: the larger, the denser.
    scale
        s, the steps in a component of 1.
    crelu
        Positive and negative parts as separate terms (2 dim of them); without it the negative ones are lost.
    source
        Where the vectors come from: the encoder's fingerprint, or any name.

    Examples
    --------
    >>> unit = np.eye(4, dtype=np.float32)
    >>> vocabulary = ScalarVocabulary(unit, np.zeros(4, np.float32), gamma=10.0, scale=100.0)
    >>> vocabulary.terms(np.array([0.5, -0.25, 0.05, 0.0], np.float32))
    Terms(ids=array([0, 5], dtype=int32), weights=array([50., 25.], dtype=float32))
    """

    rotation: FloatArray
    mean: FloatArray
    gamma: float = 40.0
    scale: float = 200.0
    crelu: bool = True
    seed: int | None = None
    source: str = ""

    kind = "scalar"
    term_kind: Literal["int"] = "int"
    tf_kind: TfKind = "count"

    def __post_init__(self) -> None:
        dim = check_dim(len(self.mean) if self.mean.ndim == 1 else 0)
        if self.rotation.shape != (dim, dim):
            raise InvalidInput(f"a rotation of shape {self.rotation.shape} does not fit a mean of {dim} components")
        for name in ("rotation", "mean"):
            array = np.ascontiguousarray(getattr(self, name), np.float32)
            if not np.isfinite(array).all():
                raise InvalidInput(f"the {name} holds values that are not finite")
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for name in ("gamma", "scale"):
            value = getattr(self, name)
            if not finite_number(value) or value <= 0:
                raise InvalidInput(f"{name} must be a finite number above 0, not {shown(value)}")
            object.__setattr__(self, name, float(value))
        if not isinstance(self.crelu, bool) or not isinstance(self.source, str):
            raise InvalidInput(f"crelu must be True or False and source a text, not {self.crelu!r}, {self.source!r}")

    @classmethod
    def fit(
        cls,
        vectors: Iterable[Vector],
        *,
        gamma: float = 40.0,
        scale: float = 200.0,
        crelu: bool = True,
        seed: int = 0,
        source: str = "",
    ) -> ScalarVocabulary:
        """Centre on the mean of vectors (rows of matrices, or one by one) that are read once and not kept."""
        mean = streaming_mean(vectors)
        return cls(random_rotation(len(mean), seed), mean, gamma, scale, crelu, seed, source)

    def with_settings(
        self, *, gamma: float | None = None, scale: float | None = None, crelu: bool | None = None
    ) -> ScalarVocabulary:
        """The same rotation and mean with another threshold, scale or rectifier."""
        return replace(
            self,
            gamma=self.gamma if gamma is None else gamma,
            scale=self.scale if scale is None else scale,
            crelu=self.crelu if crelu is None else crelu,
        )

    # ------------------------------------------------------------------ terms

    @property
    def dim(self) -> int:
        """Components of a vector."""
        return len(self.mean)

    @property
    def n_terms(self) -> int:
        """Size of the vocabulary."""
        return 2 * self.dim if self.crelu else self.dim

    def terms(self, item: Encoded | Vector) -> Terms:
        """A document's terms; the weights are whole numbers."""
        return self._quantise(self.rotation @ (self._vector(item) - self.mean))

    def query_terms(self, item: Encoded | Vector) -> Terms:
        """A query's terms: rotated, not centred."""
        return self._quantise(self.rotation @ self._vector(item))

    def terms_many(self, items: Iterable[Encoded | Vector]) -> list[Terms]:
        """Documents one by one: a product of matrices may round differently with the number of rows."""
        return [self.terms(item) for item in items]

    def query(self, item: Encoded | Vector) -> Mapping[int, float]:
        """A query's terms and weights."""
        found = self.query_terms(item)
        return dict(zip(found.ids.tolist(), found.weights.tolist(), strict=True))

    def batch(self, items: Iterable[Encoded | Vector]) -> FieldBatch:
        """The terms of many documents, ready to be written."""
        rows = self.terms_many(items)
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        ids = np.concatenate([np.empty(0, np.int32), *(row.ids for row in rows)])
        tf = np.concatenate([np.empty(0, np.float32), *(row.weights for row in rows)]).astype(np.uint32)
        terms, places = np.unique(ids, return_inverse=True)
        return FieldBatch(indptr, terms.astype(np.int64), places.astype(np.int32), tf)

    def label(self, term: int) -> str:
        """A codeword: the rotated component it stands for, and its sign."""
        if not 0 <= term < self.n_terms:
            raise InvalidInput(f"there are {self.n_terms} terms, numbered from 0; got {term}")
        return f"+{term}" if term < self.dim else f"-{term - self.dim}"

    def _vector(self, item: Encoded | Vector) -> FloatArray:
        raw = item.pooled if isinstance(item, Encoded) else item
        vector = np.asarray(raw)
        if vector.dtype.kind != "f" or vector.shape != (self.dim,):
            raise InvalidInput(
                f"a vector of {self.dim} real numbers was expected, not {vector.dtype} of shape {vector.shape}"
            )
        if not np.isfinite(vector).all():
            raise InvalidInput("the vector holds a number that is not finite")
        return vector.astype(np.float32)

    def _quantise(self, w: FloatArray) -> Terms:
        positive = np.concatenate([w, -w]) if self.crelu else w
        kept = np.flatnonzero(positive > 1.0 / self.gamma)
        steps = np.minimum(np.floor(positive[kept].astype(np.float64) * self.scale), limits.MAX_FIXED_STEPS)
        there = steps > 0.0
        return Terms(kept[there].astype(np.int32), steps[there].astype(np.float32))

    # ------------------------------------------------------------------ for a cache and for explanations

    @property
    def compact_form(self) -> str:
        """Names what `compact` makes: the pooled vector, which a dense field keeps under the same name."""
        return "pooled"

    def compact(self, encoded: Encoded) -> dict[str, FloatArray]:
        """What is worth keeping of an item."""
        return {"pooled": encoded.pooled}

    def from_compact(self, arrays: Mapping[str, Any]) -> Terms:
        """The terms of a document from what `compact` kept."""
        return self.terms(arrays["pooled"])

    def evidence(
        self, encoded: Encoded, wanted: Collection[int] | None = None, *, asked: bool = False
    ) -> dict[int, list[tuple[int, float]]]:
        """Nothing: a component of a pooled vector comes from the whole item and has no place in it."""
        return {}

    # ------------------------------------------------------------------ identity

    @property
    def fingerprint(self) -> str:
        """Equal only for equal terms: covers the matrix, the mean and every setting."""
        return files.fingerprint(self._settings(), self.rotation, self.mean)

    def to_json(self) -> dict[str, Any]:
        """Settings and fingerprint; the arrays are in the files that `save` writes."""
        return {"kind": self.kind, **self._settings(), "fingerprint": self.fingerprint}

    def _settings(self) -> dict[str, Any]:
        return {
            "dim": self.dim, "gamma": self.gamma, "scale": self.scale, "crelu": self.crelu, "seed": self.seed,
            "source": self.source,
        }  # fmt: skip

    def save(self, folder: str | Path) -> None:
        """Write `scalar.safetensors` and `scalar.json`."""
        files.save(Path(folder), self._settings(), self.rotation, self.mean)

    @classmethod
    def load(cls, folder: str | Path) -> ScalarVocabulary:
        """What `save` wrote; changed or mixed-up files are refused."""
        return cls._of(*files.load(Path(folder)), str(folder))

    def to_bytes(self) -> tuple[bytes, bytes]:
        """What `save` writes, arrays first: for a collection that carries its own transform."""
        return files.pack(self._settings(), self.rotation, self.mean)

    @classmethod
    def from_bytes(cls, arrays: bytes, settings: bytes, where: str) -> ScalarVocabulary:
        """What `to_bytes` gave; `where` says in messages where it comes from."""
        return cls._of(*files.unpack(arrays, settings, where), where)

    @classmethod
    def _of(cls, settings: Mapping[str, Any], rotation: FloatArray, mean: FloatArray, where: str) -> ScalarVocabulary:
        found = JsonObject(settings, where)
        if found.whole("dim", 1, limits.MAX_ROTATED_DIM) != mean.size:
            raise InvalidInput(
                f"{where}: the settings say vectors of {settings['dim']} numbers, the mean has {mean.size}"
            )
        seed = found.whole("seed", 0, 2**64) if found.has("seed") else None
        given = found.rest(["gamma", "scale", "crelu", "source"])
        if len(given) < 4:
            raise InvalidInput(f"{where}: the settings lack some of gamma, scale, crelu and source")
        return cls(rotation, mean, seed=seed, **given)


def random_rotation(dim: int, seed: int) -> FloatArray:
    """A random orthogonal matrix, uniform over all of them: Q of a Gaussian matrix, signs fixed by R's diagonal.

    The same seed gives the same matrix up to rounding by the installed LAPACK, which is why it is saved as numbers.
    """
    gaussian = np.random.default_rng(seed).standard_normal((check_dim(dim), dim))
    q, r = np.linalg.qr(gaussian)
    signs = np.where(np.diag(r) < 0.0, -1.0, 1.0)
    return (q * signs).astype(np.float32)


def streaming_mean(vectors: Iterable[Vector]) -> FloatArray:
    """The mean of vectors given one by one or as rows of matrices, summed in double precision."""
    total: npt.NDArray[np.float64] | None = None
    count = 0
    for given in vectors:
        rows = np.atleast_2d(np.asarray(given))
        if rows.ndim != 2 or rows.dtype.kind != "f":
            raise InvalidInput(f"vectors must be rows of real numbers, not {rows.dtype} of shape {rows.shape}")
        if total is None:
            total = np.zeros(check_dim(rows.shape[1]), np.float64)
        if rows.shape[1] != len(total):
            raise InvalidInput(f"a vector of {rows.shape[1]} components among some of {len(total)}")
        if not np.isfinite(rows).all():
            raise InvalidInput(f"a vector after the first {count} holds a number that is not finite")
        total += rows.sum(axis=0, dtype=np.float64)
        count += len(rows)
    if total is None or not count:
        raise InvalidInput("no vectors to take the mean of")
    return (total / count).astype(np.float32)


def check_dim(dim: int) -> int:
    """A usable number of components."""
    if dim < 1:
        raise InvalidInput("a vector needs at least one component")
    if dim > min(limits.MAX_ROTATED_DIM, limits.MAX_VECTOR_DIM):
        raise LimitExceeded(
            f"a rotation of {dim:,} x {dim:,} numbers is too large; the limit is {limits.MAX_ROTATED_DIM:,}"
        )
    return dim
