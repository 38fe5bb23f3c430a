"""What a collection says about itself, forged: settings of every field, models it names, files that vocabularies bring.

Checksums are right throughout: whoever can write a collection can write those too.
"""

from __future__ import annotations

import functools
import json
import math
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile import named_pictures, values
from tests.hostile.case import Case, WrongAnswer
from tests.hostile.model_files import FILES, forge_file, suffer_file
from tests.hostile.sample import FIELDS, QUERY, TEXTS, ask, sample
from tests.hostile.tripwire import tripwire

FAMILY = "manifests"

SETTINGS = {
    "setting of another type or size": 10,
    "setting left out": 2,
    "setting that nobody knows": 2,
    "field named twice, or too many": 1,
    "file list of the manifest changed": 2,
}
MODELS = {
    "encoder of the hub": 2,
    "own encoder under another's name": 1,
    "vocabulary in a folder outside": 2,
    "alignment in a folder outside": 1,
    "default encoder with a file for weights": 1,
    "another fingerprint for the same models": 1,
}
SHARES = {**SETTINGS, **MODELS, **dict.fromkeys(FILES, 1), **dict.fromkeys(named_pictures.ATTACKS, 1)}
"""Attacks, and how many cases of each there are for one of the rarest."""


def cases(count: int, seed: int) -> Iterator[Case]:
    """Every attack in its share; seeds are counted on, so that no case comes twice."""
    unit = sum(SHARES.values())
    for attack, share in SHARES.items():
        for n in range(max(1, round(count * share / unit))):
            yield Case(FAMILY, attack, seed * 1_000_000 + n)


def forge(case: Case, folder: Path) -> None:
    """The collection `c.zf` and what lies around it; bait is under `outside`."""
    rng = random.Random(f"{case.attack} {case.seed}")
    (folder / "outside").mkdir()
    if case.attack in named_pictures.ATTACKS:
        named_pictures.forge(case.attack, rng, folder)
        return
    if case.attack in FILES:
        forge_file(case.attack, rng, folder)
        return
    known = sample()
    shutil.copytree(known.collection, folder / "c.zf")
    manifest = known.manifest()
    if case.attack in MODELS:
        changed = _model(case.attack, rng, manifest, folder / "outside")
    else:
        changed = _setting(case.attack, rng, manifest)
    max((folder / "c.zf").glob("manifest-*.json")).write_bytes(values.signed(changed))


def suffer(case: Case, folder: Path) -> str:
    """Open, search, explain, check, write; what is given back must be right, and nothing outside may be touched."""
    rng = random.Random(f"suffer {case.seed}")
    if case.attack in named_pictures.ATTACKS:
        return named_pictures.suffer(case.attack, rng, folder)
    if case.attack in FILES:
        return suffer_file(case.attack, folder)
    with tripwire(folder / "outside"):
        return use(folder / "c.zf", rng, write=case.seed % 4 == 0)


def use(path: Path, rng: random.Random, write: bool) -> str:
    """What a user does with a collection. An error in one field leaves the others to be tried; the first is raised."""
    from zipfian.collection import Collection
    from zipfian.errors import ZipfianError
    from zipfian.fields import Words

    refused: list[ZipfianError] = []
    done = 0

    def attempt(what: Callable[[], Any]) -> None:
        nonlocal done
        try:
            what()
            done += 1
        except ZipfianError as error:
            refused.append(error)

    with Collection.open(path, encodings=False) as found:
        for field in found.fields:
            attempt(lambda field=field: _answer(found, field))  # type: ignore[misc]
        attempt(lambda: _check_hits(found, found.search(QUERY, k=3)))
        attempt(lambda: found.search(QUERY, method="late", k=3, rerank_depth=3))
        attempt(lambda: found.explain(QUERY, rng.choice(list(TEXTS))))
        attempt(found.stats)
        attempt(found.check)
    if write:
        with Collection.open(path, "w", encodings=False) as found:
            attempt(lambda: found.add([{"id": "new", "text": "a new dog"}]))
            attempt(lambda: found.add_field("more", Words(language="german")))
            attempt(found.commit)
            attempt(lambda: found.search("hound", fields="more"))
    if refused:
        raise refused[0]
    return f"{done} steps"


def _answer(collection: Any, field: str) -> None:
    results = ask(collection, field)
    _check_hits(collection, results)
    for hit in list(results)[:1]:
        tree = results.explain(hit)
        if not math.isclose(tree.value, hit.score, rel_tol=1e-9):
            raise WrongAnswer(f"field {field}: {hit.score} is explained as {tree.value}")


def _check_hits(collection: Any, results: Any) -> None:
    scores = [hit.score for hit in results]
    if not all(map(math.isfinite, scores)) or sorted(scores, reverse=True) != scores:
        raise WrongAnswer(f"scores {scores}")
    for hit in results:
        if hit.id not in TEXTS or hit.text != TEXTS[hit.id]:
            raise WrongAnswer(f"a document that was never there: {hit.id!r}")


