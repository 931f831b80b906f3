"""The graph of a kernel: regions of ops, stored in torch.fx graphs.

Nothing outside this package and ``trace`` knows about torch.fx. A region is
isolated: a value of an enclosing region is used through an explicit capture, an
operand of the op that owns the region.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from torch import fx

from wave_core.ir.clone import fill_region
from wave_core.ir.facts import FactTables
from wave_core.ir.printer import print_graph
from wave_core.ir.verify import verify
from wave_core.ops.structure import Argument, captured_by, region_of
from wave_core.ops.traits import Trait

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from wave_core.constraints import Constraint
    from wave_core.diagnostics import Location
    from wave_core.ops.base import Op, Slot
    from wave_core.symbols import Expr
    from wave_core.types import Log, Type


class Region:
    """A list of ops with arguments and a terminator."""

    def __init__(self, graph: Graph, parent: Op | None = None) -> None:
        self.graph = graph
        self.parent = parent
        """The op that owns the region; ``None`` for the kernel's body."""
        self.storage = fx.Graph()
        self._arguments: list[Argument] = []
        self._listed: tuple[int, list[Op]] = -1, []  # the ops, as of an edit

    @property
    def arguments(self) -> tuple[Argument, ...]:
        """The region's arguments, carried values before captures."""
        return tuple(self._arguments)

    def from_the_last(self, argument: Argument) -> int:
        """The place of an argument, from -1 for the last one down."""
        return self._arguments.index(argument) - len(self._arguments)

    @property
    def ops(self) -> Iterator[Op]:
        """The ops in program order, arguments left out; safe against edits."""
        edits, found = self._listed
        if edits != self.graph.edits:
            nodes = self.storage.nodes
            found = [node.meta["op"] for node in nodes if node.op != "placeholder"]
            self._listed = self.graph.edits, found
        return iter(found)

    @property
    def around(self) -> Iterator[Op]:
        """The ops whose regions this one stands in, from the inside out."""
        parent = self.parent
        while parent is not None:
            yield parent
            parent = region_of(parent).parent

    @property
    def terminator(self) -> Op | None:
        """The op that ends the region, if it is there yet."""
        node = next(iter(reversed(self.storage.nodes)), None)
        op: Op | None = None if node is None else node.meta["op"]
        return op if op is not None and op.has(Trait.TERMINATOR) else None

    @property
    def end(self) -> Op:
        """The op that ends a region which is complete."""
        found = self.terminator
        assert found is not None, "a region ends with a yield"
        return found

    def add_argument(
        self, role: str, label: str, declared: Type, location: Location | None
    ) -> Argument:
        """Append an argument; captures go after all carried values."""
        argument = Argument(role, label, declared)
        argument.location = location
        return self.attach_argument(argument)

    def attach_argument(self, argument: Argument) -> Argument:
        """Add an argument after those of its kind, carried ones before captures."""
        position = len(self._arguments)
        if argument.role != "capture":
            while position and self._arguments[position - 1].role == "capture":
                position -= 1
        with self._argument_place(position):
            node = self.storage.placeholder(f"a{self.graph.last_ident + 1}")
        self._attach(argument, node)
        self._arguments.insert(position, argument)
        return argument

    def _argument_place(self, position: int) -> AbstractContextManager[None]:
        if position:
            before = self._arguments[position - 1]
            return self.storage.inserting_after(node_of(before))
        return self.storage.inserting_before(next(iter(self.storage.nodes), None))

    def remove_argument(self, position: int) -> None:
        """Drop an argument that has no users."""
        argument = self._arguments.pop(position)
        self.graph.facts.erased(argument)
        self.graph.edits += 1
        self.storage.erase_node(node_of(argument))

    def append(self, op: Op) -> Op:
        """Add ``op`` at the end."""
        return self._insert(op)

    def prepend(self, op: Op) -> Op:
        """Add ``op`` before all others."""
        first = next(self.ops, None)
        return self.append(op) if first is None else self.insert_before(first, op)

    def insert_before(self, anchor: Op, op: Op) -> Op:
        """Add ``op`` just before ``anchor``."""
        with self.storage.inserting_before(node_of(anchor)):
            return self._insert(op)

    def insert_after(self, anchor: Op, op: Op) -> Op:
        """Add ``op`` just after ``anchor``."""
        with self.storage.inserting_after(node_of(anchor)):
            return self._insert(op)

    def _insert(self, op: Op) -> Op:
        args = to_nodes(op.slots)
        # A name and no arguments: fx would derive the one from the class and search
        # the others for symbolic integers, which takes twice as long as the rest.
        node = self.storage.create_node(
            "call_function", type(op), name=f"v{self.graph.last_ident + 1}"
        )
        node.args = args
        self._attach(op, node)
        return op

    def _attach(self, op: Op, node: fx.Node) -> None:
        node.meta["op"] = op
        op.node = node  # pyright: ignore[reportAttributeAccessIssue] - fx.Node is a NodeLike
        op.owner = self
        self.graph.edits += 1
        self.graph.last_ident += 1
        op.ident = self.graph.last_ident
        for nested in op.regions:
            nested.parent = op
        if op.type is None:
            op.type = op.infer()


