"""What a collection is made of, as stored in its manifest: its legs and the types of its metadata fields."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from zipfian import limits
from zipfian.errors import FingerprintMismatch, FormatTooNew, IndexCorrupt, InvalidInput, LimitExceeded
from zipfian.index.leg import LegWriteSpec
from zipfian.index.metadata import FIELD_TYPES, FieldType
from zipfian.retrieve.scoring import BM25, Scoring, scoring_from_json
from zipfian.retrieve.validate import check_scoring
from zipfian.types import TfKind
from zipfian.vocabulary import Pruning, Words, WordSettings
from zipfian.vocabulary.quantise import check_scale

VERSION = 1
_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


@lru_cache(maxsize=64)
def analyser(settings: WordSettings) -> Words:
    """One analyser per setting: it remembers the words it has seen."""
    return Words(settings)


@dataclass(frozen=True)
class Leg:
    """A posting set of a collection: where its terms come from, how weights are stored, how they are scored.

    Make one with `Leg.words(...)` (the words of the documents' text) or `Leg.terms(n_terms, ...)` (ready-made sparse
    vectors, one per document).

    Examples
    --------
    >>> Leg.words(language="german").vocabulary.settings.language
    'german'
    >>> Leg.terms(18_432).tf
    'fixed'
    """

    kind: Literal["words", "terms"]
    scoring: Scoring = field(default_factory=BM25)
    pruning: Pruning = field(default_factory=Pruning)
    tf: TfKind = "count"
    scale: float = 1.0
    n_terms: int = 0
    word_settings: WordSettings | None = None

    def __post_init__(self) -> None:
        check_scoring(self.scoring)
        if not isinstance(self.pruning, Pruning):
            raise InvalidInput(f"pruning must be Pruning(...), not {self.pruning!r:.80}")
        if (self.kind == "words") != isinstance(self.word_settings, WordSettings):
            raise InvalidInput("make a leg with Leg.words(...) or Leg.terms(n_terms, ...)")
        check_scale(self.scale)

    @classmethod
    def words(
        cls, *, scoring: Scoring | None = None, pruning: Pruning | None = None, settings: WordSettings | None = None,
        **analysis: Any,
    ) -> Leg:  # fmt: skip
        """Words of the text. `analysis` are fields of `WordSettings`: language, stem, stop_words ..."""
        if settings is not None and analysis:
            raise InvalidInput("give either settings=WordSettings(...) or its fields, not both")
        if settings is None:
            try:
                settings = WordSettings(**analysis)
            except TypeError as e:
                raise InvalidInput(f"unknown word setting: {e}") from None
        return cls("words", scoring or BM25(), pruning or Pruning(), word_settings=settings)

    @classmethod
    def terms(
        cls, n_terms: int, *, scoring: Scoring | None = None, pruning: Pruning | None = None, tf: TfKind = "fixed",
        scale: float = 100.0,
    ) -> Leg:  # fmt: skip
        """Ready-made `Terms` with ids below `n_terms`.

        `tf="fixed"` stores weights as 16-bit multiples of 1/scale (hundredths by default), `"float32"` as given,
        `"count"` as whole numbers.
        """
        if isinstance(n_terms, bool) or not isinstance(n_terms, int) or not 1 <= n_terms <= limits.MAX_TERMS:
            raise InvalidInput(f"n_terms must be a whole number from 1 to {limits.MAX_TERMS}, not {n_terms!r}")
        if tf not in ("fixed", "float32", "count"):
            raise InvalidInput(f"tf must be 'fixed', 'float32' or 'count', not {tf!r}")
        return cls("terms", scoring or BM25(), pruning or Pruning(), tf, scale if tf == "fixed" else 1.0, n_terms)

    @property
    def vocabulary(self) -> Words:
        """The analyser of a words leg."""
        if self.word_settings is None:
            raise InvalidInput("a leg of ready-made terms does not read texts")
        return analyser(self.word_settings)

    @property
    def write_spec(self) -> LegWriteSpec:
        """How its postings are written; stored lengths follow the leg's own phi."""
        return LegWriteSpec(self.tf, self.scale, str(self.scoring.phi))

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "kind": self.kind, "scoring": self.scoring.to_json(), "pruning": self.pruning.to_json(),
            "tf": self.tf, "scale": self.scale,
        }  # fmt: skip
        if self.word_settings is not None:
            return {**out, "words": self.word_settings.to_json(), "fingerprint": self.vocabulary.fingerprint}
        return {**out, "n_terms": self.n_terms}

    @classmethod
    def from_json(cls, name: str, data: Mapping[str, Any]) -> Leg:
        scoring, pruning = scoring_from_json(data["scoring"]), Pruning.from_json(data["pruning"])
        if data["kind"] == "terms":
            return cls.terms(data["n_terms"], scoring=scoring, pruning=pruning, tf=data["tf"], scale=data["scale"])
        if data["kind"] != "words":
            raise FormatTooNew(
                f"leg {name!r} is of kind {data['kind']!r}, which this zipfian does not know; upgrade it"
            )
        leg = cls.words(scoring=scoring, pruning=pruning, settings=WordSettings.from_json(data["words"]))
        found = leg.vocabulary.fingerprint
        if found != data["fingerprint"]:
            raise FingerprintMismatch(
                f"leg {name!r} was built with the analyser {data['fingerprint']}, this installation has {found}: "
                "install the same version of PyStemmer, or build the collection again"
            )
        return leg


