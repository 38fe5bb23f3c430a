"""The decorator of every kernel: no GIL, no fastmath, machine code kept in a private folder where there is one."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from zipfian.compiled import folder


class Compiler:
    """Compiles one family of kernels; `sources` are all files whose text ends up in their machine code."""

    def __init__(self, sources: Iterable[Path], what: str) -> None:
        self.folder = _choose(sources, what)
        """Where this process keeps the compiled kernels, or None: nowhere."""

    @contextmanager
    def private_cache(self) -> Iterator[None]:
        """Kernels defined (not: called) inside keep their machine code in the private folder."""
        config: Any = numba.config
        before = config.CACHE_DIR
        config.CACHE_DIR = str(self.folder) if self.folder else before
        try:
            yield
        finally:
            config.CACHE_DIR = before

    def kernel(self, function: Callable[..., Any]) -> Any:
        """Compile for the types of the first call; calls release the GIL."""
        compiled = numba.njit(nogil=True, cache=self.folder is not None)(function)
        if self.folder is not None:
            _forgive(compiled)
        return compiled

    def inlined(self, function: Callable[..., Any]) -> Any:
        """A small function that is copied into every kernel that calls it."""
        return numba.njit(nogil=True, inline="always")(function)


def _choose(sources: Iterable[Path], what: str) -> Path | None:
    versions = (numba.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
    try:
        return folder.prepare(folder.fingerprint(sources, versions))
    except folder.Unusable as problem:
        warnings.warn(
            f"{what} are compiled anew in this process, which takes a while: {problem}. "
            f"Set {folder.OVERRIDE} to a folder of your own to keep them",
            RuntimeWarning,
            stacklevel=2,
        )
        return None


def _forgive(compiled: Any) -> None:
    """A damaged cache file or a full disk costs a compilation, never a search.

    numba lets errors of both pass through to the caller of the kernel. The two hooks are not part of its public
    interface: where they are missing, its own behaviour stays.
    """
    cache = getattr(compiled, "_cache", None)
    load, save = getattr(cache, "load_overload", None), getattr(cache, "save_overload", None)
    if cache is None or load is None or save is None:
        return

    def load_or_miss(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception as error:  # noqa: BLE001 - a damaged pickle can raise anything; it is reported and replaced
            _report(compiled, "read", error)
            try:
                cache.flush()
            except OSError as again:
                _report(compiled, "replaced", again)
            return None

    def save_or_skip(signature: Any, result: Any) -> None:
        try:
            save(signature, result)
        except OSError as error:
            _report(compiled, "written", error)

    cache.load_overload, cache.save_overload = load_or_miss, save_or_skip


def _report(compiled: Any, what: str, error: Exception) -> None:
    name = compiled.py_func.__name__
    warnings.warn(
        f"the compiled kernel '{name}' could not be {what} ({error!r}); it is compiled anew",
        RuntimeWarning,
        stacklevel=2,
    )
