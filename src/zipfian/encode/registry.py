"""From an encoder to what a manifest says about it, and back.

The default encoders and those of a hub are made again from their settings. An encoder of the user's own is known by its
fingerprint: it has to be registered in every process that opens a collection built with it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from zipfian import limits
from zipfian.encode.base import Encoder, at_once, languages_of
from zipfian.encode.image import ImageEncoder
from zipfian.encode.models import EFFICIENTNET_LITE2, GTE_SMALL, MINILM, USE_MULTILINGUAL, Model
from zipfian.encode.multilingual import MOST_TOKENS, MultilingualEncoder
from zipfian.encode.text import SHAPES, TextEncoder
from zipfian.encode.windows import window_settings
from zipfian.errors import FingerprintMismatch, FormatTooNew, InvalidInput, NotTrusted, shown
from zipfian.objects import JsonObject, finite_number

Kind = Literal["text", "image"]

_KNOWN: dict[str, Encoder[Any]] = {}
_LOCK = threading.Lock()

_TEXT_SETTINGS = ("max_tokens", "long_texts", "overlap", "keep_special")
_IMAGE_SETTINGS = ("size", "fit")
_LATER_SETTINGS = ("block", "crops")
_LANGUAGES = {
    "text": TextEncoder.languages,
    GTE_SMALL.name: TextEncoder.languages,
    "multilingual": MultilingualEncoder.languages,
}
_MODELS = {
    "text": MINILM,
    GTE_SMALL.name: GTE_SMALL,
    "multilingual": USE_MULTILINGUAL,
    "image": EFFICIENTNET_LITE2,
}
"""Encoders of the package as a manifest names them, and their weights; `text` is older than there being two."""

_TEXT_NAMES = ("text", GTE_SMALL.name)
"""Those that `TextEncoder` runs."""

MANY_LAYERS = 1_000
"""More layers than any network has."""


@dataclass(frozen=True, slots=True)
class EncoderSpec:
    """Which encoder: enough to make it again, and the fingerprint that proves it is the same."""

    name: str
    """`text`, `gte-small`, `multilingual`, `image`, `hub`, or `own` for an encoder that only its owner can make."""
    kind: Kind
    settings: str
    """JSON, so that specs compare and hash."""
    fingerprint: str
    pooled_dim: int
    trusted: Container[str] = field(default=(), compare=False, repr=False)
    """Models beside the default ones that may be loaded: what whoever opened the collection has allowed."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "name": self.name,
            "kind": self.kind,
            "settings": json.loads(self.settings),
            "fingerprint": self.fingerprint,
            "pooled_dim": self.pooled_dim,
        }

    @classmethod
    def from_json(cls, data: Any, trusted: Container[str] = ()) -> EncoderSpec:
        """What `to_json` gave."""
        found = JsonObject(data, "an encoder")
        kind: Any = found.choice("kind", ("text", "image"))
        name = found.text("name")
        if name not in _SETTINGS:
            raise FormatTooNew(f"an encoder named {name!r:.60}, which this zipfian does not know; upgrade it")
        settings = _SETTINGS[name](found.object("settings"))
        fingerprint = found.text("fingerprint")
        pooled_dim = found.whole("pooled_dim", 1, limits.MAX_VECTOR_DIM)
        found.end()
        return cls(name, kind, _canonical(settings), fingerprint, pooled_dim, trusted)


def register(encoder: Encoder[Any]) -> EncoderSpec:
    """Make an encoder known to this process.

    One of your own has to be registered before a collection that was built with it is opened.

    Parameters
    ----------
    encoder
        Any object with the methods of `Encoder`.

    Returns
    -------
    EncoderSpec
        How a manifest describes it.

    Raises
    ------
    InvalidInput
        The object lacks a method of `Encoder`.

    Examples
    --------
    >>> register(TextEncoder(max_tokens=128)).name
    'text'
    """
    if not isinstance(encoder, Encoder):
        raise InvalidInput(f"an encoder has the methods of zipfian.encode.Encoder; {type(encoder).__name__} has not")
    name, settings = "own", {}
    if isinstance(encoder, TextEncoder):
        name = next(name for name, model in _MODELS.items() if model is encoder.model)
        settings = {key: getattr(encoder, key) for key in _TEXT_SETTINGS} | {"layers": encoder.layers}
    elif isinstance(encoder, MultilingualEncoder):
        name, settings = "multilingual", window_settings(encoder)
    elif isinstance(encoder, ImageEncoder):
        name = "image"
        settings = {key: getattr(encoder, key) for key in _IMAGE_SETTINGS}
        # only where they are set, so that collections built before there was a choice stay as they are
        settings |= {key: value for key in _LATER_SETTINGS if (value := getattr(encoder, key)) is not None}
    elif hasattr(encoder, "hub_settings"):
        name, settings = "hub", dict(encoder.hub_settings)
    spec = EncoderSpec(name, encoder.kind, _canonical(settings), encoder.fingerprint, encoder.pooled_dim)
    with _LOCK:
        _KNOWN[spec.fingerprint] = encoder  # the newest: its owner may have given it other threads
    return spec


