"""A cache prefetch for numba kernels: ask for a line before it is needed, so that misses overlap."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.extending import intrinsic

cgutils: Any = _cgutils  # untyped


def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    array, *index = signature.args
    view = context.make_array(array)(context, builder, args[0])
    at = [context.cast(builder, a, t, types.intp) for a, t in zip(args[1:], index, strict=True)]
    item = cgutils.get_item_pointer(context, builder, array, view, at, wraparound=False)
    line = ir.IntType(8).as_pointer()
    i32 = ir.IntType(32)
    shape = ir.FunctionType(ir.VoidType(), [line, i32, i32, i32])
    call = builder.module.declare_intrinsic("llvm.prefetch", [line], shape)
    builder.call(call, [builder.bitcast(item, line), i32(0), i32(3), i32(1)])
    return context.get_dummy_value()


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    return types.void(array, index), _generate


def _prefetch2(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    return types.void(array, row, column), _generate


prefetch: Any = intrinsic(_prefetch)
"""prefetch(a, i): start loading the cache line of a[i]. No bounds check; a bad address is ignored."""

prefetch2: Any = intrinsic(_prefetch2)
"""prefetch2(a, i, j): the same for a two-dimensional array."""
