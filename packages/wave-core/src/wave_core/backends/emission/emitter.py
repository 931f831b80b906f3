"""The state of one code generation that is no backend's own: values and symbols."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

from wave_core.backends.emission.expressions import Expressions
from wave_core.backends.emission.instructions import Instructions, Kind
from wave_core.backends.emission.values import Value, element
from wave_core.constraints.geometry import Geometry
from wave_core.diagnostics import internal_error, user_error
from wave_core.ir import PLACEMENT, Graph, Region, resolve
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_core.backends import LoweringTable
    from wave_core.constraints import FastMath
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_core.types import DType


class Emission(ABC):
    """What rules work with; the emitter of a backend is one and adds its own.

    Attributes:
        graph: The lowered kernel.
        target: The machine.
        facts: What is known about symbols.
        instructions: Prints instructions.
        indices: Emits index expressions.
        fast_math: How floats may be reordered and approximated; ``None`` for not.
        renamed: Symbols that `SetSymbol` gave a value, with what stands for it now.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        facts: Facts,
        table: LoweringTable,
        instructions: Instructions,
        *,
        fast_math: FastMath | None = None,
    ) -> None:
        self.graph = graph
        self.target = target
        self.facts = facts
        self.instructions = instructions
        self.indices = Expressions(instructions, facts)
        self.fast_math = fast_math
        self.renamed: dict[Expr, Expr] = {}
        self._table = table
        self._values: dict[int, Value] = {}
        self._results: dict[int, tuple[Value, ...]] = {}

    # ---- the machine

    @cached_property
    def geometry(self) -> Geometry:
        """How the kernel spreads over the machine."""
        graph = self.graph
        return Geometry(graph.constraints, graph.bindings, self.target, graph.location)

    @property
    def keeps_denormals(self) -> bool:
        """Whether products of f32 take numbers around 0 as what they are."""
        return False

    def converts(self, dtype: DType) -> bool:
        """Whether ``extf`` and ``truncf`` take a float of 8 bits; else bits do."""
        del dtype
        return True

    @abstractmethod
    def word(self, position: int) -> str:
        """A 32-bit word that comes with the launch, as ``i32``."""

    @abstractmethod
    def thread(self, threads: int) -> str:
        """The number of the thread in its workgroup of ``threads``, as ``i32``."""

    @abstractmethod
    def workgroup(self, axis: int) -> str:
        """A coordinate of the workgroup, 0 to 2, as the hardware counts: ``i32``."""

    @abstractmethod
    def uniform(self, name: str, kind: Kind) -> str:
        """The scalar of the first active lane of the wave, ``i32`` or ``i64``."""

    # ---- values

    def value(self, op: Op) -> Value:
        """The value that ``op`` defines, seen through captures."""
        found = self._values.get(resolve(op).ident)
        if found is None:
            raise internal_error(
                "WV9905", f"`{op.op_name}` has no value here", at=op.location
            )
        return found

    def define(self, op: Op, value: Value) -> Value:
        """Record the value of ``op``."""
        self._values[op.ident] = value
        return value

    def fault_of(self, op: Op, found: object) -> str:
        """The fault of the value that a rule has recorded, giving ``found``."""
        del found
        if not isinstance(op.type, RegisterType):
            return ""
        value = self._values.get(op.ident)
        if value is None:
            return "it records no value"
        wanted = Kind(element(self.dtype(op)), self.registers(op))
        if value.kind in (wanted, Kind(wanted.item)):
            return ""
        return f"it records {_shown(value.kind)}, not {_shown(wanted)}"

    def set(self, op: Op, name: str, registers: int | None = None) -> Value:
        """Record a value of the element type of ``op``."""
        count = self.registers(op) if registers is None else registers
        return self.define(op, Value(name, element(self.dtype(op)), count))

    def results(self, op: Op) -> tuple[Value, ...]:
        """The results of an op with a region."""
        return self._results[op.ident]

    def set_results(self, op: Op, values: tuple[Value, ...]) -> None:
        """Record what an op with a region gives."""
        self._results[op.ident] = values

    def dtype(self, op: Op) -> DType:
        """The element type of a register value."""
        return op.register_type.dtype

    def registers(self, op: Op) -> int:
        """Elements of the value that each lane holds."""
        placement = self.graph.facts.get(PLACEMENT, resolve(op))
        return 1 if placement is None else placement.layout.registers

    def spread(self, value: Value, registers: int) -> str:
        """The name of the value with ``registers`` elements; one is repeated."""
        if value.registers == registers:
            return value.name
        assert value.registers == 1, "operands have as many registers, or one"
        return self.instructions.broadcast(Kind(value.item, registers), value.name)

    def constant(self, value: float, dtype: DType, registers: int = 1) -> str:
        """The name of a constant in every element."""
        return self.instructions.constant(value, dtype, registers)

    # ---- symbols

    def learn(self, named: Expr, low: int, high: int) -> None:
        """Know the range of a symbol from here on; nothing has used it yet."""
        self.facts = self.indices.facts = self.facts.with_range(named, low, high)

    def expr(self, value: Expr) -> Expr:
        """``value`` with bound and renamed symbols replaced."""
        value = value.subs(self.graph.bindings)
        return value.subs(self.renamed) if self.renamed else value

    # ---- regions

    def lower(self, region: Region) -> None:
        """Lower all ops of a region but its terminator."""
        for op in region.ops:
            self.lower_op(op)

    def lower_op(self, op: Op) -> None:
        """Lower one op, unless it ends its region."""
        if not op.has(Trait.TERMINATOR):
            self.instructions.locate(op.location)
            self._table.select(op)(op, self)

    def yielded(self, region: Region) -> tuple[Value, ...]:
        """The values that a region yields."""
        terminator = region.terminator
        assert terminator is not None, "a region ends with a yield"
        return tuple([self.value(op) for op in terminator.operands])

    # ---- refusals

    def unsupported(self, op: Op, why: str, *help_text: str) -> Exception:
        """The error that an op cannot be lowered in this form."""
        return unsupported(self._table.backend, op, why, *help_text)


def _shown(kind: Kind) -> str:
    return kind.item if kind.registers == 1 else f"{kind.registers} x {kind.item}"


def unsupported(backend: str, op: Op, why: str, *help_text: str) -> Exception:
    """The error that a backend cannot lower an op in this form."""
    return user_error(
        "WV0601",
        f"{backend} cannot lower `{op.op_name}`: {why}",
        at=op.location,
        help=help_text,
    )
