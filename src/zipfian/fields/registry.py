"""Kinds of fields by name: those of the package, and those that a program has registered.

A manifest only names a kind. Nothing is imported because a file said so: a kind of your own is known once your program
has registered its class.
"""

from __future__ import annotations

import threading
from collections.abc import Container
from typing import Any, TypeVar

from zipfian.errors import FormatTooNew, InvalidInput, shown
from zipfian.fields.aligned import Aligned
from zipfian.fields.base import Field
from zipfian.fields.dense import Dense
from zipfian.fields.latent import Latent
from zipfian.fields.scalar import Scalar
from zipfian.fields.sparse import Sparse
from zipfian.fields.splade import Splade
from zipfian.fields.translated import Translated
from zipfian.fields.visual import Visual
from zipfian.fields.words import Words
from zipfian.objects import JsonObject

OURS: tuple[type[Field], ...] = (Words, Latent, Visual, Dense, Sparse, Splade, Scalar, Aligned, Translated)

_KNOWN: dict[str, type[Field]] = {kind.kind: kind for kind in OURS}
_LOCK = threading.Lock()

Kind = TypeVar("Kind", bound=type[Field])


def register(kind: Kind) -> Kind:
    """Make a kind of field of your own known to this process, so that collections with it can be opened.

    Parameters
    ----------
    kind
        A class that derives from `Field`; its `kind` is the name in manifests. Registering a newer class of yours under
        the same name replaces it; the package's own kinds cannot be replaced.

    Returns
    -------
    type
        The class itself, so that this can decorate it.

    Raises
    ------
    InvalidInput
        No such class, one without a name, or a name of the package's own kinds.

    Examples
    --------
    >>> from zipfian.fields import LexicalField
    >>> @register
    ... class Initials(LexicalField):
    ...     kind = "initials"
    ...     def counts(self, text):
    ...         return {letter: 1 for letter in sorted({word[0] for word in text.split()})}
    >>> Initials().counts("plants make food")
    {'f': 1, 'm': 1, 'p': 1}
    """
    if not isinstance(kind, type) or not issubclass(kind, Field):
        raise InvalidInput(f"a kind of field is a class that derives from zipfian.Field, not {shown(kind)}")
    name: Any = getattr(kind, "kind", None)
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidInput(f"a kind of field has a name, such as kind = 'initials'; {kind.__name__} has {shown(name)}")
    if any(ours.kind == name for ours in OURS):
        raise InvalidInput(f"{name!r} is a kind of the package's own; name {kind.__name__} otherwise")
    with _LOCK:
        _KNOWN[name] = kind
    return kind


def field_from_json(name: str, data: Any, trusted: Container[str] = ()) -> Field:
    """The field of a `name` from `data` that its `to_json` gave; the models it names are loaded when they are used.

    `trusted` names models that may be loaded then beside those that come with the package.
    """
    found = JsonObject(data, f"field {name!r}")
    kind = found.text("kind")
    with _LOCK:
        known = _KNOWN.get(kind)
    if known is None:
        raise FormatTooNew(
            f"field {name!r} is of kind {kind!r:.60}, which this zipfian does not know: upgrade it, or, where the "
            "kind is your own, call zipfian.fields.register(ITS_CLASS) before opening the collection"
        )
    made = known.from_json(name, found, trusted)
    found.end()
    return made
