"""`docs/results.md`, built from the JSON files of earlier runs, behind what a person wrote about them (`about.md`).

python -m experiments.report results --into docs/results.md
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.base import cell, render
from zipfian.errors import InvalidInput, ZipfianError
from zipfian.evaluate.results import MARKS_LEGEND, markdown, shown
from zipfian.evaluate.significance import holm

INTRO = """# Results

Put together by `python -m experiments.report`: edit `{folder}/`, not this page. {said}
Every section that ends with a command is made from one JSON file of `{folder}/`, and the command makes it again.
Figures of the papers stand beside ours only where the dataset is the same; where encoder, pictures or collection
differ, the section says so, and a lower figure of ours stays as it is.
"""

SAID = "The first part is written by hand\n(`{folder}/about.md`)."

ABOUT = "about.md"
"""What was measured by other means than `zipfian eval`, written by hand beside the result files."""

OTHER = ("speed", "mutants", "hostile", "languages", "needles", "long", "photos")
"""Folders of results that belong to other pages: benchmarks, mutants, security, languages, needles, long, photos."""

SCOPE = """## Out of scope

Of the papers, these are not part of the project (yet): figures of sparse scoring on GPUs, distillation of the reranker
into the encoders, video and audio, latent terms in other languages than English. Datasets that are not at hand (six of
BM25-V's seven, most of BEIR, MS MARCO, full LIMIT, MS-COCO, ROxford5k, RParis6k) can be run with the same commands.
"""


SHOWN = (
    "ndcg@10 recall@10 recall@100 r@1 r@5 r@10 mrr@10 mrr map latency_ms search_ms index_bytes".split()
)  # fmt: skip
"""Measures that the page shows, in this order; the files of a result have all."""

RENAMED = {"s_db": "documents_touched"}
"""Measures of older result files by their names of today."""

WAYS = {"t2i": "text to picture", "i2t": "picture to text"}


def build(folder: Path, into: Path) -> int:
    """Write the page; returns how many result files it was made from."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder}: no such folder of results")
    files = sorted(path for path in folder.rglob("*.json") if path.relative_to(folder).parts[0] not in OTHER)
    if not files:
        raise InvalidInput(
            f"{folder}: holds no JSON result; run `zipfian eval ... --out` or `python -m experiments NAME --out` first"
        )
    found = [(path, _load(path)) for path in files]
    found.sort(key=lambda pair: "table" in pair[1])  # comparisons of methods first, then what repeats the papers
    sections = [section(data, path, into.parent) for path, data in found]
    into.parent.mkdir(parents=True, exist_ok=True)
    about = folder / ABOUT
    said = [about.read_text("utf-8")] if about.is_file() else []
    intro = INTRO.format(folder=folder.name, said=SAID.format(folder=folder.name) if said else "")
    text = "\n".join([intro, *said, *sections, SCOPE])
    into.write_text(text, "utf-8")
    return len(files)


