"""The matrix product that benchmarks compile: both factors staged in LDS."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportInvalidTypeForm=false
# pyright: reportReturnType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
TARGET = "gfx942"


@dataclass(frozen=True)
class Tile:
    """Elements of a workgroup along each dimension, and those of a wave."""

    m: int
    n: int
    k: int
    wave_m: int
    wave_n: int

    @property
    def waves(self) -> int:
        """Waves of a workgroup."""
        return (self.m // self.wave_m) * (self.n // self.wave_n)

    @property
    def name(self) -> str:
        """As the figures call it."""
        return f"gemm {self.m}x{self.n}x{self.k}, {self.waves} waves"


SQUARE = Tile(256, 256, 32, 128, 64)
FLAT = Tile(128, 256, 64, 64, 128)


def staged_gemm(tile: Tile, dtype: Any = tkl.f16, *, across: bool = False) -> Any:
    """``c = a b^T``, summed in f32; ``a b`` where ``b`` is stored across K.

    Shapes: ``a: [M, K]``, ``b: [N, K]`` or ``[K, N]``, ``c: [M, N]``.
    """
    second = (K, N) if across else (N, K)
    constraints = [
        tkw.WorkgroupConstraint(M, tile.m, 0),
        tkw.WorkgroupConstraint(N, tile.n, 1),
        tkw.TilingConstraint(K, tile.k),
        tkw.WaveConstraint(M, tile.wave_m),
        tkw.WaveConstraint(N, tile.wave_n),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def gemm(
        a: tkl.Memory[M, K, tkl.SHARED_ADDRESS_SPACE, dtype],
        b: tkl.Memory[(*second, tkl.SHARED_ADDRESS_SPACE, dtype)],
        c: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat, c)

    return gemm


def options_of(
    m: int, n: int, k: int, target: str = TARGET, **more: Any
) -> tkl.WaveCompileOptions:
    """Compile options for these sizes; without others, loops stay as written."""
    asked = {"preset": "default", **more}
    return tkl.WaveCompileOptions(subs={M: m, N: n, K: k}, target=target, **asked)


def options_of_any(**more: Any) -> tkl.WaveCompileOptions:
    """Compile options for sizes that come with the launch."""
    asked = {"preset": "default", **more}
    return tkl.WaveCompileOptions(dynamic_symbols=[M, N, K], target=TARGET, **asked)
