"""`zipfian demo`: the main job from end to end, on the documentation of Python's own standard library.

Offline, on real text that any machine has. Every step is timed; nothing is prepared beforehand.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli._collection import DEFAULT_LEGS, collection_class
from zipfian.cli._output import BOLD, Progress, human_bytes, human_seconds, paint, table
from zipfian.cli._snippet import matches_of
from zipfian.cli._stdlib import stdlib_documents, stdlib_folder
from zipfian.cli._tree import tree_lines
from zipfian.cli.merge import folder_bytes
from zipfian.cli.search import print_hit

if TYPE_CHECKING:
    from zipfian.collection import Collection, Results

QUESTIONS: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("most common elements and their counts", None),
    ("split a string using shell-like syntax", None),
    ("temporary directory that is removed automatically", {"kind": "class"}),
    ("wait for a child process with a timeout", {"module": "subprocess"}),
    ("what happens when an exception is raised in a with statement", None),
)
"""Questions and the metadata filter each is asked with."""

HITS = 3


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "--into", type=Path, metavar="PATH", help="where to put the collection (a new temporary folder)"
    )


def run(args: argparse.Namespace) -> int:
    """Do it."""
    path = args.into if args.into is not None else Path(tempfile.mkdtemp(prefix="zipfian-demo-")) / "python.zf"
    steps = Steps()
    documents = _read(steps)
    collection = _build(steps, path, documents)
    try:
        results = _ask(steps, collection)
        _explain(steps, results)
        _change(steps, collection, results, documents)
        _check(steps, collection)
        total = len(collection)
    finally:
        collection.close()
    _heading("What that took")
    print(table(("step", "time"), steps.rows, right=(1,)))
    _next(path, total)
    return 0


class Steps:
    """How long each step took, in order."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        """Times its block; a block that fails is not listed."""
        start = time.perf_counter()
        yield
        self.rows.append((name, human_seconds(time.perf_counter() - start)))

    @property
    def last(self) -> str:
        """The time of the latest step."""
        return self.rows[-1][1]


def _read(steps: Steps) -> dict[str, dict[str, Any]]:
    folder = stdlib_folder()
    _heading("Read: the documentation inside Python's standard library")
    with steps.time("read the sources"):
        documents = {d["id"]: d for d in Progress("reading").over(stdlib_documents(folder))}
    chars = sum(len(d["text"]) for d in documents.values())
    print(f"{len(documents):,} documents, {chars:,} characters from {folder} in {steps.last}")
    return documents


def _build(steps: Steps, path: Path, documents: dict[str, dict[str, Any]]) -> Collection:
    _heading("Index: Collection.create, add, commit")
    with steps.time(f"index {len(documents):,} documents, durably"):
        collection = collection_class().create(path, legs=list(DEFAULT_LEGS))
        collection.add(Progress("indexing", len(documents)).over(documents.values()))
        collection.commit()
    print(f"{path}: {human_bytes(folder_bytes(path))} in {steps.last}")
    return collection


def _ask(steps: Steps, collection: Collection) -> Results:
    """Ask every question; the results of the first one are used further on."""
    _heading("Search: words, BM25, a metadata filter where one is shown")
    question = QUESTIONS[0][0]
    with steps.time("first search: kernels loaded, or compiled if never used before"):
        first = collection.search(question, k=HITS)
    for question, where in QUESTIONS:
        with steps.time(f"search: {question}"):
            results = collection.search(question, k=HITS, where=where)
        print(f"\n{paint(question, BOLD)}" + (f"  where {where}" if where else "") + f"  ({steps.last})")
        for hit in results:
            print_hit(hit, matches_of(results.explain(hit)))
    return first


def _explain(steps: Steps, results: Results) -> None:
    hits = list(results)
    _heading(f"Explain: why {hits[0].id} came first")
    with steps.time("explain the first hit"):
        tree = results.explain(hits[0])
    print("\n".join(tree_lines(tree, hits[0].text)))


def _change(steps: Steps, collection: Collection, results: Results, documents: dict[str, dict[str, Any]]) -> None:
    """Delete the best document and put it back changed; each commit is seen by the next search."""
    question = QUESTIONS[0][0]
    best = next(iter(results)).id
    _heading(f"Change: delete {best}, search, put it back with one more sentence, search")
    with steps.time("delete one document and commit"):
        collection.delete([best])
        collection.commit()
    _ranking("deleted", collection.search(question, k=HITS))
    changed = {**documents[best], "text": documents[best]["text"] + "\n\nUse it to count the most common words."}
    with steps.time("upsert one document and commit"):
        collection.upsert([changed])
        collection.commit()
    _ranking("put back", collection.search(question, k=HITS))


def _ranking(label: str, results: Results) -> None:
    print(f"{label + ':':<10}" + ", ".join(f"{hit.id} {hit.score:.4f}" for hit in results))


def _check(steps: Steps, collection: Collection) -> None:
    with steps.time("check every byte of the collection"):
        report = collection.check()
    print(f"check: {'no damage' if report.ok else report.problems} in {steps.last}")


def _next(path: Path, total: int) -> None:
    zipfian, where = _program(), shlex.quote(str(path))
    _heading("What to type next")
    print(f"""{total:,} documents stay in {path} (a folder; remove it when you are done)

  {zipfian} search {where} "parse command line options" --highlight
  {zipfian} search {where} "read a compressed file" --where '{{"kind": "function"}}' --json
  {zipfian} explain {where} "parse command line options" argparse
  {zipfian} inspect {where}
  {zipfian} index FOLDER --into notes.zf      your own .txt, .md, .rst, .html, .py, or a .jsonl or .csv file
  {zipfian} --help""")


def _program() -> str:
    """How the user can call this program again: by its name only if that is the one that would run."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m zipfian"
    on_path = shutil.which("zipfian")
    if on_path and called.exists() and Path(on_path).resolve() == called.resolve():
        return "zipfian"
    return shlex.quote(sys.argv[0]) if called.name.startswith("zipfian") else "zipfian"


def _heading(text: str) -> None:
    print("\n" + paint("== " + text, BOLD), flush=True)
