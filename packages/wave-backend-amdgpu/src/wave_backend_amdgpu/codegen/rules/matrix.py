"""Matrix products as machine instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.emitter import Emitter, unsupported
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.backends.emission import Kind, Value, sliced
from wave_core.backends.emission.values import recast
from wave_core.ir import region_of, resolve
from wave_core.ops.constant import Splat
from wave_core.ops.control import Iterate, While
from wave_core.ops.matrix import Mma
from wave_core.ops.structure import Argument
from wave_core.ops.traits import EffectKind

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.targets import MatrixInstruction
    from wave_core.types import DType

_WORD = 32
"""Bits of a register."""

_ONE = "f8E8M0FNU"
_SCALE = f"vector<4x{_ONE}>"

_READING = (EffectKind.READ, EffectKind.READ_WRITE)

_SCALES = {
    "scaled_mfma": ("[{}]", ""),
    "scaled_wmma": ("", " a_first_scale_lane = 0 b_first_scale_lane = 0"),
}
"""By unit: which of four scales a lane uses, and which lanes hold them."""

_WRITES_ITS_SUM = frozenset({"wmma", "scaled_wmma"})
"""Units whose instruction may write the registers that it adds to."""


@lowers(Mma)
def mma(op: Mma, emit: Emitter) -> None:
    """The instruction of the op, piece by piece of K where it is a virtual one."""
    dtype = op.lhs.register_type.dtype
    row = emit.target.matrix_instruction(str(op.mma_type), op.location, dtype)
    lhs, rhs, acc, *scales = (emit.value(v) for v in op.operands)
    known = bool(scales) and all(map(_is_known, op.operands[3:]))
    if known and row.issues == 1:
        scales = [_beside_ones(emit, scale) for scale in scales]
    if emit.dtype(op) != row.result_dtype:
        why = f"`{row.name}` adds up in {row.result_dtype}, not {emit.dtype(op)}"
        raise unsupported(op, why, f"accumulate in {row.result_dtype}")
    total, count = acc.name, lhs.registers // row.issues
    if row.unit in _WRITES_ITS_SUM and _may_be_uniform(op.acc):
        total = _in_vector_registers(emit, acc)
    kinds = [vector(side.item, count) for side in (lhs, rhs)]
    kinds.append(vector(*acc.kind))
    scales = [_of_four(emit, scale, known=known) for scale in scales]
    for issue in range(row.issues):
        pieces = [_piece(emit, side, dtype, issue, count) for side in (lhs, rhs)]
        text = _product(emit, row, [*pieces, total], kinds, scales, issue)
        total = emit.builder.op(text)
    emit.set(op, total)


def _may_be_uniform(value: Op) -> bool:
    """Whether one number, known at the launch, may stand in all registers."""
    return not isinstance(resolve(value), Argument | Mma | Splat)


def _in_vector_registers(emit: Emitter, value: Value) -> str:
    """The value, which LLVM may not keep in scalar registers.

    Where two products add to a value in scalar registers, LLVM copies it for one of
    them, and lets the other add to registers that nothing has written.
    """
    asm = 'llvm.inline_asm asm_dialect = att "", "=v,0"'
    kind = vector(*value.kind)
    return emit.builder.op(f"{asm} {value.name} : ({kind}) -> {kind}")


def _product(
    emit: Emitter,
    row: MatrixInstruction,
    names: list[str],
    kinds: list[str],
    scales: list[Value],
    issue: int,
) -> str:
    """One of its instructions; where the op has no scales they are 1."""
    m, n, k = row.shape
    head = f"amdgpu.{row.unit} {m}x{n}x{k // row.issues}"
    lhs, rhs, total = names
    if row.unit not in _SCALES:
        return f"{head} {lhs} * {rhs} + {total} : {', '.join(kinds)}"
    if not scales:
        scales = [Value(_ones(emit), _ONE, 4)] * 2
    pick, lanes = _SCALES[row.unit]
    pick = pick.format(issue if row.issues > 1 else 0)
    by_row, by_column = scales
    return (
        f"{head} ({by_row.name}{pick} * {lhs}) * ({by_column.name}{pick} * {rhs}) "
        f"+ {total}{lanes} : {vector(*by_row.kind)}, {kinds[0]}, "
        f"{vector(*by_column.kind)}, {kinds[1]}, {kinds[2]}"
    )


def _piece(emit: Emitter, side: Value, dtype: DType, issue: int, count: int) -> str:
    """The registers of an operand that one instruction takes.

    Elements below a byte are taken by words: LLVM moves each of them by itself else.
    """
    if count == side.registers or not dtype.is_packed:
        return sliced(emit, side, issue * count, count)
    own = count * dtype.bits // _WORD
    words = recast(emit, side, "i32", own * side.registers // count)
    taken = sliced(emit, words, issue * own, own)
    return recast(emit, Value(taken, "i32", own), side.item, count).name


def _of_four(emit: Emitter, scale: Value, *, known: bool) -> Value:
    """Scales of several instructions, in a word of four from which each picks its own.

    See `_beside_ones` for what stands beside them where they are ``known``.
    """
    count = scale.registers
    if count in (1, 4):
        return scale
    rest = _ones(emit) if known else emit.builder.op(f"ub.poison : {_SCALE}")
    four = Kind(scale.item, 4)
    name = emit.instructions.insert(four, rest, scale.name, 0, count)
    return Value(name, *four)


def _is_known(scale: Op) -> bool:
    """Whether a compiler may find out a value: it follows from no memory."""
    seen: set[Op] = set()
    left = [resolve(scale)]
    while left:
        op = left.pop()
        if any(effect.kind in _READING for effect in op.effects()):
            return False
        seen.add(op)
        left += {resolve(each) for each in _sources(op)} - seen
    return True


def _sources(op: Op) -> list[Op]:
    """What a value is computed from; of a carried one its initial value."""
    if isinstance(op, Argument) and op.role == "carried":
        body = region_of(op)
        assert isinstance(body.parent, Iterate | While), "loops carry values"
        return [body.parent.inits[body.arguments.index(op)]]
    return list(op.operands)


def _beside_ones(emit: Emitter, scale: Value) -> Value:
    """The scale that counts, and ones in the three places beside it.

    LLVM takes two constants of 0 for a product without scales, but the byte 0 means 2
    to the power of -127. With ones beside it the four bytes are no 0.
    """
    one, builder = scale.name, emit.builder
    if scale.registers > 1:
        one = builder.op(
            f"vector.extract {one}[0] : {scale.item} from {vector(*scale.kind)}"
        )
    name = builder.op(
        f"vector.insert {one}, {_ones(emit)}[0] : {scale.item} into {_SCALE}"
    )
    return Value(name, scale.item, 4)


def _ones(emit: Emitter) -> str:
    return emit.builder.constant("dense<1.0>", _SCALE)
