"""Which image vocabulary is trained, written as a short name, and what its settings say of the encoder."""

from __future__ import annotations

from typing import Any, NamedTuple


class Item(NamedTuple):
    """One training: `head:k16:w5120:s0`."""

    name: str
    block: int | None
    k: int
    width: int
    seed: int

    @classmethod
    def parse(cls, text: str) -> Item:
        layer, *numbers = text.split(":")
        found = {part[0]: int(part[1:]) for part in numbers}
        block = None if layer == "head" else int(layer.removeprefix("block"))
        return cls(text.replace(":", "-"), block, found["k"], found["w"], found.get("s", 0))


def described(block: int | None, channels: int) -> dict[str, Any]:
    """The encoder, as a vocabulary's settings name it."""
    from zipfian.encode.image import ImageEncoder

    encoder = ImageEncoder() if block is None else ImageEncoder(block=block)
    settings = {"size": encoder.size, "fit": encoder.fit} | ({} if block is None else {"block": block})
    return {
        "name": "efficientnet-lite2", "title": "EfficientNet-Lite2", "kind": "image", "dim": channels,
        "fingerprint": encoder.fingerprint, "settings": settings,
    }  # fmt: skip
