"""The compiler of the search kernels: which sources their machine code depends on."""

from __future__ import annotations

from pathlib import Path

from zipfian.compiled.jit import Compiler

_HERE = Path(__file__).resolve().parent
_ALSO = (_HERE.parent / "layout.py", _HERE.parent.parent / "index" / "_decode.py")
"""Sources outside this folder whose text ends up in machine code."""

SOURCES = (*_HERE.glob("*.py"), *_ALSO)

_COMPILER = Compiler(SOURCES, "search kernels")

FOLDER = _COMPILER.folder
"""Where this process keeps compiled kernels, or None: nowhere."""

private_cache = _COMPILER.private_cache
kernel = _COMPILER.kernel
inlined = _COMPILER.inlined
