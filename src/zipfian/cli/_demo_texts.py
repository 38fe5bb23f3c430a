"""The first half of the demo: words and latent terms over the documentation of Python's standard library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _encoding
from zipfian.cli._collection import collection_class
from zipfian.cli._demo_report import Report
from zipfian.cli._output import BOLD, Progress, human_bytes, paint
from zipfian.cli._show import print_hit
from zipfian.cli._stdlib import stdlib_documents, stdlib_folder
from zipfian.cli._tree import tree_lines
from zipfian.cli.merge import folder_bytes
from zipfian.cli.search import as_json
from zipfian.errors import MissingExtra, WeightsNotFound
from zipfian.ingest.source import SAMPLE_CHARS, SAMPLE_TEXTS, Survey

if TYPE_CHECKING:
    from zipfian.collection import Collection, Results
    from zipfian.fields import Field

KINDS = ("module", "class", "function")
"""What of the documentation is indexed: methods and language topics would more than double the encoder's work."""

QUICK = (
    "bisect", "bz2", "calendar", "csv", "difflib", "fnmatch", "getpass", "glob", "gzip", "heapq", "json", "random",
    "shlex", "shutil", "tempfile", "textwrap", "zipfile",
)  # fmt: skip
"""Modules that a quick demo reads: enough to have answers to the questions below."""

QUESTIONS: tuple[tuple[str, dict[str, Any] | None], ...] = (
    ("split a string using shell-like syntax", None),
    ("temporary directory that is removed automatically", {"kind": "class"}),
)
"""Questions for the words field and the metadata filter each is asked with."""

MEANING = "words that look alike"
"""A question whose words are not those of the answer."""

HITS = 3
TREE_LINES = 14
AT_ONCE = 256


def run(report: Report, path: Path, quick: bool = False) -> None:
    """Index, search by words, search by meaning, explain, change, check; `quick`, over a few modules only."""
    documents = _read(report, quick)
    fields = _fields(report)
    with _build(report, path, documents, fields) as collection:
        first = _ask(report, collection)
        if "latent" in fields:
            first = _ask_meaning(report, collection)
        _explain(report, first)
        _change(report, collection, first, documents)
        report.data["texts"] |= {"path": str(path), "documents": len(collection), "fields": list(fields)}


def _read(report: Report, quick: bool) -> dict[str, dict[str, Any]]:
    folder = stdlib_folder()
    report.heading("Texts: the documentation inside Python's standard library")
    with report.time("read the sources"):
        found = Progress("reading").over(stdlib_documents(folder, QUICK if quick else None))
        documents = {d["id"]: d for d in found if d["metadata"]["kind"] in KINDS}
    chars = sum(len(d["text"]) for d in documents.values())
    report.say(f"{len(documents):,} documents, {chars:,} characters from {folder} in {report.last}")
    return documents


def _fields(report: Report) -> dict[str, Field]:
    """Words and latent terms; words alone, and that is said, where the encoder cannot be had."""
    from zipfian.fields import Words
    from zipfian.fields.named import make_fields

    report.data["texts"] = {}
    try:
        with report.time("weights of the text encoder"):
            fields = make_fields(["words", "latent"])
            _encoding.fetch_weights(fields.values(), "the demo goes on with words alone")
    except (MissingExtra, WeightsNotFound) as error:
        report.data["texts"]["without_latent"] = str(error)
        report.say(paint(f"words only, without latent terms: {error}", BOLD))
        return {"words": Words()}
    return fields


