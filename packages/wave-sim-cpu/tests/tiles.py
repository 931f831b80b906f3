"""Builds graphs of wave-level ops by hand, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.constraints import (
    HardwareConstraint,
    TilingConstraint,
    WaveConstraint,
    WorkgroupConstraint,
)
from wave_core.diagnostics import capture_location
from wave_core.ir.graph import Graph, Region
from wave_core.ops.constant import Splat
from wave_core.ops.control import Iterate
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Read, Write
from wave_core.ops.structure import GetResult, Yield
from wave_core.symbols import Expr, as_expr, symbol
from wave_core.types import DTYPES, AddressSpace, MemoryType

if TYPE_CHECKING:
    from wave_core.constraints import Constraint
    from wave_core.ops.base import Op
    from wave_core.types import DType

M, N, K = symbol("M"), symbol("N"), symbol("K")
F16, F32 = DTYPES["f16"], DTYPES["f32"]


class Tiles:
    """A graph under construction."""

    def __init__(self, *constraints: Constraint, **sizes: int) -> None:
        bindings = {symbol(name): size for name, size in sizes.items()}
        hardware = HardwareConstraint(threads_per_wave=64)
        self.graph = Graph("test", "generic", bindings, (hardware, *constraints))
        self.region: Region = self.graph.body

    def parameter(self, label: str, shape: tuple[Expr, ...], dtype: DType) -> Op:
        """A memory parameter."""
        declared = MemoryType(shape, AddressSpace.GLOBAL, dtype)
        return self.region.add_argument("parameter", label, declared, None)

    def add(self, op: Op) -> Op:
        """Append an op."""
        op.location = capture_location(("tiles",))
        return self.region.append(op)

    def finish(self) -> Graph:
        """The graph, ended."""
        self.region.append(Yield())
        return self.graph


def spread(
    dim: Expr, tile: int, axis: int, wave: int | None = None
) -> list[Constraint]:
    """A dimension over workgroups, and over waves."""
    found: list[Constraint] = [WorkgroupConstraint(dim, as_expr(tile), axis)]
    if wave is not None:
        found.append(WaveConstraint(dim, as_expr(wave)))
    return found


def gemm(m: int, n: int, k: int, tile: int = 128, step: int = 32) -> Graph:
    """``c = a @ b.T`` with four waves a workgroup."""
    rows = [*spread(M, tile, 0, tile // 2), *spread(N, tile, 1, tile // 2)]
    t = Tiles(*rows, TilingConstraint(K, as_expr(step)), M=m, N=n, K=k)
    a = t.parameter("a", (M, K), F16)
    b = t.parameter("b", (N, K), F16)
    c = t.parameter("c", (M, N), F32)
    zero = t.add(Splat((M, N), F32, 0.0))
    body = t.graph.region()
    acc = body.add_argument("carried", "acc", zero.type, None)
    seen = [body.add_argument("capture", p.label, p.type, None) for p in (a, b)]
    t.region = body
    product = t.add(Mma(t.add(Read(seen[0])), t.add(Read(seen[1])), acc))
    body.append(Yield((product,)))
    t.region = t.graph.body
    loop = t.add(Iterate((zero,), (a, b), axis=K, body=body))
    t.add(Write(t.add(GetResult(loop, 0)), c))
    return t.finish()
