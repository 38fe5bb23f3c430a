"""`zipfian index SOURCE --into PATH`: put texts and pictures into a collection, and follow their changes."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli import _allowed, _encoding, _fields, _shards, _skipped
from zipfian.cli._arguments import add_device, add_reading, positive, refuse
from zipfian.cli._collection import add_trust, collection_class, folder_of, how_to_add, opened, place, trusted
from zipfian.cli._output import Progress, human_seconds, note, plain, print_json, printable, warnings_as_notes
from zipfian.cli._picture_model import PictureModel
from zipfian.cli._source import source_of
from zipfian.device import CPU
from zipfian.errors import FingerprintMismatch, IndexNotFound, InvalidInput
from zipfian.ingest.follow import COMMIT_EVERY, Sync
from zipfian.ingest.source import BadItem, Source, Survey

if TYPE_CHECKING:
    from zipfian.collection import Collection
    from zipfian.collection.following import Synced
    from zipfian.fields import Field


ABOUT_SOURCE = (
    "prefix", "id_column", "text_column", "image_column", "follow_links", "exclude", "no_default_excludes", "on_bad",
    "take_over", "keep_missing", "commit_every", "no_exif",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "A folder is searched for texts (.txt .md .rst .html .py .pdf .docx), pictures (.jpg .png .webp .gif .bmp "
        ".tif .avif .heic) and records (.jsonl .csv .tsv .parquet); photo.txt or photo.jpg.txt beside photo.jpg is its "
        "caption. Records have 'text' ('body', 'description' ... or 'caption'), 'image' (a path from the file's own "
        "folder), 'id'; 'title' is searched too, everything else becomes metadata, as does the front matter of "
        "Markdown. Run the same command again to add, update and remove what has changed. Exit status: 0 done, 3 done "
        "and something was skipped, 1 an error."
    )
    parser.add_argument(
        "source", type=Path, nargs="?", metavar="SOURCE", help="a folder, a .jsonl, .csv, .tsv, .parquet or single file"
    )
    parser.add_argument(
        "--into", type=place, required=True, metavar="PATH",
        help="the collection, made if not there; a folder or opensearch://host:9200/name",
    )  # fmt: skip
    parser.add_argument(
        "--fields",
        metavar="A,B",
        help=f"ways to search, of {', '.join(_fields.NAMES)}, or {', '.join(_fields.SETS)} for English texts: "
        "vectors of a larger encoder (by default what suits the source)",
    )
    parser.add_argument(
        "--language",
        metavar="NAME",
        help="of the words of a new collection: german, de ... or none; by default each text's own (auto)",
    )
    parser.add_argument(
        "--encoder", metavar="MODEL",
        help="a model of the hub for the pictures of a new collection and the words that ask for them: "
        "open_clip:MobileCLIP-S1, hf:openai/clip-vit-base-patch32, open_clip:FOLDER ... (extra hub)",
    )  # fmt: skip
    parser.add_argument(
        "--visual-words", type=Path, metavar="DIR",
        help="visual words of --encoder, for search by picture with reasons: those in DIR, or learnt from the pictures "
        "of SOURCE and kept there",
    )  # fmt: skip
    parser.add_argument(
        "--add-field", action="append", metavar="A", help="give what is in the collection one more field"
    )
    parser.add_argument(
        "--encoded", type=Path, nargs="+", action="extend", metavar="SHARD",
        help="take what these shards of 'zipfian encode' hold instead of encoding it",
    )  # fmt: skip
    parser.add_argument("--prefix", default="", metavar="TEXT", help="put before every id of this source")
    add_reading(parser)
    add_device(parser)
    add_trust(parser)
    parser.add_argument("--take-over", action="store_true", help="replace documents of the same id from other sources")
    parser.add_argument("--keep-missing", action="store_true", help="keep documents that the source no longer has")
    parser.add_argument(
        "--no-exif", action="store_true",
        help="keep nothing of what cameras wrote into pictures: time, camera and place are metadata otherwise",
    )  # fmt: skip
    parser.add_argument(
        "--commit-every",
        type=positive,
        metavar="N",
        help=f"commit after N changed documents ({COMMIT_EVERY})",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    start = time.perf_counter()
    _encoding.check_device(args)
    if args.source is None and not args.add_field:
        raise InvalidInput("nothing to do: name a SOURCE to index, or a field to add with --add-field")
    if args.source is None:
        refuse(args, ["encoded"], "goes with a SOURCE: a field that is added takes what the encode cache has")
        refuse(args, ["fields"], "goes with a SOURCE that makes a new collection: --add-field names what is added")
        refuse(args, ["language"], "is of the words of a new collection: name a SOURCE")
        refuse(args, ["encoder", "visual_words"], "is of the pictures of a new collection: name a SOURCE")
        refuse(args, ABOUT_SOURCE, "says how a SOURCE is indexed: name one, or leave it out with --add-field alone")
    if args.encoder is None:
        refuse(args, ["visual_words"], "holds visual words of another encoder: name it with --encoder")
    if args.add_field:
        folder_of(args.into, "it takes no new fields; create another index with them and fill it")
    out: dict[str, Any] = {"into": str(args.into)}
    status, done = 0, None
    if args.add_field:
        names = [name for given in args.add_field for name in _fields.parse(given)]
        out["added_fields"] = add_fields(args, names)
    if args.source is not None:
        done = follow(args)
        out |= done.told
        status = done.status
    out["seconds"] = time.perf_counter() - start
    if args.json:
        print_json(out)
        return status
    if args.add_field:
        print(f"{args.into}: added {', '.join(out['added_fields'])} ({human_seconds(out['seconds'])})")
    if done is not None:
        total = f"{out['total']:,} documents in all"
        print(f"{args.into}: {done.summary}; {total} ({human_seconds(out['seconds'])})")
        if done.is_new and out["total"]:
            note(f"search it: zipfian search {args.into} {_first_query(out['fields'])}")
    return status


@dataclass(frozen=True, slots=True)
class Followed:
    """What `follow` did."""

    told: dict[str, Any]
    """What --json prints of it."""
    summary: Synced
    is_new: bool
    """Whether the collection was empty before."""
    status: int
    """The exit status: whether something was skipped that nobody had said might be."""


def follow(args: argparse.Namespace) -> Followed:
    """Make the collection follow the source."""
    source = source_of(args)
    survey = source.survey()
    if survey.items == 0:
        raise source.nothing(survey.others)
    shards = _shards.Encoded(args.encoded) if args.encoded else None
    model = _picture_model(args, survey)
    with closing(_open_or_create(args, source, survey, shards, model)) as collection:
        fields = collection.fields
        is_new = len(collection) == 0
        _encoding.place(fields.values(), args)
        if shards is None:
            _encoding.fetch_weights(fields.values())
            _announce(source, survey, fields, is_new)
        else:
            shards.check(fields)
        with Progress("indexing", survey.items) as progress, warnings_as_notes():
            sync = Sync(
                collection, source, on_bad="fail" if args.on_bad == "fail" else "skip", prefix=args.prefix,
                take_over=args.take_over, keep_missing=args.keep_missing,
                commit_every=args.commit_every or COMMIT_EVERY, exif=not args.no_exif,
            )  # fmt: skip
            try:
                summary = sync.run(progress.reach)
            except KeyboardInterrupt:
                progress.clear()
                _skipped.report(sync.done.bad, progress.done, "skip")
                note(_interrupted(args, sync, len(collection)))
                raise
        status = _skipped.report(summary.bad, progress.done, args.on_bad)
        total = len(collection)
        if shards is not None:
            shards.report()
        if summary.uncaptioned:
            note(
                f"{summary.uncaptioned:,} pictures have no caption and no field of the collection looks at pictures; "
                f"{how_to_add(args.into, 'visual')}, then run this again"
            )
    told = {
        "source": sync.name,
        "fields": list(fields),
        **plain(summary),
        "bad": plain(summary.bad),
        "total": total,
        **({} if shards is None else {"encoded_here": shards.cache.missing}),
    }
    return Followed(told, summary, is_new, status)


def _in_language(language: str, fields: Mapping[str, Field]) -> dict[str, Field]:
    """The fields of words among some, in one language."""
    from zipfian.fields import Words

    chosen: dict[str, Any] = {"language": language} | ({"stem": False} if language == "none" else {})
    found: dict[str, Field] = {name: Words(**chosen) for name, field in fields.items() if isinstance(field, Words)}
    if not found:
        raise InvalidInput(f"--language is about words, and the fields are {', '.join(fields)}")
    return found


def _picture_model(args: argparse.Namespace, survey: Survey) -> PictureModel | None:
    """What `--encoder` names, loaded, and allowed from now on: whoever typed it will search with it."""
    if args.encoder is None:
        return None
    if not survey.pictures:
        raise InvalidInput(f"--encoder is for pictures, and {args.source} has none: leave it out")
    model = PictureModel.load(args.encoder, args.visual_words)
    _allowed.remember(model.names)
    return model


def _open_or_create(
    args: argparse.Namespace, source: Source, survey: Survey, shards: _shards.Encoded | None,
    model: PictureModel | None,
) -> Collection:  # fmt: skip
    """The collection for writing; a new one only once everything it needs is there."""
    kind = collection_class()
    options: dict[str, Any] = {} if shards is None else {"encodings": shards.cache}
    try:
        collection = kind.open(args.into, mode="w", **options, **trusted(args))
    except IndexNotFound:
        names: tuple[str, ...]
        if args.fields is not None:
            names = _fields.parse(args.fields)
        else:
            choice = _fields.choose(survey, model)
            note(str(choice))
            names = choice.fields
        from zipfian.fields.named import make_fields

        if model is not None:
            model.check_names(names)
            model.learn(source)
        fields = make_fields(list(names)) if model is None else model.fields(names)
        if args.language is not None:
            fields |= _in_language(args.language, fields)
        if shards is None:
            _encoding.fetch_weights(fields.values())
        else:
            shards.check(fields)
        return kind.create(args.into, fields=fields, **options)
    if args.language is not None:
        collection.close()
        raise InvalidInput(f"--language is for a new collection, and {args.into} is there already: leave it out")
    if model is not None:
        try:
            model.check(args.into, collection.fields)
        except FingerprintMismatch:
            collection.close()
            raise
    if args.fields is not None and set(_fields.parse(args.fields)) != set(collection.fields):
        has = ", ".join(collection.fields)
        collection.close()
        raise InvalidInput(
            f"{args.into} has the fields {has} already; leave --fields out, or add one: {how_to_add(args.into, 'NAME')}"
        )
    return collection


def _announce(source: Source, survey: Survey, fields: Any, is_new: bool) -> None:
    """What lies ahead, where encoders have work to do."""
    if survey.others:
        note(f"left alone in {source.path}: {printable(survey.others)}")
    if not any(field.encoder is not None for field in fields.values()):
        return
    if not is_new:
        note("only what is new or changed is encoded")
        return
    pictures = _some_pictures(source)
    for work in _encoding.estimate(fields, survey, pictures):
        note(str(work))


def _some_pictures(source: Source) -> list[str]:
    """A few pictures to time; of records those at the beginning."""
    if source.found is not None:
        step = max(1, len(source.found.pictures) // _encoding.PROBE_PICTURES)
        return [str(p) for p in source.found.pictures[::step]]
    out: list[str] = []
    for item in source.read():
        if not isinstance(item, BadItem) and item.image is not None:
            out.append(item.image)
        if len(out) >= _encoding.PROBE_PICTURES or isinstance(item, BadItem) or item.image is None:
            break
    return out


def add_fields(args: argparse.Namespace, names: list[str]) -> list[str]:
    """Give every document more fields, each committed by itself."""
    from zipfian.fields.named import default_field

    path: Path = args.into
    with opened(path, "w", **trusted(args)) as collection:
        for name in names:
            if name in collection.fields:
                raise InvalidInput(f"{path} has a field {name!r} already; it has: {', '.join(collection.fields)}")
        for name in names:
            field: Field = default_field(name, [*collection.fields, name])
            _encoding.place([field], args)
            _encoding.fetch_weights([field], _encoding.ADVICE.partition("; words")[0])
            note(f"adding {name} to {len(collection):,} documents; what was encoded before is not encoded again")
            try:
                with Progress(f"adding {name}", total=len(collection)) as bar:
                    collection.add_field(name, field, progress=bar.reach)
                collection.commit()
            except KeyboardInterrupt:
                note(f"interrupted: {path} is as it was, without {name}; what was encoded is kept for the next try")
                raise
    return names


def _interrupted(args: argparse.Namespace, sync: Sync, total: int) -> str:
    kept = f"{sync.committed:,} documents of this run are committed" if sync.committed else "nothing was changed"
    cached = "" if args.device not in (None, CPU) else ", what was encoded since then is kept in the cache"
    return f"stopped: {kept}, {total:,} are in {args.into}; run the same command again to go on{cached}"


def _first_query(fields: list[str]) -> str:
    return '"..."' if any(name in fields for name in ("words", "latent", "aligned")) else "--image FILE"