def _load(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{path}: not JSON ({error})") from None
    if not isinstance(data, dict):
        raise InvalidInput(f"{path}: a result is a JSON object")
    if "table" not in data and "methods" not in data:
        raise InvalidInput(f"{path}: neither a table nor a comparison of methods")
    return data


def section(data: Mapping[str, Any], path: Path, page: Path) -> str:
    """One result file as a section of the page in the folder `page`."""
    if "table" in data:
        given = "".join(f" --data {name}={value}" for name, value in data.get("settings", {}).get("data", {}).items())
        body = render(data) + "".join(_pictures(data, path, page))
        command = f"python -m experiments {data['table']}{given}"
    elif data.get("protocol") == "fair-loo":
        body, command = _repeated(data), f"zipfian eval {_kind(data)}"
    else:
        body, command = _comparison(data, _relative(path, page)), _command(data)
    return f"{body}\n{data['reported'] if 'reported' in data else _made(data, command)}\n"


def _command(data: Mapping[str, Any]) -> str:
    """What makes a comparison again: the methods in their order, and the one that the others are tested against."""
    methods, reference = list(data["methods"]), data.get("reference")
    against = f" --baseline {reference}" if reference not in (None, methods[0]) else ""
    half = data.get("settings", {}).get("half", "all")
    part = "" if half == "all" else f" --half {half}"
    return f"zipfian eval {_kind(data)} DATA --methods {','.join(methods)}{against}{part}"


def _kind(data: Mapping[str, Any]) -> str:
    name = {"text": "text", "image": "images", "caption": "captions"}.get(str(data.get("kind")), "text")
    if "-val-only-" in data["dataset"]:
        return f"{name} --protocol val-only{' --no-gallery-captions' if '-without-' in data['dataset'] else ''}"
    return f"{name} --protocol {data['protocol']}" if data.get("protocol") else name


def _comparison(data: Mapping[str, Any], file: str) -> str:
    """Methods and their measures; a caption set has one row for each method and direction."""
    methods = data["methods"]
    ways = [w for w in WAYS if any(key.startswith(f"{w}_") for values in methods.values() for key in values)] or [""]
    known = list(dict.fromkeys(_bare(key)[1] for values in methods.values() for key in values))
    keys = [key for key in SHOWN if key in known]
    rows = []
    for way in ways:
        for name, values in methods.items():
            tests = data.get("comparisons", {}).get(name, {})
            full = [f"{way}_{key}" if way else key for key in keys]
            if any(key in values for key in full):
                cells = ["" if k not in values else shown(k, values[k]) + _mark(tests.get(k)) for k in full]
                rows.append([*([WAYS[way]] if way else []), name, *cells])
    header = [*(["direction"] if ways != [""] else []), "method", *keys]
    half = data.get("settings", {}).get("half", "all")
    part = "" if half == "all" else f", {half} half of the queries"
    sizes = data.get("settings", {}).get("directions") or ({"": data} if "documents" in data else {})
    size = "; ".join(
        f"{f'{WAYS.get(way, way)}: ' if way else ''}{n['documents']:,} documents, {n['queries']:,} queries"
        for way, n in sizes.items()
    )
    size = f"{size[:1].upper()}{size[1:]}.\n\n" if size else ""
    notes = "".join(f"- {note}\n" for note in data.get("notes", []))
    legend = MARKS_LEGEND.format(reference=data.get("reference", "the first method"))
    rest = [RENAMED.get(key, key) for key in known if key not in SHOWN]
    more = f"- also measured, in [the JSON file]({file}): {', '.join(rest)}\n" if rest else ""
    text = range(len(header) - len(keys))
    return f"## {data['dataset']}{part}\n\n{size}{markdown(header, rows, text)}\n- {legend}\n{more}{notes}"


def _repeated(data: Mapping[str, Any]) -> str:
    """FAIR-LOO: mean and deviation over the runs, and the test of each method."""
    header = ["method"]
    rows = [[name] for name in data["methods"]]
    for measure, summary in data["runs"].items():
        header += [measure, f"{measure} p", f"{measure} d"]
        tests = summary["tests"]
        raw = [float("nan") if test.get("p") is None else test["p"] for test in tests.values()]
        corrected = dict(zip(tests, holm(raw), strict=True))
        for row in rows:
            found, test = summary["methods"][row[0]], tests.get(row[0], {})
            row.append(f"{found['mean']:.4f} ± {found['deviation']:.4f}")
            p = corrected[row[0]] if test.get("p") is not None else None
            row += [cell("p", p), "" if test.get("cohens_d") is None else f"{test['cohens_d']:.2f}"]
    runs = data["settings"]["runs"]
    legend = (
        f"text to picture, mean and deviation over {runs} runs; p and Cohen's d against {data['reference']}: paired "
        "t-test over the runs, p corrected for the number of methods (Holm)"
    )
    return f"## {data['dataset']}: FAIR-LOO\n\n{markdown(header, rows)}\n- {legend}\n"


def _bare(key: str) -> tuple[str, str]:
    """A measure's direction, empty where it has none, and its name."""
    way, sign, rest = key.partition("_")
    return (way, rest) if sign and way in WAYS else ("", key)


def _mark(test: Mapping[str, Any] | None) -> str:
    if not test or test.get("p_holm") is None or test["p_holm"] > 0.05:
        return ""
    return ("+" if test["difference"] > 0 else "-") * (2 if test["p_holm"] <= 0.01 else 1)


def _pictures(data: Mapping[str, Any], path: Path, page: Path) -> Iterator[str]:
    for name in data.get("plots", []):
        svg, png = (path.parent / f"{name}{suffix}" for suffix in (".svg", ".png"))
        if svg.is_file():
            other = f" ([PNG]({_relative(png, page)}))" if png.is_file() else ""
            yield f"\n![{name}]({_relative(svg, page)}){other}\n"


def _relative(file: Path, page: Path) -> str:
    """A link from the page to a file."""
    return Path(os.path.relpath(file.resolve(), page.resolve())).as_posix()


def _made(data: Mapping[str, Any], command: str) -> str:
    env = data.get("environment", {})
    cpu, cores, version, date = (env.get(key, "?") for key in ("cpu", "cores", "zipfian", "date"))
    return f"`{command}` ({cpu}, {cores} cores, zipfian {version}, {date})"


def main(argv: Sequence[str] | None = None) -> None:
    """Write the page from the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments.report", description="Build docs/results.md.")
    parser.add_argument("folder", type=Path, metavar="RESULTS", help="the folder of the JSON files")
    parser.add_argument("--into", type=Path, required=True, metavar="FILE", help="the Markdown file to write")
    args = parser.parse_args(argv)
    try:
        count = build(args.folder, args.into)
    except (ZipfianError, OSError) as error:
        raise SystemExit(f"experiments: {error}") from None
    print(f"{args.into}: {count} results")


if __name__ == "__main__":
    main()
