"""From raw JSON lines to a collection with words, latent terms and vectors, by the commands that a user types.

Each command runs in a process of its own (`python -m benchmarks.gpu_pipeline REPORT COMMAND ...`), which writes down
how long it took, in which stages, how much of that time the device had work, and the most memory it held. Stages run at
the same time on several threads: their seconds overlap, and sum to more than the whole.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks.gpu_bench import Bench, some_texts
from benchmarks.gpu_busy import busy

PIECES = (25, 120)
HALF = ("--precision", "float16")
FIELDS = ("--fields", "words,latent,dense")


def pipeline(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """`zipfian index --device`, from the source to the collection at once."""
    return _measured(bench, options, lambda source, folder: {
        "index": ["index", source, "--into", f"{folder}/made.zf", "--device", bench.device, *HALF, *FIELDS],
    })  # fmt: skip


def pipeline_shards(bench: Bench, options: argparse.Namespace) -> dict[str, Any]:
    """`zipfian encode --device`, and `zipfian index` of its shard without the device."""
    return _measured(bench, options, lambda source, folder: {
        "encode": ["encode", source, "--out", f"{folder}/shard", "--device", bench.device, *HALF, *FIELDS],
        "index": ["index", source, "--into", f"{folder}/made.zf", "--encoded", f"{folder}/shard", *FIELDS],
    })  # fmt: skip


def _measured(
    bench: Bench, options: argparse.Namespace, commands: Callable[[str, str], dict[str, list[str]]]
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for pieces in PIECES:
        n = bench.sized(1_000_000 if pieces < 100 else 200_000, 24)
        items = some_texts(options.texts, min(n, options.documents or n), pieces)
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "texts.jsonl"
            with source.open("w", encoding="utf-8") as file:
                file.writelines(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(items))
            found = {step: _child(folder, one) for step, one in commands(str(source), folder).items()}
        taken = sum(one["seconds"] for one in found.values())
        out[f"{pieces} pieces"] = {
            "documents": len(items), "made_up": options.texts is None, "documents_per_s": len(items) / taken, **found
        }  # fmt: skip
    return out


def _child(folder: str, command: Sequence[str]) -> dict[str, Any]:
    report = Path(folder) / "report.json"
    subprocess.run([sys.executable, "-m", __spec__.name, str(report), *command], check=True)
    found: dict[str, Any] = json.loads(report.read_text())
    return found


class Stages:
    """Seconds that some functions took, whatever thread they ran on; a function within another counts in both."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def watch(self, owner: Any, name: str, stage: str) -> None:
        """Count the time of a method from now on."""
        plain = getattr(owner, name)

        @functools.wraps(plain)
        def timed(*args: Any, **settings: Any) -> Any:
            start = time.perf_counter()
            try:
                return plain(*args, **settings)
            finally:
                self._count(stage, start)

        setattr(owner, name, timed)

    def _count(self, stage: str, start: float) -> None:
        with self._lock:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - start

    def watch_reading(self, owner: Any, name: str, stage: str) -> None:
        """As `watch`, of a method that gives one item after the other."""
        plain = getattr(owner, name)

        def timed(*args: Any, **settings: Any) -> Iterator[Any]:
            items = iter(plain(*args, **settings))
            while True:
                start = time.perf_counter()
                try:
                    item = next(items)
                except StopIteration:
                    return
                finally:
                    self._count(stage, start)
                yield item

        setattr(owner, name, timed)


def main(arguments: Sequence[str]) -> int:
    """One command with its counters; the first argument is where they go."""
    from zipfian import Collection
    from zipfian.cli import main as zipfian
    from zipfian.collection.encoding import Encoding
    from zipfian.collection.folder import FolderCollection
    from zipfian.encode.tokens import PieceTokenizer
    from zipfian.ingest.source import Source

    report, *command = arguments
    stages = Stages()
    stages.watch_reading(Source, "read", "read the source")
    stages.watch(PieceTokenizer, "tokenize", "tokenise")
    stages.watch(PieceTokenizer, "counts", "count tokens")
    stages.watch(Encoding, "ahead", "read ahead: tokenise, device, terms of tokens")
    stages.watch(Encoding, "fill", "give documents their terms and vectors")
    stages.watch(Collection, "add", "add documents")
    stages.watch(FolderCollection, "commit", "commit: words, segments, merges")
    nothing: AbstractContextManager[dict[str, Any]] = nullcontext({})
    watched = _on_device(command[command.index("--device") + 1]) if "--device" in command else nothing
    start = time.perf_counter()
    with watched as device:
        status = zipfian(command)
        seconds = time.perf_counter() - start
    found: dict[str, Any] = {
        "command": command[0], "seconds": seconds, "seconds_on_some_thread": stages.seconds,
        "host_bytes": _most_memory(), **device,
    }  # fmt: skip
    if device:
        found["device_share"] = device["device_seconds"] / seconds
    Path(report).write_text(json.dumps(found), encoding="utf-8")
    return status


def _most_memory() -> int | None:
    """The most bytes that this process held; not what `getrusage` says, which counts the process it was started by."""
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    return None if found is None else 1024 * int(found[1])


@contextmanager
def _on_device(device: str) -> Iterator[dict[str, Any]]:
    """What is filled when it ends: how long the device had work, and the most bytes that it held."""
    from zipfian.encode.torch_bert import TorchBert
    from zipfian.vocabulary._sae_device import DeviceProjection

    bench, found = Bench(device, quick=False, rounds=1), dict[str, Any]()
    with busy(bench, (TorchBert, "run"), (DeviceProjection, "_block")) as account:
        yield found
        found |= {"device_seconds": account.seconds, "device_bytes": bench.memory()}


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
