"""Documents and queries for both engines."""

from __future__ import annotations

import hashlib
import re
from datetime import UTC, date, datetime
from typing import Any

import numpy as np

from tests.toys import MEANINGS, ToyText
from zipfian.types import Encoded

WORDS = [f"w{i}" for i in range(300)]


def texts(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Texts of Zipfian words and of very different lengths."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, len(WORDS) + 1)
    out = []
    for i in range(n):
        chosen = rng.choice(len(WORDS), size=int(rng.integers(1, 120)), p=share / share.sum())
        out.append({"id": f"d{i}", "text": " ".join(WORDS[j] for j in chosen)})
    return out


def codes(n: int, n_terms: int = 500, per_document: int = 16, seed: int = 1) -> list[dict[int, float]]:
    """Sparse vectors with log-normal weights."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, n_terms + 1) ** 0.8
    out = []
    for _ in range(n):
        ids = rng.choice(n_terms, size=per_document, replace=False, p=share / share.sum())
        out.append({int(t): float(w) for t, w in zip(ids, np.exp(rng.normal(0.4, 0.6, per_document)), strict=True)})
    return out


def with_metadata() -> list[dict[str, Any]]:
    """Every type of field, missing values, empty lists, and a field that is whole in one document only."""
    moment = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
    return [
        {"id": "1", "text": "red apple", "metadata": {
            "lang": "en", "year": 2020, "price": 1.5, "ok": True, "day": date(2024, 1, 31), "tags": ["a", "b"],
            "sizes": [1, 2.5], "dotted.name_x": "v"}},
        {"id": "2", "text": "green apple", "metadata": {
            "lang": "de", "year": 2021, "price": 2, "ok": False, "day": moment, "tags": [], "flags": [True, False]}},
        {"id": "3", "text": "red pear", "metadata": {
            "lang": "en", "year": 2**53 + 1, "price": -0.25, "tags": ["b"], "sizes": [3], "flags": [True]}},
        {"id": "4", "text": "blue apple pear", "metadata": {"lang": "ÄÖ ü|%", "ok": None, "tags": ["c", "a"]}},
        {"id": "5", "text": "apple"},
    ]  # fmt: skip


FILTERS: list[dict[str, Any]] = [
    {},
    {"lang": "en"},
    {"lang": ["en", "de"]},
    {"lang": {"!=": "en"}},
    {"lang": {"not in": ["en", "de"]}},
    {"lang": {">": "de"}},
    {"lang": {">=": "de", "<": "en"}},
    {"lang": "ÄÖ ü|%"},
    {"lang": []},
    {"year": {">=": 2021}},
    {"year": {">": 2020.5}},
    {"year": {"<": 2020.5}},
    {"year": 2**53 + 1},
    {"year": {">": 2**53}},
    {"year": {"<=": 10**30}},
    {"year": {">": 10**30}},
    {"year": {"!=": 2020}},
    {"price": {">": 1.75}},
    {"price": 2},
    {"price": 2.0},
    {"price": {"!=": 2}},
    {"price": {"<": 0}},
    {"price": {"in": [1.5, 2]}},
    {"ok": True},
    {"ok": {"!=": True}},
    {"ok": {"exists": True}},
    {"ok": {"exists": False}},
    {"day": {">": "2024-01-31"}},
    {"day": date(2024, 1, 31)},
    {"day": "2024"},
    {"day": {"!=": "2024-01"}},
    {"day": {">=": "2024-05-06T07:08:09.123456"}},
    {"day": {">": "2024-05-06T07:08:09.123456"}},
    {"tags": "a"},
    {"tags": {"!=": "a"}},
    {"tags": {"not in": ["a", "b"]}},
    {"tags": {"not in": []}},
    {"tags": {"exists": True}},
    {"tags": {"exists": False}},
    {"not": {"tags": "a"}},
    {"sizes": {">": 2}},
    {"sizes": {"!=": 3}},
    {"sizes": {"not in": [1, 2.5]}},
    {"flags": {"!=": True}},
    {"flags": False},
    {"dotted.name_x": "v"},
    {"or": [{"lang": "de"}, {"year": 2020}]},
    {"and": [{"lang": "en"}, {"not": {"year": 2020}}]},
    {"or": [{"not": {"lang": {"exists": True}}}, {"and": [{"ok": True}, {"price": {">": 1}}]}]},
]


class ToySplade(ToyText):
    """Expands words by hand: each is a term, and so is what it means."""

    n_terms = 64

    def __init__(self) -> None:
        super().__init__("toy-splade")

    def labels(self) -> list[str]:
        return [f"piece {i}" for i in range(self.n_terms)]

    def one(self, item: str) -> Encoded:
        weights: dict[int, tuple[float, int, int]] = {}
        for found in re.finditer(r"\w+", item.lower()):
            own = 8 + int(hashlib.sha256(found.group().encode()).hexdigest(), 16) % (self.n_terms - 8)
            for term, weight in ((own, 1.37), (MEANINGS.get(found.group(), 0), 0.82)):
                if term and weight > weights.get(term, (0.0, 0, 0))[0]:
                    weights[term] = weight, found.start(), found.end()
        terms = sorted(weights)
        values = np.array([[weights[t][0]] for t in terms], np.float32).reshape(-1, 1)
        places = np.array([weights[t][1:] for t in terms], np.int32).reshape(-1, 2)
        return Encoded(values, places, np.array(terms, np.int32), super().one(item).pooled)
