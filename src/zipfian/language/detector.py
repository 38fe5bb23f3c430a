"""The language of a text: its script first, then a naive Bayes model of letter sequences.

The model is that of py3langid (langid.py retrained; numpy only). What is added here: scripts, one code for the
dialects of a language, what was known before the text was read (a prior), and the answer that nothing can be told.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import math
import threading
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zipfian import limits
from zipfian.errors import InvalidInput, shown
from zipfian.language.names import NAMES, SHARES
from zipfian.language.scripts import LANGUAGES, main_script, only

_RULES = 1
"""Raised when a rule of this package changes what `detect` says."""

_PLACES = 4
"""Of a long text that are read."""

_SAME = {
    "arz": "ar", "ary": "ar", "dz": "bo", "grc": "el", "gom": "mr", "hbo": "he", "kik": "sw", "ltg": "lv", "nn": "no",
    "nso": "st", "pcm": "en", "sdh": "ku", "uzs": "uz", "wuu": "zh", "yue": "zh",
}  # fmt: skip
"""Dialects and neighbours that have no code of their own, and the language whose rules fit them."""

_LEAST_CONFIDENCE = 0.5
_SURPRISE = 0.1
"""How much of a prior is kept for languages a collection does not hold."""

_NEGLIGIBLE = 1e-6
"""Probability of a language, relative to all, that no prior makes the likeliest."""

_HAN_WITHOUT_KANA = 5.0
"""Characters over which it becomes e times less likely that Japanese goes without kana."""

_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class Detected:
    """The language of a text.

    Parameters
    ----------
    language
        ISO 639-1 code; None where no language can be told (symbols, numbers, too little).
    confidence
        Probability of the most likely language, 0 to 1; also where it was too low to name it.

    Examples
    --------
    >>> detect("Wo ist der Bahnhof?").language
    'de'
    """

    language: str | None
    confidence: float


def detect(text: str, prior: Mapping[str, float] | None = None) -> Detected:
    """The language of `text`.

    Parameters
    ----------
    text
        Any string; at most MAX_DETECTED_CHARS of it are read, from several places of a long one.
    prior
        How likely each language is before the text is read, such as how many documents of a collection are in it; need
        not sum to one. A tenth is always kept for other languages. Without it, shares of what is written in the world.

    Returns
    -------
    Detected
        The most likely language if it is at least as likely as not, and how likely it is.

    Raises
    ------
    InvalidInput
        `text` is no string, or a weight of `prior` is no finite number from 0.

    Examples
    --------
    >>> detect("vitamin D").language, detect("vitamin D", {"de": 900, "en": 12}).language
    (None, 'de')
    """
    likely = probabilities(text)
    if not likely:
        return Detected(None, 0.0)
    weights = _weights(prior)
    posterior = {code: p * weights[code] for code, p in likely.items()}
    total = math.fsum(posterior.values())
    best = max(sorted(posterior), key=posterior.__getitem__)
    confidence = min(1.0, posterior[best] / total)
    return Detected(best if confidence >= _LEAST_CONFIDENCE else None, confidence)


def probabilities(text: str) -> Mapping[str, float]:
    """How likely each language is for `text` if all were equally likely before; empty where it has no letters.

    Parameters
    ----------
    text
        Any string.

    Returns
    -------
    Mapping
        Probability by ISO 639-1 code, over the languages of the script that most of the text is written in, less those
        that are out of the question.

    Raises
    ------
    InvalidInput
        `text` is no string.

    Examples
    --------
    >>> probabilities("한국어"), probabilities("1, 2, 3")
    ({'ko': 1.0}, {})
    """
    if not isinstance(text, str):
        raise InvalidInput(f"a text must be a string, not {type(text).__name__}")
    sample = unicodedata.normalize("NFKC", _sample(text))
    script = main_script(sample)
    if not script:
        return {}
    codes = LANGUAGES[script]
    if len(codes) == 1:
        return dict.fromkeys(codes, 1.0)
    if script == "HAN":
        japanese = math.exp(-sum(map(str.isalpha, sample)) / _HAN_WITHOUT_KANA)
        return {"ja": japanese / (1 + japanese), "zh": 1 / (1 + japanese)}
    found: dict[str, float] = {}
    for label, p in _model().rank(only(sample, script)):  # the likeliest first
        code = _SAME.get(label, label)
        if found and p < _NEGLIGIBLE:
            break
        if code in codes:
            found[code] = found.get(code, 0.0) + p
    total = math.fsum(found.values())
    return {code: p / total for code, p in found.items()} if total else {}  # all of it for one that has no code


@functools.cache
def detector_version() -> str:
    """What decides the answers: our rules, and the major and minor version of the model.

    Returns
    -------
    str
        Equal for two installations only if they give equal answers.

    Examples
    --------
    >>> detector_version()
    '1-langid-0.4'
    """
    return f"{_RULES}-langid-" + ".".join(importlib.metadata.version("py3langid").split(".")[:2])


def _model() -> Any:
    """Loaded once, when the first text needs it."""
    with _lock:
        return _loaded()


@functools.cache
def _loaded() -> Any:
    langid = importlib.import_module("py3langid.langid")
    return langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)


def _sample(text: str) -> str:
    most = limits.MAX_DETECTED_CHARS
    if len(text) <= most:
        return text
    length = most // _PLACES
    step = (len(text) - length) // (_PLACES - 1)
    return " ".join(text[start : start + length] for start in range(0, step * _PLACES, step))


def _weights(prior: Mapping[str, float] | None) -> Mapping[str, float]:
    """By language, above zero for all of them."""
    if not prior:
        return SHARES
    if len(prior) == 1:  # what a collection says of all its texts: worked out once
        ((code, weight),) = prior.items()
        if type(weight) is float and weight == 1.0:
            return _alone(code)
    return _shared(prior)


@functools.cache
def _alone(code: str) -> Mapping[str, float]:
    return _shared({code: 1.0})


def _shared(prior: Mapping[str, float]) -> Mapping[str, float]:
    for code, weight in prior.items():
        if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise InvalidInput(f"the prior of {code!r:.20} must be a finite number from 0, not {shown(weight)}")
    known = {code: float(prior.get(code, 0.0)) for code in NAMES}
    total = math.fsum(known.values())
    if not total:
        return SHARES
    world = math.fsum(SHARES.values())
    return {code: (1 - _SURPRISE) * weight / total + _SURPRISE * SHARES[code] / world for code, weight in known.items()}
