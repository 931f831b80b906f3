"""A kernel of a few lines, with a function that it calls, and one that is refused."""

from __future__ import annotations

import numpy as np

import wave_core.lang as tkl
from wave_core.compile import KernelCase, WaveCompileOptions

M, N = tkl.sym.M, tkl.sym.N
EVIL = "</script><img src=x onerror=alert(1)><!-- \u2028"


def scaled(row):
    return row * 2.0  # called


@tkl.wave([tkl.WorkgroupConstraint(M, 4, 0), tkl.HardwareConstraint()])
def double(
    a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
    b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    row = tkl.read(a)
    tkl.write(scaled(row), b)  # calls; </script><img src=x onerror=alert(1)><!--


@tkl.wave([tkl.WorkgroupConstraint(M, 4, 0), tkl.HardwareConstraint()])
def refused(
    a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.i32],
    b: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f32],
):
    tkl.write(tkl.read(a), b)


def case_of(kernel, target="generic", **options):
    return KernelCase(
        kernel=kernel,
        options=WaveCompileOptions(subs={M: 8, N: 128}, target=target, **options),
        shape={"M": 8, "N": 128},
        make_arguments=lambda rng: [np.ones((8, 128), "f4"), np.empty((8, 128), "f4")],
        reference=lambda given: [given[0] * 2],
        outputs=(1,),
        tolerance=0.0,
    )


def doubled(shape, settings, target):
    """What a command names in this file."""
    return case_of(double, target)