def find(spec: EncoderSpec) -> Encoder[Any]:
    """The encoder of a spec: the one this process knows already, or one made from the settings.

    A model of the hub is made only where the spec's reader has allowed it.
    """
    with _LOCK:
        known = _KNOWN.get(spec.fingerprint)
    if known is not None:
        return _fitting(known, spec)
    if spec.name == "own":
        raise FingerprintMismatch(
            f"this collection was built with the encoder {spec.fingerprint}, which is not one of zipfian's own: "
            "make it and call zipfian.encode.register(encoder) before the collection is opened"
        )
    made = _fitting(_make(spec), spec)
    if made.fingerprint != spec.fingerprint:
        raise _other(made, spec)
    with _LOCK:
        return _KNOWN.setdefault(spec.fingerprint, made)


def known(encoder: Encoder[Any]) -> Encoder[Any]:
    """The equal encoder that this process uses already, on whatever device its owner has put it; else this one."""
    with _LOCK:
        return _KNOWN.get(encoder.fingerprint, encoder)


def move(spec: EncoderSpec, device: str, precision: str = "float32") -> bool:
    """Have the encoder of a spec run on a device from now on, in this process; False where it has no such choice.

    What is indexed stays usable without the device: it is no part of the fingerprint, nor is the precision.
    """
    if spec.name in (*_TEXT_NAMES, "image"):
        made = _make(spec, device=device, precision=precision)
    elif spec.name == "hub":
        with _LOCK:
            allowed = spec.fingerprint in _KNOWN  # whoever made it here has named its model
        named = (json.loads(spec.settings)["name_or_path"],) if allowed else spec.trusted
        made = _make(replace(spec, trusted=named), device=device, precision=precision)
    else:
        return False
    if _fitting(made, spec).fingerprint != spec.fingerprint:
        raise _other(made, spec)
    with _LOCK:
        _KNOWN[spec.fingerprint] = made
    return True


def languages_read(spec: EncoderSpec) -> frozenset[str] | None:
    """Which languages the encoder of a spec reads; None where it does not say. Nothing is loaded to find out."""
    with _LOCK:
        known = _KNOWN.get(spec.fingerprint)
    return _LANGUAGES.get(spec.name) if known is None else languages_of(known)


def taken_at_once(spec: EncoderSpec) -> int:
    """How many times as many items as usual the encoder of a spec takes at once. Nothing is loaded to find out."""
    with _LOCK:
        return at_once(_KNOWN.get(spec.fingerprint))


def weights_of(spec: EncoderSpec) -> Model | None:
    """The weights that the encoder of a spec needs; None where they are not known here: a hub's, or one's own."""
    return _MODELS.get(spec.name)


def packaged_names() -> list[str]:
    """Names of the encoders that the package knows, as their weights are called."""
    return [model.name for model in _MODELS.values()]


def packaged(name: str, **settings: Any) -> Encoder[Any]:
    """The encoder of the package that is called `name`.

    Parameters
    ----------
    name
        `all-minilm-l6-v2`, `gte-small`, `use-multilingual-v3` or `efficientnet-lite2`: as the weights are called.
    settings
        Of the encoder, such as `layers`.

    Returns
    -------
    Encoder
        Weights are loaded at the first use.

    Raises
    ------
    KeyError
        There is none of that name: ask `packaged_names` first.

    Examples
    --------
    >>> packaged("gte-small").pooled_dim
    384
    """
    if name in SHAPES:
        return TextEncoder(name, **settings)
    if name == USE_MULTILINGUAL.name:
        return MultilingualEncoder(**settings)
    if name == EFFICIENTNET_LITE2.name:
        return ImageEncoder(**settings)
    raise KeyError(name)


def _other(made: Encoder[Any], spec: EncoderSpec) -> FingerprintMismatch:
    return FingerprintMismatch(
        f"the collection was built with the encoder {spec.fingerprint}, this installation makes {made.fingerprint}: "
        "install the version of zipfian (or the model files) it was built with, or build it again"
    )


