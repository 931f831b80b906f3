"""Builds lowered graphs by hand, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from wave_core.constraints import (
    HardwareConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.constraints.machine import LANE, REGISTER
from wave_core.diagnostics import capture_location
from wave_core.ir.facts import ACCESS, PLACEMENT, Access, Placement
from wave_core.ir.graph import Graph, Region
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.structure import Yield
from wave_core.symbols import Digit, Expr, Layout, as_expr, symbol
from wave_core.types import AddressSpace, MemoryType

if TYPE_CHECKING:
    from wave_core.ops.base import Op
    from wave_core.types import DType

M, N, K, ROWS = symbol("M"), symbol("N"), symbol("K"), symbol("ROWS")
L, R = LANE, REGISTER
WG, WV = symbol("$WG0"), symbol("$WV0")


def flat(registers: int, lanes: int = 64) -> Layout:
    """Lane-major: index = registers * lane + register, along M."""
    digits = [Digit(registers, "lane", 1, lanes)]
    if registers > 1:
        digits.append(Digit(1, "reg", 1, registers))
    return Layout.make(lanes, registers, {"M": digits})


class Kernel:
    """A graph under construction, with ``waves`` waves in each of ``groups``."""

    def __init__(self, waves: int = 1, groups: int = 1, **sizes: int) -> None:
        tile = 64 * waves
        self.graph = Graph(
            "test",
            "generic",
            {ROWS: tile * groups, **{symbol(n): size for n, size in sizes.items()}},
            (
                HardwareConstraint(threads_per_wave=64),
                WorkgroupConstraint(ROWS, as_expr(tile), 0),
                WaveConstraint(ROWS, as_expr(64)),
            ),
        )
        self.region: Region = self.graph.body

    def parameter(self, label: str, shape: tuple[Any, ...], dtype: DType) -> Op:
        """A memory parameter."""
        declared = MemoryType(tuple(map(as_expr, shape)), AddressSpace.GLOBAL, dtype)
        return self.region.add_argument("parameter", label, declared, None)

    def lds(
        self, extents: tuple[int, ...], dtype: DType, names: tuple[Expr, ...] = (M, N)
    ) -> Op:
        """An LDS buffer."""
        names = names[: len(extents)]
        return self.add(Allocate(names, tuple(map(as_expr, extents)), dtype))

    def add(self, op: Op, layout: Layout | None = None) -> Op:
        """Append an op, with the place of its value."""
        op.location = capture_location(("lowered",))
        self.region.append(op)
        if layout is not None:
            self.graph.facts.put(PLACEMENT, op, Placement(layout))
        return op

    def read(
        self, memory: Op, at: tuple[Any, ...], registers: int = 1, **more: Any
    ) -> Op:
        """A read of ``registers`` elements a lane."""
        mask = more.pop("mask", None)
        op = self.add(Read(memory, **more), flat(registers))
        self._access(op, at, registers, mask)
        return op

    def write(
        self,
        value: Op,
        memory: Op,
        at: tuple[Any, ...],
        registers: int = 1,
        **more: Any,
    ) -> Op:
        """A write of ``registers`` elements a lane."""
        mask = more.pop("mask", None)
        op = self.add(Write(value, memory, **more))
        self._access(op, at, registers, mask)
        return op

    def _access(
        self, op: Op, at: tuple[Any, ...], registers: int, mask: Expr | None
    ) -> None:
        access = Access(tuple(map(as_expr, at)), registers, mask)
        self.graph.facts.put(ACCESS, op, access)

    def finish(self) -> Graph:
        """The graph, ended."""
        self.region.append(Yield())
        return self.graph
