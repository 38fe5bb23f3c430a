"""The encoder of pictures on a GPU: how fast from files to terms, how near to the processor's, and what is found."""

from __future__ import annotations

import argparse
import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gpu_bench import Bench
from benchmarks.gpu_busy import busy
from benchmarks.gpu_encode import index_of
from zipfian.device import TORCH_CPU, Precision
from zipfian.encode import ImageEncoder, converted
from zipfian.encode.efficientnet import network_of
from zipfian.encode.images import SUFFIXES
from zipfian.encode.session import in_order
from zipfian.encode.torch_efficientnet import TorchEfficientNet
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.types import Encoded, FloatArray, Terms
from zipfian.vocabulary._sae_device import DeviceProjection
from zipfian.vocabulary.sae import SaeVocabulary

PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "bfloat16")
VOCABULARY = "image-11k"
AT_ONCE = 256
AHEAD = 3
"""Pictures that a command hands over together, and batches of them under way."""


def pictures(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """Speed, agreement with the processor and, where there are gallery/ and query/, what is found."""
    with tempfile.TemporaryDirectory() as name:
        files = _files(options.pictures or _made_up(Path(name), bench.sized(2_048, 6)), bench.sized(2_048, 6))
        out: dict[str, Any] = {
            "pictures": len(files), "made_up": options.pictures is None, "bytes": sum(p.stat().st_size for p in files),
            "network": _network(bench), "speed": _speed(bench, files), "agreement": _agreement(bench, files),
        }  # fmt: skip
    if options.pictures is not None and (options.pictures / "query").is_dir():
        try:
            out["found"] = _found(bench, options.pictures)
        except (ZipfianError, ImportError) as error:  # SparseIndex needs numba
            out["found"] = {"left_out": f"{type(error).__name__}: {error}"}
    return out


def _network(bench: Bench) -> dict[str, Any]:
    """Pictures a second through the network alone: what no file can make faster."""
    torch, network, out = bench.torch, network_of(converted.load()), {}
    for precision in PRECISIONS:
        net = TorchEfficientNet(network, bench.where, precision)
        for n in (1, 56, 256) if not bench.quick else (1,):
            pixels = torch.randint(0, 256, (n, 384, 384, 3), dtype=torch.uint8, device=bench.where).permute(0, 3, 1, 2)
            with torch.inference_mode():
                out[f"{precision} {n}"] = {"pictures_per_s": n / bench.seconds(partial(net.run, pixels))}
    return out


def _speed(bench: Bench, files: Sequence[Path]) -> dict[str, Any]:
    """Pictures a second: decoded and shrunk; and from files to terms, as a command does it but for writing them."""
    vocabulary, plain = SaeVocabulary.load(VOCABULARY), ImageEncoder()
    seconds = bench.seconds(lambda: sum(1 for _ in in_order(plain.views, files, plain.threads, 2 * plain.threads)))
    out: dict[str, Any] = {"threads": plain.threads, "decoded_per_s": len(files) / seconds}
    for precision in PRECISIONS:
        encoder = ImageEncoder(device=bench.device, precision=precision)
        work = partial(_all, encoder, vocabulary.compact, files)
        seconds = bench.seconds(work)
        with busy(bench, (TorchEfficientNet, "run"), (DeviceProjection, "_block")) as account:
            shared = bench.once(work)
            worked = account.seconds
        out[precision] = {
            "pictures_per_s": len(files) / seconds, "seconds": seconds, "busy": worked / shared,
            "fell_back": encoder.fell_back, "bytes_on_device": bench.memory(),
        }  # fmt: skip
    return out


def _all(encoder: ImageEncoder, make: Callable[[Encoded], Any], files: Sequence[Path]) -> list[Any]:
    """What `make` makes of every picture, `AT_ONCE` of them at a time and some batches under way."""

    def some(start: int) -> list[Any]:
        return [make(one) for one in encoder.encode_documents(files[start : start + AT_ONCE])]

    return [one for part in in_order(some, range(0, len(files), AT_ONCE), AHEAD) for one in part]


def _processor() -> tuple[str, ImageEncoder]:
    """The encoder to compare with; where packages for it are missing, the GPU's code on the processor in float32."""
    if all(importlib.util.find_spec(name) for name in ("onnxruntime", "numba")):
        return "onnxruntime", ImageEncoder()
    return TORCH_CPU, ImageEncoder(device=TORCH_CPU)


def _agreement(bench: Bench, files: Sequence[Path]) -> dict[str, Any]:
    """How far vectors and terms are from those of the processor: the share of pictures with other terms."""
    vocabulary = SaeVocabulary.load(VOCABULARY)
    chosen = files[:: max(1, len(files) // bench.sized(512, 8))]
    name, encoder = _processor()

    def kept(one: Encoded) -> tuple[Any, FloatArray]:
        return np.sort(vocabulary.fired(one)[0], axis=1), one.pooled

    expected = _all(encoder, kept, chosen)
    out: dict[str, Any] = {"pictures": len(chosen), "processor_is": name}
    for precision in PRECISIONS:
        found = _all(ImageEncoder(device=bench.device, precision=precision), kept, chosen)
        pairs = list(zip(found, expected, strict=True))
        same = [(ours == theirs).all(axis=1) for (ours, _), (theirs, _) in pairs]
        items = [set(ours.ravel().tolist()) == set(theirs.ravel().tolist()) for (ours, _), (theirs, _) in pairs]
        out[precision] = {
            "pictures_with_other_terms": 1 - float(np.mean(items)),
            "patches_with_other_terms": 1 - float(np.mean(np.concatenate(same))),
            "least_cosine_of_pooled": min(float(a @ b) for (_, a), (_, b) in pairs),
            "largest_difference_of_pooled": max(float(np.linalg.norm(a - b)) for (_, a), (_, b) in pairs),
        }  # fmt: skip
    return out


def _found(bench: Bench, folder: Path) -> dict[str, Any]:
    """R@1 of a gallery that the device looked at, asked with pictures that the processor looked at."""
    from zipfian.evaluate.datasets import load_class_folders

    dataset = load_class_folders(folder)
    documents = list(dataset.documents())
    documents = documents[:: max(1, len(documents) // bench.sized(10**9, 12))]
    queries = list(dataset.queries)
    queries = queries[:: max(1, len(queries) // bench.sized(10**9, 12))]
    ids = [document["id"] for document in documents]
    vocabulary = SaeVocabulary.load(VOCABULARY)
    name, processor = _processor()

    def item(one: Encoded) -> tuple[Terms, FloatArray]:
        return vocabulary.terms(one), one.pooled

    def query(one: Encoded) -> tuple[Terms, FloatArray]:
        return vocabulary.query(one), one.pooled

    asked = _all(processor, query, [picture.path for q in queries if (picture := dataset.queries[q].image)])
    out: dict[str, Any] = {"documents": len(ids), "queries": len(queries), "processor_is": name}
    for precision in ("processor", *PRECISIONS):
        here = precision == "processor"
        encoder = processor if here else ImageEncoder(device=bench.device, precision=precision)
        made = _all(encoder, item, [document["image"] for document in documents])
        index = index_of([terms for terms, _ in made], vocabulary)
        matrix = np.stack([vector for _, vector in made])
        right = {"dense": 0, "visual": 0}
        for q, (terms, vector) in zip(queries, asked, strict=True):
            good, left_out = dataset.qrels[q], dataset.ignore.get(q, frozenset())
            rankings = {
                "dense": np.argsort(-(matrix @ vector), kind="stable")[: len(left_out) + 1],
                "visual": index.search(terms.ids, terms.weights, len(left_out) + 1)[0],
            }
            for field, ranking in rankings.items():
                first = [ids[int(doc)] for doc in ranking if ids[int(doc)] not in left_out][:1]
                right[field] += bool(first) and good.get(first[0], 0) > 0
        out[precision] = {f"{field}_r1": count / len(queries) for field, count in right.items()}
    return out


def _files(folder: Path, most: int) -> list[Path]:
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES)
    if not found:
        raise InvalidInput(f"{folder}: holds no picture")
    return found[:: max(1, len(found) // most)][:most]


def _made_up(folder: Path, n: int) -> Path:
    """Photographs of nothing: smooth colours with some noise, 500 x 375 as JPEG, the same on every run."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(n):
        small = Image.fromarray(rng.integers(0, 256, (6, 8, 3)).astype(np.uint8)).resize((500, 375), 3)
        noisy = np.asarray(small, dtype=np.int16) + rng.integers(-20, 21, (375, 500, 1))
        Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(folder / f"{number}.jpg", quality=90)
    return folder
