"""Matrix products of a wave: `mma.sync`, and where four warps are one, `wgmma`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_backend_nvgpu.codegen.rules import warpgroup
from wave_backend_nvgpu.targets.matrix import PIECE_BITS, PLAIN, ROUNDED, THREE_PARTS
from wave_backend_nvgpu.targets.warpgroup import UNIT
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, gathered, recast, sliced
from wave_core.backends.emission.instructions import F32, I32
from wave_core.ops.matrix import Mma
from wave_core.types import DTYPES

if TYPE_CHECKING:
    from wave_backend_nvgpu.codegen.emitter import Emitter
    from wave_core.symbols import Layout
    from wave_core.targets import MatrixInstruction


@dataclass(frozen=True, slots=True)
class Form:
    """An intrinsic: ``D = A B^T + C``.

    Attributes:
        name: Its name behind ``llvm.nvvm.mma.``.
        word: What a register of an operand holds; several elements where they fit.
        word_type: LLVM's word for that.
        item_type: LLVM's word for an element of the accumulator.
    """

    name: str
    word: Kind
    word_type: str
    item_type: str


_HALVES = Form("m16n8k16.row.col.f32.f32", Kind("f16", 2), "<2 x half>", "float")
_F8 = "m16n8k32.row.col.f32.{0}.{0}.f32"

FORMS = {
    "f16": _HALVES,
    "bf16": Form("m16n8k16.row.col.bf16", I32, "i32", "float"),
    "i8": Form("m16n8k32.row.col.s8", I32, "i32", "i32"),
    "f8e4m3fn": Form(_F8.format("e4m3"), I32, "i32", "float"),
    "f8e5m2": Form(_F8.format("e5m2"), I32, "i32", "float"),
    "f32": Form("m16n8k8.row.col.tf32", I32, "i32", "float"),
    "f64": Form("m8n8k4.row.col.f64", Kind("f64"), "double", "double"),
}
"""By element type of the operands. Source: LLVM's IntrinsicsNVVM.td, WMMA_REGS."""

TF32_BITS = -(1 << 13)
"""The bits of an f32 that `mma.sync` takes. Source: PTX ISA, alternate formats."""

Words = list[str]


@lowers(Mma)
def mma(op: Mma, emit: Emitter) -> None:
    """The instruction of the op, part by part of K where it is a virtual one."""
    dtype = op.lhs.register_type.dtype
    row = emit.target.matrix_instruction(str(op.mma_type), op.location, dtype)
    if emit.dtype(op) != row.result_dtype:
        why = f"`{row.name}` adds up in {row.result_dtype}, not {emit.dtype(op)}"
        raise emit.unsupported(op, why, f"accumulate in {row.result_dtype}")
    if row.unit == UNIT:
        warpgroup.product(op, emit, row)
        return
    lhs, rhs, acc = (
        _whole(emit, emit.value(operand), layout)
        for operand, layout in zip(
            op.operands[:3], (row.lhs, row.rhs, row.acc), strict=True
        )
    )
    total = [sliced(emit, acc, r, 1) for r in range(acc.registers)]
    form = FORMS[dtype.name]
    for issue in range(row.issues):
        left, right = (_words(emit, form, row, side, issue) for side in (lhs, rhs))
        total = _UNITS[row.unit](emit, form, left, right, total)
    emit.set(op, gathered(emit, total, acc.item))


def _whole(emit: Emitter, value: Value, layout: Layout) -> Value:
    """The value with all registers that the layout has; a uniform one is repeated."""
    count = layout.registers
    return Value(emit.spread(value, count), value.item, count)


def _words(
    emit: Emitter, form: Form, row: MatrixInstruction, side: Value, issue: int
) -> Words:
    """The registers that one instruction takes of an operand, each of 32 or 64 bits."""
    make, size = emit.instructions, max(1, PIECE_BITS // row.operand_dtypes[0].bits)
    one = form.word if form.word.registers == 1 else I32
    count = side.registers // size
    words = recast(emit, side, one.item, count)
    share = count // row.issues
    found = [
        sliced(emit, words, at, 1) for at in range(issue * share, (issue + 1) * share)
    ]
    return [make.recast(one, form.word, name) for name in found]


def _product(
    emit: Emitter, form: Form, left: Words, right: Words, total: Words
) -> Words:
    """One instruction; gives the registers of the accumulator."""
    result = f"{{{', '.join([form.item_type] * len(total))}}}"
    arguments = [(form.word_type, name) for name in (*left, *right)]
    arguments += [(form.item_type, name) for name in total]
    # Else LLVM moves a product to its users, under the conditions of these.
    name = emit.builder.call(
        f"llvm.nvvm.mma.{form.name}", result, arguments, together=True
    )
    return [
        emit.builder.op(f"extractvalue {result} {name}, {at}")
        for at in range(len(total))
    ]


def _rounded(
    emit: Emitter, form: Form, left: Words, right: Words, total: Words
) -> Words:
    """Operands of 32 bits, each rounded to the 19 that count."""
    left, right = ([_nearest(emit, word) for word in side] for side in (left, right))
    return _product(emit, form, left, right, total)


def _in_three_parts(
    emit: Emitter, form: Form, left: Words, right: Words, total: Words
) -> Words:
    """Operands cut into a large and a small part of 19 bits, which hold nearly all.

    The product of the small parts is left out: it is 2 to the power of -22 of the
    whole, at most. Small products are added first.
    """
    one, other = _parts(emit, left), _parts(emit, right)
    total = _product(emit, form, one.small, other.finite, total)
    total = _product(emit, form, one.finite, other.small, total)
    return _product(emit, form, one.large, other.large, total)


_UNITS = {PLAIN: _product, ROUNDED: _rounded, THREE_PARTS: _in_three_parts}
"""By the unit of a row."""


def _nearest(emit: Emitter, word: str) -> str:
    """The nearest number of 19 bits."""
    number = emit.instructions.recast(I32, F32, word)
    near = emit.builder.call("llvm.nvvm.f2tf32.rna", "i32", [("float", number)])
    return _cut(emit, near)


def _cut(emit: Emitter, word: str) -> str:
    """The bits that count, and zeros."""
    mask = emit.constant(TF32_BITS, DTYPES["i32"])
    return emit.instructions.apply("andi", I32, word, mask)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Words cut in two.

    Attributes:
        large: The nearest numbers of 19 bits.
        small: The nearest to what is left, 0 for infinities.
        finite: The large ones; 0 for infinities, which small ones must not meet.
    """

    large: Words
    small: Words
    finite: Words


def _parts(emit: Emitter, words: Words) -> _Parts:
    """Words cut in two. What would be rounded up to infinity is cut off."""
    make = emit.instructions
    infinity = emit.constant(float("inf"), DTYPES["f32"])
    parts = _Parts([], [], [])
    for word in words:
        near = _nearest(emit, word)
        size = make.apply("absf", F32, make.recast(I32, F32, near))
        endless = make.compare("oeq", F32, size, infinity)
        large = make.select(endless, I32, _cut(emit, word), near)
        both = (make.recast(I32, F32, name) for name in (word, large))
        rest = make.apply("subf", F32, *both)
        none = make.compare("une", F32, rest, rest)
        small = make.select(none, F32, emit.constant(0, DTYPES["f32"]), rest)
        parts.large.append(large)
        parts.small.append(_nearest(emit, make.recast(F32, I32, small)))
        zero = emit.constant(0, DTYPES["i32"])
        parts.finite.append(make.select(none, I32, zero, large))
    return parts
