"""A graph prepared for execution: one step for each op, rules looked up by class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.analysis.operands import row_of_product
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import user_error
from wave_core.ir.facts import PLACEMENT
from wave_core.ir.graph import Graph, Region, walk
from wave_core.ops.control import Iterate, symbols_set_by
from wave_core.ops.matrix import Mma
from wave_core.ops.traits import Trait
from wave_core.symbols import Expr, symbol
from wave_sim_cpu import codes
from wave_sim_cpu.expressions import Axis, Linear
from wave_sim_cpu.lanes.machine import Machine

if TYPE_CHECKING:
    from wave_core.constraints.geometry import Geometry
    from wave_core.ops.base import Op
    from wave_core.targets import Target
    from wave_sim_cpu.options import SimulationOptions
    from wave_sim_cpu.rule_table import RuleTable

Step = Callable[[Machine], None]
"""Executes one op for all waves of a machine."""

GROUP: Expr = symbol("$GROUP")
"""The position of a workgroup among those simulated together."""

_UNIT_PREFIXES = ("$WG", "$WV", "$DD")
_VALUE_PREFIXES = ("$dynamic_val", "$ARG")


@dataclass(frozen=True)
class Storage:
    """How a memory is laid out. Units: elements."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    origin: int
    cells_per_workgroup: int


class Program:
    """The steps of a graph.

    Attributes:
        graph, target, options: What is executed, and how.
        storage: The layout of each memory, by ``ident``.
        geometry: How dimensions spread over the machine.
        body: The steps of the kernel's body.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        options: SimulationOptions,
        storage: Mapping[int, Storage],
        rules: RuleTable[Rule],
        geometry: Geometry,
    ) -> None:
        self.geometry = geometry
        self.graph = graph
        self.target = target
        self.options = options
        self.storage = storage
        self._rules = rules
        self._awaits = any(row.counter for row in target.matrix_instructions)
        ops = list(walk(graph.body))
        self._loop_symbols = {
            op.induction
            for op in ops
            if isinstance(op, Iterate) and op.induction is not None
        }
        self._set_symbols = {s for op in ops for s in symbols_set_by(op)}
        self.body = self.steps(graph.body)

    def kinds(self, found: Expr) -> tuple[Axis, bool]:
        """The axes that a symbol varies with, and whether it changes during the run."""
        if found is LANE:
            return Axis.LANE, False
        if found is REGISTER:
            return Axis.REGISTER, False
        if found in self._set_symbols:
            return Axis.UNIT, True
        if found in self._loop_symbols:
            return Axis.NONE, True
        if found is GROUP or found.name.startswith(_UNIT_PREFIXES):
            return Axis.UNIT, False
        if found.name.startswith(_VALUE_PREFIXES):
            return Axis.VALUE, False
        return Axis.NONE, False

    def linear(self, expr: Expr) -> Linear:
        """An expression prepared for evaluation."""
        return Linear(expr, self.kinds)

    def registers(self, op: Op) -> int:
        """Elements of the value that each lane holds."""
        placement = self.graph.facts.get(PLACEMENT, op)
        return 1 if placement is None else placement.layout.registers

    def steps(self, region: Region) -> tuple[Step, ...]:
        """The steps of a region, its terminator left out."""
        return tuple(
            _counted(op, self._guarded(op, self.rule(op)(op, self)))
            for op in region.ops
            if not op.has(Trait.TERMINATOR)
        )

    def _guarded(self, op: Op, step: Step) -> Step:
        """The step, reporting uses of results of products that were not awaited."""
        if not self._awaits or op.regions:
            return step
        values = op.operands
        if isinstance(op, Mma) and row_of_product(op, self.target).counter:
            # Products of one accumulator are done in order.
            values = [value for value in values if value is not op.acc]
        used = [value.ident for value in values]

        def run(machine: Machine) -> None:
            for ident in used:
                value = machine.values.get(ident)
                if value is not None and value.product >= 0:
                    machine.check_awaited(op, value.product)
            step(machine)

        return run

    def fault_of(self, op: Op, found: object) -> str:
        """The fault of what a rule of a plugin gives for ``op``."""
        del op
        return "" if callable(found) else f"it gives {found!r}, no step"

    def rule(self, op: Op) -> Rule:
        """The rule of an op's class, or of the nearest class above it.

        Raises:
            UserError: WV0912 for an op that lanes cannot execute.
        """
        found = self._rules.find(op)
        if found is None:
            raise not_lowered(op, *self._rules.reasons(op))
        return found


Rule = Callable[["Op", Program], Step]
"""Prepares the step of one op."""


def not_lowered(op: Op, *notes: str) -> Exception:
    """The error that an op is not in the form that lanes execute."""
    return user_error(
        codes.UNSUPPORTED_OP,
        f"the lane simulator cannot execute `{op.op_name}` as it is here",
        at=op.location,
        notes=notes,
        help=(
            "it executes expanded graphs; run more of the pipeline first",
            'a plugin\'s op needs a rule: LoweringSpec("sim", ...)',
        ),
    )


def _counted(op: Op, step: Step) -> Step:
    def run(machine: Machine) -> None:
        machine.journal.count_step(op, machine.units.count * machine.lanes)
        step(machine)

    return run


def run_steps(steps: tuple[Step, ...], machine: Machine) -> None:
    """Execute steps in order."""
    for step in steps:
        step(machine)
