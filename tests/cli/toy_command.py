"""The `zipfian` command in a process of its own, where the names of fields mean fields of toy encoders.

`python -m tests.cli.toy_command VOCABULARY ARGUMENTS...`. TOY_CACHE is the folder of its encode cache, so that every
process is like a machine of its own (compiled kernels are shared: they would take most of the time). TOY_DELAY makes
every item take so many seconds, and parts of a shard are then written at once, so that there is something to interrupt.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.toys import ToyImage, ToyText
from zipfian.cli import encode, main
from zipfian.encode import cache, shards
from zipfian.encode.registry import register
from zipfian.fields import Dense, Field, Latent, Visual, named
from zipfian.types import Encoded

DELAY = float(os.environ.get("TOY_DELAY", "0"))


class SlowText(ToyText):
    """As slow as a real encoder, if wanted; every encoded text is noted in TOY_LOG."""

    def one(self, item: str) -> Encoded:
        time.sleep(DELAY)
        if "TOY_LOG" in os.environ:
            with open(os.environ["TOY_LOG"], "a") as log:
                log.write(item + "\n")
        return super().one(item)


def run(vocabulary: Path, arguments: Sequence[str]) -> int:
    text, image, real = SlowText("process"), ToyImage("process"), named.default_field

    def field(name: str, beside: Sequence[str] = ()) -> Field:
        made: dict[str, Any] = {
            "latent": lambda: Latent(vocabulary, encoder=text),
            "visual": lambda: Visual(vocabulary, encoder=image),
            "dense-text": lambda: Dense(encoder=text),
        }
        return made[name]() if name in made else real(name, beside)

    register(text)
    register(image)
    named.default_field = field
    vars(cache)["root"] = lambda: Path(os.environ["TOY_CACHE"])  # compiled kernels stay where they are
    if DELAY:
        encode.AT_ONCE = 4
        shards.PART_SECONDS = 0.0
    return main(arguments)


if __name__ == "__main__":
    sys.exit(run(Path(sys.argv[1]), sys.argv[2:]))
