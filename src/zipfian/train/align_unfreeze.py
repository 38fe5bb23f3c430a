"""Fine-tune a CLIP model of the hub on captioned pictures: both halves, with the loss of the alignment heads.

The best epoch's weights are written as the model's authors write them, with its tokenizer and picture preparation
beside them, so that `zipfian.encode.hub.dual` loads the folder like any other.
"""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from zipfian.encode.hub.files import HASHED, WEIGHTS
from zipfian.encode.hub.model import HubModel
from zipfian.encode.images import decode
from zipfian.errors import InvalidInput
from zipfian.train import _checks
from zipfian.train._torch import torch
from zipfian.train.align_data import Captions
from zipfian.train.align_model import contrastive
from zipfian.train.passes import Epoch, Passes, batches, checked_batch, products, recalls, set_rate, update
from zipfian.train.schedule import rate

LARGEST_SCALE = math.log(100.0)
READERS = 4
"""Threads that read and prepare pictures."""
MEASURED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class UnfreezeSettings:
    """How a dual encoder is fine-tuned.

    Parameters
    ----------
    batch
        Pictures per step, each with one of its captions; the others of the batch are what it is told apart from.
    temperature
        Where the learnt temperature starts; None: where the model has it.
    warmup
        Share of the steps in which the learning rate rises; then it falls along a cosine.
    precision
        `auto`: bf16 products on a GPU, float32 on a CPU.
    """

    batch: int = 64
    epochs: int = 5
    patience: int = 2
    lr: float = 1e-5
    warmup: float = 0.1
    weight_decay: float = 0.05
    temperature: float | None = 0.07
    smoothing: float = 0.0
    seed: int = 0
    precision: str = "auto"

    def __post_init__(self) -> None:
        _checks.contrastive(self)


