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
    from wave_backend_amdgpu.codegen.types import Value
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
    total = acc.name
    count = lhs.registers // row.issues
    for issue in range(row.issues):
        pieces = [sliced(emit, side, issue * count, count) for side in (lhs, rhs)]
        total = _ISSUES[row.unit](emit, row, pieces, (lhs, rhs, acc), total)
    emit.set(op, total)


def _kinds(row: MatrixInstruction, values: tuple[Value, Value, Value]) -> str:
    lhs, rhs, acc = values
    count = lhs.registers // row.issues
    sides = [vector(side.item, count) for side in (lhs, rhs)]
    return ", ".join([*sides, acc.type])


def _shape(row: MatrixInstruction) -> str:
    m, n, k = row.shape
    return f"{m}x{n}x{k // row.issues}"


def _plain(
    emit: Emitter,
    row: MatrixInstruction,
    pieces: list[str],
    values: tuple[Value, Value, Value],
    total: str,
) -> str:
    lhs, rhs = pieces
    return emit.builder.op(
        f"amdgpu.{row.unit} {_shape(row)} {lhs} * {rhs} + {total} : "
        f"{_kinds(row, values)}"
    )


def _scaled(
    emit: Emitter,
    row: MatrixInstruction,
    pieces: list[str],
    values: tuple[Value, Value, Value],
    total: str,
) -> str:
    """A scaled product with all scales 1, which is the plain product."""
    one = emit.builder.constant("dense<1.0>", _SCALE)
    lhs, rhs = pieces
    kinds = [value.type for value in values]
    pick, lanes = _SCALES[row.unit]
    return emit.builder.op(
        f"amdgpu.{row.unit} {_shape(row)} ({one}{pick} * {lhs}) * ({one}{pick} * {rhs})"
        f" + {total}{lanes} : {_SCALE}, {kinds[0]}, {_SCALE}, {kinds[1]}, {kinds[2]}"
    )


_ISSUES = {
    "mfma": _plain,
    "wmma": _plain,
    "scaled_mfma": _scaled,
    "scaled_wmma": _scaled,
}
"""By the unit of the row."""
