"""Matrix products as machine instructions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.emitter import unsupported
from wave_backend_amdgpu.codegen.rules.shape import sliced
from wave_backend_amdgpu.codegen.types import vector
from wave_core.backends import lowers
from wave_core.ops.matrix import Mma

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.emitter import Emitter
    from wave_core.targets import MatrixInstruction

_SCALE = "vector<4xf8E8M0FNU>"

_SCALES = {
    "scaled_mfma": ("[0]", ""),
    "scaled_wmma": ("", " a_first_scale_lane = 0 b_first_scale_lane = 0"),
}
"""By unit: which of four scales a lane uses, and which lanes hold them."""


@lowers(Mma)
def mma(op: Mma, emit: Emitter) -> None:
    """The instruction of the op, piece by piece of K where it is a virtual one."""
    row = emit.target.matrix_instruction(str(op.mma_type), op.location)
    lhs, rhs, acc = (emit.value(v) for v in (op.lhs, op.rhs, op.acc))
    if emit.dtype(op) != row.result_dtype:
        why = f"`{row.name}` adds up in {row.result_dtype}, not {emit.dtype(op)}"
        raise unsupported(op, why, f"accumulate in {row.result_dtype}")
    total, count = acc.name, lhs.registers // row.issues
    kinds = [vector(side.item, count) for side in (lhs, rhs)]
    for issue in range(row.issues):
        pieces = [sliced(emit, side, issue * count, count) for side in (lhs, rhs)]
        text = _product(emit, row, [*pieces, total], [*kinds, acc.type])
        total = emit.builder.op(text)
    emit.set(op, total)


def _product(
    emit: Emitter, row: MatrixInstruction, names: list[str], kinds: list[str]
) -> str:
    """One instruction; scales are all 1, which gives the plain product."""
    m, n, k = row.shape
    head = f"amdgpu.{row.unit} {m}x{n}x{k // row.issues}"
    lhs, rhs, total = names
    if row.unit not in _SCALES:
        return f"{head} {lhs} * {rhs} + {total} : {', '.join(kinds)}"
    one = emit.builder.constant("dense<1.0>", _SCALE)
    pick, lanes = _SCALES[row.unit]
    return (
        f"{head} ({one}{pick} * {lhs}) * ({one}{pick} * {rhs}) + {total}{lanes} : "
        f"{_SCALE}, {kinds[0]}, {_SCALE}, {kinds[1]}, {kinds[2]}"
    )
