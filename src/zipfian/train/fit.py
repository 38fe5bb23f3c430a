"""From texts or pictures to a vocabulary in a folder: encode, train, write, and go on after an interruption."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.encode.named import named_encoder
from zipfian.errors import IndexExists, InvalidInput
from zipfian.ingest.source import Source
from zipfian.train._checks import too_old
from zipfian.train.data import Data, Survey
from zipfian.train.settings import SaeSettings
from zipfian.vocabulary import presets

if TYPE_CHECKING:
    from zipfian.train.activations import Activations
    from zipfian.train.sae import Progress, TrainResult

CHECKPOINT = "checkpoint.zpfn"
OLD_CHECKPOINT = "checkpoint.safetensors"
"""As of zipfian 0.1."""
RUN = "run.json"
SHARDS = "activations"
MEMORY = 2 << 30
"""Bytes of activations that are kept in memory; more go to disk."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a training is about to encode."""

    items: int
    kind: str
    """`text` or `image`."""
    tokens: int
    """About."""
    dim: int
    """Numbers of a token's vector."""
    nbytes: int
    """Of all vectors."""
    on_disk: bool


class Watcher:
    """What a long training tells on its way; every method may be overridden, and does nothing here."""

    def planned(self, plan: Plan) -> None:
        """Called before anything is encoded."""

    def encoded(self, items: int) -> None:
        """Items encoded so far."""

    def trained(self, progress: Progress) -> None:
        """Called after some steps."""

    def skipped(self, where: str, problem: str) -> None:
        """An item that cannot be used."""


@dataclass(frozen=True, slots=True)
class FittedSae:
    """A trained vocabulary, on disk in `folder`.

    Examples
    --------
    >>> fitted = fit_sae("notes/", "my-vocabulary", encoder="text")   # doctest: +SKIP
    >>> fitted.result.metrics["train"]["fvu"]                         # doctest: +SKIP
    0.21
    """

    folder: Path
    """Where the vocabulary is."""
    result: TrainResult
    """Weights, settings, history and measures."""
    items: int
    """Texts or pictures that were used."""
    left_out: int
    """Those that could not be."""
    tokens: int
    """Token vectors that were trained on."""


def fit_sae(
    data: str | os.PathLike[str] | Source,
    out: str | os.PathLike[str],
    *,
    encoder: Any = "text",
    settings: SaeSettings | None = None,
    preset: str | None = None,
    lines: bool = False,
    text_column: str | None = None,
    limit: int | None = None,
    name: str | None = None,
    stored: str = "int8",
    keep_decoder: bool = False,
    device: str = "auto",
    memory: int = MEMORY,
    resume: bool = False,
    keep: bool = False,
    watch: Watcher | None = None,
) -> FittedSae:
    """Train a sparse autoencoder on the token vectors of a frozen encoder, and write it as a vocabulary.

    Parameters
    ----------
    data
        A folder, a file of records or a single file, as for `zipfian.ingest.open_source`, or what that gave.
    out
        The folder to write: `SaeVocabulary.load(out)` and `Latent(out)` read it.
    encoder
        `"text"`, `"image"`, a model of the hub such as `"open_clip:MobileCLIP-S1"`, its folder, or an encoder.
    settings
        How to train; `SaeSettings()` by default, `SaeSettings.preset(...)` for those of a paper.
    preset
        `bm25-v` or `latent-terms`, the settings of a paper, or `photos`, those of the visual words that ship, with as
        many terms as the pictures can teach: for training where `settings` are not given, and for using the vocabulary.
    lines
        The file has a text on each line.
    text_column
        Field of records that holds the text.
    limit
        Stop reading after so many tokens.
    name
        The vocabulary's name; by default that of the folder.
    stored
        `int8`, `float16` or `float32`: how the weights are written.
    keep_decoder
        Write the decoder too.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`.
    memory
        Bytes of activations to keep in memory; more than that go to disk, into `out`.
    resume
        Go on with a training of the same data and settings that was interrupted.
    keep
        Keep activations and checkpoint in `out` when it is done.
    watch
        Told what happens on the way.

    Returns
    -------
    FittedSae
        Where it is and how it went.

    Raises
    ------
    IndexExists
        `out` holds a vocabulary, or a training that did not finish.
    InvalidInput
        The data are too few for so many terms, or another training is to be resumed.
    MissingExtra
        torch is not installed (extra `train`).

    Examples
    --------
    >>> from zipfian.train import fit_sae
    >>> from zipfian.train.settings import SaeSettings
    >>> fit_sae("notes/", "my-vocabulary", encoder="text", settings=SaeSettings(width=4_096))   # doctest: +SKIP
    """
    folder = Path(out)
    check_folder(folder, resume)
    defaults = None if preset is None else presets.preset(preset)
    from zipfian.encode.hub._torch import checked_device
    from zipfian.train import sae  # asks for torch before anything slow begins

    chosen = checked_device(device)
    reader: Any = named_encoder(encoder, device=chosen)
    watcher = _Counting(watch or Watcher())
    source = Data(data if isinstance(data, Source) else Path(data), reader.kind, lines, text_column)
    survey = source.survey(watcher.skipped)
    asked = settings or _settings(reader, preset, survey, limit)
    run = _Run(folder, reader, asked, source, survey, limit, memory, resume)
    gathered = run.gather(watcher)
    result = sae.train_sae(
        gathered.source, asked, device=chosen, progress=watcher.inner.trained, report_every=20,
        held_out=gathered.held_out, checkpoint=folder / CHECKPOINT,
    )  # fmt: skip
    _write(folder, name or folder.resolve().name, reader, source.name.name, survey, result, stored, keep_decoder)
    if defaults is not None:
        times = defaults.k // SaeSettings().k  # more or fewer terms of a token than in training, as in the preset
        _use_as(folder / "sae.json", {**asdict(defaults), "k": min(times * asked.k, asked.width)})
    if not keep:
        (folder / CHECKPOINT).unlink(missing_ok=True)
        (folder / RUN).unlink(missing_ok=True)
        shutil.rmtree(folder / SHARDS, ignore_errors=True)
    return FittedSae(folder, result, gathered.items, watcher.count, gathered.rows)


