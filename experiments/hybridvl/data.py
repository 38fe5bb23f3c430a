"""What all tables of Hybrid VL are made from: caption sets, the galleries of one caption, the reranker's pools."""

from __future__ import annotations

from collections.abc import Mapping

from experiments.base import Context
from experiments.hybridvl.refine import Pool, load_pool
from zipfian.evaluate.build import built
from zipfian.evaluate.datasets import CaptionSet, load_captions
from zipfian.evaluate.datasets.base import Dataset
from zipfian.evaluate.protocols import val_only
from zipfian.evaluate.protocols.captions import caption_id, joined, pictures_by_text

COCO = (
    "the paper's figures are on MS-COCO with the dual encoder CLIP ViT-B/32, ours on Flickr8k with small heads over "
    "frozen encoders of pictures and of texts: another dataset, so they are given here as context, not beside ours"
)
ALPHA = 0.8
DATA = ("captions", "images", "split")
GIVEAWAY = "with captions (giveaway)"
OTHERS = "other captions"
KEYS = ("r@1", "r@5", "r@10", "mrr", "ndcg_exp@10")


def caption_set(context: Context) -> CaptionSet:
    """The captions and pictures that were given."""
    return load_captions(context.path("captions"), context.path("images"), context.text("split", "test"))


def several(captions: CaptionSet) -> bool:
    """Whether every picture has more than one caption."""
    return all(len(p.captions) > 1 for p in captions.pictures)


def loo_first(captions: CaptionSet) -> Mapping[str, Dataset]:
    """The first caption asks: once with itself in the gallery, once with only the other captions there."""
    queries = {caption_id(p, 0): (p, p.captions[0]) for p in captions.pictures}
    out = {GIVEAWAY: val_only(captions)["t2i"]}
    if several(captions):
        texts = {p.id: joined(p.captions[1:]) for p in captions.pictures}
        name = f"{captions.name}-{captions.split}-other-captions"
        out[OTHERS] = pictures_by_text(captions, queries, texts, name, "the query is in no text")
    return out


def coarse_stage(dataset: Dataset, context: Context, captions: CaptionSet, own: int = 0) -> tuple[Pool, str]:
    """The coarse stage: fusion where the gallery has texts to match words with, dense where it has none.

    `own` is the caption that stands for a query picture's text.
    """
    texts = {p.id: p.captions[own] for p in captions.pictures}
    has_text = any(item.get("text") for item in dataset.documents())
    fields = ["aligned", "words", "dense"] if has_text else ["aligned"]
    with built(dataset, fields, context.work) as collection:
        return load_pool(collection, dataset, texts, ALPHA), "fusion" if has_text else "dense"