@dataclass(frozen=True)
class Settings:
    """Everything in a manifest that is the collection's own."""

    legs: Mapping[str, Leg]
    fields: Mapping[str, FieldType] = field(default_factory=dict)

    def with_fields(self, fields: Mapping[str, FieldType]) -> Settings:
        return replace(self, fields=fields)

    def with_leg(self, name: str, leg: Leg) -> Settings:
        check_leg_name(name)
        if not isinstance(leg, Leg):
            raise InvalidInput(f"a leg is made with Leg.words(...) or Leg.terms(n_terms), not {leg!r:.80}")
        if name in self.legs:
            raise InvalidInput(f"the collection has a leg {name!r} already")
        if len(self.legs) >= limits.MAX_LEGS:
            raise LimitExceeded(f"a collection has at most {limits.MAX_LEGS} legs")
        return replace(self, legs={**self.legs, name: leg})

    def with_scoring(self, scoring: Mapping[str, Scoring]) -> Settings:
        """Other formulas for the time a collection is open."""
        for name, formula in scoring.items():
            self.leg(name)
            check_scoring(formula)
        changed = {n: replace(leg, scoring=scoring.get(n, leg.scoring)) for n, leg in self.legs.items()}
        return replace(self, legs=changed)

    def leg(self, name: str) -> Leg:
        if name not in self.legs:
            raise InvalidInput(f"there is no leg {name!r}; the collection has: {', '.join(self.legs)}")
        return self.legs[name]

    def to_json(self) -> dict[str, Any]:
        # a list, since manifests sort keys: the first leg of its kind is the one that a query means
        legs = [{"name": name, **leg.to_json()} for name, leg in self.legs.items()]
        return {"version": VERSION, "legs": legs, "fields": dict(self.fields)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: str) -> Settings:
        version = data.get("version")
        if isinstance(version, int) and version > VERSION:
            raise FormatTooNew(
                f"{source}: written by a newer zipfian (settings version {version}); upgrade the package"
            )
        try:
            legs = {leg["name"]: Leg.from_json(leg["name"], leg) for leg in data["legs"]}
            fields = dict(data["fields"])
        except (KeyError, TypeError, AttributeError) as e:
            raise IndexCorrupt(source, f"its collection settings cannot be read ({e!r})") from e
        if not set(fields.values()) <= FIELD_TYPES:
            raise IndexCorrupt(source, "names an unknown metadata type")
        return cls(legs, fields)


def check_leg_name(name: Any) -> None:
    """Leg names appear in file roles, filters and reports: short, lower case, no surprises."""
    if not isinstance(name, str) or len(name) > limits.MAX_FIELD_NAME_CHARS or not _NAME.match(name):
        raise InvalidInput(f"a leg name starts with a lower-case letter, then a-z, 0-9, '-' or '_'; got {name!r}")


def make_legs(legs: Sequence[str] | Mapping[str, Leg] | None) -> dict[str, Leg]:
    """The legs of a new collection: `["words"]`, or names with their settings."""
    if legs is None:
        legs = ["words"]
    if isinstance(legs, str):
        raise InvalidInput(f"legs must be a list or a mapping, not the string {legs!r}")
    out: dict[str, Leg] = {}
    for name in legs:
        check_leg_name(name)
        leg = legs[name] if isinstance(legs, Mapping) else Leg.words() if name == "words" else None
        if not isinstance(leg, Leg):
            raise InvalidInput(
                f"leg {name!r} needs settings: legs={{{name!r}: Leg.terms(n_terms)}} for ready-made terms, "
                f"or Leg.words(...) for the words of the text"
            )
        out[name] = leg
    if not out:
        raise InvalidInput("a collection needs at least one leg")
    if len(out) > limits.MAX_LEGS:
        raise LimitExceeded(f"a collection has at most {limits.MAX_LEGS} legs")
    return out
