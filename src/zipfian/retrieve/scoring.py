"""Scoring formulas as settings: what a term's weight in a document is worth to a query.

Every formula has the form  sum over shared terms of  query weight x idf(term) x impact(tf, norm(document)).
The settings are frozen and serialise to JSON; the arithmetic on postings is in `kernels.impact`.
References: BM25 and its smoothed idf as in Robertson & Zaragoza 2009; the variants as collected by
Kamphuis et al. 2020, "Which BM25 do you mean?"; TF-IDF with sublinear tf and log(N / (1 + df)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, shown
from zipfian.index.phi import parse_phi, phi_name
from zipfian.objects import JsonObject
from zipfian.retrieve.layout import BM25L, LINEAR, LOGTF, SATURATE

F64 = npt.NDArray[np.float64]
Variant = Literal["zipfian", "lucene", "robertson", "atire", "bm25l", "bm25+"]


class KernelSpec(NamedTuple):
    """What a kernel needs to know of a formula: impact = family(phi(tf), norm; a, b, c)."""

    family: int
    a: float
    b: float
    c: float
    phi: float

    def array(self) -> F64:
        return np.array(self, np.float64)


def _number(name: str, value: Any, most: float) -> float:
    """A parameter as a float in [0, most]."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not 0.0 <= value <= most:
        raise InvalidInput(f"{name} must be a number from 0 to {most:g}, not {shown(value)}")
    return float(value)


@dataclass(frozen=True, slots=True)
class BM25:
    """Okapi BM25 and its kin.

    Parameters
    ----------
    k1, b
        Saturation (>= 0) and length normalisation (0 to 1).
    variant
        `zipfian` (default): idf ln(1 + (N - df + 0.5) / (df + 0.5)) and the factor (k1 + 1).
        `lucene`: the same without the factor. `robertson`: idf ln((N - df + 0.5) / (df + 0.5)).
        `atire`: idf ln(N / df). `bm25l` and `bm25+`: lower bounds `delta` for long documents.
        A negative idf counts as 0.
    phi
        Activation transform of documents' and queries' weights: 'identity', 'sqrt' or an exponent in (0, 1].
    delta
        Only for `bm25l` (default 0.5) and `bm25+` (default 1.0).

    Raises
    ------
    InvalidInput
        A parameter out of its range, an unknown variant, or a `delta` for a variant that has none.

    Examples
    --------
    >>> BM25(k1=1.2, b=0.75, variant="lucene").idf(np.array([1.0]), 2)
    array([0.69314718])
    """

    k1: float = 1.5
    b: float = 0.75
    variant: Variant = "zipfian"
    phi: str | float = "identity"
    delta: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k1", _number("k1", self.k1, 1e6))
        object.__setattr__(self, "b", _number("b", self.b, 1.0))
        if not isinstance(self.variant, str) or self.variant not in get_args(Variant):
            raise InvalidInput(f"unknown BM25 variant {shown(self.variant)}; one of {', '.join(get_args(Variant))}")
        if self.delta is not None:
            if self.variant not in ("bm25l", "bm25+"):
                raise InvalidInput("delta belongs to the variants 'bm25l' and 'bm25+' only")
            object.__setattr__(self, "delta", _number("delta", self.delta, 1e6))
        object.__setattr__(self, "phi", phi_name(self.phi))

    def idf(self, df: F64, n: int) -> F64:
        """Inverse document frequency of terms found in `df` of `n` documents; never negative."""
        df = np.asarray(df, np.float64)
        safe = np.maximum(df, 1.0)
        if self.variant in ("zipfian", "lucene"):
            out = np.log1p((n - df + 0.5) / (df + 0.5))
        elif self.variant == "robertson":
            out = np.log(np.maximum(n - df + 0.5, 1e-300) / (df + 0.5))
        elif self.variant == "atire":
            out = np.log(max(n, 1) / safe)
        elif self.variant == "bm25l":
            out = np.log((n + 1.0) / (df + 0.5))
        else:
            out = np.log((n + 1.0) / safe)
        return np.maximum(out, 0.0)

    def norms(self, lengths: npt.NDArray[Any], mean: float) -> F64:
        """The length-dependent part of the denominator: one number for each of `lengths`, whose average is `mean`."""
        k = 1.0 - self.b + self.b * (np.asarray(lengths, np.float64) / (mean if mean > 0.0 else 1.0))
        if self.variant == "bm25l":
            return np.maximum(k, 1e-300)
        return self.k1 * k

    def kernel(self) -> KernelSpec:
        """Constants for `kernels.impact`."""
        phi = parse_phi(self.phi)
        top = self.k1 + 1.0
        if self.variant == "lucene":
            return KernelSpec(SATURATE, 1.0, 0.0, 0.0, phi)
        if self.variant == "bm25l":
            return KernelSpec(BM25L, top, 0.5 if self.delta is None else self.delta, self.k1, phi)
        if self.variant == "bm25+":
            return KernelSpec(SATURATE, top, 1.0 if self.delta is None else self.delta, 0.0, phi)
        return KernelSpec(SATURATE, top, 0.0, 0.0, phi)

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `scoring_from_json` reads them."""
        return {"kind": "bm25", **asdict(self)}


@dataclass(frozen=True, slots=True)
class Dot:
    """The plain dot product of query and document weights (learned sparse vectors, surrogate text).

    Parameters
    ----------
    phi
        Activation transform of documents' and queries' weights: 'identity', 'sqrt' or an exponent in (0, 1].

    Examples
    --------
    >>> Dot().idf(np.array([1.0, 5.0]), 10)
    array([1., 1.])
    """

    phi: str | float = "identity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "phi", phi_name(self.phi))

    def idf(self, df: F64, n: int) -> F64:
        """1 for each of `df`, whatever `n` is: every term counts alike."""
        return np.ones(len(df), np.float64)

    def norms(self, lengths: npt.NDArray[Any], mean: float) -> F64:
        """1 for each of `lengths`, whatever their `mean` is: long documents are not held back."""
        return np.ones(len(lengths), np.float64)

    def kernel(self) -> KernelSpec:
        """Constants for `kernels.impact`."""
        return KernelSpec(LINEAR, 1.0, 0.0, 0.0, parse_phi(self.phi))

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `scoring_from_json` reads them."""
        return {"kind": "dot", **asdict(self)}


