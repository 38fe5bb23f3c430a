"""`zipfian tune DIR`: k1, b and phi of a field, or the weights of several, chosen k-fold on a dataset's judgements."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from zipfian.cli._arguments import positive, refuse
from zipfian.cli._output import DIM, Progress, note, paint, print_json, table

STEP = 0.05


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="a BEIR folder, or gallery/CLASS/* and query/CLASS/*")
    parser.add_argument(
        "--fields", default="words", metavar="A[,B]", help="one field: its scoring; several: their weights"
    )
    parser.add_argument("--split", help="the qrels of a BEIR folder (test)")
    parser.add_argument("--measure", default=None, help="what to make best (ndcg@10; pictures: r@1)")
    parser.add_argument("--folds", type=positive, default=5, metavar="N", help="parts of the queries (5)")
    parser.add_argument("--seed", type=int, default=42, help="of the folds (42)")
    parser.add_argument("--half", choices=("all", "even", "odd"), default="all", help="queries by sha1 of their id")
    parser.add_argument("--k1", type=_numbers, metavar="A,B", help="values to try")
    parser.add_argument("--b", type=_numbers, metavar="A,B", help="values to try")
    parser.add_argument("--phi", metavar="A,B", help="values to try: identity, sqrt, power:0.7")
    parser.add_argument("--step", type=float, help="of the weights (0.05)")
    parser.add_argument("--work", type=Path, metavar="DIR", help="keep the built collection here")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    from zipfian.errors import InvalidInput
    from zipfian.evaluate.build import built
    from zipfian.evaluate.datasets import load_beir, load_class_folders, take_half
    from zipfian.evaluate.measures import check_installed

    check_installed()
    pictures = (args.folder / "gallery").is_dir()
    fields = list(dict.fromkeys(field.strip() for field in args.fields.split(",") if field.strip()))
    if not fields:
        raise InvalidInput("name at least one field with --fields")
    if len(fields) > 1:
        refuse(
            args,
            ["k1", "b", "phi"],
            f"is of one field's scoring; of {', '.join(fields)} the weights are tuned (--step)",
        )
    else:
        refuse(
            args,
            ["step"],
            f"is of the weights of several fields; of {fields[0]} the scoring is tuned (--k1, --b, --phi)",
        )
    if pictures:
        refuse(args, ["split"], "names qrels of a BEIR folder; folders of classes have none")
    dataset = load_class_folders(args.folder) if pictures else load_beir(args.folder, args.split or "test")
    measure = args.measure or ("r@1" if pictures else "ndcg@10")
    part = take_half(dataset, args.half)
    with built(dataset, fields, args.work) as collection:
        found, describe = _tune(args, collection, part, fields, measure)
    if args.json:
        print_json({"dataset": dataset.name, "fields": fields, "queries": len(part.queries), "half": args.half,
                    "folds": args.folds, "seed": args.seed, **found.to_json(describe)})  # fmt: skip
        return 0
    rows = [
        ["default", f"{found.default_value:.4f}", str(describe(found.default))],
        [f"tuned, {args.folds}-fold", f"{found.held_out:.4f}", f"{found.tried} settings tried"],
        ["best (fitted on all)", f"{found.fitted:.4f}", str(describe(found.best))],
    ]
    print(table(["", measure, "setting"], rows, right=[1]))
    note(paint(f"tuned against default: {found.test.difference:+.4f}, p = {found.test.p:.3g}; "
               "the fitted figure is no result", DIM))  # fmt: skip
    return 0


def _tune(args: argparse.Namespace, collection: Any, part: Any, fields: list[str], measure: str) -> tuple[Any, Any]:
    from zipfian.evaluate import tuning

    progress = Progress("tuning")
    if len(fields) == 1:
        phi = [p.strip() for p in args.phi.split(",")] if args.phi else tuning.PHI
        grid = tuning.bm25_grid(args.k1 or tuning.K1, args.b or tuning.B, phi)
        found = tuning.tune_scoring(
            collection, fields[0], part, grid, measure=measure, folds=args.folds, seed=args.seed, progress=progress.step
        )
        return found, lambda scoring: scoring.to_json()
    scores = tuning.field_scores(collection, fields, part)
    found = tuning.tune_weights(
        scores, part.qrels, fields, measure=measure, step=STEP if args.step is None else args.step,
        folds=args.folds, seed=args.seed, progress=progress.step,
    )  # fmt: skip
    return found, lambda weights: dict(zip(fields, weights, strict=True))


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"numbers separated by commas were expected, not {text!r}") from None