@dataclass(slots=True, eq=False)
class Unfrozen:
    """The network of the best epoch and how the training went."""

    model: HubModel
    network: Any
    settings: UnfreezeSettings
    before: Epoch
    """The model as it came, on dev."""
    best: Epoch
    history: list[Epoch] = field(default_factory=list)

    def recalls(self, captions: Captions) -> tuple[dict[int, float], dict[int, float]]:
        """On other captioned pictures."""
        with ThreadPoolExecutor(READERS) as pool:
            return recalls(*_Data(self.model, captions, captions).dev_vectors(self.network, pool))

    def save(self, folder: str | Path, info: dict[str, Any] | None = None) -> None:
        """A folder that `encode.hub.dual` loads: weights, tokenizer, preparation, and `training.json`."""
        out = Path(folder)
        out.mkdir(parents=True, exist_ok=True)
        self.network.save_pretrained(str(out))
        for pattern in HASHED:
            for path in self.model.folder.glob(pattern):
                if path.is_file() and not (out / path.name).exists() and not path.match(f"{WEIGHTS}*"):
                    shutil.copyfile(path, out / path.name)
        known = {
            "model": self.model.given, "settings": asdict(self.settings), "before": asdict(self.before),
            "best": asdict(self.best), "history": [asdict(epoch) for epoch in self.history], **(info or {}),
        }  # fmt: skip
        (out / "training.json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def unfreeze(
    model: str | Path, train: Captions, dev: Captions, settings: UnfreezeSettings, *, device: str = "cpu",
    progress: Callable[[Epoch], None] | None = None, stepped: Callable[[int, int], None] | None = None,
) -> Unfrozen:  # fmt: skip
    """Train until the dev score stops rising; the same seed on the same device gives the same weights.

    `progress` gets every epoch, first the model as it came (epoch -1); `stepped` the steps done of all steps.
    """
    found = HubModel(model, device=device)
    if found.family.library != "transformers" or found.family.model_type != "clip":
        raise InvalidInput(
            f"{found.name} is a model of type {found.family.model_type!r} ({found.family.library}): CLIP models of "
            "transformers can be fine-tuned here; for others train heads on their encoders (--image-encoder, "
            "--text-encoder)"
        )
    data = _Data(found, train, dev)
    n, per = len(train), data.per
    batch = checked_batch(settings.batch, n)
    devices = [device] if device.startswith("cuda") else []
    with torch.random.fork_rng(devices=devices), ThreadPoolExecutor(READERS) as pool:
        torch.manual_seed(settings.seed)
        network = found.fresh().to(device)
        if settings.temperature is not None:
            with torch.no_grad():
                network.logit_scale.fill_(math.log(1.0 / settings.temperature))
        optimizer = torch.optim.AdamW(_groups(network, settings.weight_decay), lr=settings.lr)
        steps = settings.epochs * per * (n // batch)
        generator = torch.Generator().manual_seed(settings.seed)
        passes, step = Passes(network, settings.patience, settings.lr, progress), 0
        before = passes.measured(-1, math.nan, _temperature(network), data.dev_vectors(network, pool))
        for number in range(settings.epochs):
            network.train()
            losses = []
            for pixels, ids, mask in data.batches(pool, batch, generator):
                set_rate(optimizer, rate(step, steps, settings.lr, settings.warmup))
                losses.append(_step(network, optimizer, pixels.to(device), ids.to(device), mask.to(device), settings))
                step += 1
                if stepped is not None:
                    stepped(step, steps)
            vectors = data.dev_vectors(network, pool)
            passes.measured(number, float(torch.stack(losses).mean()), _temperature(network), vectors)
            if passes.over():
                break
    return Unfrozen(found, network, settings, before, passes.finish(), passes.history)


class _Data:
    """Captions as tokens, pictures read when they are needed."""

    def __init__(self, model: HubModel, train: Captions, dev: Captions) -> None:
        self._processor = model.image_processor()
        tokenizer = model.tokenizer()
        self._length = int(model.config().text_config.max_position_embeddings)
        self.device = model.device
        self.per = min(len(texts) for _, texts in train)
        self.dev_per = min(len(texts) for _, texts in dev)
        self._paths = {"train": [path for path, _ in train], "dev": [path for path, _ in dev]}
        self._tokens = {
            "train": self._encode(tokenizer, [text for _, texts in train for text in texts[: self.per]]),
            "dev": self._encode(tokenizer, [text for _, texts in dev for text in texts[: self.dev_per]]),
        }

    def _encode(self, tokenizer: Any, texts: Sequence[str]) -> tuple[Any, Any]:
        found = tokenizer(list(texts), padding=True, truncation=True, max_length=self._length, return_tensors="pt")
        return found["input_ids"], found["attention_mask"]

    def batches(self, pool: ThreadPoolExecutor, batch: int, generator: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Pixels, tokens and mask of each step; the pictures of the next one are read meanwhile."""
        ids, mask = self._tokens["train"]
        waiting: tuple[Any, Any] | None = None
        for pictures, captions in batches(len(self._paths["train"]), self.per, batch, generator):
            reading = [pool.submit(self._pixels, self._paths["train"][i]) for i in pictures.tolist()]
            if waiting is not None:
                yield _stacked(waiting[0]), ids[waiting[1]], mask[waiting[1]]
            waiting = reading, captions
        if waiting is not None:
            yield _stacked(waiting[0]), ids[waiting[1]], mask[waiting[1]]

    def dev_vectors(self, network: Any, pool: ThreadPoolExecutor) -> tuple[Any, Any]:
        """Of dev's pictures and captions, in float32."""
        network.eval()
        images, texts = [], []
        paths, (ids, mask) = self._paths["dev"], self._tokens["dev"]
        with torch.no_grad():
            for start in range(0, len(paths), MEASURED_AT_ONCE):
                pixels = torch.stack(list(pool.map(self._pixels, paths[start : start + MEASURED_AT_ONCE])))
                images.append(_image_vectors(network, pixels.to(self.device)))
            for start in range(0, len(ids), MEASURED_AT_ONCE):
                part = slice(start, start + MEASURED_AT_ONCE)
                texts.append(_text_vectors(network, ids[part].to(self.device), mask[part].to(self.device)))
        return torch.cat(images), torch.cat(texts)

    def _pixels(self, path: Path) -> Any:
        values = self._processor(images=decode(path), return_tensors="np")["pixel_values"][0]
        return torch.from_numpy(np.asarray(values, np.float32))


def _stacked(reading: Sequence[Any]) -> Any:
    return torch.stack([one.result() for one in reading])


def _image_vectors(network: Any, pixels: Any) -> Any:
    pooled = network.vision_model(pixel_values=pixels).pooler_output
    return torch.nn.functional.normalize(network.visual_projection(pooled).float(), dim=1)


def _text_vectors(network: Any, ids: Any, mask: Any) -> Any:
    pooled = network.text_model(input_ids=ids, attention_mask=mask).pooler_output
    return torch.nn.functional.normalize(network.text_projection(pooled).float(), dim=1)


def _step(network: Any, optimizer: Any, pixels: Any, ids: Any, mask: Any, settings: UnfreezeSettings) -> Any:
    with products(settings.precision, pixels.device):
        images, texts = _image_vectors(network, pixels), _text_vectors(network, ids, mask)
    scale = network.logit_scale.float().clamp(max=LARGEST_SCALE).exp()
    return update(network, optimizer, contrastive(images, texts, scale, settings.smoothing))


def _temperature(network: Any) -> float:
    return float(torch.exp(-network.logit_scale.detach().clamp(max=LARGEST_SCALE)))


def _groups(network: Any, decay: float) -> list[dict[str, Any]]:
    """Biases, gains of normalisations and the temperature are not pulled towards zero."""
    matrices = [p for p in network.parameters() if p.ndim >= 2]
    others = [p for p in network.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
