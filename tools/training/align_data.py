"""Features of captioned pictures, computed once on the device."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from texts import Array

from training.codes import Codes
from training.image_encoder import Lite2, Pictures, patch_matrix, precision, read_pictures, view_of, whole_patches
from training.ranking import Scoring, own_idf, stored
from training.text_encoder import MiniLM, hidden_states, tokenise
from zipfian.train.align import CaptionedImages
from zipfian.vocabulary._sae_weights import load_weights
from zipfian.vocabulary.topk import top_k

LOWEST_SHARE = (0.5, 0.3)
TRAINING = ("train", "extra")


class Words(NamedTuple):
    """Known words with their idf over the training captions, and the words of every caption in file order."""

    words: list[str]
    idf: Array
    rows: list[Array]
    fingerprint: str

    def matrix(self, captions: Array) -> torch.Tensor:
        """Rows of length 1: each known word of a caption once, weighted by idf."""
        out = torch.zeros(len(captions), len(self.words))
        for place, caption in enumerate(captions):
            ids = self.rows[caption]
            if len(ids):
                out[place, ids] = torch.from_numpy(self.idf[ids] / np.linalg.norm(self.idf[ids]))
        return out


def count_words(entries: list[dict[str, Any]], least: int) -> Words:
    """Words that at least so many training captions use."""
    from collections import Counter

    from zipfian.vocabulary.words import Words as Analyser

    analyser = Analyser()
    found = [sorted(set(analyser.terms(caption))) for entry in entries for caption in entry["captions"]]
    training = [entry["split"] in TRAINING for entry in entries for _ in entry["captions"]]
    df = Counter(word for words, used in zip(found, training, strict=True) if used for word in words)
    n = sum(training)
    words = sorted(word for word, count in df.items() if count >= least)
    number = {word: place for place, word in enumerate(words)}
    idf = np.array([np.log(1 + (n - df[word] + 0.5) / (df[word] + 0.5)) for word in words], dtype=np.float32)
    rows = [np.array([number[word] for word in one if word in number], dtype=np.int64) for one in found]
    return Words(words, idf, rows, analyser.fingerprint)


def load_words(path: Path) -> Words:
    """What `save_words` wrote, for machines without a stemmer."""
    with np.load(path) as kept:
        parts = np.split(kept["indices"].astype(np.int64), kept["indptr"][1:-1])
        return Words([str(word) for word in kept["words"]], kept["idf"], parts, str(kept["fingerprint"]))


def save_words(words: Words, path: Path) -> None:
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in words.rows])]).astype(np.int32)
    np.savez_compressed(
        path, indptr=indptr, indices=np.concatenate(words.rows).astype(np.uint16), idf=words.idf,
        words=np.array(words.words), fingerprint=np.array(words.fingerprint),
    )  # fmt: skip


class Coder:
    """Visual words of pictures as the `visual` field keeps them: max-pooled, capped, in hundredths."""

    def __init__(self, folder: Path, device: Any) -> None:
        weights, _, settings = load_weights(folder)
        matrix, offset = weights.folded()
        self.matrix, self.offset = torch.from_numpy(matrix).to(device), torch.from_numpy(offset).to(device)
        defaults = settings["defaults"]
        self.k, self.k_post, self.pooling = int(defaults["k"]), defaults["k_post"], defaults["pooling"]
        self.scoring = Scoring(float(defaults["k1"]), float(defaults["b"]), power_of(defaults["phi"]))
        self.settings = {"k": self.k, "k_post": self.k_post, "pooling": self.pooling, "vocabulary": folder.name}

    def terms(self, patches: torch.Tensor, block: int = 64) -> torch.Tensor:
        """(pictures, terms) in float16."""
        n, cells, width = len(patches), patches.shape[1], len(self.matrix)
        out = torch.zeros(n, width, dtype=torch.float16, device=patches.device)
        for start in range(0, n, block):
            rows = patches[start : start + block].float()
            values, terms = top_k(torch.addmm(self.offset, rows.flatten(0, 1), self.matrix.T), self.k)
            item = torch.arange(len(rows), device=patches.device).repeat_interleave(cells)
            codes = Codes(values.clamp_(min=0.0), terms, item, len(rows))
            out[start : start + block] = stored(codes.pooled(self.k, width, self.pooling), self.k_post).half()
        return out


def power_of(phi: object) -> float:
    """The power that weights are raised to, from its name in a vocabulary's settings."""
    named = {"identity": 1.0, "sqrt": 0.5}.get(str(phi))
    return float(str(phi).removeprefix("power:")) if named is None else named


