"""Everything there is to measure on a GPU, in one go: encoders and their terms, half precision, batches of queries.

    python -m benchmarks.gpu --json results/gpu/h200.json [--texts FOLDER] [--beir FOLDER ...] [--pictures FOLDER]

`--quick --device torch:cpu` is the rehearsal: the same code on a processor, small, its times worth nothing. Every part
is written to the file as soon as it is done, and a part that lacks something (numba, weights) says so there instead of
ending the run; `--parts` chooses some. Times are medians over rounds, with the device idle before and after each.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import gpu_encode, gpu_pictures, gpu_pipeline, gpu_search, machine
from benchmarks.gpu_bench import Bench
from zipfian.errors import ZipfianError


def hardware(bench: Bench, _: argparse.Namespace) -> dict[str, Any]:
    """What the rest is to be read against: bytes a second that a copy moves, and products in each precision."""
    torch, where = bench.torch, bench.where
    n = bench.sized(1 << 30, 1 << 22)
    source = torch.zeros(n, dtype=torch.float32, device=where)
    target = torch.empty_like(source)
    out: dict[str, Any] = {"bytes_per_s": 8 * n / bench.seconds(partial(target.copy_, source))}
    side = bench.sized(8_192, 256)
    for name in ("float32", "float16", "bfloat16"):
        square = torch.randn(side, side, device=where).to(getattr(torch, name))
        out[f"{name}_flop_per_s"] = 2 * side**3 / bench.seconds(partial(torch.matmul, square, square))
    return out


PARTS: dict[str, Callable[[Bench, argparse.Namespace], dict[str, Any]]] = {
    "hardware": hardware,
    "network": gpu_encode.network,
    "texts": gpu_encode.texts,
    "pipeline": gpu_pipeline.pipeline,
    "pipeline-shards": gpu_pipeline.pipeline_shards,
    "agreement": gpu_encode.agreement,
    "quality": gpu_encode.quality,
    "pictures": gpu_pictures.pictures,
    "search": gpu_search.search,
}


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--json", type=Path, required=True, help="where the figures go; those of other parts stay")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument(
        "--texts", type=Path,
        help="a folder of benchmarks.gpu_texts, JSON lines with 'text', or plain lines; made-up texts by default",
    )  # fmt: skip
    parser.add_argument("--documents", type=int, help="of a pipeline at most (a million short ones, 200,000 long)")
    parser.add_argument("--beir", type=Path, nargs="*", default=[], help="collections for nDCG in half precision")
    parser.add_argument(
        "--pictures",
        type=Path,
        help="a folder of pictures, made-up ones by default; with gallery/CLASS and query/CLASS",
    )
    options = parser.parse_args(arguments)
    bench = Bench(options.device, options.quick, 1 if options.quick else options.rounds)
    report: dict[str, Any] = json.loads(options.json.read_text()) if options.json.exists() else {}
    report["machine"] = {
        **machine.describe(), "torch": bench.torch.__version__, "device": bench.device, "quick": options.quick,
        "gpu": bench.torch.cuda.get_device_name(bench.where) if bench.where.type == "cuda" else None,
    }  # fmt: skip
    options.json.parent.mkdir(parents=True, exist_ok=True)
    for name in options.parts:
        start = time.perf_counter()
        try:
            found = PARTS[name](bench, options)
        except (ZipfianError, ImportError, OSError, subprocess.CalledProcessError) as error:
            found = {"left_out": f"{type(error).__name__}: {error}"}
        report[name] = {**found, "seconds_in_all": round(time.perf_counter() - start, 1)}
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(report[name]), flush=True)


if __name__ == "__main__":
    main()
