"""Graphs built by hand and at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from wave_core.constraints import (
    HardwareConstraint,
    TilingConstraint,
    WorkgroupConstraint,
    workgroup_symbol,
)
from wave_core.diagnostics import Location
from wave_core.ir import ACCESS, PLACEMENT, Access, Graph, Placement, Region, capture
from wave_core.ops import Op
from wave_core.ops.arithmetic import Add, Maximum, Mul, Neg, Softsign
from wave_core.ops.compare import Gt, Select
from wave_core.ops.constant import Splat
from wave_core.ops.control import Breakpoint, Conditional, Iterate, SetSymbol
from wave_core.ops.memory import Read, Write
from wave_core.ops.structure import GetResult, Yield
from wave_core.symbols import Layout, constant, lt, parse_layout, symbol
from wave_core.types import AddressSpace, MemoryType
from wave_core.types.dtype import f32, i32

M, N, K = symbol("M"), symbol("N"), symbol("K")
TILE = MemoryType((M, N), AddressSpace.GLOBAL, f32)
LAYOUT: Layout = parse_layout("64x4 {M: (lane/1%64), N: (reg/1%4)}")
INSIDE = lt(M * 2, N + 3)
HERE = Location.of_span("kernel.py", 3, 5, 3, 9, "kernel")


def put(region: Region, op: Op, *, line: int = 3) -> Op:
    """Append ``op`` with a location."""
    op.location = Location.of_span("kernel.py", line, 5, line, 9, "kernel")
    return region.append(op)


def empty_graph() -> Graph:
    graph = Graph("k", "generic", location=HERE)
    graph.bindings = {symbol("BLOCK"): 64}
    graph.dynamic_symbols = (N,)
    graph.constraints = (
        WorkgroupConstraint(M, symbol("BLOCK"), 0, location=HERE),
        WorkgroupConstraint(
            N, symbol("BLOCK"), 1, lambda x: x * 2, iters=4, location=HERE
        ),
        TilingConstraint(K, 16, location=HERE),
        HardwareConstraint(
            threads_per_wave=64, vector_shapes={M: 16, N: 0}, location=HERE
        ),
    )
    graph.facts_present = {"typed", "canonical"}
    for label in ("a", "b"):
        graph.body.add_argument("parameter", label, TILE, HERE)
    return graph


class RandomKernel:
    """Appends ops to nested regions, at random but valid."""

    def __init__(self, rng: Any) -> None:
        self.rng = rng
        self.graph = empty_graph()
        self.budget = rng.randrange(2, 30)

    def build(self) -> Graph:
        body = self.graph.body
        memories = list(body.arguments)
        values = [put(body, Splat((M, N), f32, self.rng.choice([0.0, -0.0, 1.5])))]
        self.fill(body, values, memories, depth=0)
        put(body, Write(self.rng.choice(values), memories[1]))
        put(body, Yield())
        return self.graph

    def fill(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        for _ in range(self.rng.randrange(1, 8)):
            if self.budget == 0:
                return
            self.budget -= 1
            kinds = ["value"] * 8 + ["write", "show", "set"]
            kinds += ["loop", "branch"] * (depth < 3)
            getattr(self, self.rng.choice(kinds))(region, values, memories, depth)

    def value(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        a, b = self.rng.choice(values), self.rng.choice(values)
        make: Callable[[], Op] = self.rng.choice(
            [
                lambda: Add(a, b),
                lambda: Mul(a, b),
                lambda: Maximum(a, b),
                lambda: Neg(a),
                lambda: Softsign(a, logit_cap=self.rng.choice([30.0, 2.5])),
                lambda: Select(put(region, Gt(a, b)), a, b),
                lambda: Splat((M, N), f32, self.rng.choice([1.0, 0.0, -0.0, 3])),
                lambda: Read(memories[0]),
                lambda: Read(memories[0], flags="volatile"),
            ]
        )
        op = put(region, make(), line=self.rng.randrange(1, 9))
        if self.rng.random() < 0.3:
            origin = (("M", workgroup_symbol(0) * 64), ("N", constant(0)))
            self.graph.facts.put(PLACEMENT, op, Placement(LAYOUT, (), origin))
        if isinstance(op, Read) and self.rng.random() < 0.5:
            row = Access((M // 2, N + 1), 4, self.rng.choice([None, INSIDE]))
            self.graph.facts.put(ACCESS, op, row)
        op.tags = frozenset(self.rng.sample(["x", "y z"], self.rng.randrange(3)))
        values.append(op)

    def write(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        put(region, Write(self.rng.choice(values), memories[1]))

    def show(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        put(region, Breakpoint((self.rng.choice(values),), ('"', "b")))

    def set(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        count = put(region, Splat((), i32, 3))
        put(region, SetSymbol(count, symbol("S")))

    def loop(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        inits = tuple(self.rng.choices(values, k=self.rng.randrange(3)))
        body = self.graph.region()
        op = put(region, Iterate(inits, (), K, body=body))
        carried = [
            body.add_argument("carried", f"c{i}", v.type, v.location)
            for i, v in enumerate(inits)
        ]
        inner = self.nested(body, values, memories, carried)
        self.fill(body, inner, self.inner(body, memories), depth + 1)
        put(body, Yield(tuple(self.rng.choices(inner, k=len(inits)))))
        values.extend(self.results(region, op, len(inits)))

    def branch(
        self, region: Region, values: list[Op], memories: list[Op], depth: int
    ) -> None:
        others = tuple(self.rng.choices(values, k=self.rng.randrange(3)))
        body = self.graph.region()
        condition = put(region, Gt(values[0], values[-1]))
        op = put(region, Conditional(condition, (), others, body=body))
        inner = self.nested(body, values, memories, [])
        self.fill(body, inner, self.inner(body, memories), depth + 1)
        put(body, Yield(tuple(self.rng.choices(inner, k=len(others)))))
        values.extend(self.results(region, op, len(others)))

    def nested(
        self, body: Region, values: list[Op], memories: list[Op], carried: list[Op]
    ) -> list[Op]:
        chosen = self.rng.choices(values, k=self.rng.randrange(1, 3))
        return [*carried, *(capture(body, value) for value in chosen)]

    def inner(self, body: Region, memories: list[Op]) -> list[Op]:
        return [capture(body, memory) for memory in memories]

    def results(self, region: Region, op: Op, count: int) -> list[Op]:
        return [put(region, GetResult(op, position=i)) for i in range(count)]


@pytest.fixture(scope="session")
def random_graph() -> Callable[[Any], Graph]:
    """Makes a valid graph."""
    return lambda rng: RandomKernel(rng).build()


@pytest.fixture
def graph() -> Graph:
    """A kernel of two memories without ops."""
    return empty_graph()


class Interpreter:
    """Runs the random kernels on small arrays; keeps what can be seen from outside."""

    def __init__(self, trips: int) -> None:
        self.trips = trips
        self.seen: list[tuple[str, bytes]] = []

    def run(self, graph: Graph) -> list[tuple[str, bytes]]:
        self.memory = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
        self.region(graph.body, dict.fromkeys(graph.parameters, self.memory), True)
        return self.seen

    def region(self, region: Region, values: dict[Op, Any], active: Any) -> list[Any]:
        for op in region.ops:
            operands = [values[value] for value in op.operands]
            if isinstance(op, Iterate):
                values[op] = self.loop(op, values, active)
            elif isinstance(op, Conditional):
                values[op] = self.branch(op, values, active)
            elif isinstance(op, GetResult):
                values[op] = operands[0][op.position]
            elif isinstance(op, Read):
                self.look(op.flags, 0, active)
                values[op] = self.memory
            elif isinstance(op, (Write, Breakpoint, SetSymbol)):
                self.look(op.op_name, operands[0], active)
            elif not isinstance(op, Yield):
                values[op] = op.evaluate(*operands)
        return [values[value] for value in region.terminator.operands]

    def look(self, what: str, value: Any, active: Any) -> None:
        """Plain reads cannot be seen."""
        if what != "none":
            shown = np.where(active, np.broadcast_to(value, (3, 4)), np.float32(7))
            self.seen.append((what, shown.tobytes()))

    def loop(self, op: Iterate, values: dict[Op, Any], active: Any) -> list[Any]:
        carried = [values[value] for value in op.inits]
        captured = [values[value] for value in op.captures]
        for _ in range(self.trips):
            inner = dict(zip(op.body.arguments, [*carried, *captured], strict=True))
            carried = self.region(op.body, inner, active)
        return carried

    def branch(self, op: Conditional, values: dict[Op, Any], active: Any) -> list[Any]:
        captured = [values[value] for value in op.captures]
        holds = values[op.condition]
        inner = dict(zip(op.body.arguments, captured, strict=True))
        yields = self.region(op.body, inner, np.logical_and(active, holds))
        others = [values[value] for value in op.else_values]
        return [np.where(holds, a, b) for a, b in zip(yields, others, strict=True)]


@pytest.fixture(scope="session")
def observe() -> Callable[[Graph, int], list[tuple[str, bytes]]]:
    """What a graph does, with loops that run a number of times."""

    def run(graph: Graph, trips: int) -> list[tuple[str, bytes]]:
        with np.errstate(all="ignore"):
            return Interpreter(trips).run(graph)

    return run