@functools.cache
def _places(part: str) -> tuple[values.Path_, ...]:
    manifest = sample().manifest()
    return tuple((part, *place) for place in values.places(manifest[part]))


def _setting(attack: str, rng: random.Random, manifest: dict[str, Any]) -> dict[str, Any]:
    place = rng.choice(_places("settings"))
    if attack == "setting of another type or size":
        changed = values.replaced(manifest, place, values.value(rng, values.at(manifest, place)))
    elif attack == "setting left out":
        changed = values.removed(manifest, place)
    elif attack == "setting that nobody knows":
        inside = [p for p in ((), *_places("settings")) if isinstance(values.at(manifest["settings"], p[1:]), dict)]
        inner = rng.choice(inside)[1:]
        name = rng.choice(["extra", "source", "threads", "trust", "__class__", "device", "\x1b[2J"])
        changed = values.replaced(manifest, ("settings", *inner, name), values.value(rng))
    elif attack == "file list of the manifest changed":
        part = rng.choice(["segments", "counters", "user", "generation", "zipfian", "format"])
        inner = rng.choice(_places("segments")) if part == "segments" else (part,)
        changed = values.replaced(manifest, inner, values.value(rng, values.at(manifest, inner)))
    else:
        fields = manifest["settings"]["fields"]
        twice = rng.choice(fields)
        more = (
            [twice] * rng.choice([1, 2, 40]) if rng.random() < 0.5 else [{**twice, "name": f"l{n}"} for n in range(99)]
        )
        changed = values.replaced(manifest, ("settings", "fields"), [*fields, *more])
    out: dict[str, Any] = changed
    return out


def _model(attack: str, rng: random.Random, manifest: dict[str, Any], outside: Path) -> dict[str, Any]:
    fields = {field["name"]: field for field in manifest["settings"]["fields"]}
    latent = fields["latent"]["model"]
    if attack == "encoder of the hub":
        for field in rng.sample(["latent", "dense", "scalar", "visual"], 2):
            spec = fields[field]["model"]["encoder"]
            where = rng.choice(["stranger/model", str(outside), f"{outside}/model", "~", ".", "a/b", "../x"])
            settings: dict[str, Any] = {"name_or_path": where, "precision": "float32", "library": "transformers"}
            settings["kind"] = spec["kind"]
            spec |= {"name": "hub", "settings": settings, "fingerprint": f"model:{rng.randrange(16**20):020x}"}
    elif attack == "own encoder under another's name":
        spec = fields[rng.choice(["latent", "visual", "dense"])]["model"]["encoder"]
        other = rng.choice(
            [
                fields["latent"]["model"]["encoder"],
                fields["visual"]["model"]["encoder"],
                fields["aligned"]["align"]["text"],
            ]
        )
        spec |= {"fingerprint": other["fingerprint"], "pooled_dim": rng.choice([16, 17, 2**31, 1])}
        spec["kind"] = rng.choice(["text", "image"])
    elif attack == "vocabulary in a folder outside":
        bait = shutil.copytree(sample().vocabulary, outside / "sae")
        for field in rng.sample(["latent", "visual"], rng.choice([1, 2])):
            places = [str(bait), f"text-16k/../../{bait}", f"~/../..{bait}", str(outside), "/dev/zero"]
            fields[field]["model"]["vocabulary"]["model"] = rng.choice(places)
            fields[field]["model"]["fingerprint"] = f"sae-1:sae:{rng.randrange(16**20):020x}"
    elif attack == "alignment in a folder outside":
        bait = shutil.copytree(sample().alignment, outside / "align")
        for field in ("aligned", "translated"):
            fields[field]["align"]["name"] = rng.choice([str(bait), f"align-v2/../../../..{bait}", str(outside)])
            fields[field]["align"]["fingerprint"] = f"toy:{rng.randrange(16**20):020x}"
    elif attack == "default encoder with a file for weights":
        kind = rng.choice(["text", "image"])
        field = "latent" if kind == "text" else "visual"
        bait = outside / "weights"
        bait.write_bytes(b"\0" * 1000)
        settings = {"size": 384, "fit": "whole"} if kind == "image" else {
            "max_tokens": 512, "long_texts": "windows", "overlap": 128, "keep_special": False, "layers": [[6, 1.0]],
        }  # fmt: skip
        settings |= {rng.choice(["source", "progress", "threads", "batch_tokens"]): str(bait)}
        fields[field]["model"]["encoder"] |= {"name": kind, "kind": kind, "settings": settings, "fingerprint": "f:0"}
    else:
        latent["fingerprint"] = rng.choice([f"sae-1:sae:{rng.randrange(16**20):020x}", "", "x" * 10_000, "scalar:../x"])
        fields["scalar"]["model"]["fingerprint"] = rng.choice(["scalar:../../x", "scalar:0", "/dev/zero", "..", "a\0b"])
    out: dict[str, Any] = json.loads(
        json.dumps({**manifest, "settings": {**manifest["settings"], "fields": list(fields.values())}})
    )
    return out


__all__ = ["FAMILY", "FIELDS", "cases", "forge", "suffer"]
