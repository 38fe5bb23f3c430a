"""A small collection that many tests start from: see the fixtures `path` and `notes`."""

from __future__ import annotations

import numpy as np

from zipfian.fields import Sparse, Words

DOCUMENTS = [
    {"id": "a", "text": "Plants make food from light.", "metadata": {"lang": "en", "year": 2020}},
    {"id": "b", "text": "Cats sleep in the light of the sun.", "metadata": {"lang": "en", "year": 2021}},
    {"id": "c", "text": "Pflanzen brauchen Licht.", "metadata": {"lang": "de"}, "vector": [1.0, 2.0]},
    {"id": "d", "terms": {"latent": {1: 0.5, 4: 2.0}}},
    {"id": "e", "text": "", "terms": {"latent": ([1], [0.25])}, "vector": np.array([0.0, -1.5])},
]
FIELDS = {"words": Words(), "latent": Sparse(5)}
