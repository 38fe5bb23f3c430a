"""python -m benchmarks.picture_models: what a model of the hub costs beside the built-in encoder of pictures.

Networks of the real designs with random weights: how long a pass takes does not depend on what they have learnt.
Processor time of one thread, so that other work on the machine counts little. Needs the extras `hub` and `image`.
"""

from __future__ import annotations

import argparse
import json
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

MODELS = ("MobileCLIP-S1", "ViT-B-32", "ViT-B-16-SigLIP2")
"""Of open_clip's list: the one the guide begins with, CLIP, and SigLIP2."""
QUERY = "a spider web in the morning"
SIDE = 512
BATCH = 4
PASSES = 3


def pictures() -> list[Any]:
    """Made-up photographs."""
    from PIL import Image

    rng = np.random.default_rng(0)
    small = rng.integers(0, 256, size=(BATCH, 24, 24, 3), dtype=np.uint8)
    return [Image.fromarray(one).resize((SIDE, SIDE), Image.Resampling.BICUBIC) for one in small]


def seconds(work: Callable[[], object], count: int) -> float:
    """The least processor time of some passes, for one of `count` things; the first pass warms up."""
    work()
    spent = []
    for _ in range(PASSES):
        start = time.process_time()
        work()
        spent.append(time.process_time() - start)
    return min(spent) / count


def built_in() -> dict[str, Any]:
    """EfficientNet-Lite2 and MiniLM, as they come with the extras `image` and `text`."""
    from zipfian.encode import ImageEncoder, TextEncoder, models

    encoder, arrays = ImageEncoder(threads=1), [np.asarray(one) for one in pictures()]
    asking = TextEncoder(threads=1)
    files = (*models.EFFICIENTNET_LITE2.files, *models.MINILM.files)
    return {
        "model": "built in: EfficientNet-Lite2 and all-MiniLM-L6-v2",
        "bytes": sum(file.size for file in files),
        "seconds_a_query": seconds(lambda: asking.encode_queries([QUERY]), 1),
        "seconds_a_picture": seconds(lambda: encoder.encode_documents(arrays), BATCH),
        "patches": encoder.count_tokens(arrays[:1])[0],
        "patch_numbers": encoder.dim,
    }


def of_open_clip(name: str) -> dict[str, Any]:
    """Both halves of a model: a batch of pictures with their preparation, and one query."""
    import open_clip
    import torch

    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    network = open_clip.create_model(name).eval()
    prepare = open_clip.image_transform(
        network.visual.image_size, is_train=False, mean=(0.0, 0.0, 0.0), std=(1.0, 1.0, 1.0)
    )
    shown = pictures()
    length = int(getattr(network, "context_length", 77))
    ids = torch.ones((1, length), dtype=torch.int64)

    def seen() -> None:
        with torch.inference_mode():
            network.encode_image(torch.stack([prepare(one) for one in shown]))

    def asked() -> None:
        with torch.inference_mode():
            network.encode_text(ids)

    parameters = sum(p.numel() for p in network.parameters())
    return {
        "model": f"open_clip:{name}",
        "parameters": parameters,
        "image_parameters": sum(p.numel() for p in network.visual.parameters()),
        "bytes": 4 * parameters,
        "pixels": network.visual.image_size,
        "seconds_a_picture": seconds(seen, BATCH),
        "seconds_a_query": seconds(asked, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.picture_models", description=__doc__)
    parser.add_argument("--json", type=Path, default=Path("results/speed/picture-models.json"))
    given = parser.parse_args()
    found = [built_in()]
    print(found[-1], flush=True)
    for name in MODELS:
        found.append(of_open_clip(name))
        print(found[-1], flush=True)
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps({"side": SIDE, "batch": BATCH, "models": found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
