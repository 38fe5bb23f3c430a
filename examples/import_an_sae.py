"""Use an autoencoder that somebody else trained (SAELens or sparsify) as a vocabulary, with an encoder of your own.

Needs the extra `text` for safetensors; the autoencoder and the encoder here are made up, so nothing is fetched.
`zipfian train import-sae FOLDER --out DIR` does the same from the command line.
"""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
from safetensors.numpy import save_file

import zipfian as zf
from zipfian.types import Encoded
from zipfian.vocabulary.sae_import import convert_sae

MEANINGS = {"dog": 0, "puppy": 0, "cat": 1, "kitten": 1, "sleeps": 2, "naps": 2}
DIM = 4


class MeaningEncoder:
    """An encoder of your own: every known word becomes the vector of its meaning."""

    kind: Literal["text", "image"] = "text"
    dim = pooled_dim = DIM
    fingerprint = "meanings:1"

    def encode_documents(self, items: Sequence[str], *, progress: Any = None) -> list[Encoded]:
        return [self._encode(text) for text in items]

    encode_queries = encode_documents

    def try_documents(
        self, items: Sequence[str], *, progress: Any = None
    ) -> list[Encoded | zf.errors.ZipfianError | OSError]:
        return [*self.encode_documents(items)]

    def count_tokens(self, items: Sequence[str]) -> list[int]:
        return [len(text.split()) for text in items]

    def _encode(self, text: str) -> Encoded:
        known = [word for word in re.finditer(r"\w+", text.lower()) if word[0] in MEANINGS]
        vectors = np.eye(DIM, dtype=np.float32)[[MEANINGS[word[0]] for word in known]]
        places = np.array([word.span() for word in known], np.int32).reshape(-1, 2)
        return Encoded(vectors, places, np.zeros(len(known), np.int32), vectors.sum(axis=0))


def made_up(folder: Path) -> Path:
    """What SAELens leaves behind: cfg.json and the weights. Six terms over vectors of four numbers, two a token."""
    folder.mkdir()
    (folder / "cfg.json").write_text(json.dumps({"architecture": "topk", "d_in": DIM, "d_sae": 6, "k": 2}))
    decoder = np.concatenate([np.eye(DIM), np.eye(2, DIM) * 0.5]).astype(np.float32)
    tensors = {
        "W_enc": decoder.T.copy(), "b_enc": np.zeros(6, np.float32),
        "W_dec": decoder, "b_dec": np.zeros(DIM, np.float32),
    }  # fmt: skip
    save_file(tensors, folder / "sae_weights.safetensors")
    return folder


with tempfile.TemporaryDirectory() as place:
    weights = convert_sae(made_up(Path(place) / "saelens"), Path(place) / "my-sae")
    print(f"{weights.n_terms} terms over vectors of {weights.dim} numbers, {weights.k} a token")

    field = zf.Latent(str(Path(place) / "my-sae"), encoder=MeaningEncoder())
    with zf.Collection.create(Path(place) / "pets.zf", {"words": zf.Words(), "latent": field}) as pets:
        pets.add([{"id": "rex", "text": "The dog naps."}, {"id": "tom", "text": "A kitten plays."}])
        pets.commit()
        print("by words:  ", [hit.id for hit in pets.search("puppy", fields="words")])
        found = pets.search("puppy", fields="latent")
        print("by meaning:", [hit.id for hit in found])
        print(found.highlight(found[0])[0].render())
