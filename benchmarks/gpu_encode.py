"""Encoders of texts on a GPU: how fast, how near to the processor's vectors and terms, and what it means for search."""

from __future__ import annotations

import argparse
import time
from functools import partial
from typing import Any

import numpy as np

from benchmarks.gpu_bench import Bench, some_texts
from benchmarks.gpu_pipeline import PIECES
from zipfian.device import Precision
from zipfian.encode import TextEncoder
from zipfian.encode.bert import BertShape
from zipfian.encode.torch_bert import TorchBert
from zipfian.types import Encoded, Terms
from zipfian.vocabulary.sae import SaeVocabulary

PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "bfloat16")
VOCABULARY = "text-16k"


def network(bench: Bench, _: argparse.Namespace) -> dict[str, Any]:
    """Tokens a second through a network of MiniLM's shape with made-up weights: what no input can make faster."""
    torch, out = bench.torch, {}
    weights = _made_up_weights(layers=6, width=384, words=30_522)
    tokens = bench.sized(131_072, 512)
    for precision in PRECISIONS:
        net = TorchBert(weights, BertShape(layers=6, heads=12), bench.where, precision)
        for length in (32, 128, 512):
            pieces = torch.randint(0, 30_522, (tokens // length, length), device=bench.where)
            lengths = torch.full((tokens // length,), length - 1, device=bench.where)
            for masked, given in (("full", None), ("masked", lengths)):
                with torch.inference_mode():
                    seconds = bench.seconds(partial(net.run, pieces, given, [6]))
                out[f"{precision} {length} {masked}"] = {"tokens_per_s": pieces.numel() / seconds}
    return out


def texts(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """Documents a second from texts to terms and pooled vectors, stage by stage, one after the other."""
    vocabulary, out = SaeVocabulary.load(VOCABULARY), {}
    for pieces in PIECES:
        n = bench.sized(65_536 if pieces < 100 else 16_384, 24)
        items = some_texts(options.texts, n, pieces)
        for precision in PRECISIONS:
            encoder = TextEncoder(device=bench.device, precision=precision)
            counted = sum(encoder.count_tokens(items))
            times: dict[str, float] = {
                "tokenise": bench.seconds(partial(encoder.count_tokens, items)),
                "encode": bench.seconds(partial(encoder.encode_documents, items)),
                "encode and compact": bench.seconds(partial(_compact, encoder, vocabulary, items)),
            }
            out[f"{pieces} pieces {precision}"] = {
                "documents": n, "tokens": counted, "seconds": times, "bytes_on_device": bench.memory(),
                "documents_per_s": n / times["encode and compact"], "fell_back": encoder.fell_back,
            }  # fmt: skip
    return out


def _compact(encoder: TextEncoder, vocabulary: SaeVocabulary, items: list[str]) -> None:
    for one in encoder.encode_documents(items):
        vocabulary.compact(one)


def agreement(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """How far vectors and terms are from those of the processor: the share of documents with other terms."""
    n = bench.sized(2_000, 12)
    items = some_texts(options.texts, n, 60)
    vocabulary = SaeVocabulary.load(VOCABULARY)
    expected = TextEncoder().encode_documents(items)
    out: dict[str, Any] = {"documents": n, "made_up": options.texts is None}
    for precision in PRECISIONS:
        found = TextEncoder(device=bench.device, precision=precision).encode_documents(items)
        other_terms = other_tokens = tokens = 0
        pairs = list(zip(found, expected, strict=True))
        for one, other in pairs:
            ours, theirs = vocabulary.fired(one), vocabulary.fired(other)
            same = (np.sort(ours[0], axis=1) == np.sort(theirs[0], axis=1)).all(axis=1)
            tokens += len(same)
            other_tokens += int((~same).sum())
            other_terms += set(ours[0].ravel().tolist()) != set(theirs[0].ravel().tolist())
        out[precision] = {
            "documents_with_other_terms": other_terms / n, "tokens_with_other_terms": other_tokens / tokens,
            "largest_difference_of_a_token": max(_apart(a.vectors, b.vectors) for a, b in pairs),
            "least_cosine_of_pooled": min(float(a.pooled @ b.pooled) for a, b in pairs),
        }  # fmt: skip
    return out


def quality(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """nDCG@10 of documents encoded on the device for queries encoded on the processor, as a user would have it."""
    from zipfian.evaluate.datasets import load_beir

    out: dict[str, Any] = {}
    for folder in options.beir:
        dataset = load_beir(folder)
        documents = list(dataset.documents())[: bench.sized(10**9, 6)]
        queries = {query.id: query.text or "" for query in dataset.queries.values() if query.id in dataset.qrels}
        chosen = dict(list(queries.items())[: bench.sized(10**9, 3)])
        asked = TextEncoder().encode_queries(list(chosen.values()))
        place = {document["id"]: number for number, document in enumerate(documents)}
        gains = [{place[d]: gain for d, gain in dataset.qrels[q].items() if d in place} for q in chosen]
        found: dict[str, Any] = {"documents": len(documents), "queries": len(chosen)}
        for precision in ("processor", *PRECISIONS):
            here = precision == "processor"
            encoder = TextEncoder() if here else TextEncoder(device=bench.device, precision=precision)
            start = time.perf_counter()
            encoded = encoder.encode_documents([document["text"] for document in documents])
            found[precision] = {**_measured(encoded, asked, gains), "seconds": time.perf_counter() - start}
        out[folder.name] = found
    return out


def _measured(encoded: list[Encoded], asked: list[Encoded], gains: list[dict[int, int]]) -> dict[str, float]:
    vocabulary = SaeVocabulary.load(VOCABULARY)
    scores = np.stack([one.pooled for one in asked]) @ np.stack([one.pooled for one in encoded]).T
    dense = [np.argsort(-row, kind="stable")[:10] for row in scores]
    index = index_of([vocabulary.terms(one) for one in encoded], vocabulary)
    latent = []
    for one in asked:
        terms = vocabulary.query(one)
        latent.append(index.search(terms.ids, terms.weights, 10)[0])
    return {"dense": _ndcg(dense, gains), "latent": _ndcg(latent, gains)}


def index_of(items: list[Terms], vocabulary: SaeVocabulary) -> Any:
    """An index with the formula of the vocabulary, over weights in hundredths as a field keeps them."""
    from zipfian import BM25, SparseIndex

    scale = vocabulary.defaults.scale
    kept = []
    for terms in items:
        steps = np.rint(terms.weights * scale)
        kept.append(Terms(terms.ids[steps > 0], (steps[steps > 0] / scale).astype(np.float32)))
    return SparseIndex.from_csr(
        np.cumsum([0, *map(len, kept)]), np.concatenate([terms.ids for terms in kept]),
        np.concatenate([terms.weights for terms in kept]), vocabulary.n_terms, BM25(**vocabulary.defaults.bm25),
    )  # fmt: skip


def _ndcg(rankings: list[Any], gains: list[dict[int, int]]) -> float:
    """The mean nDCG@10, gains as they are."""
    discount = 1 / np.log2(np.arange(2, 12))
    values = []
    for ranking, gain in zip(rankings, gains, strict=True):
        got = sum(gain.get(int(doc), 0) * discount[i] for i, doc in enumerate(ranking[:10]))
        best = sum(value * discount[i] for i, value in enumerate(sorted(gain.values(), reverse=True)[:10]))
        values.append(got / best if best > 0 else 0.0)
    return float(np.mean(values))


def _apart(a: Any, b: Any) -> float:
    """Largest difference of rows as a share of their length."""
    return float((np.linalg.norm(a - b, axis=1) / np.linalg.norm(b, axis=1)).max(initial=0.0))


def _made_up_weights(layers: int, width: int, words: int) -> dict[str, Any]:
    """Tensors with the names and shapes of a BERT's."""
    rng = np.random.default_rng(0)

    def random(*shape: int) -> Any:
        return (rng.standard_normal(shape) * 0.02).astype(np.float32)

    out = {
        "embeddings.word_embeddings.weight": random(words, width),
        "embeddings.position_embeddings.weight": random(512, width),
        "embeddings.token_type_embeddings.weight": random(2, width),
    }
    shapes = {"intermediate.dense": (4 * width, width), "output.dense": (width, 4 * width)}
    for part in ("self.query", "self.key", "self.value", "output.dense"):
        shapes[f"attention.{part}"] = (width, width)
    norms = ["embeddings.LayerNorm"]
    for layer in range(layers):
        prefix = f"encoder.layer.{layer}."
        norms += [f"{prefix}attention.output.LayerNorm", f"{prefix}output.LayerNorm"]
        for name, shape in shapes.items():
            out[f"{prefix}{name}.weight"], out[f"{prefix}{name}.bias"] = random(*shape), random(shape[0])
    for name in norms:
        out[f"{name}.weight"], out[f"{name}.bias"] = np.ones(width, np.float32), np.zeros(width, np.float32)
    return out
