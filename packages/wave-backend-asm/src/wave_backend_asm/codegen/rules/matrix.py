"""Matrix products as machine instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_asm.machine.operands import Operand, Virtual, is_inline
from wave_backend_asm.select.missing import MissingError
from wave_backend_asm.select.vectors import part_of
from wave_core.backends import lowers
from wave_core.ops.matrix import Mma

if TYPE_CHECKING:
    from wave_backend_asm.codegen.emitter import Emitter
    from wave_backend_asm.select.data import Datum
    from wave_core.targets import MatrixInstruction
    from wave_core.types import DType

_OPERANDS = {
    "f16": "f16", "bf16": "bf16", "f32": "f32", "i8": "i8",
    "f8e4m3fnuz": "fp8_fp8", "f8e5m2fnuz": "bf8_bf8",
    "f8e4m3fn": "fp8_fp8", "f8e5m2": "bf8_bf8",
}  # fmt: skip
"""What element types are called in names of products."""

_FORMATS = {
    "f8e4m3fn": 0, "f8e5m2": 1, "f6e2m3fn": 2, "f6e3m2fn": 3, "f4e2m1fn": 4,
}  # fmt: skip
"""Values of cbsz and blgp by element type. Source: CDNA4 ISA, "Matrix arithmetic"."""


@lowers(Mma)
def mma(op: Mma, emit: Emitter) -> None:
    """The instruction of the op, piece by piece of K where it is a virtual one."""
    dtype = op.lhs.register_type.dtype
    row = emit.target.matrix_instruction(str(op.mma_type), op.location, dtype)
    if emit.dtype(op) != row.result_dtype:
        raise MissingError(f"a product that adds up in {emit.dtype(op)}")
    left, right, acc, *scales = (emit.value(v).name for v in op.operands)
    b, name = emit.b, mnemonic(row, dtype, scaled=bool(scales))
    count = b.data[left].kind.registers // row.issues
    total = Virtual(len(b.words(acc)), name=f"the sums of `{op.op_name}`")
    addend = _addend(emit, b.data[acc], total)
    powers = [b.in_vector(b.words(scale)[0]) for scale in scales]
    for issue in range(row.issues):
        sides = [_side(emit, side, issue, count) for side in (left, right)]
        modifiers = _modifiers(row, dtype, issue if scales else None)
        b.say(name, (total.all,), (*sides, addend, *powers), modifiers)
        addend = total.all
    emit.set(op, b.of(b.data[acc].kind, total.parts()), b.data[acc].kind.registers)


def mnemonic(row: MatrixInstruction, dtype: DType, *, scaled: bool = False) -> str:
    """The instruction of a row of the target; without ``scaled``, scales are 1.

    Raises:
        MissingError: for an element type that has no name here.
    """
    m, n, k = row.shape
    small = row.unit == "scaled_mfma"
    if dtype.name not in (_FORMATS if small else _OPERANDS) or scaled > small:
        raise MissingError(f"products of {dtype}{' with scales' if scaled else ''}")
    kind = "i32" if row.result_dtype.is_integer else row.result_dtype.name
    kind = f"scale_{kind}" if scaled else kind
    operands = "f8f6f4" if small else _OPERANDS[dtype.name]
    return f"v_mfma_{kind}_{m}x{n}x{k // row.issues}_{operands}"


def _modifiers(row: MatrixInstruction, dtype: DType, scale: int | None) -> str:
    """The formats of both operands, and which of four scales a lane takes."""
    if row.unit != "scaled_mfma":
        return ""
    taken = {} if scale is None else {"op_sel": scale & 1, "op_sel_hi": scale >> 1}
    words = [f"{field}:[{bit},{bit},0]" for field, bit in taken.items()]
    words += [f"{field}:{_FORMATS[dtype.name]}" for field in ("cbsz", "blgp")]
    return " ".join(words)


def _addend(emit: Emitter, acc: Datum, total: Virtual) -> Operand:
    """What is added to: a number that stands in all places, or the sums so far.

    The product writes where it adds to, so that a loop carries its sums in place.
    """
    first = acc.words[0]
    if is_inline(first) and set(acc.words) == {first}:
        return first
    emit.b.copy(total.all, emit.b.together([*map(emit.b.in_vector, acc.words)]))
    return total.all


def _side(emit: Emitter, side: str, issue: int, count: int) -> Operand:
    """The registers of an operand that one instruction takes, found once."""

    def found() -> Operand:
        words = part_of(emit.b, emit.b.data[side], issue * count, count).words
        return emit.b.together([*map(emit.b.in_vector, words)])

    return emit.b.kept(("side", side, issue, count), found)
