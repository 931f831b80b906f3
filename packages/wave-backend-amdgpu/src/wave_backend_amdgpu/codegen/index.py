"""Values of MLIR's type ``index``, which memrefs are accessed with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.builder import Builder
    from wave_core.backends.emission.expressions import Expressions
    from wave_core.symbols import Expr, Facts


def index_of(builder: Builder, indices: Expressions, facts: Facts, value: Expr) -> str:
    """The name of an exact value of type ``index``."""
    if value.is_constant:
        return builder.constant(str(value.constant_value), "index")
    width, level = indices.width(value), indices.level(value)
    name = indices.number(value, width)
    low = facts.bounds(value).lo
    cast = "index_cast" if low is None or low < 0 else "index_castui"
    text = f"arith.{cast} {name} : i{width} to index"
    return builder.once(("index", value), lambda: builder.op(text, level), level)
