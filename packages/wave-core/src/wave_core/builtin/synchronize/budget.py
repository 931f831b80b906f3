"""LDS buffers must fit the machine."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING
from typing import cast

from wave_core.diagnostics import user_error
from wave_core.ops.memory import Allocate
from wave_core.passes import Pass

if TYPE_CHECKING:
    from wave_core.ir import Graph
    from wave_core.passes import PassContext
    from wave_core.symbols import Expr
    from wave_core.types import MemoryType


@dataclass(frozen=True)
class CheckLdsBudget(Pass):
    """Refuse a kernel whose LDS buffers do not fit, with the numbers.

    Needs expanded tiles: their allocations are static. Changes nothing.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Add up the buffers."""
        buffers = [op for op in graph.walk() if isinstance(op, Allocate)]
        sizes = [(_bytes(op), op) for op in buffers]
        used = sum(size for size, _ in sizes)
        budget = context.target.memory.lds_bytes
        context.count("lds_bytes", used)
        if used > budget:
            largest = sorted(sizes, key=lambda row: (-row[0], row[1].ident))
            raise user_error(
                "WV0406",
                f"the kernel needs {used} bytes of LDS, target "
                f"`{context.target.name}` has {budget}",
                at=largest[0][1].location,
                label=f"the largest buffer: {largest[0][0]} bytes",
                secondary=[(op.location, f"{size} bytes") for size, op in largest[1:4]],
                help=("use smaller tiles", "let buffers share memory"),
            )
        return False


def _bytes(op: Allocate) -> int:
    """Bytes of one buffer.

    Raises:
        UserError: WV0407 for an extent that is not known at compile time.
    """
    memory = cast("MemoryType", op.type)
    return prod(_static(op, e) for e in memory.storage_shape) * memory.dtype.bytes


def _static(op: Allocate, extent: Expr) -> int:
    if not extent.is_constant:
        raise user_error(
            "WV0407",
            f"an LDS buffer has an extent `{extent}` that is not known at compile time",
            at=op.location,
            help=("bind its symbols in WaveCompileOptions(subs={...})",),
        )
    return extent.constant_value
