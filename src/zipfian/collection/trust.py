"""What a collection may read outside its own folder: only what whoever opens it has allowed.

A manifest and the metadata of documents come with the collection, so they are the word of whoever made it. They may
name models and pictures; that is no permission. Models that come with the package are always loaded. Others only when
the caller names them (`trust=`) or has made them in this process already; these are found by their fingerprints.

A picture is opened in two cases. It lies in a folder that the caller names (`pictures=`), links resolved. Or the file
proves to be the one that was indexed: a regular file of the size and the sha256 that were recorded then. Where it is
gone, the ends of its path are looked for in those folders and beside the collection, so that a folder of pictures can
be moved, by itself or together with its collection; what is found there has to prove itself, too. So a
collection made here can show its pictures without being told where they are, and one made elsewhere can at most find
out whether this machine has a copy of a picture that its maker has, too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

from zipfian.encode import picture_files
from zipfian.encode.base import Encoder
from zipfian.encode.registry import register
from zipfian.errors import ImageUnreadable, InvalidInput, NotTrusted, PictureGone, shown
from zipfian.limits import MAX_PATH_CHARS, MAX_PATH_ENDS

IMAGE_COLUMN = "image"
"""Metadata column that keeps where a document's picture is, so that it can be shown and explained later."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Names of models and folders of pictures that a caller has allowed. `name in trust` asks for a model."""

    names: frozenset[str] = frozenset()
    """As they were given; folders by their real paths, too."""
    roots: tuple[str, ...] = ()
    """Real paths of folders."""
    home: str = ""
    """Real path of the folder that the collection lies in."""

    @classmethod
    def of(cls, trust: Any = (), pictures: Any = ()) -> Trust:
        """From what a caller may write; loaded encoders and vocabularies are made known to this process."""
        names: set[str] = set()
        for entry in _several(trust):
            if isinstance(entry, str | os.PathLike):
                names |= {os.fspath(entry), _real(entry)}
            else:
                _make_known(entry)
        roots = []
        for root in _several(pictures):
            if not isinstance(root, str | os.PathLike) or not os.path.isdir(root):
                raise InvalidInput(f"pictures names folders that pictures may be read from; {shown(root)} is none")
            roots.append(_real(root))
        return cls(frozenset(names), tuple(roots))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self.names or (bool(self.names) and _real(name) in self.names))

    def beside(self, collection: str | os.PathLike[str]) -> Trust:
        """The same for a collection in this folder."""
        return replace(self, home=os.path.dirname(_real(collection)))

    def picture(self, metadata: Mapping[str, Any]) -> bytes | None:
        """The file of a document's picture, None where the document names none.

        `NotTrusted` where it may not be opened, `ImageUnreadable` where it is not the one that was indexed,
        `PictureGone` where it is nowhere.
        """
        path = metadata.get(IMAGE_COLUMN)
        if path is None:
            return None
        if not isinstance(path, str) or not 1 <= len(path) <= MAX_PATH_CHARS or "\0" in path:
            raise ImageUnreadable(shown(path), "the document does not name a file")
        real, stamp = _real(path), picture_files.Stamp.of(metadata)
        try:
            if any(_is_in(real, root) for root in self.roots):
                return picture_files.read(real)
            if stamp is not None:
                return stamp.read(path)
        except (FileNotFoundError, NotADirectoryError):
            pass
        folders = self.roots if stamp is None or not self.home else (*self.roots, self.home)
        found = _moved(path, folders, stamp)
        if found is not None:
            return found
        if stamp is None and not any(_is_in(real, root) for root in self.roots):
            raise NotTrusted(
                f"the picture {shown(path)} was not opened: the collection does not say what the file held, so it "
                "could be any. Name the folder it is in: Collection.open(..., pictures=[FOLDER]), on the command line "
                "--pictures FOLDER"
            )
        raise PictureGone(path, folders)


def _moved(path: str, folders: Iterable[str], stamp: picture_files.Stamp | None) -> bytes | None:
    """A picture under an end of its old path, the longest first, if it is what was indexed where that is known."""
    for folder in folders:
        for end in _ends(path):
            place = _real(os.path.join(folder, end))
            if not _is_in(place, folder) or not os.path.isfile(place):
                continue
            try:
                return picture_files.read(place) if stamp is None else stamp.read(place)
            except ImageUnreadable:  # another of the same name
                continue
    return None


def _ends(path: str) -> Iterator[str]:
    """`a/b/c.jpg`, `b/c.jpg` and `c.jpg` of `/a/b/c.jpg`; nothing of a path that climbs."""
    parts = [part for part in PurePath(path).parts if part != PurePath(path).anchor]
    if ".." not in parts:
        yield from (os.path.join(*parts[at:]) for at in range(max(0, len(parts) - MAX_PATH_ENDS), len(parts)))


def _is_in(real: str, folder: str) -> bool:
    return real.startswith(os.path.join(folder, ""))


NOTHING = Trust()


def _several(given: Any) -> Iterable[Any]:
    """One thing or many."""
    if given is None:
        return ()
    if isinstance(given, str | os.PathLike) or not isinstance(given, Iterable):
        return (given,)
    return given


def _real(path: str | os.PathLike[str]) -> str:
    try:
        return os.path.realpath(os.path.expanduser(path))
    except (OSError, ValueError):  # no path at all: what it stands for is nowhere
        return os.fspath(path)


def _make_known(entry: Any) -> None:
    from zipfian.fields.alignment import remember_alignment
    from zipfian.fields.model import remember
    from zipfian.vocabulary.aligned import AlignedHeads, TranslationTable
    from zipfian.vocabulary.sae import SaeVocabulary

    if isinstance(entry, SaeVocabulary):
        remember(entry)
    elif isinstance(entry, AlignedHeads | TranslationTable):
        remember_alignment(entry)
    elif isinstance(entry, Encoder):
        register(entry)
    else:
        raise InvalidInput(
            f"trust names models and folders, or holds loaded encoders and vocabularies, not {type(entry).__name__}"
        )
