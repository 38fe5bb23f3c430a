"""How a field's weights become integer term frequencies, and a query's weights boosts, so that scores come out equal.

A server cannot apply phi or a scale later, so the frequency sent is round(S phi(w)), and saturation is put on the same
scale: with k1' = S k1,

    tf' / (tf' + k1' norm) = phi / (phi + k1 norm).

Servers before OpenSearch 3 also multiply by (k1' + 1), where we want (k1 + 1) or nothing: the quotient goes into the
boosts. Dot products come from a scripted similarity (boost x frequency), and from `rank_features` for real weights.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import quote, unquote

import numpy as np
import numpy.typing as npt

from zipfian.engines.opensearch.client import Server
from zipfian.errors import InvalidInput
from zipfian.fields.base import PostingField
from zipfian.index.phi import apply_phi
from zipfian.limits import MAX_CLUSTER_FREQUENCY
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import BM25, Dot

Storage = Literal["frequencies", "repeated", "features"]
"""token|tf, token token token, or a map of real numbers."""

DELIMITER = "|"
NOBODY = "%"
"""No term is sent as this: a percent sign in a term is escaped by more than itself."""
STEPS = 100.0
"""Steps in a weight of 1 where phi leaves no whole numbers."""
REPEATED_STEPS = 8.0
"""The same where a token must be repeated: a document of 16 terms then has some hundred tokens."""

_PLAIN = re.compile(r"[A-Za-z0-9+#.@&_-]+\Z")


class Sent(NamedTuple):
    """A field of a document as it is sent."""

    value: Any
    error: float
    """Sum of relative errors of its weights."""


@dataclass(frozen=True, slots=True)
class FieldCode:
    """One field's way into the index; stored with it, since it cannot change afterwards."""

    storage: Storage
    steps: float
    """Frequency of a transformed weight of 1."""

    @classmethod
    def choose(cls, name: str, field: PostingField, server: Server, storage: Storage | None = None) -> FieldCode:
        """The most faithful form the server can hold; `InvalidInput` for scorings no form gives."""
        _check(name, field)
        if storage is None:
            if isinstance(field.scoring, Dot) and field.tf == "float32":
                storage = "features"
            else:
                storage = "frequencies" if server.has_frequencies else "repeated"
        if storage == "frequencies" and not server.has_frequencies:
            raise InvalidInput(
                f"field {name!r}: {server.distribution} {server.version} cannot read term frequencies from a text "
                "(OpenSearch 2.10 and newer can): use 'repeated'"
            )
        if storage == "features" and not isinstance(field.scoring, Dot):
            raise InvalidInput(f"field {name!r}: real weights ('features') are scored by Dot() only, not by BM25")
        if storage == "features":
            return cls(storage, 1.0)
        whole = field.tf != "float32" and field.scoring.phi == "identity"
        steps = field.scale if whole else STEPS
        return cls(storage, min(steps, REPEATED_STEPS) if storage == "repeated" else steps)

    @property
    def nothing(self) -> str:
        """What a document without terms sends: a token nobody asks for. Servers count documents that have the field,
        we count all."""
        return f"{NOBODY}{DELIMITER}1" if self.storage == "frequencies" else NOBODY

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def similarity(self, field: PostingField) -> dict[str, Any] | None:
        """The server's scoring of the field."""
        if self.storage == "features":
            return None
        if isinstance(field.scoring, BM25):
            return {"type": "BM25", "k1": field.scoring.k1 * self.steps, "b": field.scoring.b}
        return {"type": "scripted", "script": {"source": "return query.boost * doc.freq;"}}

    def boosts(self, field: PostingField, weights: npt.NDArray[np.float64], server: Server) -> npt.NDArray[np.float64]:
        """Query weights as boosts."""
        given = apply_phi(weights, str(field.scoring.phi))
        if not isinstance(field.scoring, BM25):
            return given / self.steps
        wanted = 1.0 if field.scoring.variant == "lucene" else field.scoring.k1 + 1.0
        there = field.scoring.k1 * self.steps + 1.0 if server.bm25_factor else 1.0
        return given * (wanted / there)

    def _frequencies(self, wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
        """What is sent for weights, phi applied; at least 1, since a posting that was kept must be found."""
        exact = np.rint(wanted * self.steps)
        return np.minimum(np.maximum(exact, 1.0), MAX_CLUSTER_FREQUENCY).astype(np.int64)

    def sent(self, field: PostingField, tokens: Sequence[str], weights: npt.NDArray[np.float64]) -> Sent:
        """The field of one document, for the server."""
        wanted = apply_phi(weights, str(field.scoring.phi))
        if self.storage == "features":
            return Sent(dict(zip(tokens, wanted.tolist(), strict=True)), 0.0)
        whole = self._frequencies(wanted)
        error = float(np.add.reduce(np.abs(whole / self.steps - wanted) / wanted))
        pairs = zip(tokens, whole.tolist(), strict=True)
        if self.storage == "repeated":
            return Sent(" ".join([" ".join([token] * tf) for token, tf in pairs]), error)
        return Sent(" ".join([f"{token}{DELIMITER}{tf}" for token, tf in pairs]), error)


def weights_of(field: PostingField, stored: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Stored weights (steps, counts or real numbers) as real weights."""
    return stored.astype(np.float64) / (field.scale if field.tf == "fixed" else 1.0)


def token(term: str | int) -> str:
    """A term without white space, delimiter or anything else an analyser might stumble over.

    >>> token("c++"), token("a|b"), token(17)
    ('c++', 'a%7Cb', '17')
    """
    if isinstance(term, int):
        return str(term)
    if _PLAIN.match(term):
        return term
    return "".join(c if c.isalnum() or c in "+#.@&_-" else quote(c, safe="") for c in term)


def term_of(field: PostingField, found: str) -> str | int:
    """The term a token stands for."""
    return unquote(found) if field.lexical else int(found)


def _check(name: str, field: PostingField) -> None:
    """Refuse what a server's similarity cannot express, rather than score something else."""
    scoring: Any = field.scoring
    if isinstance(scoring, BM25) and scoring.variant not in ("zipfian", "lucene"):
        raise InvalidInput(
            f"field {name!r}: OpenSearch has no BM25 variant {scoring.variant!r}; use 'zipfian' or 'lucene'"
        )
    if not isinstance(scoring, BM25 | Dot):
        raise InvalidInput(f"field {name!r}: OpenSearch cannot score {type(scoring).__name__}; use BM25() or Dot()")
    if field.pruning.prunes_vocabulary:
        raise InvalidInput(
            f"field {name!r}: max_df_share and drop_top_share depend on all documents, which a cluster never sees at "
            "once; prune documents with min_weight or top_k instead"
        )


def codes_from_json(data: Any) -> dict[str, FieldCode]:
    """What `to_json` of each field's code gave."""
    found = JsonObject(data, "the codes of the fields")
    out: dict[str, FieldCode] = {}
    for name in list(data):
        code = found.object(name)
        storage: Any = code.choice("storage", get_args(Storage))
        out[name] = FieldCode(storage, code.number("steps", 0.0, float(MAX_CLUSTER_FREQUENCY)))
        code.end()
    return out
