"""How likely it is that a document is a right answer, from 0 to 1: what scores, which have no common scale, cannot say.

1. *Share.* Each field's score of the document is divided by what the query itself would score, were it a document of
   average length; a cosine is such a share already. A field thus says how much of what was asked a document has.
2. *Lead.* The best other document's share is taken from it: of many documents that have as much, each is less likely
   to be the one that was meant.
3. Each field turns both into log-odds with three constants of its own (`Evidence`). One field's are a probability as
   they are; of several, the mean is, stretched, and the most certain of them has a fifth of the say, so that a
   document that has the words asked for is not given up because vectors cannot see them.

It depends on the query, the snapshot, the fields that were asked and, through the lead, on the filter; not on k, on the
offset, on the fusion or on a second stage, which say in what order documents come.

The constants are logistic regressions on the best ten of each query with an even sha1 of SciFact, CISI, CACM and XQuAD
in en, de and zh, of Caltech-101 for pictures, and on queries of other collections, to which there is no right answer;
the fifth was settled looking at LIMIT-small, too. No label of the collection that is searched is needed. How far it
holds elsewhere: `docs/confidence.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from zipfian.errors import InvalidInput
from zipfian.fuse.ranking import F64, Ranking

SEVERAL = (1.4, 1.2)
"""The log-odds of several fields together: this much, and so many times their mean. Fields that agree are right more
often than each of them says."""

BOLDEST = 0.2
"""What of a probability is the most certain field's own, where there are several."""

SURE = 30.0
"""Log-odds beyond this are all the same: less than one in a million million is left."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a field's score says about a document: log-odds of `base` + `share` x its share + `lead` x its lead.

    Examples
    --------
    >>> Evidence(base=-4.0, share=5.0, lead=6.0).share
    5.0
    """

    base: float
    """Of a document that has nothing of what was asked, no worse than the best other one."""
    share: float
    """What all of it adds."""
    lead: float
    """What it adds to have all of it where no other document has any."""


def confidences(first: Ranking, asked: Sequence[float], evidence: Sequence[Evidence]) -> F64:
    """The probability, for each document of a ranking, that it is a right answer.

    Parameters
    ----------
    first
        The ranking before any second stage, with what is best in its fields.
    asked
        For each of its fields what the query itself would score; 0 where the field was asked for nothing.
    evidence
        For each of its fields how its score is read.

    Returns
    -------
    numpy.ndarray
        One number from 0 to 1 for each document; 0 where no field has anything to say about it.

    Raises
    ------
    InvalidInput
        A ranking without `best`.

    Examples
    --------
    >>> found = Ranking.of("words", np.array([7, 3]), np.array([4.0, 1.0]))
    >>> confidences(found, [4.0], [Evidence(-4.0, 5.0, 6.0)]).round(3).tolist()
    [0.996, 0.001]
    """
    if first.best is None:
        raise InvalidInput("a lead is counted from the best of each field's list, which this ranking does not have")
    odds = np.full(first.raw.shape, np.nan)
    for i, (whole, read) in enumerate(zip(asked, evidence, strict=True)):
        if whole > 0.0:
            share = first.raw[:, i] / whole
            best, second = (*(first.best[i] / whole).tolist(), 0.0, 0.0)[:2]  # others have nothing where none is
            lead = share - np.where(first.ranks[:, i] == 1, second, best)
            odds[:, i] = read.base + read.share * share + read.lead * lead
    there = ~np.isnan(odds)
    fields = there.sum(axis=1)
    base, times = SEVERAL
    boldest = _probability(np.where(there, odds, -SURE).max(axis=1, initial=-SURE))
    together = _probability(base + times * np.where(there, odds, 0.0).sum(axis=1) / np.maximum(fields, 1))
    out = np.where(fields > 1, BOLDEST * boldest + (1.0 - BOLDEST) * together, boldest)
    return np.where(fields > 0, out, 0.0)


def _probability(odds: F64) -> F64:
    out: F64 = 1.0 / (1.0 + np.exp(-np.clip(odds, -SURE, SURE)))
    return out
