"""The kernels of a GPU, compiled for the processor: what is tested is the source that a GPU gets."""

from __future__ import annotations

import ctypes
import functools
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from zipfian.retrieve.device_blocks import Kernels, Launch, source

BLOCK_DOCS, THREADS = 1024, 64

needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="NO KERNELS ON THE PROCESSOR: no g++ here")


@functools.cache
def kernels(block_docs: int = BLOCK_DOCS, threads: int = THREADS, replaced: tuple[str, str] | None = None) -> Kernels:
    """The kernels; `replaced`: with one piece of the source by another, to see that tests notice."""
    code = source()
    assert code.count("extern __shared__ double sums[];") == 2
    code = code.replace("extern __shared__ double sums[];", "extern_sums;")
    if replaced is not None:
        assert replaced[0] in code
        code = code.replace(*replaced)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "kernels.cu").write_text(code, "utf-8")
        library = folder / "kernels.so"
        subprocess.run(
            ["g++", "-std=c++17", "-O1", "-w", "-fPIC", "-shared", "-ffp-contract=off", f"-I{folder}",
             f"-DBLOCK_DOCS={block_docs}", f"-DTHREADS={threads}", str(Path(__file__).with_name("emulated.cpp")),
             "-o", str(library)],
            check=True, capture_output=True,
        )  # fmt: skip
        loaded = ctypes.CDLL(str(library))
    return Kernels(_launch(loaded, 0), _launch(loaded, 1), block_docs)


def _launch(loaded: Any, number: int) -> Launch:
    def launch(queries: int, blocks: int, args: Sequence[Any]) -> None:
        cells: list[Any] = [
            ctypes.c_int(arg) if isinstance(arg, int) else ctypes.c_void_p(_pointer(arg)) for arg in args
        ]  # fmt: skip
        pointers = (ctypes.c_void_p * len(cells))(*[ctypes.addressof(cell) for cell in cells])
        loaded.launch(number, queries, blocks, pointers)

    return launch


def _pointer(tensor: Any) -> int:
    assert tensor.is_contiguous()
    return int(tensor.data_ptr())
