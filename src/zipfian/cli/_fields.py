"""Which fields a new collection gets when nobody says: judged by what the source holds and what is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from zipfian.errors import InvalidInput, MissingExtra
from zipfian.ingest.source import Survey

if TYPE_CHECKING:
    from zipfian.cli._picture_model import PictureModel

NAMES = (
    "words", "latent", "visual", "dense", "dense-text", "dense-image", "gte-small", "multilingual", "aligned",
    "translated",
)  # fmt: skip
"""Fields that a name alone means; also written in `fields.named`, which must not be loaded for `--help`."""

SETS = {"high-quality": ("words", "latent", "gte-small")}
"""Names of several fields at once; also written there."""

ACROSS = ("aligned", "translated")
"""Fields by which a text finds pictures; the second needs no network for the text."""

TEXT_MODULES = ("onnxruntime", "tokenizers", "safetensors")
IMAGE_MODULES = ("onnxruntime", "PIL", "safetensors")


@dataclass(frozen=True, slots=True)
class Choice:
    """Fields and the reason for them, in one line."""

    fields: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        return f"fields: {', '.join(self.fields)} ({self.why})"


def installed(modules: Iterable[str]) -> bool:
    """Whether all of an extra's packages are there; none is loaded."""
    return all(importlib.util.find_spec(module) is not None for module in modules)


def choose(survey: Survey, model: PictureModel | None = None) -> Choice:
    """The fields for a source, whose pictures a model of the hub may read.

    Texts: words, latent, dense; in other languages than English, words and, where it reads them, multilingual.
    Pictures: visual and dense to search with a picture, aligned and translated to search
    with words. Pictures with captions, or both kinds: all of them, with a dense field for each kind.
    Without the packages that encode texts, words alone, and that is said; pictures without captions cannot be searched
    without theirs, and that is an error.
    """
    plain_texts = survey.texts - survey.captions
    text, image = installed(TEXT_MODULES), model is not None or installed(IMAGE_MODULES)
    parts = [_count(plain_texts, "text")] if plain_texts else []
    if survey.pictures:
        captioned = f", {survey.captions:,} with captions" if survey.captions else ", none with a caption"
        parts.append(_count(survey.pictures, "picture") + captioned)
    why = " and ".join(parts)
    if survey.pictures and not image:
        if not survey.texts:
            raise MissingExtra("indexing pictures", "image")
        fields = ["words", "latent"] if text else ["words"]
        return Choice(tuple(fields), f"{why}; to see the pictures too: pip install 'zipfian[image]'")
    if survey.texts and not text:
        missing = "; latent and dense need: pip install 'zipfian[text]'"
        seen = _seen(model, "dense", text)
        return Choice((*seen, "words") if survey.pictures else ("words",), why + missing)
    meaning, language = _meaning(survey)
    if language:
        why += f", most of them in {language}"
    if survey.texts and survey.pictures:
        meaning = tuple("dense-text" if name == "dense" else name for name in meaning)
        return Choice(("words", *meaning, *_seen(model, "dense-image", text)), why)
    if survey.pictures:
        return Choice(_seen(model, "dense", text), why)
    instant = "; --fields words is instant and needs no weights" if meaning else ""
    return Choice(("words", *meaning), why + instant)


def _seen(model: PictureModel | None, dense: str, text: bool) -> tuple[str, ...]:
    """Fields of pictures: of a model that reads words, too, or of the default encoder, beside which words need another
    encoder or the table."""
    if model is not None:
        return (*(("visual",) if model.words is not None else ()), dense, "aligned")
    return ("visual", dense, *(ACROSS if text else ACROSS[1:]))


def _meaning(survey: Survey) -> tuple[tuple[str, ...], str]:
    """The fields of meaning for the texts of a source, and their language where it is not English."""
    if not survey.sample:
        return ("latent", "dense"), ""
    from zipfian.collection.languages import meaning_fields, named

    fields, language = meaning_fields(survey.sample)
    return fields, "" if language == "en" else named(language)


def parse(text: str) -> tuple[str, ...]:
    """`words,latent` as typed; a set's name stands for its fields."""
    typed = (name.strip() for name in text.split(","))
    names = tuple(dict.fromkeys(name for part in typed if part for name in SETS.get(part, (part,))))
    unknown = [name for name in names if name not in NAMES]
    if unknown or not names:
        wrong = f"no field is called {unknown[0]!r}" if unknown else "no field is named"
        raise InvalidInput(f"{wrong}; there are: {', '.join(NAMES)}, and {', '.join(SETS)} for several at once")
    return names


def _count(n: int, what: str) -> str:
    return f"{n:,} {what}{'s' * (n != 1)}"