class Flickr(NamedTuple):
    """Everything about the captioned pictures, by split."""

    parts: dict[str, CaptionedImages]
    terms: dict[str, torch.Tensor]
    """Visual-word weights as stored."""
    term_idf: torch.Tensor


def load_flickr(args: Any, words: Words, coder: Coder, say: Any) -> Flickr:
    entries = [json.loads(line) for line in args.captions.open(encoding="utf-8")]
    device = args.device
    net = Lite2(args.weights, device)
    exact: dict[str, tuple[torch.Tensor, torch.Tensor]] = {}
    views: dict[str, torch.Tensor] = {}
    for folder in args.images:
        pictures = read_pictures(folder, small=True, limit=args.limit)
        training = [
            entry["split"] for entry in entries if entry["image"].split("/")[-1] == Path(pictures.names[0]).name
        ]
        patches, pooled = whole_patches(net, pictures, args.picture_batch, torch.float16)
        with precision("float32", device):
            terms = coder.terms(patches)
        del patches
        seen = [pooled]
        if training and training[0] in TRAINING:
            seen += other_views(net, pictures, args)
        for place, name in enumerate(pictures.names):
            exact[Path(name).name] = (pooled[place], terms[place])
            views[Path(name).name] = torch.stack([view[place] for view in seen])
        say(f"{len(pictures.names)} pictures, {len(seen)} views")
    model = MiniLM(args.model, device, torch.float32)
    first = np.concatenate([[0], np.cumsum([len(entry["captions"]) for entry in entries])])
    known = [i for i, entry in enumerate(entries) if entry["image"].split("/")[-1] in exact]
    texts = [caption for i in known for caption in entries[i]["captions"]]
    numbers = np.concatenate([np.arange(first[i], first[i + 1]) for i in known])
    _, found = hidden_states(
        model, tokenise(args.model / "tokenizer.json", texts), (-1,), pooled=True, batch_tokens=16_384
    )
    if found is None:
        raise SystemExit("no captions")
    means = torch.zeros(int(first[-1]), found.shape[1], device=device)
    means[torch.from_numpy(numbers).to(device)] = found
    say(f"{len(texts)} captions")
    kept: dict[str, torch.Tensor] = {}
    raw: dict[str, tuple[Any, Any, Any]] = {}
    for name, splits in (("train", TRAINING), ("dev", ("dev",)), ("test", ("test",))):
        chosen = [i for i, e in enumerate(entries) if e["split"] in splits and e["image"].split("/")[-1] in exact]
        captions = np.concatenate([np.arange(first[i], first[i + 1]) for i in chosen])
        files = [entries[i]["image"].split("/")[-1] for i in chosen]
        kept[name] = torch.stack([exact[file][1] for file in files])
        pooled = torch.stack([views[file] for file in files])
        raw[name] = (pooled, means[torch.from_numpy(captions).to(device)], words.matrix(captions).to(device))
    idf = own_idf(kept["train"])
    parts = {
        name: CaptionedImages(
            *raw[name], terms=torch.nn.functional.normalize(kept[name].float().sqrt() * idf, dim=1).half()
        )
        for name in raw
    }
    return Flickr(parts, kept, idf)


def other_views(net: Lite2, pictures: Pictures, args: Any) -> list[torch.Tensor]:
    """Pooled vectors of mirrored and cut-out views."""
    found = []
    with precision("tf32", net.device):
        for view in range(1, args.views):
            low = LOWEST_SHARE[view % len(LOWEST_SHARE)]
            source = view_of(pictures, view, net.device, args.picture_batch, low)
            found.append(patch_matrix(net, source, len(pictures.names), torch.float16)[1])
    return found


def save_features(flickr: Flickr, folder: Path) -> None:
    """Pooled vectors for trainings elsewhere: captions in float16, views of pictures in int8 with a step each."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True, exist_ok=True)
    for name, part in flickr.parts.items():
        save_file({"captions": part.captions.half().cpu().numpy()}, folder / f"captions-{name}.safetensors")
        for view in range(part.pictures.shape[1]):
            rows = part.pictures[:, view].float()
            step = rows.abs().amax(dim=1, keepdim=True) / 127.0
            packed = {"rows": (rows / step).round().to(torch.int8).cpu().numpy(), "step": step.cpu().numpy()}
            save_file(packed, folder / f"pictures-{name}-{view}.safetensors")
