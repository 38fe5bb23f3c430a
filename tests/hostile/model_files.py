"""Files that vocabularies, transforms and shards bring along, forged with right checksums."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import struct
from pathlib import Path
from typing import Any

from tests.hostile import values
from tests.hostile.case import WrongAnswer
from tests.hostile.sample import QUERY, sample

FILES = {
    "settings of a vocabulary": "sae.json",
    "settings of an alignment": "align.json",
    "transform of a scalar field": "scalar.json",
    "arrays of a transform": "scalar.safetensors",
    "description of an encoded shard": "shard.json",
}


def forge_file(attack: str, rng: random.Random, folder: Path) -> None:
    """One file of a model, changed in one place."""
    known = sample()
    if attack == "description of an encoded shard":
        _shard(rng, folder / "shard")
    elif attack in ("transform of a scalar field", "arrays of a transform"):
        shutil.copytree(known.collection, folder / "c.zf")
        arrays = next((folder / "c.zf").glob("scalar-*.safetensors"))
        if attack == "arrays of a transform":
            arrays.write_bytes(_tensors(rng))
        else:
            _change(rng, arrays.with_suffix(".json"))
    else:
        source, name = (known.vocabulary, "sae.json") if "vocabulary" in attack else (known.alignment, "align.json")
        shutil.copytree(source, folder / "model")
        _change(rng, folder / "model" / name)


def suffer_file(attack: str, folder: Path) -> str:
    """Load it as whoever uses it would."""
    from zipfian.collection import Collection
    from zipfian.fields import Aligned, Latent
    from zipfian.fields import model as models
    from zipfian.vocabulary.aligned import AlignedHeads, TranslationTable
    from zipfian.vocabulary.sae import SaeVocabulary

    known = sample()
    if attack == "description of an encoded shard":
        from zipfian.encode.shards import Shard

        Shard(folder / "shard").get("nothing", "0" * 64)
        return "read"
    if attack == "settings of a vocabulary":
        made = SaeVocabulary.load(folder / "model")
        terms = made.terms(known.text.one(QUERY))
        if len(terms) and int(terms.ids.max()) >= made.n_terms:
            raise WrongAnswer("a term that the vocabulary does not have")
        made.label(0), made.counted_items, made.statistics, made.fingerprint
        Latent(folder / "model", encoder=known.text)
        return "loaded"
    if attack == "settings of an alignment":
        AlignedHeads.load(folder / "model").check_encoders(text=known.text.fingerprint)
        TranslationTable.load(folder / "model").terms({"red": 1.0})
        Aligned(model=str(folder / "model"), text=known.text, image=known.image)
        return "loaded"
    models._SCALAR.clear()  # else the honest transform that this process knows would answer
    with Collection.open(folder / "c.zf", encodings=False) as found:
        problems = found.check().problems
        found.search(QUERY, fields="scalar")
        if problems:
            raise WrongAnswer(f"search uses a transform that check complains about: {problems}")
    return "searched"


def _change(rng: random.Random, path: Path) -> None:
    """Another value in one place of a JSON file, or one that is missing."""
    settings = json.loads(path.read_bytes())
    place = rng.choice(list(values.places(settings)))
    if rng.random() < 0.2:
        changed = values.removed(settings, place)
    else:
        changed = values.replaced(settings, place, values.value(rng, values.at(settings, place)))
    path.write_text(json.dumps(changed), encoding="utf-8")


def _tensors(rng: random.Random) -> bytes:
    """A safetensors file whose header promises more, or something else, than there is."""
    side = rng.choice([0, 1, 16, 2**20, 2**40])
    entry: dict[str, Any] = {
        "dtype": rng.choice(["F32", "F64", "I8", "BF16", "X"]),
        "shape": rng.choice([[side, side], [side], [], [side] * 40, [-1, 2], "x"]),
        "data_offsets": rng.choice([[0, 64], [0, 2**40], [64, 0], [-4, 0], [0]]),
    }
    header = json.dumps({"rotation": entry, "mean": {**entry, "shape": [side]}}).encode()
    size = rng.choice([len(header), 2**40, 0, len(header) * 2])
    return struct.pack("<Q", size) + header + b"\0" * 64


def _shard(rng: random.Random, path: Path) -> None:
    """`shard.json` with its own checksum, changed in one place."""
    path.mkdir()
    known: dict[str, Any] = {
        "format": "zipfian-shard", "version": 1, "shard": [1, 2], "complete": True,
        "forms": [["toy-text:1", "text", "pooled"]],
        "parts": [["part-000001.enc", 100, "0" * 64, 3]],
        "about": {"source": "x", "documents": 3},
    }  # fmt: skip
    place = rng.choice(list(values.places(known)))
    changed = values.replaced(known, place, values.value(rng, values.at(known, place)))
    packed = json.dumps(changed, sort_keys=True, separators=(",", ":")).encode("ascii")
    (path / "shard.json").write_text(json.dumps({**changed, "sha256": hashlib.sha256(packed).hexdigest()}))