@dataclass(frozen=True, slots=True)
class TfIdf:
    """Cosine of TF-IDF vectors: weight (1 + ln tf) x ln(N / (1 + df)), both sides scaled to length 1.

    Weights under 1/e and terms in all but one of the documents count nothing (their factor would be negative).
    A field of words asks with every word of a query, function words too, as they are in the documents' lengths: the
    cosine of a text with itself is 1. Without them on both sides: `Words(drop_stop_words=True)`.
    The document norms depend on every df, so the first TF-IDF search of a snapshot reads all postings once.

    Parameters
    ----------
    phi
        Activation transform of documents' and queries' weights: 'identity', 'sqrt' or an exponent in (0, 1].

    Examples
    --------
    >>> TfIdf().idf(np.array([1.0]), 4)  # in one of four documents: ln(4 / 2)
    array([0.69314718])
    """

    phi: str | float = "identity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "phi", phi_name(self.phi))

    def idf(self, df: F64, n: int) -> F64:
        """Inverse document frequency of terms found in `df` of `n` documents; never negative."""
        return np.maximum(np.log(max(n, 1) / (1.0 + np.asarray(df, np.float64))), 0.0)

    def query_vector(self, weights: F64, idf: F64) -> F64:
        """(1 + ln `weights`) x `idf`, scaled to length 1, to be multiplied by idf once more (the documents' share).

        Terms that count nothing get 0; leave them out of the search.
        """
        q = np.maximum(1.0 + np.log(weights), 0.0) * idf
        length = math.sqrt(float(np.sum(q * q)))
        return q / length if length > 0.0 else q

    def norms(self, lengths: npt.NDArray[Any], mean: float) -> F64:
        """Not a function of `lengths` and their `mean`: `cosine_norms` fills these from the postings."""
        return np.ones(len(lengths), np.float64)

    def kernel(self) -> KernelSpec:
        """Constants for `kernels.impact`."""
        return KernelSpec(LOGTF, 1.0, 0.0, 0.0, parse_phi(self.phi))

    def to_json(self) -> dict[str, Any]:
        """Plain settings; `scoring_from_json` reads them."""
        return {"kind": "tfidf", **asdict(self)}


Scoring = BM25 | Dot | TfIdf
_KINDS: dict[str, type[BM25] | type[Dot] | type[TfIdf]] = {"bm25": BM25, "dot": Dot, "tfidf": TfIdf}


def scoring_from_json(data: Mapping[str, Any]) -> Scoring:
    """The inverse of `to_json`."""
    found = JsonObject(data, "scoring")
    formula = _KINDS[found.choice("kind", _KINDS)]
    return formula(**found.rest([field.name for field in fields(formula)]))