def _build(report: Report, path: Path, documents: Mapping[str, Any], fields: Mapping[str, Field]) -> Collection:
    report.heading(f"Index: {', '.join(fields)}")
    if "latent" in fields:
        texts = [d["text"] for d in documents.values()]
        sample = tuple(text[:SAMPLE_CHARS] for text in texts[:: max(1, len(texts) // SAMPLE_TEXTS)])
        survey = Survey(len(texts), len(texts), 0, 0, sum(map(len, texts)), sample)
        for work in _encoding.estimate(fields, survey):
            report.say(str(work))
    waiting = list(documents.values())
    with report.time(f"index {len(documents):,} texts, durably"), Progress("indexing", len(documents)) as bar:
        collection = collection_class().create(path, fields=fields)
        for start in range(0, len(waiting), AT_ONCE):
            bar.step(collection.add(waiting[start : start + AT_ONCE]))
        collection.commit()
    report.say(f"{path}: {human_bytes(folder_bytes(path))} in {report.last}")
    return collection


def _ask(report: Report, collection: Collection) -> Results:
    """Ask by words; the results of the first question are used where there is nothing better to explain."""
    report.heading("Search by words: BM25, and a metadata filter where one is shown")
    with report.time("first search: kernels loaded, or compiled if never used before"):
        first = collection.search(QUESTIONS[0][0], k=HITS, fields="words")
    for question, where in QUESTIONS:
        with report.time(f"search: {question}"):
            results = collection.search(question, k=HITS, where=where, fields="words")
        _show(report, f"{question}" + (f"  where {where}" if where else ""), results)
    return first


def _ask_meaning(report: Report, collection: Collection) -> Results:
    """One question twice: by its words, then by what it means."""
    report.heading("Search by meaning: latent terms of a frozen encoder, each with a label")
    words = collection.search(MEANING, k=HITS, fields="words")
    _show(report, f"{MEANING}  -- words alone", words)
    with report.time(f"search by meaning: {MEANING}"):
        results = collection.search(MEANING, k=HITS, fields="latent")
    _show(report, f"{MEANING}  -- latent terms", results)
    with report.time("all fields together, the default"):
        together = collection.search(MEANING, k=HITS)
    report.say(f"\nall fields together, as searched by default: {', '.join(h.id for h in together)}  ({report.last})")
    found = {"words": words, "latent": results, "together": together}
    if collection.fields["latent"].has_table:
        with report.time("latent terms without the neural network: query_encoder='table'"):
            found["table"] = collection.search(MEANING, k=HITS, fields="latent", query_encoder="table")
        ids = ", ".join(h.id for h in found["table"])
        report.say(f"latent terms from the query table, no network: {ids}  ({report.last})")
    report.data["texts"]["meaning"] = {name: as_json(MEANING, hits, name == "latent") for name, hits in found.items()}
    return results


def _show(report: Report, title: str, results: Results) -> None:
    report.say(f"\n{paint(title, BOLD)}")
    if not report.as_json:
        for hit in results:
            print_hit(hit, results.explain(hit))


def _explain(report: Report, results: Results) -> None:
    best = results[0]
    report.heading(f"Explain: why {best.id} came first; the parts sum to its score")
    with report.time("explain the first hit"):
        tree = results.explain(best)
    lines = list(tree_lines(tree, best.text))
    report.say("\n".join(lines[:TREE_LINES]))
    if len(lines) > TREE_LINES:
        report.say(f"          ... and {len(lines) - TREE_LINES:,} more lines: zipfian explain shows them all")
    report.data["texts"]["explanation"] = tree


def _change(report: Report, collection: Collection, results: Results, documents: Mapping[str, Any]) -> None:
    """Delete the best document and put it back; each commit is seen by the next search."""
    best = results[0]
    field = next(iter(best.fields))
    question = results.query
    report.heading(f"Change: delete {best.id}, search, put it back, search")
    with report.time("delete one document and commit"):
        collection.delete([best.id])
        collection.commit()
    _ranking(report, "deleted", collection.search(question, k=HITS, fields=field))
    with report.time("put one document back and commit"):
        collection.upsert([documents[best.id]])
        collection.commit()
    _ranking(report, "put back", collection.search(question, k=HITS, fields=field))
    with report.time("check every byte of the collection"):
        damage = collection.check()
    report.say(f"check: {'no damage' if damage.ok else damage.problems} in {report.last}")
    report.data["texts"]["check"] = damage.ok


def _ranking(report: Report, label: str, results: Results) -> None:
    report.say(f"{label + ':':<10}" + ", ".join(f"{hit.id} {hit.score:.4f}" for hit in results))
