"""`zipfian demo`: the main jobs from end to end, on real texts and pictures.

Texts are the documentation of Python's own standard library, which every machine has; pictures are free photographs
that packages of the registry carry. Every step is timed. What cannot be fetched is left out, and that is said.
"""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from zipfian.cli import _demo_pictures, _demo_texts, serve
from zipfian.cli._arguments import as_typed
from zipfian.cli._demo_report import Report
from zipfian.errors import IndexExists


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.epilog = "The first run fetches weights (111 MB) and pictures (33 MB) and encodes; later ones take seconds."
    parser.add_argument("--into", type=Path, metavar="DIR", help="where to put everything (a new temporary folder)")
    part = parser.add_mutually_exclusive_group()
    part.add_argument("--only", choices=("texts", "pictures"), help="half of it")
    part.add_argument("--quick", action="store_true", help="a few texts, no pictures: is everything installed?")
    parser.add_argument("--json", action="store_true", help="print everything as one JSON object at the end")
    parser.add_argument("--serve", action="store_true", help="end with a page to search it all in, until it is stopped")


COLLECTIONS = ("python.zf", "pictures.zf")


def run(args: argparse.Namespace) -> int:
    """Do it."""
    if args.serve:
        serve.check_installed("zipfian demo --serve")
    folder = args.into if args.into is not None else Path(tempfile.mkdtemp(prefix="zipfian-demo-"))
    for name in COLLECTIONS:
        if (folder / name).exists():
            raise IndexExists(f"{folder / name} is there already: name another folder with --into, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    report = Report(args.json)
    report.data["folder"] = str(folder)
    if args.only != "pictures":
        _demo_texts.run(report, folder / "python.zf", args.quick)
    if args.only != "texts" and not args.quick:
        _demo_pictures.run(report, folder)
    report.close()
    made = [folder / name for name in COLLECTIONS if (folder / name).exists()]
    _next(report, folder, made)
    return _serve(report, made) if args.serve and made else 0


def _serve(report: Report, made: Sequence[Path]) -> int:
    """The page over what was made, on a port that is free: another demo may still be running."""
    report.heading("In a browser (Ctrl-C ends it)")
    return serve.run(as_typed(serve.configure, *made, "--port=0"))


def _next(report: Report, folder: Path, made: Sequence[Path]) -> None:
    zipfian = _program()
    texts, pictures = (shlex.quote(str(folder / name)) for name in COLLECTIONS)
    report.heading("What to type next")
    report.say(f"everything stays in {folder} (remove it when you are done)\n")
    if (folder / "python.zf").exists():
        field = " --fields latent" if "latent" in report.data["texts"]["fields"] else ""
        report.say(f'  {zipfian} search {texts} "hide a password while it is typed" --highlight{field}')
        report.say(f'  {zipfian} explain {texts} "hide a password while it is typed" getpass{field}')
        report.say(f"""  {zipfian} search {texts} "read a compressed file" --where '{{"kind": "function"}}' --json""")
        report.say(f"  {zipfian} inspect {texts}")
    if (folder / "pictures.zf").exists():
        report.say(f"  {zipfian} search {pictures} --image YOUR.jpg")
        report.say(f"  {zipfian} explain {pictures} cat.png --image YOUR.jpg --fields visual --out why.png")
    if made:
        report.say(f"  {zipfian} serve {' '.join(shlex.quote(str(path)) for path in made)}")
    report.say(f"  {zipfian} index FOLDER --into mine.zf      your own texts and pictures, a .jsonl, .csv or .parquet")
    report.say(f"  {zipfian} --help")


def _program() -> str:
    """How the user can call this program again: by its name only if that is the one that would run."""
    called = Path(sys.argv[0])
    if called.name == "__main__.py":
        return f"{shlex.quote(sys.executable)} -m zipfian"
    on_path = shutil.which("zipfian")
    if on_path and called.exists() and Path(on_path).resolve() == called.resolve():
        return "zipfian"
    return shlex.quote(sys.argv[0]) if called.name.startswith("zipfian") else "zipfian"
