"""`zipfian eval text | images | captions`: how well methods find, on data with known answers."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zipfian.cli._arguments import positive, refuse
from zipfian.cli._output import DIM, Progress, note, paint, print_json, printable, table
from zipfian.errors import InvalidInput

if TYPE_CHECKING:
    from zipfian.evaluate.compare import Options
    from zipfian.evaluate.results import Report

TEXT_METHODS = "words,latent,dense,hybrid"
IMAGE_METHODS = "visual,dense,two-stage,hybrid"
CAPTION_METHODS = "aligned,translated,hybrid"
LOO_METHODS = "words,latent,dense,aligned,translated,hybrid"


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", required=True, title="what to evaluate on")
    text = kinds.add_parser("text", help="a BEIR folder: corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv")
    text.add_argument("folder", type=Path, metavar="DIR")
    text.add_argument("--split", default="test", help="the qrels to use (test)")
    text.add_argument(
        "--encoder", metavar="NAME|PATH",
        help="another text encoder for dense and maxsim: gte-small, or one of the hub, late-interaction or not",
    )  # fmt: skip
    _common(text, TEXT_METHODS)
    images = kinds.add_parser("images", help="pictures: gallery/CLASS/*, query/CLASS/*, or instance ground truth")
    images.add_argument("folder", type=Path, metavar="DIR")
    images.add_argument("--ground-truth", type=Path, metavar="JSON", help="ROxford5k / RParis6k, converted to JSON")
    images.add_argument("--level", choices=("easy", "medium", "hard"), help="of the ground truth (medium)")
    images.add_argument("--holidays", action="store_true", help="DIR holds the INRIA Holidays pictures")
    images.add_argument("--distractors", type=Path, metavar="DIR", help="pictures that are relevant to nothing")
    _common(images, IMAGE_METHODS)
    captions = kinds.add_parser("captions", help="pictures with captions: our JSONL, COCO or Karpathy JSON")
    captions.add_argument("file", type=Path, metavar="FILE")
    captions.add_argument("--images", type=Path, required=True, metavar="DIR", help="the folder of the pictures")
    captions.add_argument("--split", help="the part to use (test)")
    captions.add_argument(
        "--protocol", choices=("karpathy", "val-only", "fair-loo"), default="karpathy",
        help="all captions ask (karpathy); first captions, query and gallery alike (val-only); "
        "leave one caption out, repeated (fair-loo)",
    )  # fmt: skip
    captions.add_argument("--no-gallery-captions", action="store_true", help="val-only without the giveaway caption")
    captions.add_argument("--runs", type=positive, metavar="N", help="of fair-loo (5)")
    captions.add_argument("--seed", type=int, help="of fair-loo's folds (42)")
    _common(captions, None)


def _common(parser: argparse.ArgumentParser, methods: str | None) -> None:
    shown = methods or f"{CAPTION_METHODS}; fair-loo: {LOO_METHODS}"
    parser.add_argument("--methods", default=methods, metavar="A,B", help=f"what to compare ({shown})")
    parser.add_argument("--measures", metavar="A,B", help="such as ndcg@10,recall@100,r@1,mrr@10,map")
    parser.add_argument("--baseline", metavar="NAME", help="the method others are tested against (the first)")
    parser.add_argument(
        "--half", choices=("all", "even", "odd"), default="all",
        help="only queries whose id has an even or odd sha1: choose on one, report on the other",
    )  # fmt: skip
    parser.add_argument("--depth", type=positive, metavar="N", help="hits of each ranking (text 1000, pictures 200)")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep the built collection here for the next run")
    parser.add_argument("--out", type=Path, metavar="DIR", help="write JSON, CSV, Markdown and TREC runs here")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.evaluate.measures import check_installed

    check_installed()
    kinds = {"text": _text, "images": _images, "captions": _captions}
    return kinds[args.what](args)


def _text(args: argparse.Namespace) -> int:
    from zipfian.evaluate.compare import compare
    from zipfian.evaluate.datasets import load_beir

    dataset, options = load_beir(args.folder, args.split), _options(args)
    if args.encoder is not None:
        options = replace(options, encoder=_encoder(args.encoder))
    return _show(args, compare(dataset, _methods(args, TEXT_METHODS), options))


def _encoder(name: str) -> Any:
    """A text encoder of the package or of the hub; the tokens of a late-interaction model as it compares them."""
    from zipfian.encode.registry import packaged, packaged_names

    if name in packaged_names():
        return packaged(name)
    from zipfian.encode import hub
    from zipfian.encode.hub.sentence import layout_of

    model = hub.HubModel(name)
    return hub.HubTextEncoder(model, projection=layout_of(model.folder).late)


def _images(args: argparse.Namespace) -> int:
    from zipfian.evaluate.compare import compare
    from zipfian.evaluate.datasets import load_class_folders, load_holidays, load_revisited

    if args.ground_truth is not None and args.holidays:
        raise InvalidInput("give either --ground-truth or --holidays, not both")
    if args.ground_truth is None:
        refuse(args, ["level"], "is of instance ground truth: give it with --ground-truth JSON")
    if args.ground_truth is not None:
        dataset = load_revisited(args.ground_truth, args.folder, args.level or "medium", args.distractors)
    elif args.holidays:
        dataset = load_holidays(args.folder, args.distractors)
    else:
        dataset = load_class_folders(args.folder, args.distractors)
    return _show(args, compare(dataset, _methods(args, IMAGE_METHODS), _options(args)))


def _captions(args: argparse.Namespace) -> int:
    from zipfian.evaluate.compare import LOO_MEASURES, compare_captions, compare_loo
    from zipfian.evaluate.datasets import load_captions
    from zipfian.evaluate.protocols import karpathy, val_only
    from zipfian.evaluate.protocols.fair_loo import MIN_RUNS, SEED

    loo = args.protocol == "fair-loo"
    if not loo:
        refuse(args, ["runs", "seed"], "is of the repetitions of --protocol fair-loo")
    if args.protocol != "val-only":
        refuse(args, ["no_gallery_captions"], "is a variant of --protocol val-only")
    if loo:
        refuse(args, ["measures"], f"is for other protocols: fair-loo reports {' and '.join(LOO_MEASURES)}")
        if args.half != "all":
            raise InvalidInput("--half chooses among queries, and --protocol fair-loo asks with all of them")
    captions = load_captions(args.file, args.images, args.split)
    if loo:
        names = _methods(args, LOO_METHODS)
        runs, seed = MIN_RUNS if args.runs is None else args.runs, SEED if args.seed is None else args.seed
        summaries = compare_loo(captions, names, runs, seed, args.baseline, _options(args))
        return _show_loo(args, captions.name, summaries, runs, seed)
    task = karpathy(captions)
    if args.protocol == "val-only":
        task = val_only(captions, gallery_texts=not args.no_gallery_captions)
    return _show(args, compare_captions(task, _methods(args, CAPTION_METHODS), _options(args)))


def _show(args: argparse.Namespace, report: Report) -> int:
    if args.out is not None:
        report.write(args.out)
    if args.json:
        print_json(report.to_json())
        return 0
    from zipfian.evaluate.results import MARKS_LEGEND

    header, rows = report.rows()
    print(table(header, rows, right=range(1, len(header))))
    if len(rows) > 1:
        note(paint(MARKS_LEGEND.format(reference=report.reference), DIM))
    note(paint(f"{report.dataset}: {report.n_docs:,} documents, {report.n_queries:,} queries", DIM))
    for remark in report.notes:
        note(paint(printable(remark), DIM))
    if args.out is not None:
        note(f"written to {args.out}")
    return 0


def _show_loo(args: argparse.Namespace, name: str, summaries: dict[str, Any], runs: int, seed: int) -> int:
    from zipfian.evaluate.loo_report import as_json, rows, write

    if args.out is not None:
        write(args.out, name, summaries, runs, seed)
    if args.json:
        print_json(as_json(name, summaries, runs, seed))
        return 0
    header, body = rows(summaries)
    print(table(header, body, right=range(1, len(header))))
    note(paint(f"mean and deviation over {runs} runs; paired t-test over the runs, p by Holm", DIM))
    return 0


def _methods(args: argparse.Namespace, default: str) -> list[str]:
    given = default if args.methods is None else args.methods
    return [name.strip() for name in given.split(",") if name.strip()]


def _options(args: argparse.Namespace) -> Options:
    from zipfian.evaluate.compare import Options

    reading, asking = Progress("indexing"), Progress("searching")
    keys = tuple(key.strip() for key in args.measures.split(",") if key.strip()) if args.measures else None
    return Options(
        measures=keys, half=args.half, depth=args.depth, work=args.work, baseline=args.baseline,
        on_document=lambda done: reading.step(done - reading.done), on_query=asking.step,
    )  # fmt: skip
