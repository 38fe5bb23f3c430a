"""Is a difference more than chance? Paired tests over queries or runs.

References: Student's paired t-test; Fisher's randomisation test as recommended for IR by Smucker, Allan and
Carterette 2007; Cohen's d of paired differences (Cohen 1988); Holm 1979 for several comparisons at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from zipfian.errors import InvalidInput, MissingExtra

F64 = npt.NDArray[np.float64]

PERMUTATIONS = 10_000
SEED = 20_160
_NOISE = 1e-12
"""Differences of measures (0 to 1) below this are rounding."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """B against A over the same queries or runs."""

    n: int
    mean_a: float
    mean_b: float
    difference: float
    """mean of B - A."""
    p: float
    """Two-sided; NaN where a test is impossible (fewer than two pairs)."""
    cohens_d: float
    """Mean difference / standard deviation of the differences; infinite where they are constant and not 0."""
    test: str

    def mark(self, level: float = 0.05) -> str:
        """'+' or '-' where B differs from A at this level, '++' or '--' at a fifth of it, else nothing."""
        if not self.p <= level:  # also NaN
            return ""
        sign = "+" if self.difference > 0 else "-"
        return sign * 2 if self.p <= level / 5 else sign


def paired(
    a: Mapping[str, float] | Sequence[float],
    b: Mapping[str, float] | Sequence[float],
    test: Literal["t", "randomisation"] = "t",
    *,
    permutations: int = PERMUTATIONS,
    seed: int = SEED,
) -> Comparison:
    """Compare B with A; mappings are matched by key and must have the same keys."""
    x, y = _aligned(a, b)
    d = y - x
    n = len(d)
    difference = float(d.mean())
    if float(np.ptp(d)) <= _NOISE:  # no spread: what rounding left of it must not decide
        effect = 0.0 if abs(difference) <= _NOISE else math.copysign(math.inf, difference)
    else:
        effect = difference / float(d.std(ddof=1))
    if n < 2:
        p = math.nan
    elif test == "t":
        p = _t_test(effect, n)
    elif test == "randomisation":
        p = _randomisation(d, permutations, seed)
    else:
        raise InvalidInput(f"test must be 't' or 'randomisation', not {test!r}")
    return Comparison(n, float(x.mean()), float(y.mean()), difference, p, effect, test)


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for the number of comparisons made (Holm's step-down); NaN stays."""
    order = sorted((p, i) for i, p in enumerate(p_values) if not math.isnan(p))
    out, worst = [math.nan] * len(p_values), 0.0
    for step, (p, i) in enumerate(order):
        worst = max(worst, min(1.0, p * (len(order) - step)))
        out[i] = worst
    return out


def student_p(t: float, df: float) -> float:
    """Two-sided p-value of Student's t."""
    try:
        from scipy.special import stdtr
    except ImportError as error:
        raise MissingExtra("a significance test", "eval") from error
    return float(2.0 * stdtr(df, -abs(t)))


def _t_test(effect: float, n: int) -> float:
    """t = d sqrt(n); no difference anywhere is no evidence at all."""
    return 1.0 if effect == 0.0 else student_p(effect * math.sqrt(n), n - 1)


def _randomisation(d: F64, permutations: int, seed: int) -> float:
    """Signs are exchanged at random; all 2^n of them where that is fewer than `permutations`."""
    n = len(d)
    observed = abs(float(d.mean()))
    margin = 1e-12 * max(1.0, observed)
    if 2**n <= permutations:
        signs = 1.0 - 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)[None, :]) & 1)
        return float(np.mean(np.abs(signs @ d / n) >= observed - margin))
    rng, hits, done = np.random.default_rng(seed), 0, 0
    while done < permutations:  # in blocks: a large query set must not fill the memory
        block = min(permutations - done, max(1, 4_000_000 // n))
        signs = rng.integers(0, 2, (block, n), dtype=np.int8) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ d / n) >= observed - margin))
        done += block
    return (hits + 1) / (permutations + 1)


def _aligned(a: Mapping[str, float] | Sequence[float], b: Mapping[str, float] | Sequence[float]) -> tuple[F64, F64]:
    if isinstance(a, Mapping) or isinstance(b, Mapping):
        if not (isinstance(a, Mapping) and isinstance(b, Mapping)) or a.keys() != b.keys():
            raise InvalidInput("paired tests need values for the same queries on both sides")
        b = [b[key] for key in a]
        a = list(a.values())
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise InvalidInput(f"paired tests need as many values on both sides, not {x.shape} and {y.shape}")
    return x, y
