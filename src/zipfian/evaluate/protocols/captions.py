"""Fixed split, Karpathy and VAL-only: text to image (t2i) and image to text (i2t) as two datasets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from zipfian.errors import InvalidInput
from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture
from zipfian.evaluate.datasets.captions import Captioned, CaptionSet

Direction = Literal["t2i", "i2t"]
Task = Mapping[Direction, Dataset]


def karpathy(captions: CaptionSet) -> Task:
    """Karpathy and Fei-Fei 2015: every caption of the split asks for its picture, every picture for its captions.

    The gallery of pictures has no texts, so nothing can be found through a caption that equals the query.
    """
    queries = {caption_id(p, i): (p, text) for p in captions.pictures for i, text in enumerate(p.captions)}
    note = "every caption is a query; pictures are searched without their captions"
    return {
        "t2i": pictures_by_text(captions, queries, {}, f"{_name(captions)}-karpathy-t2i", note),
        "i2t": texts_by_picture(captions, queries, f"{_name(captions)}-karpathy-i2t", "all captions are the gallery"),
    }


def val_only(captions: CaptionSet, *, gallery_texts: bool = True) -> Task:
    """the hybrid paper's VAL-only: one split is queries and gallery, one caption (the first) per picture.

    With `gallery_texts` each picture carries that caption, so every query equals a text of the gallery: a giveaway for
    word matching, and the reason why the published figures are so high. Without, pictures stand for themselves.
    """
    queries = {caption_id(p, 0): (p, p.captions[0]) for p in captions.pictures}
    texts = {p.id: p.captions[0] for p in captions.pictures} if gallery_texts else {}
    kind = "with" if gallery_texts else "without"
    note = (
        "the query is in the gallery word for word (a giveaway)"
        if gallery_texts
        else "pictures are searched without captions"
    )
    name = f"{_name(captions)}-val-only-{kind}-captions"
    return {
        "t2i": pictures_by_text(captions, queries, texts, f"{name}-t2i", note),
        "i2t": texts_by_picture(captions, queries, f"{name}-i2t", "first captions are the gallery"),
    }


def pictures_by_text(
    captions: CaptionSet, queries: Mapping[str, tuple[Captioned, str]], texts: Mapping[str, str], name: str, note: str
) -> Dataset:
    """Captions as queries; pictures, with a text where `texts` has one, as the gallery."""

    def documents() -> Iterator[dict[str, Any]]:
        for picture in captions.pictures:
            item: dict[str, Any] = {"id": picture.id, "image": picture.path}
            if picture.id in texts:
                item["text"] = texts[picture.id]
            yield item

    return Dataset(
        name,
        "caption",
        documents,
        frozenset(p.id for p in captions.pictures),
        {q: JudgedQuery(q, text=text) for q, (_, text) in queries.items()},
        {q: {picture.id: 1} for q, (picture, _) in queries.items()},
        notes=(note,),
    )


def texts_by_picture(captions: CaptionSet, texts: Mapping[str, tuple[Captioned, str]], name: str, note: str) -> Dataset:
    """Pictures as queries, captions as the gallery; relevant are a picture's own captions."""
    relevant: dict[str, dict[str, int]] = {}
    for key, (picture, _) in texts.items():
        relevant.setdefault(picture.id, {})[key] = 1

    def documents() -> Iterator[dict[str, Any]]:
        for key, (_, text) in texts.items():
            yield {"id": key, "text": text}

    queries = {p.id: JudgedQuery(p.id, image=Picture(p.path)) for p in captions.pictures if p.id in relevant}
    return Dataset(name, "caption", documents, frozenset(texts), queries, relevant, notes=(note,))


def caption_id(picture: Captioned, index: int) -> str:
    """Id of a caption: its picture and its place."""
    return f"{picture.id}#{index}"


def joined(captions: Sequence[str]) -> str:
    """Several captions as one text."""
    if not captions:
        raise InvalidInput("a picture needs at least one caption")
    return "\n".join(captions)


def _name(captions: CaptionSet) -> str:
    return f"{captions.name}-{captions.split}"
