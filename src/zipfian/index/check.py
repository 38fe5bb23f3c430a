"""Reading everything: is every byte of every kept commit what was written, and do the parts agree with each other?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from zipfian.errors import IndexCorrupt
from zipfian.index._crosscheck import cross_check, cross_check_ids
from zipfian.index.entry import SegmentEntry
from zipfian.index.manifest import (
    KEPT,
    Manifest,
    generations_in,
    is_ours,
    list_generations,
    manifest_name,
    not_a_collection,
    read_manifest,
    read_note,
)
from zipfian.index.segment import SegmentReader
from zipfian.storage.container import FileRef, SectionFile
from zipfian.storage.directory import Directory

Progress = Callable[[str, int], object]
"""Called with the name and size of each file once it has been read."""


@dataclass
class CheckReport:
    """What `check` found."""

    generation: int = 0
    """The newest commit."""
    generations: list[int] = field(default_factory=list)
    """All commits that were checked."""
    segments: int = 0
    documents: int = 0
    """Of the newest commit, without deleted ones."""
    files: int = 0
    bytes: int = 0
    problems: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of a file and what is wrong with it."""
    orphans: list[str] = field(default_factory=list)
    """Leftovers of crashed writers: no problem, and collected by the next writer."""

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    def __str__(self) -> str:
        lines = [
            f"generation {self.generation}: {self.documents} documents in {self.segments} segments; "
            f"{self.files} files, {self.bytes} bytes read"
        ]
        lines += [f"DAMAGED {file}: {problem}" for file, problem in self.problems]
        lines += [f"left over (the next writer removes it): {name}" for name in self.orphans]
        return "\n".join([*lines, "ok" if self.ok else f"{len(self.problems)} problems"])


def check(directory: Directory, progress: Progress = lambda name, size: None) -> CheckReport:
    """Read every file of every commit that is kept, and compare postings, lengths, forward index and deletes.

    Damage ends up in the report, so that one run finds all of it; nothing is changed. It raises only if there is
    nothing to check (`IndexNotFound`) or another release wrote it (`FormatTooNew`, `FormatTooOld`).
    A writer may be at work meanwhile.
    """
    note = read_note(directory)
    names = directory.list()
    if not generations_in(names) and not note:
        raise not_a_collection(directory, names)
    run = _Run(directory, progress)
    if note > max(generations_in(names), default=0):
        run.report.problems.append((manifest_name(note), "is missing, though that commit was completed"))
    for generation in reversed(generations_in(names)[-KEPT:]):
        run.commit(generation)
    run.report.orphans = [name for name in names if is_ours(name) and name not in run.named and directory.exists(name)]
    return run.report


class _Run:
    """One check. Files and segments that several commits share are read once."""

    def __init__(self, directory: Directory, progress: Progress) -> None:
        self.report = CheckReport()
        self.named: set[str] = set()
        self._directory = directory
        self._progress = progress
        self._sound: dict[FileRef, bool] = {}
        self._compared: set[frozenset[tuple[str, FileRef]]] = set()

    def commit(self, generation: int) -> None:
        report = self.report
        newest = not report.generations
        report.generations.insert(0, generation)
        report.generation = max(report.generation, generation)
        self.named.add(manifest_name(generation))
        before = list(report.problems)
        try:
            manifest = read_manifest(self._directory, generation)
            report.files += 1
            report.bytes += self._directory.size(manifest.name)
            self._segments(manifest, newest)
        except (IndexCorrupt, FileNotFoundError) as e:
            report.problems.append((manifest_name(generation), e.problem if isinstance(e, IndexCorrupt) else str(e)))
        if len(report.problems) > len(before) and generation not in list_generations(self._directory):
            report.problems = before  # superseded and collected while we read it
            report.generations.remove(generation)

    def _segments(self, manifest: Manifest, newest: bool) -> None:
        self.named |= manifest.files()
        live: list[SegmentReader] = []
        for entry in manifest.segments:
            sound = [self._file(role, ref) for role, ref in entry.files.items()]  # all of them, not until the first
            if all(sound):
                live += self._segment(entry)
        if newest:
            self.report.segments = len(manifest.segments)
            self.report.documents = sum(reader.n_live for reader in live)
        self._guard(lambda: cross_check_ids(live))
        for reader in live:
            reader.close()

    def _file(self, role: str, ref: FileRef) -> bool:
        """Whether every byte of a file is right."""
        if ref not in self._sound:
            self._sound[ref] = self._guard(
                lambda: SectionFile.open(self._directory, ref, role.partition(":")[0]).verify()
            )
            self.report.files += 1
            self.report.bytes += ref.size
            self._progress(ref.name, ref.size)
        return self._sound[ref]

    def _segment(self, entry: SegmentEntry) -> list[SegmentReader]:
        """Open a segment whose files are sound and compare its parts, unless that was done for another commit."""
        opened: list[SegmentReader] = []

        def compare() -> None:
            opened.append(SegmentReader(self._directory, entry))
            key = frozenset(entry.files.items())
            if key not in self._compared:
                self._compared.add(key)
                cross_check(opened[0])

        self._guard(compare)
        return opened

    def _guard(self, job: Callable[[], object]) -> bool:
        try:
            job()
        except IndexCorrupt as e:
            self.report.problems.append((e.file, e.problem))
            return False
        return True
