"""Test collections of every kind, read into one shape: documents, queries and who is relevant to whom."""

from zipfian.evaluate.datasets.base import Dataset, JudgedQuery, Picture, half_of, take_half
from zipfian.evaluate.datasets.beir import load_beir
from zipfian.evaluate.datasets.captions import Captioned, CaptionSet, load_captions
from zipfian.evaluate.datasets.folders import load_class_folders
from zipfian.evaluate.datasets.instance import load_holidays, load_revisited

__all__ = [
    "CaptionSet",
    "Captioned",
    "Dataset",
    "Picture",
    "JudgedQuery",
    "half_of",
    "load_beir",
    "load_captions",
    "load_class_folders",
    "load_holidays",
    "load_revisited",
    "take_half",
]
