"""The state of one code generation: values, memories, symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_backend_amdgpu.codegen.builder import Builder
from wave_backend_amdgpu.codegen.expressions import Expressions
from wave_backend_amdgpu.codegen.memories import copies_are_marked
from wave_backend_amdgpu.codegen.types import Value, element, number, vector
from wave_core.diagnostics import internal_error, user_error
from wave_core.ir import PLACEMENT, Graph, Region, resolve
from wave_core.ops.sync import SharedMemoryBarrier
from wave_core.ops.traits import Trait
from wave_core.types import RegisterType

if TYPE_CHECKING:
    from wave_backend_amdgpu.codegen.interface import Interface
    from wave_backend_amdgpu.codegen.memories import Memory
    from wave_backend_amdgpu.codegen.options import CodeOptions
    from wave_core.backends import LoweringTable
    from wave_core.ops.base import Op
    from wave_core.symbols import Expr, Facts
    from wave_core.targets import Target
    from wave_core.types import DType

BACKEND = "amdgpu"


class Emitter:
    """The state that lowering rules work with.

    Attributes:
        graph: The lowered kernel.
        target: The machine.
        options: The knobs.
        interface: How arguments are read.
        builder: Where text goes.
        indices: Emits index expressions.
        facts: What is known about symbols.
        memories: By the key of the defining op.
        marks_copies: Whether copies to LDS are waited for by marks.
        leaves_copies: Whether some barrier leaves groups of copies on their way.
        probes: What the probes of the code look at, in order of their addresses.
        renamed: Symbols that `SetSymbol` gave a value, with what stands for it now.
    """

    def __init__(
        self,
        graph: Graph,
        target: Target,
        options: CodeOptions,
        facts: Facts,
        table: LoweringTable,
        interface: Interface,
    ) -> None:
        self.graph = graph
        self.target = target
        self.options = options
        self.interface = interface
        self.facts = facts
        self.builder = Builder()
        self.indices = Expressions(self.builder, facts)
        self.memories: dict[int, Memory] = {}
        self.marks_copies = copies_are_marked(graph)
        self.leaves_copies = any(
            isinstance(op, SharedMemoryBarrier) and op.groups_left
            for op in graph.walk()
        )
        self.probes: list[str] = []
        self.renamed: dict[Expr, Expr] = {}
        self._table = table
        self._values: dict[int, Value] = {}
        self._results: dict[int, tuple[Value, ...]] = {}

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
        wanted = vector(element(self.dtype(op)), self.registers(op))
        if value.item == element(self.dtype(op)) and value.registers == 1:
            return ""
        have = vector(value.item, value.registers)
        return "" if have == wanted else f"it records {have}, not {wanted}"

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
        kind = vector(value.item, registers)
        return self.builder.op(
            f"vector.broadcast {value.name} : {value.item} to {kind}"
        )

    def constant(self, value: float, dtype: DType, registers: int = 1) -> str:
        """The name of a constant in every element."""
        text = number(value, dtype)
        kind = vector(element(dtype), registers)
        return self.builder.constant(text if registers == 1 else f"dense<{text}>", kind)

    # ---- symbols

    def expr(self, value: Expr) -> Expr:
        """``value`` with bound and renamed symbols replaced."""
        value = value.subs(self.graph.bindings)
        return value.subs(self.renamed) if self.renamed else value

    # ---- regions

    def lower(self, region: Region) -> None:
        """Lower all ops of a region but its terminator."""
        for op in region.ops:
            if op.has(Trait.TERMINATOR):
                continue
            self.builder.locate(op.location)
            self._table.select(op)(op, self)

    def yielded(self, region: Region) -> tuple[Value, ...]:
        """The values that a region yields."""
        terminator = region.terminator
        assert terminator is not None, "a region ends with a yield"
        return tuple([self.value(op) for op in terminator.operands])


def unsupported(op: Op, why: str, *help_text: str) -> Exception:
    """The error that an op cannot be lowered in this form."""
    return user_error(
        "WV0601",
        f"{BACKEND} cannot lower `{op.op_name}`: {why}",
        at=op.location,
        help=help_text,
    )
