"""From pictures with captions to an alignment in a folder: encode, train, translate, measure, write."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.encode.named import named_encoder
from zipfian.errors import IndexExists, InvalidInput
from zipfian.train.align_settings import AlignSettings

if TYPE_CHECKING:
    from zipfian.train.align import AlignResult
    from zipfian.train.align_data import Captions, Encoders, Split
    from zipfian.train.passes import Epoch
    from zipfian.train.translate import Table

FINISHED = "align.json"
CHOSEN = AlignSettings(
    dim=128, hidden=256, word_rank=192, batch=512, epochs=20, patience=10, lr=2e-3, dropout=0.55, hidden_dropout=0.5
)
"""Chosen on Flickr8k's dev split: small heads, much dropout."""
MEMORY = 8 << 30
"""Bytes that matrices of features may take."""


@dataclass(frozen=True)
class Parts:
    """The captioned pictures of each split: pairs of a path and its captions.

    Examples
    --------
    >>> from pathlib import Path
    >>> Parts([(Path("a.jpg"), ("a dog", "a puppy"))], [(Path("b.jpg"), ("a cat",))]).sizes()["train"]
    {'pictures': 1, 'captions': 2}
    """

    train: Captions
    """Learnt from."""
    dev: Captions
    """Ends the training when it no longer gets better."""
    test: Captions | None = None
    """Measured once, at the end."""

    def sizes(self) -> dict[str, dict[str, int]]:
        """Pictures and captions of each."""
        given = {"train": self.train, "dev": self.dev, "test": self.test}
        return {
            name: {"pictures": len(part), "captions": sum(len(texts) for _, texts in part)}
            for name, part in given.items()
            if part is not None
        }


class AlignWatcher:
    """What a long training tells on its way; every method may be overridden, and does nothing here."""

    def encoding(self, split: str, pictures: int) -> None:
        """A split begins to be encoded."""

    def encoded(self, pictures: int) -> None:
        """Pictures of it encoded so far."""

    def member(self, number: int, members: int) -> None:
        """A member begins to be trained, counted from 0."""

    def trained(self, epoch: Epoch) -> None:
        """An epoch is over."""

    def translating(self) -> None:
        """The table is being solved."""

    def skipped(self, where: str, problem: str) -> None:
        """A picture that cannot be used."""


@dataclass(frozen=True, slots=True)
class FittedAlignment:
    """A trained alignment, on disk in `folder`.

    Examples
    --------
    >>> fitted = fit_alignment(Parts(train, dev), "my-alignment")   # doctest: +SKIP
    >>> fitted.measured["dev"]["heads"]["t2i_r@1"]                  # doctest: +SKIP
    0.31
    """

    folder: Path
    """Where it is."""
    members: list[AlignResult]
    """The trained heads with their histories."""
    measured: dict[str, Any]
    """Recalls of dev and test."""
    words: int
    """Words that the heads know."""
    left_out: int
    """Pictures that could not be used."""


def fit_alignment(
    parts: Parts,
    out: str | os.PathLike[str],
    *,
    settings: AlignSettings = CHOSEN,
    text_encoder: Any = "text",
    image_encoder: Any = "image",
    vocabulary: str | None = None,
    table: bool = True,
    members: int = 4,
    least: int = 4,
    memory: int = MEMORY,
    name: str | None = None,
    data_name: str = "",
    device: str = "auto",
    watch: AlignWatcher | None = None,
) -> FittedAlignment:
    """Train heads that bring texts and pictures into one space, and a table from words to visual words; write both.

    Parameters
    ----------
    parts
        Pictures with captions, to train on, to stop by and to measure.
    out
        The folder to write: `Aligned(model=out)` and `Translated(model=out)` read it.
    settings
        How to train.
    text_encoder, image_encoder
        `"text"` and `"image"` are the default ones; or a model of the hub, its folder, or an encoder.
    vocabulary
        Visual words of the image encoder, by name or folder; `image-11k` for the default encoder.
    table
        Whether to make the translation table, where there are visual words.
    members
        Heads whose cosines are averaged, each with a seed of its own.
    least
        Captions that must use a word for the heads to know it.
    memory
        Bytes that matrices of features may take.
    name
        The alignment's name; by default that of the folder.
    data_name
        What its card says it was trained on.
    device
        `auto`, `cpu`, `cuda` or `cuda:N`.
    watch
        Told what happens on the way.

    Returns
    -------
    FittedAlignment
        Where it is and how good.

    Raises
    ------
    IndexExists
        `out` holds a model already.
    InvalidInput
        The heads are to read visual words, and there are none.
    LimitExceeded
        The features would take more than `memory`.
    MissingExtra
        torch is not installed (extra `train`).

    Examples
    --------
    >>> from zipfian.train import Parts, fit_alignment
    >>> fit_alignment(Parts(train, dev), "my-alignment")   # doctest: +SKIP
    """
    folder = Path(out)
    check_folder(folder)
    from zipfian.encode.hub._torch import checked_device
    from zipfian.train.align import train_heads  # asks for torch before anything slow begins
    from zipfian.train.align_data import check_memory, count_words
    from zipfian.train.align_export import save_alignment
    from zipfian.train.align_measure import make_table

    chosen, watcher = checked_device(device), watch or AlignWatcher()
    encoders = _encoders(text_encoder, image_encoder, vocabulary, chosen)
    words = count_words(parts.train, least)
    terms = 0 if encoders.vocabulary is None else encoders.vocabulary.n_terms
    if settings.term_rank and encoders.vocabulary is None:
        raise InvalidInput(
            "term_rank (--term-rank) needs visual words of the image encoder: give a vocabulary (--vocabulary)"
        )
    given = [part for part in (parts.train, parts.dev, parts.test) if part is not None]
    check_memory(given, words, terms, memory)
    splits, term_idf, left_out = _encode(parts, words, encoders, bool(settings.term_rank), watcher)
    heads = []
    for number in range(members):
        watcher.member(number, members)
        seeded = replace(settings, seed=settings.seed + number)
        heads.append(
            train_heads(
                splits["train"].features, splits["dev"].features, seeded, device=chosen, progress=watcher.trained
            )
        )
    made, about = None, None
    if encoders.vocabulary is not None and table:
        watcher.translating()
        made, strength = make_table(splits["train"], splits["dev"], encoders.vocabulary, term_idf)
        about = {"idf": True, "strength": strength, "keep": int(made[0].shape[1])}
    measured = {n: _measure(heads, split, made, encoders) for n, split in splits.items() if n != "train"}
    info = {
        "name": name or folder.resolve().name,
        "data": {"captions": data_name, "splits": parts.sizes()},
        "measured": measured,
        "table": about,
        **_known(encoders),
    }
    save_alignment(
        heads, folder, words=words.words, idf=words.idf, term_idf=term_idf if settings.term_rank else None,
        table=made, info=info,
    )  # fmt: skip
    return FittedAlignment(folder, heads, measured, len(words.words), left_out)


