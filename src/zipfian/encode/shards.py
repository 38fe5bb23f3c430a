"""Encoded shards: what many machines encoded, in folders that one machine indexes.

Encoding is what costs; the rest of building an index is quick. So the documents of a source are divided by a hash of
their ids (`share_of`), each machine encodes its share into a folder (`ShardWriter`), and the machine that indexes looks
there before it encodes anything (`ShardedCache`). What is kept is what the encode cache keeps, found by the hash of
the content and the fingerprint of what made it: an index built from shards is the one built without them.

A folder holds `shard.json` and numbered parts, each written whole and then named in `shard.json`, which is replaced in
one step. A run that was killed loses the part it was collecting, and the same command goes on after the last one.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from zipfian import limits
from zipfian.encode._shard_manifest import MANIFEST, Form, Manifest, Part
from zipfian.encode._shard_part import Places, Table, open_part, read_entry, read_table, write_part
from zipfian.encode.base import plain_form
from zipfian.encode.cache import EncodingCache
from zipfian.errors import (
    FingerprintMismatch,
    IndexCorrupt,
    IndexLocked,
    IndexNotFound,
    InvalidInput,
    ShardDamaged,
)
from zipfian.storage.container import SectionFile
from zipfian.storage.directory import LOCK_NAME, FSDirectory
from zipfian.storage.packed import Array, pack, unpack
from zipfian.storage.replace import is_unfinished

PART_BYTES = 32 * 1024**2
PART_SECONDS = 60.0
"""A part is written when it is so large, or has been collected for so long: what a kill can cost."""
OPEN_PARTS = 32
"""So many are kept open: entries are mostly asked for in the order they were written, and there may be thousands."""


def share_of(doc_id: str, n: int) -> int:
    """Which of `n` shares (1 to n) a document belongs to, on every machine and in every version."""
    return int.from_bytes(hashlib.sha256(doc_id.encode("utf-8", "surrogatepass")).digest()[:8], "big") % n + 1


class Parts:
    """The parts of a shard, opened when they are read; whatever is wrong with one is `ShardDamaged`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.directory = FSDirectory(path)
        self._open = functools.lru_cache(OPEN_PARTS)(self._opened)

    def table(self, part: Part, n_forms: int) -> Table:
        """Where the entries of a part are."""
        with self._named():
            file = open_part(self.directory, part.file, part.entries)
            return read_table(file, n_forms)

    def entry(self, part: Part, offset: int, length: int) -> dict[str, Array]:
        """The arrays of an entry."""
        with self._named():
            return read_entry(self._open(part), offset, length)

    def check(self, part: Part) -> None:
        """Read every byte of a part and compare it with what was written."""
        with self._named():
            open_part(self.directory, part.file, part.entries).verify()

    def _opened(self, part: Part) -> SectionFile:
        return open_part(self.directory, part.file, part.entries)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except IndexCorrupt as error:
            raise ShardDamaged(self.path / error.file, f"it {error.problem}") from error


