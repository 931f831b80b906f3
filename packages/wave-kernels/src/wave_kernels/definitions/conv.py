"""2-D convolution as an implicit matrix product."""

# Kernels are written in Wave: symbols as types and sizes, decorators that run bodies.
# pyright: reportArgumentType=false, reportAssignmentType=false, reportCallIssue=false
# pyright: reportGeneralTypeIssues=false, reportReturnType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_kernels.definitions.staging import ADDRESS_SPACE, STAGING

M = tkl.sym.M
NF = tkl.sym.NF
K = tkl.sym.K
N = tkl.sym.N
H = tkl.sym.H
W = tkl.sym.W
C = tkl.sym.C
HF = tkl.sym.HF
WF = tkl.sym.WF
H_OUT = tkl.sym.H_OUT
W_OUT = tkl.sym.W_OUT
SZ_OUT = H_OUT * W_OUT
BLOCK_M = tkl.sym.BLOCK_M
BLOCK_N = tkl.sym.BLOCK_N
BLOCK_K = tkl.sym.BLOCK_K
WAVES_M = tkl.sym.WAVES_M
WAVES_N = tkl.sym.WAVES_N

TILES = tkw.Tunable(
    (BLOCK_M, BLOCK_N, BLOCK_K, WAVES_M, WAVES_N),
    (
        (64, 32, 32, 2, 2),
        (64, 64, 32, 2, 2),
        (128, 64, 32, 2, 2),
        (128, 128, 32, 2, 2),
    ),
)


@dataclass(frozen=True)
class ConvShape:
    """The sizes of a convolution without padding.

    Units: elements. ``n`` images of ``h`` x ``w`` x ``c``; ``nf`` filters of
    ``hf`` x ``wf`` x ``c``; the filter moves ``stride`` elements at a time.
    """

    n: int
    h: int
    w: int
    c: int
    hf: int
    wf: int
    nf: int
    stride: int = 1

    @property
    def h_out(self) -> int:
        """Rows of the result."""
        return (self.h - self.hf) // self.stride + 1

    @property
    def w_out(self) -> int:
        """Columns of the result."""
        return (self.w - self.wf) // self.stride + 1

    def symbols(self) -> dict[Any, int]:
        """The values of the kernel's size symbols."""
        return {
            N: self.n,
            H: self.h,
            W: self.w,
            C: self.c,
            HF: self.hf,
            WF: self.wf,
            NF: self.nf,
            H_OUT: self.h_out,
            W_OUT: self.w_out,
            M: self.n * self.h_out * self.w_out,
            K: self.hf * self.wf * self.c,
        }


def conv_kernel(stride: int = 1) -> Any:
    """``out[n, y, x, f] = sum over (r, s, c) of x[n, y+r, x+s, c] * we[r, s, c, f]``.

    The rows of the product are output pixels, its contracted dimension walks the
    filter: ``M = N * H_OUT * W_OUT``, ``K = HF * WF * C``.

    Shapes: ``x: [N, H, W, C]``, ``we: [HF, WF, C, NF]``,
    ``out: [N, H_OUT, W_OUT, NF]``. Dtypes: f16, ``out`` f32.
    """
    i = tkw.IndexMapping.iterator(0)
    j = tkw.IndexMapping.iterator(1)
    x_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={
            N: i // SZ_OUT,
            H: (i % SZ_OUT) // W_OUT * stride + (j // C) // WF,
            W: (i % SZ_OUT) % W_OUT * stride + (j // C) % WF,
            C: j % C,
        },
        outputs={M: i, K: j},
    )
    w_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={HF: (j // C) // WF, WF: (j // C) % WF, C: j % C, NF: i},
        outputs={NF: i, K: j},
    )
    out_mapping = tkw.IndexMapping(
        num_iterators=2,
        inputs={M: i, NF: j},
        outputs={
            N: i // SZ_OUT,
            H_OUT: (i % SZ_OUT) // W_OUT,
            W_OUT: (i % SZ_OUT) % W_OUT,
            NF: j,
        },
    )
    constraints = [
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(NF, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / WAVES_M),
        tkw.WaveConstraint(NF, BLOCK_N / WAVES_N),
        tkw.HardwareConstraint(),
        tkw.DieOrder(),
        TILES,
        STAGING,
    ]

    @tkw.wave(constraints)
    def conv(
        x: tkl.Memory[N, H, W, C, ADDRESS_SPACE, tkl.f16],
        we: tkl.Memory[HF, WF, C, NF, ADDRESS_SPACE, tkl.f16],
        out: tkl.Memory[N, H_OUT, W_OUT, NF, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    ) -> None:
        c_reg = tkl.Register[M, NF, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[c_reg])
        def repeat(acc: tkl.Register[M, NF, tkl.f32]) -> tkl.Register[M, NF, tkl.f32]:
            a_reg = tkw.read(x, mapping=x_mapping)
            b_reg = tkw.read(we, mapping=w_mapping)
            return tkw.mma(a_reg, b_reg, acc)

        tkw.write(repeat, out, mapping=out_mapping)

    return conv
