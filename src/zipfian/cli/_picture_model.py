"""`index --encoder`: a model of the hub that reads pictures and the words that ask for them, and its visual words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from zipfian.cli._output import Progress, note
from zipfian.errors import FingerprintMismatch, InvalidInput, check_extra

if TYPE_CHECKING:
    from zipfian.encode.hub import DualEncoder
    from zipfian.fields import Field
    from zipfian.ingest.source import Source

TAUGHT_BY = 500_000
"""Patches that visual words are learnt from at most: those of 7,800 pictures at 8 x 8."""


@dataclass(frozen=True, slots=True)
class PictureModel:
    """A model with both halves, and where its visual words are or will be."""

    pair: DualEncoder
    words: Path | None
    """None: no visual words."""

    @classmethod
    def load(cls, name: str, words: Path | None) -> PictureModel:
        """What can be wrong is found here, before anything is encoded: the extra, the folder, the name, the hub."""
        check_extra("--encoder", "hub", "torch", "transformers", "PIL")
        from zipfian.encode import hub

        if words is not None and not (words / "sae.json").exists():
            from zipfian.train.fit import RUN, check_folder

            check_folder(words, resume=(words / RUN).exists())
        note(f"loading {name}; a model that is not on this machine is fetched from the hub first")
        return cls(hub.dual(name), None if words is None else words.resolve())

    @property
    def names(self) -> list[str]:
        """What a collection will call its models: what has to be allowed when it is opened again."""
        return [str(self.pair.model.settings["name_or_path"]), *([] if self.words is None else [str(self.words)])]

    def check_names(self, names: Sequence[str]) -> None:
        """Refuse fields that this model cannot have, before anything is learnt."""
        if "translated" in names:
            raise InvalidInput(
                "the field 'translated' goes with the visual words of the default encoder: leave it out with "
                "--encoder, whose field 'aligned' finds pictures by words"
            )
        if "visual" in names and self.words is None:
            raise InvalidInput("the field 'visual' needs visual words of this model: name a folder, --visual-words DIR")
        if "visual" not in names and self.words is not None:
            raise InvalidInput(f"--visual-words is for a field 'visual', and the fields are {', '.join(names)}")

    def learn(self, source: Source) -> None:
        """Visual words from the pictures of the source, unless there are some; one that was interrupted goes on."""
        if self.words is None or (self.words / "sae.json").exists():
            return
        from zipfian.cli._training import Shown
        from zipfian.train.fit import RUN, fit_sae

        note(f"learning visual words from the pictures of {source.path}, into {self.words}")
        with Progress("encoding") as bar:
            fitted = fit_sae(
                source, self.words, encoder=self.pair.image, preset="photos", limit=TAUGHT_BY, watch=Shown(bar),
                resume=(self.words / RUN).exists(),
            )  # fmt: skip
        last = fitted.result.metrics.get("held_out") or fitted.result.metrics["train"]
        note(
            f"{fitted.result.settings.width:,} visual words from {fitted.items:,} pictures; "
            f"{last['fvu']:.2f} of the patches' variance is left unexplained"
        )

    def fields(self, names: Sequence[str]) -> dict[str, Field]:
        """Fields of these names: those of pictures are of this model, the others as ever."""
        from zipfian.fields import Aligned, Dense, Visual
        from zipfian.fields import named as known

        out: dict[str, Field] = {}
        for name in names:
            if name == "visual":
                out[name] = Visual(str(self.words), encoder=self.pair.image)
            elif name in ("dense", "dense-image"):
                out[name] = Dense(encoder=self.pair.image)
            elif name == "aligned":
                out[name] = Aligned(encoder=self.pair)
            else:
                out[name] = known.default_field(name, list(names))
        return known.make_fields(out)

    def check(self, where: object, fields: Mapping[str, Field]) -> None:
        """Refuse a collection that was built with another model."""
        found = {field.encoder.fingerprint for field in fields.values() if field.encoder and field.reads == "image"}
        if self.pair.image.fingerprint not in found:
            has = ", ".join(sorted(found)) or "no encoder of pictures"
            raise FingerprintMismatch(
                f"{where} is there already and has {has}, not {self.pair.image.fingerprint}: leave --encoder out, or "
                "make another collection with --into"
            )
