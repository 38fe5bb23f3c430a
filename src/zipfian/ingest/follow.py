"""Making a collection follow a source: only what is new, changed or gone is written.

A text is unchanged when it and its metadata equal what the collection holds. A picture is unchanged when its file has
the size and time it had, or else the same sha256; these three are kept in the metadata. Each document carries the
source it came from; only documents of the same source are ever removed. Commits on the way make a long run resumable:
after a kill, the same call goes on where it was, and what was encoded since is still in the encode cache. Encoders on a
GPU, whose work is not kept there, read some batches ahead of the one that is written; nothing else changes by it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from zipfian.collection.following import BadItem, Synced
from zipfian.collection.items import check_id
from zipfian.encode.exif import EXIF_COLUMNS, photo_metadata
from zipfian.encode.picture_files import HASH_COLUMN, SIZE_COLUMN, Stamp
from zipfian.encode.registry import taken_at_once
from zipfian.encode.session import in_order
from zipfian.errors import DeviceFailed, InvalidInput, LimitExceeded, shown
from zipfian.ingest.fitting import Fitting
from zipfian.ingest.items import FoundDocument
from zipfian.ingest.lookup import looked_up
from zipfian.ingest.source import Source, open_source
from zipfian.limits import MAX_IMAGE_BYTES
from zipfian.storage.regular import look

if TYPE_CHECKING:
    from zipfian.collection import Collection
    from zipfian.collection.results import Document

SOURCE_COLUMN = "_source"
"""Metadata column with the source that a document came from."""

TIME_COLUMN = "_image_mtime_ns"
STAMP_COLUMNS = (SIZE_COLUMN, TIME_COLUMN, HASH_COLUMN)
"""Metadata columns by which a changed picture is noticed."""

ADD_DOCUMENTS = 1_000
ADD_ENCODED = 256
ADD_PICTURES = 32
ADD_CHARS = 16 * 1024 * 1024
ADD_ENCODED_CHARS = 60_000
"""Documents are handed over in pieces of at most so many, and about so many characters; smaller ones where each costs
an encoder's time, so that progress is seen."""

AHEAD = 3
"""Batches under way where encoders are on a GPU: one is read and tokenised, one encoded, one written."""

COMMIT_EVERY = 10_000
"""Changed documents after which a run commits, where nobody says otherwise."""
COMMIT_SECONDS = 60.0
"""A run that encodes commits at least this often."""
LEAVE_OUT = "leave such documents out with on_bad='skip' (--on-bad skip)"
"""What to do about a bad item."""


OnBad = Literal["fail", "skip"] | Callable[[BadItem], None]
"""What happens to what cannot be read: an error, nothing, or a call for each; it is in the list at the end anyway."""


def sync(
    collection: Collection,
    source: str | os.PathLike[str] | Source,
    *,
    on_bad: OnBad = "fail",
    progress: Callable[[int], None] | None = None,
    prefix: str = "",
    take_over: bool = False,
    keep_missing: bool = False,
    commit_every: int = COMMIT_EVERY,
    exif: bool = True,
    **reading: Any,
) -> Synced:
    """Make a collection follow a source: add what is new, replace what has changed, remove what is gone, commit.

    Run it again whenever the source has changed: what is as it was costs no encoding and no writing. It is what
    `zipfian index` does, and either goes on where the other stopped.

    Parameters
    ----------
    collection
        Open for writing, in a folder or a cluster.
    source
        A path, or what `open_source` made of one.
    on_bad
        What cannot be read, such as a damaged picture: `"fail"` is an error that names it, `"skip"` goes on, and so
        does a function, which is called with each `BadItem`. What was there under its id stays as it is.
    progress
        Called with the number of items of the source that are dealt with so far.
    prefix
        Put before every id, so that two sources with the same names can share a collection.
    take_over
        Replace documents of the same id that come from another source; by default such an id is a bad item.
    keep_missing
        Keep documents that the source no longer has.
    commit_every
        Changed documents after which what is done is made durable.
    exif
        Keep what cameras wrote into the pictures of a folder, as metadata: `taken`, `camera`, `latitude`, `longitude`,
        and `width` and `height`. Without it, what an earlier run kept of them is taken out again.
    **reading
        `id_column`, `text_column`, `image_column`, `follow_links`, `exclude`, `default_excludes`: as for `open_source`.

    Returns
    -------
    Synced
        Counts, and the bad items that were skipped.

    Raises
    ------
    InvalidInput
        An item is bad and `on_bad` is `"fail"`; or the source holds no document at all, in which case everything stays.

    Examples
    --------
    >>> import pathlib, tempfile, zipfian as zf
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "cats.txt").write_text("Cats sleep.")
    >>> with zf.Collection.create(tempfile.mkdtemp() + "/notes.zf") as notes:
    ...     print(notes.sync(folder))
    ...     _ = (folder / "dogs.txt").write_text("Dogs bark.")
    ...     print(notes.sync(folder))
    ...     (folder / "cats.txt").unlink()
    ...     print(notes.sync(folder))
    1 added
    1 added, 1 unchanged
    1 removed, 1 unchanged
    """
    if isinstance(source, Source):
        if reading:
            raise InvalidInput(f"{next(iter(reading))}: give it to open_source, which made this source")
        opened = source
    else:
        opened = open_source(source, **reading)
    run = Sync(
        collection, opened, on_bad=on_bad, prefix=prefix, take_over=take_over, keep_missing=keep_missing,
        commit_every=commit_every, exif=exif,
    )  # fmt: skip
    return run.run(progress)