def check_folder(out: Path) -> None:
    """Refuse a folder that holds a model."""
    if (out / FINISHED).exists() or (out / "config.json").exists():
        raise IndexExists(f"{out} holds a finished model: choose another folder (out, --out), or delete it")
    if out.exists() and not out.is_dir():
        raise IndexExists(f"{out} is a file: choose another folder (out, --out)")


def _encoders(text: Any, image: Any, vocabulary: str | None, device: str) -> Encoders:
    from zipfian.encode.cache import EncodingCache
    from zipfian.train.align_data import Encoders
    from zipfian.vocabulary.sae import SaeVocabulary

    chosen = vocabulary or ("image-11k" if isinstance(image, str) and image == "image" else None)
    text, image = named_encoder(text, "text", device=device), named_encoder(image, "image", device=device)
    known = None if chosen is None else SaeVocabulary.load(chosen)
    if known is not None:
        known.check_encoder(image)
    return Encoders(text, image, known, EncodingCache())


def _encode(
    parts: Parts, words: Any, encoders: Encoders, use_terms: bool, watcher: AlignWatcher
) -> tuple[dict[str, Split], Any, int]:
    from zipfian.train.align_data import encode_split

    splits: dict[str, Split] = {}
    term_idf, left_out = None, 0

    def skipped(where: str, problem: str) -> None:
        nonlocal left_out
        left_out += 1
        watcher.skipped(where, problem)

    for name, part in (("train", parts.train), ("dev", parts.dev), ("test", parts.test)):
        if part is None:
            continue
        watcher.encoding(name, len(part))
        splits[name], term_idf = encode_split(
            part, words, encoders, use_terms=use_terms, term_idf=term_idf, progress=watcher.encoded, skipped=skipped,
        )  # fmt: skip
    return splits, term_idf, left_out


def _measure(members: list[AlignResult], split: Split, made: Table | None, encoders: Encoders) -> dict[str, Any]:
    from zipfian.train.align_measure import heads_recalls, table_recalls

    out = {"heads": heads_recalls(members, split)}
    if made is not None and encoders.vocabulary is not None:
        out["table"] = table_recalls(made, split, encoders.vocabulary)
    return out


def _known(encoders: Encoders) -> dict[str, Any]:
    """What finds encoders and visual words again."""
    from zipfian.encode.registry import register
    from zipfian.fields.alignment import analyser

    out: dict[str, Any] = {"words_fingerprint": analyser().fingerprint, "encoders": {}}
    for kind, encoder in (("text", encoders.text), ("image", encoders.image)):
        spec = register(encoder)
        out["encoders"][kind] = {
            "name": spec.fingerprint.partition(":")[0],
            "fingerprint": spec.fingerprint,
            "spec": spec.to_json(),
        }
    vocabulary = encoders.vocabulary
    if vocabulary is not None:
        known = vocabulary.to_json()
        out["terms"] = {**known, "vocabulary": known["model"], "fingerprint": vocabulary.fingerprint}
    return out
