"""The pass that unrolls wave-level ops to pieces of instruction size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.builtin.distribute.rules import spreads
from wave_core.builtin.expand.access import expand_read, expand_write
from wave_core.builtin.expand.control import (
    expand_conditional,
    expand_iterate,
    expand_result,
    expand_yield,
)
from wave_core.builtin.expand.expander import Expander
from wave_core.builtin.expand.matrix import expand_mma
from wave_core.builtin.expand.reduce import expand_reduce
from wave_core.builtin.expand.values import (
    expand_alias,
    expand_elementwise,
    expand_relayout,
    expand_self_index,
    expand_splat,
    rebuilt,
)
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import user_error
from wave_core.ops.base import Op
from wave_core.ops.constant import Scalar, SelfIndex, Splat
from wave_core.ops.control import Conditional, Iterate, SetSymbol
from wave_core.ops.debug import Breakpoint
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.reduce import Reduce
from wave_core.ops.relayout import Relayout
from wave_core.ops.shape import Broadcast, Permute
from wave_core.ops.structure import GetResult, Yield
from wave_core.ops.traits import Trait
from wave_core.passes import Pass
from wave_core.symbols import as_expr

if TYPE_CHECKING:
    from collections.abc import Mapping

    from wave_core.builtin.expand.expander import Rule
    from wave_core.builtin.expand.scope import Scope
    from wave_core.ir import Graph
    from wave_core.passes import PassContext


@dataclass(frozen=True)
class ExpandTiles(Pass):
    """Replace every wave-level op by one op for each piece of its tile.

    Needs placements. Afterwards every register value is one vector in each lane,
    every access has coordinates and a mask, and permutations, broadcasts and index
    ops are gone. Elements that do not exist are masked at accesses, reductions and
    contractions; a mask that is proved true is left out.
    """

    def apply(self, graph: Graph, context: PassContext) -> bool:
        """Build the expanded body and put it in place of the old one."""
        geometry = Geometry(
            graph.constraints, graph.bindings, context.target, graph.location
        )
        old_facts = graph.facts
        body = Expander(graph, geometry, context.target, expansion_rules()).run()
        for region_op in graph.walk():
            old_facts.erased(region_op)
        for parameter in graph.parameters:
            old_facts.erased(parameter)
        graph.body = body
        return True


def expansion_rules() -> Mapping[type[Op], Rule]:
    """How each class of ops expands; a class without a rule takes its base's."""
    return {
        Op: expand_by_trait,
        Splat: expand_splat,
        Scalar: expand_elementwise,
        SelfIndex: expand_self_index,
        Read: expand_read,
        Write: expand_write,
        Mma: expand_mma,
        Reduce: expand_reduce,
        Permute: expand_alias,
        Broadcast: expand_alias,
        Relayout: expand_relayout,
        Iterate: expand_iterate,
        Conditional: expand_conditional,
        GetResult: expand_result,
        Yield: expand_yield,
        Allocate: expand_allocate,
        SetSymbol: expand_set_symbol,
        Breakpoint: expand_breakpoint,
    }


def expand_by_trait(expander: Expander, op: Op, scope: Scope) -> None:
    """Values go piece by piece; what has no value (a barrier) stays one op.

    Raises:
        UserError: WV0601 for an op whose class says neither.
    """
    if op.type is not None and spreads(op):
        expand_elementwise(expander, op, scope)
    elif op.type is None and op.has(Trait.ORDERED) and not op.operands:
        expander.emit(op, rebuilt(op, ()), scope)
    else:
        raise user_error(
            "WV0601",
            f"nothing says how `{op.op_name}` is cut into pieces for the lanes",
            at=op.location,
            help=(
                "if it works within pieces, its class has Trait.FOLLOWS_OPERANDS",
                "else a pass lowers it before the phase `distribute`",
            ),
        )


def expand_allocate(expander: Expander, op: Op, scope: Scope) -> None:  # noqa: ARG001
    """A buffer stays one buffer, of static extents."""
    assert isinstance(op, Allocate), "registered for allocations"
    extents = tuple(expander.geometry.bind(as_expr(e)) for e in op.distributed_shape)
    new = Allocate(op.shape, extents, op.dtype, op.space, op.padding, op.offset)
    expander.define_memory(op, expander.hoist(op, new))


def expand_set_symbol(expander: Expander, op: Op, scope: Scope) -> None:
    """The value is one register."""
    assert isinstance(op, SetSymbol), "registered for set_symbol"
    piece = expander.pieces(op.value, scope)[0]
    expander.emit(op, SetSymbol(piece, op.symbol), scope)


def expand_breakpoint(expander: Expander, op: Op, scope: Scope) -> None:
    """All pieces, each under the label of its value."""
    assert isinstance(op, Breakpoint), "registered for breakpoints"
    values: list[Op] = []
    labels: list[str] = []
    for value, label in zip(op.values, op.labels, strict=True):
        pieces = expander.pieces(value, scope)
        values.extend(pieces)
        labels.extend([label] * len(pieces))
    expander.emit(op, Breakpoint(tuple(values), tuple(labels)), scope)