class Sync:
    """One run over one source; `sync` explains the settings."""

    def __init__(
        self, collection: Collection, source: Source, *, on_bad: OnBad = "fail", prefix: str = "",
        take_over: bool = False, keep_missing: bool = False, commit_every: int = COMMIT_EVERY,
        exif: bool = True, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        if on_bad not in ("fail", "skip") and not callable(on_bad):
            raise InvalidInput(f"on_bad must be 'fail', 'skip' or a function of a BadItem, not {shown(on_bad)}")
        if isinstance(commit_every, bool) or not isinstance(commit_every, int) or commit_every < 1:
            raise InvalidInput(f"commit_every must be a whole number from 1, not {shown(commit_every)}")
        self.collection = collection
        self.source = source
        self.name = source.name
        self.done = Synced()
        self.committed = 0
        """Documents added or updated that a commit holds."""
        fields = collection.fields.values()
        self._encodes_text = any(field.encoder is not None and field.reads == "text" for field in fields)
        self._times = max((taken_at_once(field.encoder) for field in fields if field.encoder is not None), default=1)
        self._ahead = self._times > 1
        """Whether batches are read ahead; then what is bad in one is told when its turn comes, as without."""
        self._pictures = any(field.reads == "image" for field in fields)
        self._bad, self._prefix, self._take_over = on_bad, prefix, take_over
        self._keep_missing, self._commit_every = keep_missing, commit_every
        self._exif = exif
        self._clock = clock
        self._last_commit = clock()
        self._seen: set[str] = set()
        self._unread: list[str | None] = []
        """Folders and files of which more was not read, by their ids; None is the source itself."""
        self._guessed: set[str] = set()
        """Files that were taken for Windows-1252."""
        self._fitting = Fitting(collection.columns)
        self._uncommitted = 0
        self._written = 0
        """Batches that are through."""

    def run(self, progress: Callable[[int], None] | None = None) -> Synced:
        """Add and update, then remove what this source no longer has; `progress` as for `sync`."""
        told = progress or (lambda _: None)
        batches = self._batches(told)
        passed = 0
        try:
            with closing(in_order(self._encoded, batches, AHEAD) if self._ahead else batches) as turns:
                for batch in turns:
                    with batch.encodings:
                        self._write(batch)
                    passed = batch.passed
                    self._written += 1
                    told(passed)
        except DeviceFailed:
            if self._uncommitted:  # no cache has it
                self._commit()
            raise
        if not passed:  # a folder that is not mounted looks like this: nothing is removed because of it
            raise self.source.nothing()
        self._remove()
        if self._uncommitted:
            self._commit()
        self.done.windows_1252 = len(self._guessed)
        self.done.left_out = dict(self._fitting.left_out)
        return self.done

    def _batches(self, progress: Callable[[int], None]) -> Generator[_Batch, None, None]:
        """The source in pieces to be written, the last of them with whatever ended it."""
        batch = self._batch()
        passed = made = 0
        try:
            for item, there in looked_up(self.collection, self.source, self._prefix):
                passed += 1
                change = self._change(item, there, batch)
                if change is not None:
                    batch.add(*change)
                batch.passed = passed
                if batch.full:
                    made += 1
                    yield batch
                    batch = self._batch()
                    batch.passed = passed
                elif not batch.changes and made == self._written:
                    progress(passed)
        except Exception as error:
            if not self._ahead:
                raise
            batch.error = error  # those before it are written first, as they would have been
        yield batch

    def _batch(self) -> _Batch:
        return _Batch(self._encodes_text, self._pictures, self._times)

    def _encoded(self, batch: _Batch) -> _Batch:
        """Have the encoders read a batch; on other threads than the one that writes."""
        if batch.error is None:
            texts = (document.text for document, _ in batch.changes)
            batch.encodings = self.collection.ahead([text for text in texts if text])
        return batch

    def _write(self, batch: _Batch) -> None:
        """Hand documents over; what turns out to be unreadable is skipped or fatal, as the policy says."""
        for bad in batch.bad:
            self._tell(bad)
        if batch.error is not None:
            raise batch.error
        if not batch.changes:
            return
        refused: dict[str, str] = {}
        documents = [
            document.to_dict(self._pictures)
            | {"metadata": {**self._photo(document), **document.metadata, **_stamp(document)}}
            for document, _ in batch.changes
        ]
        self.collection.add(
            documents, existing="replace", skipped=lambda doc_id, error: refused.update({doc_id: str(error)})
        )
        for document, is_new in batch.changes:
            if document.id in refused:
                self._tell(BadItem(document.where, _without(refused[document.id], document), None))
            elif is_new:
                self.done.added += 1
            else:
                self.done.updated += 1
        self._uncommitted += len(batch.changes) - len(refused)
        late = batch.encodes and self._clock() - self._last_commit >= COMMIT_SECONDS
        if self._uncommitted >= self._commit_every or (late and self._uncommitted):
            self._commit()

    def _change(self, item: FoundDocument | BadItem, there: bool, batch: _Batch) -> tuple[FoundDocument, bool] | None:
        """The document if it has to be written, and whether it is new; what is bad is noted in the batch."""
        if isinstance(item, BadItem):
            self._on_bad(item, batch)
            return None
        if item.guessed is not None:
            self._guessed.add(item.guessed)
        metadata = {**self._fitting.fit(item.metadata), SOURCE_COLUMN: self.name}
        document = replace(item, id=self._prefix + item.id, metadata=metadata)
        if document.id in self._seen:
            problem = (
                f"the id {document.id!r} appears twice in this source; name another column (id_column, --id-column)"
            )
            self._on_bad(BadItem(item.where, problem), batch)
            return None
        if not (document.text or "").strip():
            if document.image is None:
                self.done.empty += 1
                return None
            if not self._pictures:
                self.done.uncaptioned += 1
                return None
        try:
            check_id(document.id)
            old = self.collection.get(document.id) if there else None
        except (InvalidInput, LimitExceeded) as problem:  # an id that no document can have
            self._on_bad(BadItem(item.where, str(problem)), batch)
            return None
        self._seen.add(document.id)
        if old is None:
            return document, True
        if against := self._owned(document, old):
            self._on_bad(BadItem(item.where, against), batch)
            return None
        if self._same(document, old):
            self.done.unchanged += 1
            return None
        return document, False

    def _owned(self, new: FoundDocument, old: Document) -> str:
        """What speaks against replacing a document: it is somebody else's; nothing: ''."""
        owner = old.metadata.get(SOURCE_COLUMN)
        if owner == self.name or self._take_over:
            return ""
        whose = f"from {owner}" if owner else "and did not come from a source"
        return (
            f"the id {new.id!r} is already in the collection {whose}; "
            "give this source ids of its own (prefix, --prefix), or replace such documents (take_over, --take-over)"
        )

    def _photo(self, document: FoundDocument) -> dict[str, Any]:
        """What the camera wrote, where the collection has no column of that name and another type."""
        if not (self._exif and document.photo and document.image is not None):
            return {}
        known = self.collection.columns
        found = photo_metadata(document.image)
        return {
            name: value for name, value in found.items() if known.get(name, EXIF_COLUMNS[name]) == EXIF_COLUMNS[name]
        }

    def _same(self, new: FoundDocument, old: Document) -> bool:
        written = {*STAMP_COLUMNS, *(EXIF_COLUMNS if new.photo and self._exif else ())}
        kept = {key: value for key, value in old.metadata.items() if key not in written}
        if old.text != new.text or kept != new.metadata:
            return False
        return new.image is None or _same_picture(new.image, dict(old.metadata))

    def _remove(self) -> None:
        if self._keep_missing:
            return
        gone = list(self._gone())
        if gone:
            self.collection.delete(gone)
            self._uncommitted += len(gone)
            self.done.removed = len(gone)

    def _gone(self) -> Iterator[str]:
        """Ids of this source that it no longer has; what could not be read is not gone."""
        if None in self._unread:
            return
        unread = tuple(f"{self._prefix}{name}{mark}" for name in self._unread for mark in "/:")
        for doc_id in self.collection.ids():
            if doc_id in self._seen or doc_id.startswith(unread):
                continue
            document = self.collection.get(doc_id)
            if document is not None and document.metadata.get(SOURCE_COLUMN) == self.name:
                yield doc_id

    def _on_bad(self, bad: BadItem, batch: _Batch) -> None:
        """Something of a batch that is being read is bad."""
        if bad.id is not None:
            self._seen.add(self._prefix + bad.id)
        if self._ahead:
            batch.bad.append(bad)
        else:
            self._tell(bad)

    def _tell(self, bad: BadItem) -> None:
        """Something is bad: an error, or noted, as the policy says."""
        if self._bad == "fail":
            raise InvalidInput(f"{bad.where}: {bad.problem}; {LEAVE_OUT}")
        if callable(self._bad):
            self._bad(bad)
        self.done.bad.append(bad)
        if bad.rest:
            self._unread.append(bad.id)

    def _commit(self) -> None:
        self.collection.commit()
        self.done.commits += 1
        self._uncommitted = 0
        self.committed = self.done.added + self.done.updated
        self._last_commit = self._clock()


class _Batch:
    """Documents on their way into the collection."""

    def __init__(self, encodes_text: bool, looks_at_pictures: bool, times: int) -> None:
        """`times` as many texts as usual: an encoder on a GPU takes many at once."""
        self.changes: list[tuple[FoundDocument, bool]] = []
        self.bad: list[BadItem] = []
        """What was found to be bad on the way, where that is not told at once."""
        self.error: Exception | None = None
        """What ended the source: raised in the place of what would have been written."""
        self.passed = 0
        """Items of the source up to its end."""
        self.encodings: AbstractContextManager[object] = nullcontext()
        """What the encoders made of it, until it is written."""
        self._times = times
        self._encodes_text = encodes_text
        self._looks_at_pictures = looks_at_pictures
        self._chars = 0
        self._pictures = 0

    def add(self, document: FoundDocument, is_new: bool) -> None:
        self.changes.append((document, is_new))
        self._chars += len(document.text or "")
        self._pictures += document.image is not None and self._looks_at_pictures

    @property
    def encodes(self) -> bool:
        """Whether an encoder has work with it."""
        return self._pictures > 0 or self._encodes_text

    @property
    def full(self) -> bool:
        documents, chars = ADD_DOCUMENTS, ADD_CHARS
        if self._encodes_text:
            documents, chars = ADD_ENCODED * self._times, ADD_ENCODED_CHARS * self._times
        return len(self.changes) >= documents or self._chars >= chars or self._pictures >= ADD_PICTURES * self._times


def _stamp(document: FoundDocument) -> dict[str, Any]:
    """Size, time and hash of the picture as it is now; nothing where it cannot be read, which is reported later."""
    if document.image is None:
        return {}
    stamp = Stamp.take(document.image)
    if stamp is None:
        return {}
    try:
        return {**stamp.metadata(), TIME_COLUMN: look(document.image, MAX_IMAGE_BYTES).st_mtime_ns}
    except (OSError, LimitExceeded):
        return {}


def _same_picture(path: str, known: dict[str, Any]) -> bool:
    """By size and time; a file that was only copied or touched is recognised by its content."""
    try:
        found = look(path, MAX_IMAGE_BYTES)
        if found.st_size != known.get(SIZE_COLUMN):
            return False
        return found.st_mtime_ns == known.get(TIME_COLUMN) or Stamp.take(path) == Stamp.of(known)
    except (OSError, LimitExceeded):
        return False


def _without(problem: str, document: FoundDocument) -> str:
    """The problem without the names that the message begins with anyway."""
    for start in (f"document {document.id!r}: ", f"{document.image}: ", f"{document.where}: "):
        problem = problem.removeprefix(start)
    return problem
