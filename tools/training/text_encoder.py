"""Texts to word pieces to hidden states, with nothing but torch and tokenizers.

The encoder is BERT as all-MiniLM-L6-v2 uses it, written out: the machine that trains has no other copy of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from texts import Array, open_tokenizer
from torch.nn import functional as F

from zipfian.evaluate.datasets import load_beir

CLS, SEP, PAD = 101, 102, 0
HEADS = 12
EPS = 1e-12


class Pieces(NamedTuple):
    """Word pieces of many texts without special tokens: text i owns ids[indptr[i]:indptr[i + 1]]."""

    ids: Array
    indptr: Array


def tokenise(tokenizer_file: Path, texts: list[str], max_tokens: int = 512) -> Pieces:
    """Pieces of every text, cut so that text and both special tokens fit in max_tokens."""
    tokenizer = open_tokenizer(tokenizer_file, max_tokens)
    encode = getattr(tokenizer, "encode_batch_fast", tokenizer.encode_batch)
    rows = []
    for start in range(0, len(texts), 4_096):
        for found in encode(texts[start : start + 4_096], add_special_tokens=False):
            rows.append(np.array(found.ids, dtype=np.uint16))
    indptr = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=indptr[1:])
    return Pieces(np.concatenate(rows) if rows else np.zeros(0, np.uint16), indptr)


class MiniLM:
    """Hidden states after chosen blocks."""

    def __init__(self, folder: Path, device: str, dtype: torch.dtype) -> None:
        from safetensors.torch import load_file

        self.device, self.dtype = torch.device(device), dtype
        self.w = {
            name.removeprefix("bert."): value.to(self.device, dtype)
            for name, value in load_file(folder / "model.safetensors").items()
            if value.is_floating_point()
        }
        self.blocks = 1 + max(int(name.split(".")[2]) for name in self.w if name.startswith("encoder.layer."))
        self.dim = self.w["embeddings.word_embeddings.weight"].shape[1]

    def norm(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.layer_norm(x, (self.dim,), self.w[f"{name}.LayerNorm.weight"], self.w[f"{name}.LayerNorm.bias"], EPS)

    def linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.w[f"{name}.weight"], self.w[f"{name}.bias"])

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, layers: tuple[int, ...]) -> list[torch.Tensor]:
        """Hidden states (batch, length, dim) after the given blocks; -1 is the last one."""
        n, length = ids.shape
        x = self.w["embeddings.word_embeddings.weight"][ids]
        x = x + self.w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm(x + self.w["embeddings.position_embeddings.weight"][:length], "embeddings")
        wanted = {layer % self.blocks for layer in layers}
        kept = {}
        allowed = None if bool(mask.all()) else mask[:, None, None, :]
        for block in range(self.blocks):
            name = f"encoder.layer.{block}"
            q, k, v = (
                self.linear(x, f"{name}.attention.self.{part}").view(n, length, HEADS, -1).transpose(1, 2)
                for part in ("query", "key", "value")
            )
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
            mixed = self.linear(mixed.transpose(1, 2).reshape(n, length, self.dim), f"{name}.attention.output.dense")
            x = self.norm(x + mixed, f"{name}.attention.output")
            wide = F.gelu(self.linear(x, f"{name}.intermediate.dense"))
            x = self.norm(x + self.linear(wide, f"{name}.output.dense"), f"{name}.output")
            if block in wanted:
                kept[block] = x
        return [kept[layer % self.blocks] for layer in layers]


def hidden_states(
    model: MiniLM,
    pieces: Pieces,
    layers: tuple[int, ...],
    *,
    store: torch.dtype = torch.float16,
    batch_tokens: int = 131_072,
    pooled: bool = False,
) -> tuple[list[torch.Tensor], torch.Tensor | None]:
    """One matrix per layer, row i belonging to piece i, on the device; texts go through by length, so little is padded.

    `pooled` adds the mean over all tokens of the last given layer, special ones included, scaled to length 1.
    """
    device = model.device
    lengths = np.diff(pieces.indptr)
    flat = torch.from_numpy(pieces.ids.astype(np.int32)).to(device)
    starts = torch.from_numpy(pieces.indptr[:-1].copy()).to(device)
    sizes = torch.from_numpy(lengths).to(device)
    out = [torch.empty(len(pieces.ids), model.dim, dtype=store, device=device) for _ in layers]
    means = torch.zeros(len(lengths), model.dim, device=device) if pooled else None
    order = np.argsort(-lengths, kind="stable")
    place = 0
    while place < len(order):
        # A multiple of 8 keeps the fused attention kernels usable with a mask.
        longest = -(-(int(lengths[order[place]]) + 2) // 8) * 8
        rows = torch.from_numpy(order[place : place + max(1, batch_tokens // longest)]).to(device)
        place += len(rows)
        size = sizes[rows][:, None]
        column = torch.arange(longest, device=device)[None, :]
        inner = (column >= 1) & (column <= size)
        index = (starts[rows][:, None] + column - 1).clamp(0, max(0, len(flat) - 1))
        ids = flat[index].long() if len(flat) else torch.zeros_like(index)
        ids = torch.where(inner, ids, PAD)
        ids = torch.where(column == 0, CLS, torch.where(column == size + 1, SEP, ids))
        mask = column <= size + 1
        with torch.no_grad():
            states = model.forward(ids, mask, layers)
        target = index[inner]
        for matrix, state in zip(out, states, strict=True):
            matrix[target] = state[inner].to(store)
        if means is not None:
            total = (states[-1].float() * mask[:, :, None]).sum(dim=1)
            means[rows] = F.normalize(total, dim=1)
    return out, means


def random_spans(pieces: Pieces, seed: int, low: int = 3, high: int = 14) -> Pieces:
    """One short stretch of every text: what queries look like, as far as length goes."""
    rng = np.random.default_rng(seed)
    lengths = np.diff(pieces.indptr)
    size = np.minimum(rng.integers(low, high + 1, len(lengths)), lengths)
    start = pieces.indptr[:-1] + np.floor(rng.random(len(lengths)) * (lengths - size + 1)).astype(np.int64)
    indptr = np.concatenate(([0], np.cumsum(size)))
    inside = np.arange(indptr[-1]) - np.repeat(indptr[:-1], size)
    return Pieces(pieces.ids[np.repeat(start, size) + inside], indptr)


class Collection(NamedTuple):
    """A test collection: word pieces of documents and judged queries."""

    name: str
    documents: Pieces
    queries: Pieces
    query_ids: list[str]
    relevant: list[dict[int, int]]
    """For every query: document number -> gain."""


def read_collection(folder: Path, tokenizer_file: Path, limit: int | None = None) -> Collection:
    """A BEIR folder; with `limit`, some queries and about as many documents, theirs among them."""
    dataset = load_beir(folder)
    gains = {q: {d: gain for d, gain in grades.items() if gain > 0} for q, grades in dataset.qrels.items()}
    queries = list(dataset.queries.values())
    documents = list(dataset.documents())
    if limit is not None:
        queries = queries[: max(10, limit // 10)]
        wanted = {document for query in queries for document in gains[query.id]}
        documents.sort(key=lambda document: document["id"] not in wanted)
        documents = documents[:limit]
    number = {document["id"]: place for place, document in enumerate(documents)}
    return Collection(
        name=folder.name,
        documents=tokenise(tokenizer_file, [document["text"] for document in documents]),
        queries=tokenise(tokenizer_file, [query.text or "" for query in queries]),
        query_ids=[query.id for query in queries],
        relevant=[{number[d]: gain for d, gain in gains[query.id].items() if d in number} for query in queries],
    )