def node_of(op: Op) -> fx.Node:
    """The storage of an op that is in a graph."""
    assert isinstance(op.node, fx.Node), "the op is in no graph"
    return op.node


def to_nodes(slots: Sequence[Slot]) -> tuple[Any, ...]:
    """The storage nodes of operand slots: one value, tuple or ``None`` each."""
    return tuple([_to_node(value) for value in slots])


def _to_node(value: Slot) -> Any:
    if isinstance(value, tuple):
        return tuple([op.node for op in value])
    return None if value is None else value.node


@dataclass(eq=False)
class Graph:
    """A whole kernel in the IR.

    Attributes:
        name: The kernel's name.
        target: The name of the target it is compiled for.
        bindings: Values of symbols that are known at compile time.
        dynamic_symbols: Symbols whose values come with the launch.
        constraints: How dimensions spread over the machine.
        facts_present: Names of the facts that hold for the whole graph.
        logs: The parameters that a launch allocates, behind the author's.
        gives_way: Whether there are other ways to compile it, with fewer registers:
            another schedule of a loop, or another choice.
        spills_allowed: Registers that it may spill even so.
    """

    name: str
    target: str
    bindings: dict[Expr, int] = field(default_factory=dict[Any, int])
    constraints: tuple[Constraint, ...] = ()
    dynamic_symbols: tuple[Expr, ...] = ()
    facts_present: set[str] = field(default_factory=set[str])
    location: Location | None = None
    logs: tuple[Log, ...] = ()
    gives_way: bool = False
    spills_allowed: int = 0

    def __post_init__(self) -> None:
        self.facts = FactTables()
        self.edits = 0
        """How often ops were added, removed, moved or given other operands."""
        self.last_ident = 0
        """The key that was given out last."""
        self.body = Region(self)

    @property
    def version(self) -> tuple[int, int]:
        """A number that every change of an op or a row of facts raises."""
        return self.edits, self.facts.edits

    def region(self) -> Region:
        """A new region, to be given to an op of this graph."""
        return Region(self)

    @property
    def parameters(self) -> tuple[Argument, ...]:
        """The kernel's parameters."""
        return self.body.arguments

    def walk(self) -> Iterator[Op]:
        """All ops, an op before those of its regions, in program order."""
        return walk(self.body)

    def verify(self) -> None:
        """Raise where the graph breaks a rule of the IR or lacks a claimed fact.

        Raises:
            InternalError: WV9902, WV9903, WV9907, a diagnostic for each problem.
        """
        verify(self)

    def clone(self) -> Graph:
        """An independent copy with the same facts and locations."""
        copy = Graph(
            self.name,
            self.target,
            bindings=dict(self.bindings),
            constraints=self.constraints,
            dynamic_symbols=self.dynamic_symbols,
            facts_present=set(self.facts_present),
            location=self.location,
            logs=self.logs,
            gives_way=self.gives_way,
            spills_allowed=self.spills_allowed,
        )
        fill_region(self.body, copy.body)
        return copy

    def __str__(self) -> str:
        return print_graph(self)


def regions(region: Region) -> Iterator[Region]:
    """``region`` and all regions within, outer ones first."""
    yield region
    for op in region.ops:
        for nested in op.regions:
            yield from regions(nested)


def walk(region: Region) -> Iterator[Op]:
    """All ops of ``region`` and of the regions within, in program order."""
    for op in region.ops:
        yield op
        for nested in op.regions:
            yield from walk(nested)


def walk_op(op: Op) -> Iterator[Op]:
    """``op`` and all ops of the regions within, in program order."""
    yield op
    for nested in op.regions:
        yield from walk(nested)


def source_of(op: Op) -> str:
    """The author's line that ``op`` comes from, ``file:line``; empty if unknown."""
    location = op.location
    if location is None or not location.is_known:
        return ""
    return f"{location.file}:{location.line}"


def resolve(op: Op) -> Op:
    """The op that defines a value seen through captures.

    A carried argument resolves to itself: its value changes from one iteration
    to the next.
    """
    while isinstance(op, Argument) and op.role == "capture":
        parent = region_of(op).parent
        assert parent is not None, "a kernel's body captures nothing"
        op = captured_value(parent, op)
    return op


def captured_value(parent: Op, argument: Argument) -> Op:
    """The value of the enclosing region that ``argument`` captures."""
    # Captures are the last arguments of a region.
    return captured_by(parent, region_of(argument).from_the_last(argument))
