"""The product of a row of 4-bit codes and an 8-bit query: two codes a byte, the instruction for it where there is one.

LLVM does not find `vpmaddubsw` (32 products of unsigned and signed bytes at once) by itself, and without it the scan of
a million rows takes the processor longer than it takes the memory. Where AVX2 is missing, a plain loop gives the same
numbers: all of it is whole numbers that fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils as _cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic

from zipfian.retrieve.kernels.jit import kernel

cgutils: Any = _cgutils  # untyped

STEP = 32
"""Bytes taken at once; the length of a row is a multiple of it (`retrieve.codes` pads)."""

_BYTES = ir.VectorType(ir.IntType(8), STEP)
_WORDS = ir.VectorType(ir.IntType(16), STEP // 2)
_SUMS = ir.VectorType(ir.IntType(32), STEP // 4)


def _generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    """32 bytes at a time: codes below and above, times their part of the query, summed in 16 bits, then in 32.

    A product is at most 15 x 127, so 16 bits hold the sum of the four that are added before they are widened.
    """
    codes = context.make_array(signature.args[0])(context, builder, args[0])
    query = context.make_array(signature.args[2])(context, builder, args[2])
    half = cgutils.unpack_tuple(builder, codes.shape)[1]
    row = builder.gep(codes.data, [builder.mul(args[1], half)])
    total = cgutils.alloca_once_value(builder, ir.Constant(_SUMS, [0] * (STEP // 4)))
    multiply = _declare(builder, "llvm.x86.avx2.pmadd.ub.sw", _WORDS, [_BYTES, _BYTES])
    widen = _declare(builder, "llvm.x86.avx2.pmadd.wd", _SUMS, [_WORDS, _WORDS])
    with cgutils.for_range(builder, builder.udiv(half, half.type(STEP))) as loop:
        at = builder.mul(loop.index, half.type(STEP))
        both = _load(builder, row, at)
        below = builder.and_(both, ir.Constant(_BYTES, [15] * STEP))
        above = builder.lshr(both, ir.Constant(_BYTES, [4] * STEP))
        products = builder.add(
            builder.call(multiply, [below, _load(builder, query.data, at)]),
            builder.call(multiply, [above, _load(builder, query.data, builder.add(at, half))]),
        )
        sums = builder.call(widen, [products, ir.Constant(_WORDS, [1] * (STEP // 2))])
        builder.store(builder.add(builder.load(total), sums), total)
    add = _declare(builder, f"llvm.vector.reduce.add.v{STEP // 4}i32", ir.IntType(32), [_SUMS])
    return builder.call(add, [builder.load(total)])


def _load(builder: Any, start: Any, at: Any) -> Any:
    place = builder.gep(start, [at])
    return builder.load(builder.bitcast(place, _BYTES.as_pointer()), align=1)


def _declare(builder: Any, name: str, result: Any, arguments: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def _dot_fast(typing_context: Any, codes: Any, row: Any, query: Any) -> Any:
    return types.int32(codes, types.intp, query), _generate


@kernel
def dot_plainly(codes: Any, row: Any, query: Any) -> Any:
    """As `dot_nibbles`, in a loop that any processor runs."""
    half = codes.shape[1]
    total = np.int32(0)
    for i in range(half):
        both = codes[row, i]
        total = np.int32(total + np.int32(both & np.uint8(15)) * np.int32(query[i]))
        total = np.int32(total + np.int32(both >> np.uint8(4)) * np.int32(query[half + i]))
    return total


def has_avx2() -> bool:
    """Whether numba compiles for a processor with AVX2."""
    return "+avx2" in str(cpu_target.target_context.codegen().magic_tuple()[2]).split(",")


dot_nibbles: Any = intrinsic(_dot_fast) if has_avx2() else dot_plainly
"""dot_nibbles(codes, row, query): codes is uint8 (rows, half), two codes of 0 to 15 a byte; query int8 (2 x half), at
most 127 in size: its first half goes with the lower four bits, its second with the upper ones."""