def check_folder(out: Path, resume: bool) -> None:
    """Refuse a folder that holds something else than what is asked for."""
    if (out / "sae.json").exists():
        raise IndexExists(f"{out} holds a finished vocabulary: choose another folder (out, --out), or delete it")
    if out.exists() and not out.is_dir():
        raise IndexExists(f"{out} is a file: choose another folder (out, --out)")
    if (out / RUN).exists() and not resume:
        raise IndexExists(
            f"{out} holds a training that did not finish: go on with it (resume=True, --resume), or delete the folder"
        )
    if resume and (out / OLD_CHECKPOINT).exists():
        raise too_old(out / OLD_CHECKPOINT)
    if resume and not (out / RUN).exists():
        raise InvalidInput(f"{out} holds no training to resume: leave resume (--resume) out")


def _settings(reader: Any, preset: str | None, survey: Survey, limit: int | None) -> SaeSettings:
    """Those of a preset, which may depend on how much there is to learn from."""
    from zipfian.train import activations

    if preset is None:
        return SaeSettings()
    tokens = activations.estimate_tokens(reader, survey.sample, survey.items)
    return SaeSettings.preset(preset, reader.dim, tokens if limit is None else min(tokens, limit))


class _Counting:
    """A watcher, with the number of items that could not be used."""

    def __init__(self, inner: Watcher) -> None:
        self.inner = inner
        self.count = 0

    def skipped(self, where: str, problem: str) -> None:
        self.count += 1
        self.inner.skipped(where, problem)


@dataclass(frozen=True, slots=True)
class _Run:
    """One training: what it is told by, and what it encodes."""

    out: Path
    encoder: Any
    settings: SaeSettings
    data: Data
    survey: Survey
    limit: int | None
    memory: int
    resume: bool

    def gather(self, watcher: _Counting) -> Activations:
        """The token vectors, in memory or on disk."""
        from zipfian.train import activations

        dim = self.encoder.dim
        tokens = activations.estimate_tokens(self.encoder, self.survey.sample, self.survey.items)
        wanted = tokens if self.limit is None else min(tokens, self.limit)
        needed = max(4 * self.settings.width, self.settings.batch)
        if 2 * wanted < needed:
            raise InvalidInput(
                f"{self.data.name} has about {wanted:,} tokens; {self.settings.width:,} terms need at least "
                f"{needed:,}: give more data or a smaller width (--width)"
            )
        size = wanted * dim * activations.BYTES
        what = {"encoder": self.encoder.fingerprint, "data": self.survey.sha256, "limit": self.limit}
        store = self._same(
            {**what, "settings": self.settings.to_json(), "store": "memory" if size <= self.memory else "disk"}
        )
        folder = self.out / SHARDS if store == "disk" else None
        watcher.inner.planned(Plan(self.survey.items, self.encoder.kind, wanted, dim, size, on_disk=folder is not None))
        if folder is not None:
            activations.check_room(folder, wanted, dim)
        return activations.gather(
            self.encoder,
            self.data.items(lambda where, problem: None),  # the second reading finds the same ones
            folder=folder,
            identity=json.dumps(what),
            limit=self.limit,
            skipped=watcher.skipped,
            progress=lambda done, _: watcher.inner.encoded(done),
        )

    def _same(self, identity: dict[str, Any]) -> str:
        """Remember what is being done, or check that a resumed run is the same; gives where activations are kept."""
        path = self.out / RUN
        if not self.resume:
            self.out.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(identity), encoding="utf-8")
            return str(identity["store"])
        try:
            before = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise InvalidInput(f"{path} is damaged: delete the folder and start again") from error
        wanted = json.loads(json.dumps({**identity, "store": before.get("store")}))
        other = [name for name in wanted if wanted[name] != before.get(name)]
        if other:
            raise InvalidInput(
                f"{self.out}: the training that was interrupted had other {', '.join(other)}; give the same"
            )
        return str(before["store"])


def _write(
    out: Path, name: str, encoder: Any, data: str, survey: Survey, result: TrainResult, stored: Any,
    keep_decoder: bool,
) -> None:  # fmt: skip
    from zipfian.encode.registry import register
    from zipfian.train.export import save_vocabulary

    spec = register(encoder)
    info = {
        "name": name,
        "data": data,
        "data_sha256": survey.sha256,
        "encoder": {
            "name": spec.fingerprint.partition(":")[0],
            "kind": encoder.kind,
            "dim": encoder.dim,
            "fingerprint": spec.fingerprint,
            "made_by": spec.name,
            "settings": json.loads(spec.settings),
        },
    }
    save_vocabulary(result, out, info=info, stored=stored, keep_decoder=keep_decoder)


def _use_as(path: Path, defaults: dict[str, Any]) -> None:
    written = json.loads(path.read_text(encoding="utf-8"))
    written["defaults"] = defaults
    path.write_text(json.dumps(written, indent=1, sort_keys=True) + "\n", encoding="utf-8")