def _make(spec: EncoderSpec, **where: Any) -> Encoder[Any]:
    """An encoder from its settings; `where` it runs, for those that have a choice."""
    settings = json.loads(spec.settings)
    if spec.name in _TEXT_NAMES:
        return TextEncoder(_MODELS[spec.name].name, **settings, **where)
    if spec.name == "multilingual":
        return MultilingualEncoder(**settings)
    if spec.name == "image":
        return ImageEncoder(**settings, **where)
    check_trusted("the model", settings["name_or_path"], spec.trusted)
    from zipfian.encode import hub

    settings["recorded"] = settings.pop("precision", "float32")
    made: Encoder[Any] = hub.load(**settings, **where)
    return made


def check_trusted(what: str, name: str, trusted: Container[str]) -> None:
    """`NotTrusted` for what neither comes with the package nor was allowed."""
    if name not in trusted:
        raise NotTrusted(
            f"{what} {shown(name)} does not come with zipfian, and a collection made by somebody else may name any, so "
            f"it was not loaded. If you know it, open the collection with trust=[{shown(name)}], on the command line "
            f"with --trust {shown(name)}"
        )


def _fitting(encoder: Encoder[Any], spec: EncoderSpec) -> Encoder[Any]:
    """The encoder, unless it reads or gives something else than the spec says."""
    if (encoder.kind, encoder.pooled_dim) != (spec.kind, spec.pooled_dim):
        raise FingerprintMismatch(
            f"the collection says that {shown(spec.fingerprint)} is an encoder of {spec.kind}s with vectors of "
            f"{spec.pooled_dim} numbers; it is one of {encoder.kind}s with {encoder.pooled_dim}: build it again"
        )
    return encoder


def _text_settings(found: JsonObject) -> dict[str, Any]:
    return _checked(
        found,
        layers=_layers(found),
        max_tokens=found.whole("max_tokens", 1, limits.MAX_TEXT_TOKENS),
        long_texts=found.choice("long_texts", ("windows", "cut")),
        overlap=found.whole("overlap", 0, limits.MAX_TEXT_TOKENS),
        keep_special=found.flag("keep_special"),
    )


def _multilingual_settings(found: JsonObject) -> dict[str, Any]:
    return _checked(
        found,
        max_tokens=found.whole("max_tokens", 1, MOST_TOKENS),
        long_texts=found.choice("long_texts", ("windows", "cut")),
        overlap=found.whole("overlap", 0, MOST_TOKENS),
    )


def _image_settings(found: JsonObject) -> dict[str, Any]:
    out: dict[str, Any] = {"size": found.whole("size", 1, 2**16), "fit": found.choice("fit", ("whole", "crop"))}
    if found.has("block"):
        out["block"] = found.whole("block", 0, 2**16)
    if found.has("crops"):
        out["crops"] = found.text("crops")
    return _checked(found, **out)


def _hub_settings(found: JsonObject) -> dict[str, Any]:
    """Every setting that an encoder of the hub may name, by type; which of them one has is its own business."""
    out: dict[str, Any] = {"name_or_path": found.text("name_or_path", limits.MAX_PATH_CHARS)}
    for name in ("precision", "library", "revision", "kind", "long_texts", "pooling"):
        if found.has(name):
            out[name] = found.text(name)
    for name in ("max_tokens", "overlap"):
        if found.has(name):
            out[name] = found.whole(name, 0, limits.MAX_TEXT_TOKENS)
    for name in ("projection", "final_norm"):
        if found.has(name):
            out[name] = found.flag(name)
    for name in ("document_prefix", "query_prefix"):
        if found.has(name):
            out[name] = found.string(name, limits.MAX_QUERY_CHARS)
    if found.has("layers"):
        out["layers"] = _layers(found)
    return _checked(found, **out)


def _layers(found: JsonObject) -> list[list[float]]:
    """Pairs of a layer and its factor."""
    pairs = found.items("layers", MANY_LAYERS)
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2 or type(pair[0]) is not int or not finite_number(pair[1]):
            raise InvalidInput(f"{found.what}: 'layers' are pairs of a layer and a factor, not {shown(pair)}")
    return [[layer, float(factor)] for layer, factor in pairs]


def _checked(found: JsonObject, **settings: Any) -> dict[str, Any]:
    found.end()
    return settings


_SETTINGS: Mapping[str, Callable[[JsonObject], dict[str, Any]]] = {
    "text": _text_settings,
    GTE_SMALL.name: _text_settings,
    "multilingual": _multilingual_settings,
    "image": _image_settings,
    "hub": _hub_settings,
    "own": lambda found: found.rest(()),
}
"""Encoders that a manifest may name, and how their settings are read."""


def _canonical(settings: Mapping[str, Any]) -> str:
    return json.dumps(settings, sort_keys=True, separators=(",", ":"))
