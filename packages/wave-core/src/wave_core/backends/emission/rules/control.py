"""What loops and conditions give, and symbols that stand for a computed value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.backends import lowers
from wave_core.backends.emission.elements import as_index
from wave_core.backends.emission.instructions import Kind
from wave_core.ops.structure import GetResult
from wave_core.symbols import symbol

if TYPE_CHECKING:
    from wave_core.backends.emission.emitter import Emission
    from wave_core.backends.emission.values import Value
    from wave_core.symbols import Expr
    from wave_core.types import DType


@lowers(GetResult)
def get_result(op: GetResult, emit: Emission) -> None:
    """A result of a loop or a condition."""
    emit.define(op, emit.results(op.source)[op.position])


def name_first(emit: Emission, named: Expr, value: Value, dtype: DType) -> None:
    """Let ``named`` stand for the value of the first active lane, from here on."""
    make, name = emit.instructions, value.name
    if value.registers > 1:
        name = make.extract(value.kind, name, 0)
    name, width = as_index(emit, name, dtype)
    first = emit.uniform(name, Kind(f"i{width}"))
    stand_in = symbol(f"$set:{first[1:]}", nonnegative=named.nonnegative)
    emit.indices.bind(stand_in, first, width, make.level)
    emit.renamed[named] = stand_in
