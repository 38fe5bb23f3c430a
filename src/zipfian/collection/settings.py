"""What a collection is made of, as stored in its manifest: its legs and the types of its metadata fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zipfian import limits
from zipfian.collection.legs import Leg, check_leg_name, check_together
from zipfian.collection.model import FindScalar
from zipfian.collection.trust import NOTHING, Trust
from zipfian.errors import FormatTooNew, IndexCorrupt, InvalidInput, LimitExceeded, shown
from zipfian.index.metadata import FIELD_TYPES, FieldType
from zipfian.objects import JsonObject
from zipfian.retrieve.scoring import Scoring

VERSION = 1


@dataclass(frozen=True)
class Settings:
    """Everything in a manifest that is the collection's own."""

    legs: Mapping[str, Leg]
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    trust: Trust = field(default=NOTHING, compare=False)
    """What of the world outside the collection may be read; not stored, but said by whoever opens it."""

    def with_fields(self, fields: Mapping[str, FieldType]) -> Settings:
        return replace(self, fields=fields)

    def with_leg(self, name: str, leg: Leg) -> Settings:
        check_leg_name(name)
        if not isinstance(leg, Leg):
            raise InvalidInput(f"a leg is made with Leg.words(...), Leg.latent(...) and so on, not {shown(leg)}")
        if name in self.legs:
            raise InvalidInput(f"the collection has a leg {name!r} already")
        if len(self.legs) >= limits.MAX_LEGS:
            raise LimitExceeded(f"a collection has at most {limits.MAX_LEGS} legs")
        legs = {**self.legs, name: leg}
        check_together(legs)
        return replace(self, legs=legs)

    def finding(self, find: FindScalar) -> Settings:
        """Scalar legs that find their transforms in the files of the collection."""
        legs = dict(self.legs)
        for name, leg in legs.items():
            if leg.kind == "scalar" and leg.model is not None:
                legs[name] = replace(leg, model=replace(leg.model, find=find))
        return replace(self, legs=legs)

    def with_scoring(self, scoring: Mapping[str, Scoring]) -> Settings:
        """Other formulas for the time a collection is open."""
        changed = {name: self.leg(name).with_scoring(formula) for name, formula in scoring.items()}
        return replace(self, legs={name: changed.get(name, leg) for name, leg in self.legs.items()})

    @property
    def posting_legs(self) -> dict[str, Leg]:
        """Legs that are inverted indexes."""
        return {name: leg for name, leg in self.legs.items() if leg.has_postings}

    def leg(self, name: str) -> Leg:
        if not isinstance(name, str) or name not in self.legs:
            raise InvalidInput(f"there is no leg {shown(name)}; the collection has: {', '.join(self.legs)}")
        return self.legs[name]

    def to_json(self) -> dict[str, Any]:
        # a list, since manifests sort keys: the first leg of its kind is the one that a query means
        legs = [{"name": name, **leg.to_json()} for name, leg in self.legs.items()]
        return {"version": VERSION, "legs": legs, "fields": dict(self.fields)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: str, trust: Trust = NOTHING) -> Settings:
        """What `to_json` gave, in a manifest that anybody may have written; `trust` is what its reader allows."""
        try:
            found = JsonObject(data, "settings")
            found.version(VERSION)
            legs: dict[str, Leg] = {}
            for entry in found.items("legs", limits.MAX_LEGS):
                leg = JsonObject(entry, "a leg")
                name = leg.value("name")
                check_leg_name(name)
                if name in legs:
                    raise InvalidInput(f"the leg {name!r} is named twice")
                legs[name] = Leg.from_json(name, leg.left(), trust)
            if not legs:
                raise InvalidInput("it has no legs")
            check_together(legs)
            fields = _fields(found.mapping("fields", limits.MAX_METADATA_FIELDS))
            found.end()
        except (InvalidInput, LimitExceeded) as error:
            raise IndexCorrupt(source, f"its collection settings cannot be read: {error}") from error
        except FormatTooNew as error:
            raise FormatTooNew(f"{source}: {error}") from error
        return cls(legs, fields, trust)


def _fields(given: Mapping[str, Any]) -> dict[str, FieldType]:
    found = JsonObject(given, "the types of metadata")
    out: dict[str, Any] = {}
    for name in given:
        if not 1 <= len(name) <= limits.MAX_FIELD_NAME_CHARS:
            raise InvalidInput(f"a metadata field named {shown(name)}")
        out[name] = found.choice(name, FIELD_TYPES)
    return out
