"""Checks the rules of the IR: structure, types, locations, and claimed facts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.diagnostics import InternalError, WaveError, make_diagnostic
from wave_core.ir.verify_facts import FactRules
from wave_core.ops.control import Conditional, Iterate, Loop, While
from wave_core.ops.structure import GetResult, captures_of
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from wave_core.diagnostics import Diagnostic
    from wave_core.ir.graph import Graph, Region
    from wave_core.ops.base import Op
    from wave_core.targets import Target
    from wave_core.types import Type

MAX_PROBLEMS = 20
"""Problems that are reported; the first ones tell the most."""


def verify(
    graph: Graph,
    *,
    target: Target | None = None,
    pass_name: str | None = None,
    locations: bool = True,
) -> None:
    """Raise where the graph breaks a rule of the IR or lacks a claimed fact.

    Args:
        graph: The graph.
        target: The machine, to check operands of matrix instructions against.
        pass_name: The pass that ran last, for the message.
        locations: Whether every op has to have a location.

    Raises:
        InternalError: one diagnostic for each problem: WV9902 for structure and
            types, WV9903 for facts, WV9907 for locations.
    """
    found = problems(graph, target=target, locations=locations)
    if found:
        raise InternalError(found, pass_name)


def problems(
    graph: Graph, *, target: Target | None = None, locations: bool = True
) -> tuple[Diagnostic, ...]:
    """Everything that is wrong with ``graph``, in program order."""
    verifier = _Verifier(graph, target, locations=locations)
    verifier.region(graph.body)
    return tuple(verifier.found)


class _Verifier:
    def __init__(self, graph: Graph, target: Target | None, *, locations: bool) -> None:
        self.found: list[Diagnostic] = []
        self._graph = graph
        self._locations = locations
        self._fitting: set[tuple[object, ...]] = set()
        self._known_types: dict[Type | None, int] = {}
        self._type_numbers: dict[Op, int] = {}
        self._facts = FactRules(graph, target, self._problem)

    def _problem(self, op: Op, message: str, code: str = "WV9902") -> None:
        if len(self.found) < MAX_PROBLEMS:
            text = f"`{op.op_name}` (#{op.ident}): {message}"
            self.found.append(make_diagnostic(code, text, at=op.location))

    def region(self, region: Region) -> None:
        """Check a region and those within."""
        seen: set[Op] = set()
        self._arguments(region, seen)
        self._facts.enter(region)
        ops = list(region.ops)
        last = ops[-1] if ops else None
        for op in ops:
            self._placed(op, region)
            operands = op.operands
            for value in operands:
                if value not in seen:
                    self._unseen(op, value, region)
            if op.regions:
                self._nested(op)
            elif op.has(Trait.TERMINATOR) and op is not last:
                self._problem(op, "a terminator is not the last op of its region")
            self._type(op, operands)
            self._facts.check(op)
            seen.add(op)
        if last is not None and not last.has(Trait.TERMINATOR):
            self._problem(last, "the region does not end with a terminator")
        if last is None and region.parent is not None:
            self._problem(region.parent, "a region is empty")

    def _placed(self, op: Op, region: Region) -> None:
        if op.owner is not region:
            self._problem(op, "the op does not know the region that it is in")
        if op.location is None and self._locations:
            self._problem(op, "the op has no location", "WV9907")

    def _arguments(self, region: Region, seen: set[Op]) -> None:
        captures = False
        inner = region.parent is not None
        for argument in region.arguments:
            seen.add(argument)
            self._number_type(argument)
            self._placed(argument, region)
            if argument.type != argument.declared:
                self._problem(argument, "the type is not the declared one")
            if captures and argument.role != "capture":
                self._problem(argument, "a capture comes before this argument")
            captures = captures or argument.role == "capture"
            if (argument.role == "parameter") == inner:
                self._problem(argument, f"a {argument.role} does not belong here")
            self._facts.check(argument)

    def _unseen(self, op: Op, value: Op, region: Region) -> None:
        if value.owner is region:
            what = "comes later in the region"
        elif value.owner is None:
            what = "is in no graph"
        else:
            what = "belongs to another region and is not captured"
        self._problem(op, f"the operand `{value.op_name}` (#{value.ident}) {what}")

    def _type(self, op: Op, operands: tuple[Op, ...]) -> None:
        self._number_type(op)
        if not op.attributes and Trait.ELEMENTWISE in op.traits:
            # Nearly all ops: their types follow from their operands' types alone.
            numbers = self._type_numbers
            key = (type(op), numbers[op], *[numbers.get(v) for v in operands])
            if key in self._fitting:
                return
            self._infer(op)
            if not self.found:
                self._fitting.add(key)
        else:
            self._infer(op)

    def _number_type(self, op: Op) -> None:
        number = self._known_types.setdefault(op.type, len(self._known_types))
        self._type_numbers[op] = number

    def _infer(self, op: Op) -> None:
        try:
            expected = op.infer()
        except WaveError as error:
            self._problem(op, error.diagnostics[0].message)
            return
        except (TypeError, ValueError, LookupError, AttributeError, AssertionError):
            # A type rule may trip over operands that it does not expect.
            self._problem(op, "operands and attributes do not fit the op")
            return
        if op.type is not expected and op.type != expected:
            self._problem(op, f"has type {op.type}, its rule says {expected}")
        if isinstance(op, GetResult) and not op.source.regions:
            self._problem(op, f"`{op.source.op_name}` has no results to get")

    def _nested(self, op: Op) -> None:
        for region in op.regions:
            if region.parent is not op:
                self._problem(op, "a region does not know its op")
            self._captures(op, region)
            self.region(region)
        if isinstance(op, Iterate | While):
            self._carried(op)
        elif isinstance(op, Conditional):
            self._results(op, op.else_values, "else_values")

    def _captures(self, op: Op, region: Region) -> None:
        outer = captures_of(op)
        inner = [a for a in region.arguments if a.role == "capture"]
        if len(outer) != len(inner):
            self._problem(
                op, f"captures {len(outer)} values, its region has {len(inner)}"
            )
            return
        for value, argument in zip(outer, inner, strict=True):
            if value.type is not argument.type and value.type != argument.type:
                self._problem(argument, f"captures a value of type {value.type}")

    def _carried(self, op: Loop) -> None:
        carried = [a for a in op.regions[0].arguments if a.role == "carried"]
        if len(carried) != len(op.inits):
            self._problem(
                op, f"has {len(op.inits)} inits and {len(carried)} carried values"
            )
            return
        for value, argument in zip(op.inits, carried, strict=True):
            if value.type != argument.type:
                self._problem(argument, f"starts with a value of type {value.type}")
        if isinstance(op, While) and len(op.symbols) > len(carried):
            self._problem(op, f"names {len(op.symbols)} values, carries {len(carried)}")
        self._results(op, carried, "carried values")

    def _results(self, op: Op, expected: Any, what: str) -> None:
        region: Region = op.regions[0]
        values = () if region.terminator is None else region.terminator.operands
        if len(values) != len(expected):
            self._problem(op, f"yields {len(values)}, has {len(expected)} {what}")
            return
        for value, other in zip(values, expected, strict=True):
            if value.type != other.type:
                self._problem(op, f"yields {value.type} where {what} have {other.type}")
