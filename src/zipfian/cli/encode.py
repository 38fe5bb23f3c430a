"""`zipfian encode SOURCE --shard i/n --out SHARD`: encode a share of the documents, to be indexed elsewhere."""

from __future__ import annotations

import argparse
import dataclasses
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _encoding, _fields, _skipped
from zipfian.cli._arguments import add_device, add_reading
from zipfian.cli._output import (
    Progress,
    human_bytes,
    human_seconds,
    note,
    plain,
    print_json,
    warnings_as_notes,
)
from zipfian.cli._source import source_of
from zipfian.errors import InvalidInput
from zipfian.ingest.follow import AHEAD, LEAVE_OUT
from zipfian.ingest.source import BadItem, FoundDocument, Source, Survey

if TYPE_CHECKING:
    from zipfian.collection.encoding import Problem
    from zipfian.encode.shards import ShardWriter
    from zipfian.fields import Field

AT_ONCE = 256
PICTURES_AT_ONCE = 32
CHARS_AT_ONCE = 60_000
"""Documents handed to the encoders together: few enough that progress is seen and memory stays small."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Every machine reads the same SOURCE and encodes the documents whose id's hash falls to its share. Run it for "
        "1/n to n/n anywhere, in any order; a run that was interrupted goes on when repeated. Then, on one machine: "
        "zipfian index SOURCE --into PATH --encoded SHARD SHARD ... with the same fields."
    )
    parser.add_argument("source", type=Path, metavar="SOURCE", help="as for 'zipfian index'")
    parser.add_argument("--shard", type=share, default=(1, 1), metavar="i/n", help="which share: 1/4 to 4/4 (1/1)")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="SHARD", help="the folder to write, or to go on with"
    )
    parser.add_argument(
        "--fields",
        metavar="A,B",
        help=f"ways to search, of {', '.join(_fields.NAMES)} (by default what suits the source)",
    )
    add_reading(parser)
    add_device(parser)
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def share(text: str) -> tuple[int, int]:
    """`2/4` as (2, 4); counted from 1."""
    found = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
    i, n = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= i <= n:
        raise argparse.ArgumentTypeError(f"a share is i/n with i from 1 to n, such as 2/4, not {text!r}")
    return i, n


@dataclass(slots=True)
class Summary:
    """What a run did."""

    documents: int = 0
    """Of this share."""
    seen: int = 0
    """Of the whole source."""
    bad: list[BadItem] = dataclasses.field(default_factory=list)


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.encode.cache import EncodingCache
    from zipfian.encode.shards import ShardWriter

    start = time.perf_counter()
    _encoding.check_device(args)
    source = source_of(args)
    survey = source.survey()
    fields = _chosen(args, survey)
    _encoding.place(fields.values(), args)
    forms = _forms(fields)
    if not forms:
        raise InvalidInput(
            f"the fields {', '.join(fields)} need no encoder: there is nothing to encode, zipfian index alone does it"
        )
    i, n = args.shard
    with (
        warnings_as_notes(),
        ShardWriter(args.out, i, n, forms, about=_about(args, fields), under=EncodingCache()) as writer,
    ):
        if writer.resumed:
            note(f"{args.out}: going on, {writer.resumed:,} entries are there from before")
        _encoding.fetch_weights(fields.values())
        total = survey.items and -(-survey.items // n)
        summary = _encode(args, source, fields, writer, total)
        writer.finish({"documents": summary.documents})
    return _report(args, writer, summary, time.perf_counter() - start)


def _chosen(args: argparse.Namespace, survey: Survey) -> dict[str, Field]:
    """The fields that `zipfian index` would give a new collection."""
    from zipfian.fields.named import make_fields

    if survey.items == 0:
        raise InvalidInput(f"{args.source}: no text and no picture in it that could be encoded")
    if args.fields is not None:
        return make_fields(list(_fields.parse(args.fields)))
    choice = _fields.choose(survey)
    note(str(choice))
    return make_fields(list(choice.fields))


def _forms(fields: dict[str, Field]) -> list[Any]:
    from zipfian.cli._shards import forms_of

    return forms_of(fields)


def _about(args: argparse.Namespace, fields: dict[str, Field]) -> dict[str, Any]:
    """What the manifest says for people: fingerprints of all encoders and vocabularies among it."""
    return {
        "source": args.source.name,
        "fields": {name: field.to_json() for name, field in fields.items() if field.encoder is not None},
    }


def _encode(
    args: argparse.Namespace, source: Source, fields: dict[str, Field], writer: ShardWriter, total: int | None
) -> Summary:
    """Every document of the share through the encoders; what was made is kept by the writer. `total`: about how many
    there are, where that is known."""
    from zipfian.collection.encoding import Encoding
    from zipfian.encode.session import in_order
    from zipfian.fields.item import Item

    summary = Summary()
    encoding = Encoding({name: field for name, field in fields.items() if field.encoder is not None}, writer)
    pictures = any(field.reads == "image" for field in fields.values())
    times = encoding.at_once

    def fill(batch: list[FoundDocument]) -> tuple[list[FoundDocument], dict[int, Problem]]:
        return batch, encoding.fill([Item(d.id, d.text, {}, {}, {}, 0, image=d.image) for d in batch])

    try:
        with Progress(f"encoding {args.shard[0]}/{args.shard[1]}", total) as progress:
            found = _batches(_share(args, source, summary), pictures, times)
            for batch, problems in in_order(fill, found, AHEAD) if times > 1 else map(fill, found):
                for at, problem in sorted(problems.items()):
                    bad = BadItem(batch[at].where, str(problem).removeprefix(f"{batch[at].image}: "))
                    _on_bad(args, bad, summary)
                summary.documents += len(batch)
                progress.step(len(batch))
    except BaseException as error:
        writer.flush()  # what is encoded stays encoded, whatever ended the run
        if isinstance(error, KeyboardInterrupt):
            note(f"stopped after {summary.documents:,} documents; run the same command again to go on")
        raise
    return summary


def _share(args: argparse.Namespace, source: Source, summary: Summary) -> Iterator[FoundDocument]:
    """The documents that fall to this share, in the order of the source."""
    from zipfian.encode.shards import share_of

    i, n = args.shard
    for found in source.read():
        summary.seen += 1
        if found.id is not None and share_of(found.id, n) != i:
            continue
        if isinstance(found, BadItem):
            _on_bad(args, found, summary)
        elif (found.text or "").strip() or found.image is not None:
            yield found


def _batches(documents: Iterator[FoundDocument], pictures: bool, times: int = 1) -> Iterator[list[FoundDocument]]:
    batch: list[FoundDocument] = []
    chars = images = 0
    for document in documents:
        batch.append(document)
        chars += len(document.text or "")
        images += pictures and document.image is not None
        if len(batch) >= AT_ONCE * times or chars >= CHARS_AT_ONCE * times or images >= PICTURES_AT_ONCE * times:
            yield batch
            batch, chars, images = [], 0, 0
    if batch:
        yield batch


def _on_bad(args: argparse.Namespace, bad: BadItem, summary: Summary) -> None:
    if args.on_bad == "fail":
        raise InvalidInput(f"{bad.where}: {bad.problem}; {LEAVE_OUT}")
    summary.bad.append(bad)


def _report(args: argparse.Namespace, writer: ShardWriter, summary: Summary, seconds: float) -> int:
    size = sum(part.file.size for part in writer.manifest.parts)
    status = _skipped.report(summary.bad, summary.seen, args.on_bad)
    if args.json:
        out = {
            "shard": str(args.out), "share": "/".join(map(str, args.shard)), "documents": summary.documents,
            "seen": summary.seen, "entries": writer.resumed + writer.written, "encoded_now": writer.written,
            "from_before": writer.resumed, "bytes": size, "bad": plain(summary.bad), "seconds": seconds,
        }  # fmt: skip
        print_json(out)
        return status
    bad = f", {len(summary.bad):,} skipped as unreadable" if summary.bad else ""
    print(
        f"{args.out}: {summary.documents:,} of {summary.seen:,} documents{bad}; {human_bytes(size)} "
        f"({human_seconds(seconds)})"
    )
    return status
