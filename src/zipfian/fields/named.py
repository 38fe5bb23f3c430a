"""The fields of a collection by name: what a bare name means, which names are good, and what fits together."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from zipfian import limits
from zipfian.encode.models import GTE_SMALL
from zipfian.encode.multilingual import MultilingualEncoder
from zipfian.errors import InvalidInput, LimitExceeded, shown
from zipfian.fields.aligned import Aligned
from zipfian.fields.base import Field
from zipfian.fields.dense import Dense
from zipfian.fields.latent import Latent
from zipfian.fields.translated import Translated
from zipfian.fields.visual import Visual
from zipfian.fields.words import Words

SETS = {"high-quality": ("words", "latent", GTE_SMALL.name)}
"""Sets of fields with a name of their own. `high-quality`: what `zipfian index` gives to English texts, with vectors of
gte-small, a network twice as deep, in the place of the default encoder's, which come with the latent terms."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*\Z")


def check_field_name(name: Any) -> None:
    """Field names appear in file roles, filters and reports: short, lower case, no surprises."""
    if not isinstance(name, str) or len(name) > limits.MAX_NAME_CHARS or not _NAME.match(name):
        raise InvalidInput(f"a field name starts with a lower-case letter, then a-z, 0-9, '-' or '_'; got {name!r:.80}")


def check_field(name: str, field: Any) -> Field:
    """A field, and nothing else."""
    if not isinstance(field, Field):
        raise InvalidInput(f"field {name!r} is made with zipfian.Words(...), Latent(...) and so on, not {shown(field)}")
    return field


def make_fields(fields: Sequence[str] | Mapping[str, Field] | None) -> dict[str, Field]:
    """The fields of a new collection: names such as `["words", "latent"]`, names with settings, or a set's name."""
    if fields is None:
        fields = ["words"]
    if isinstance(fields, str):
        if fields not in SETS:
            raise InvalidInput(
                f"fields are a list, a mapping or the name of a set ({', '.join(SETS)}), not the string {shown(fields)}"
            )
        fields = SETS[fields]
    out: dict[str, Field] = {}
    for name in fields:
        check_field_name(name)
        out[name] = check_field(
            name, fields[name] if isinstance(fields, Mapping) else default_field(name, list(fields))
        )
    if not out:
        raise InvalidInput("a collection needs at least one field")
    if len(out) > limits.MAX_FIELDS:
        raise LimitExceeded(f"a collection has at most {limits.MAX_FIELDS} fields")
    check_together(out)
    return out


def default_field(name: str, beside: Sequence[str] = ()) -> Field:
    """The field that a bare name means; `dense` is of pictures where the collection has visual words, else of texts."""
    if name == "words":
        return Words()
    if name == "latent":
        return Latent()
    if name == "visual":
        return Visual()
    if name in ("dense", "dense-text", "dense-image"):
        picture = name == "dense-image" or (name == "dense" and "visual" in beside)
        return Dense("image" if picture else "text")
    if name == GTE_SMALL.name:
        return Dense("text", encoder=name)
    if name == "multilingual":
        return Dense(encoder=MultilingualEncoder())
    if name == "aligned":
        return Aligned()
    if name == "translated":
        return Translated()
    raise InvalidInput(
        f"field {name!r} needs settings: fields={{{name!r}: Sparse(n_terms)}} for ready-made terms; the names that "
        "mean something by themselves are words, latent, visual, dense, dense-text, dense-image, gte-small, "
        "multilingual, aligned and translated"
    )


def check_together(fields: Mapping[str, Field]) -> None:
    """Whether all of these can be the fields of one collection."""
    for name, field in fields.items():
        field.check_beside(name, fields)