class Shard:
    """An encoded shard, open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = Manifest.read(path)
        self._parts = Parts(path)
        self._places = Places()
        self._forms = {form.plain.key: i for i, form in enumerate(self.manifest.forms)}
        for i, part in enumerate(self.manifest.parts):
            self._places.add(i, self._parts.table(part, len(self._forms)))
        self._places.join()

    def get(self, fingerprint: str, content: str) -> dict[str, Array] | None:
        """The arrays of an entry, or None; a damaged entry is an error that names the file.

        In whatever precision they were made: whoever names a shard wants what is in it.
        """
        form = self._forms.get(plain_form(fingerprint))
        found = None if form is None else self._places.find(form, content)
        if found is None:
            return None
        part, offset, length = found
        return self._parts.entry(self.manifest.parts[part], offset, length)

    def check(self) -> None:
        """Read every byte and compare it with what was written."""
        for part in self.manifest.parts:
            self._parts.check(part)

    def __len__(self) -> int:
        return len(self._places)


class ShardedCache(EncodingCache):
    """The encode cache with shards in front of it: what they hold is not encoded again, nor copied."""

    def __init__(self, paths: Iterable[Path], path: Path | None = None, **options: Any) -> None:
        super().__init__(path, **options)
        self.shards = [Shard(Path(p)) for p in paths]
        self.missing = 0
        """Items that were in no shard and in no cache, and were encoded here."""
        self._last = ""
        self._counting = threading.Lock()

    def get(self, fingerprint: str, content: str) -> dict[str, Array] | None:
        """From the first shard that has it, or from the cache."""
        for shard in self.shards:
            arrays = shard.get(fingerprint, content)
            if arrays is not None:
                return arrays
        return super().get(fingerprint, content)

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Mapping[str, Array]) -> None:
        """Count what had to be encoded here, and keep it in the cache."""
        with self._counting:
            self.missing += content != self._last  # the forms of an item come one after the other
            self._last = content
        super().keep(encoder, fingerprint, content, arrays)

    def check_forms(self, wanted: Iterable[Form]) -> list[str]:
        """Refuse shards that were encoded with anything else than `wanted`; remarks on what is not complete."""
        wanted = [form.plain for form in wanted]
        encoders = {kind: sorted({f.encoder for f in wanted if f.kind == kind}) for kind in {f.kind for f in wanted}}
        held = {form.plain.key for shard in self.shards for form in shard.manifest.forms}
        for shard in self.shards:
            for form in shard.manifest.forms:
                if form.kind in encoders and form.encoder not in encoders[form.kind]:
                    raise FingerprintMismatch(
                        f"{shard.path}: encoded with {form.encoder}, the fields use {', '.join(encoders[form.kind])}: "
                        "encode it again with the same version of zipfian and the same fields"
                    )
            if not {form.plain.key for form in shard.manifest.forms} & {form.key for form in wanted}:
                raise FingerprintMismatch(
                    f"{shard.path}: it holds nothing that the fields use; encode with the same fields"
                )
        for form in wanted:
            if form.key not in held:
                raise FingerprintMismatch(
                    f"no shard holds {form.form} of the encoder {form.encoder}, which the fields need; "
                    f"{self.shards[0].path} holds {', '.join(f.form for f in self.shards[0].manifest.forms)}: "
                    "encode with the same fields and vocabularies"
                )
        return self._remarks()

    def _remarks(self) -> list[str]:
        out = [
            f"{shard.path} is not finished: what it lacks is encoded here; run its 'zipfian encode' again instead"
            for shard in self.shards
            if not shard.manifest.complete
        ]
        for shard in self.shards:
            rounded = sorted({form.precision for form in shard.manifest.forms} - {"float32"})
            out += [f"{shard.path} was encoded in {precision}" for precision in rounded]
        for n in sorted({shard.manifest.of for shard in self.shards}):
            there = {shard.manifest.share for shard in self.shards if shard.manifest.of == n}
            lost = [f"{i}/{n}" for i in range(1, n + 1) if i not in there]
            if lost:
                names = ", ".join(lost[:8]) + (" ..." if len(lost) > 8 else "")
                out.append(f"of {n} shards {len(lost)} {'is' if len(lost) == 1 else 'are'} not given: {names}")
        return out


class ShardWriter(EncodingCache):
    """A shard being made: used as the encode cache, it keeps everything that is asked of it.

    Only one writer at a time may have a folder: it holds the folder's lock until `close`. `under` is a cache from which
    items that were encoded before are taken. A full disk is an error here, other than in a cache.
    """

    def __init__(
        self, path: Path, share: int, of: int, forms: Sequence[Form], *, about: Mapping[str, Any] | None = None,
        under: EncodingCache | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        check_share(share, of)
        super().__init__(path)
        self.resumed = 0
        """Entries that were there from before."""
        self.written = 0
        self._under = under
        self._clock = clock
        self._mutex = threading.RLock()
        self._waiting: dict[tuple[int, str], bytes] = {}
        self._waiting_bytes = 0
        self._since = clock()
        self._places = Places()
        self._parts = Parts(path)
        self._forms = {form.key: i for i, form in enumerate(forms)}
        check_folder(path)
        self._parts.directory.prepare()
        try:
            self._lock_file = self._parts.directory.lock()
        except IndexLocked:
            raise IndexLocked(f"{path} is being written by another 'zipfian encode': give each its own --out") from None
        try:
            self.manifest = self._start(Manifest(share, of, tuple(forms), about=about or {}))
        except BaseException:
            self.close()
            raise

    def _start(self, new: Manifest) -> Manifest:
        """A new folder, or go on with what a former run left in it."""
        try:
            old = Manifest.read(self.path)
        except IndexNotFound:
            new.write(self.path)
            return new
        if (old.share, old.of) != (new.share, new.of):
            raise InvalidInput(
                f"{self.path} holds shard {old.share}/{old.of}, not {new.share}/{new.of}: name another folder"
            )
        if set(old.forms) != set(new.forms):
            raise FingerprintMismatch(
                f"{self.path} was begun with {_names(old.forms)}, now it would be {_names(new.forms)}: name another "
                "folder, or use the fields and the version it was begun with"
            )
        self._forms = {form.key: i for i, form in enumerate(old.forms)}
        kept: list[Part] = []
        for part in old.parts:
            try:
                self._parts.check(part)
                self._places.add(len(kept), self._parts.table(part, len(old.forms)))
                kept.append(part)
            except ShardDamaged as error:
                warnings.warn(f"{error.file}: {error.problem}; it is encoded again", RuntimeWarning, stacklevel=4)
        names = {part.name for part in kept}
        for file in self.path.iterdir():  # what a kill left behind, and what is damaged
            if is_unfinished(file) or (file.name.startswith("part-") and file.name not in names):
                with contextlib.suppress(OSError):
                    file.unlink()
        self.resumed = len(self._places)
        whole = old.complete and len(kept) == len(old.parts)
        return replace(new, forms=old.forms, parts=tuple(kept), complete=whole)

    def get(self, fingerprint: str, content: str) -> dict[str, Array] | None:
        """From this shard, or from the cache under it, whose entry then becomes part of the shard."""
        form = self._form(fingerprint)
        with self._mutex:
            waiting = self._waiting.get((form, content))
            if waiting is not None:
                return unpack(waiting)
            found = self._places.find(form, content)
            if found is not None:
                part, offset, length = found
                return self._parts.entry(self.manifest.parts[part], offset, length)
            arrays = None if self._under is None else self._under.get(fingerprint, content)
            if arrays is not None:
                self.put(fingerprint, content, arrays)
            return arrays

    def put(self, fingerprint: str, content: str, arrays: Mapping[str, Array]) -> bool:
        """Take an entry in; it is on disk with the next part."""
        form = self._form(fingerprint)
        with self._mutex:
            if (form, content) in self._waiting or self._places.find(form, content) is not None:
                return True
            data = self._waiting[form, content] = pack(arrays)
            self._waiting_bytes += len(data)
            self.written += 1
            if self._waiting_bytes >= PART_BYTES or self._clock() - self._since >= PART_SECONDS:
                self.flush()
        return True

    def keep(self, encoder: object, fingerprint: str, content: str, arrays: Mapping[str, Array]) -> None:
        """Take an entry in, whatever made it: that is what a shard is for."""
        self.put(fingerprint, content, arrays)

    def flush(self) -> None:
        """Write what waits as a part, and name it in the manifest."""
        with self._mutex:
            if self._waiting:
                ref, table = write_part(self._parts.directory, self.manifest.next_part(), self._waiting)
                part = Part(ref, len(table))
                self._parts.directory.sync()  # the part's name, before the manifest that says it
                self._commit(replace(self.manifest, parts=(*self.manifest.parts, part), complete=False))
                self._places.add(len(self.manifest.parts) - 1, table)
                self._waiting, self._waiting_bytes = {}, 0
            self._since = self._clock()

    def finish(self, about: Mapping[str, Any]) -> None:
        """All documents of the share have been through."""
        self.flush()
        self._commit(replace(self.manifest, complete=True, about={**self.manifest.about, **about}))

    def close(self) -> None:
        """Let others write here; what was not flushed is lost. Harmless when repeated."""
        self._lock_file.release()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _commit(self, manifest: Manifest) -> None:
        manifest.write(self.path)
        self.manifest = manifest

    def _form(self, fingerprint: str) -> int:
        try:
            return self._forms[fingerprint]
        except KeyError:
            raise InvalidInput(f"{self.path}: this shard is not for {fingerprint!r}") from None


def check_folder(path: Path) -> None:
    """Refuse a folder that holds anything but a shard, before a file is put there."""
    if path.is_dir() and not (path / MANIFEST).exists():
        if any(p.name != LOCK_NAME for p in path.iterdir() if not is_unfinished(p)):
            raise InvalidInput(f"{path} holds other files: name a new folder for the shard")
    elif path.exists() and not path.is_dir():
        raise InvalidInput(f"{path} is a file: name a folder for the shard")


def check_share(share: int, of: int) -> None:
    """Shares are counted from 1."""
    if not 1 <= of <= limits.MAX_SHARDS or not 1 <= share <= of:
        raise InvalidInput(f"a shard is i/n with i from 1 to n, and n at most {limits.MAX_SHARDS:,}, not {share}/{of}")


def _names(forms: Iterable[Form]) -> str:
    return ", ".join(f"{form.encoder} {form.form}" for form in forms)


__all__ = [
    "Form",
    "Manifest",
    "Part",
    "Shard",
    "ShardDamaged",
    "ShardWriter",
    "ShardedCache",
    "check_folder",
    "check_share",
    "share_of",
]
