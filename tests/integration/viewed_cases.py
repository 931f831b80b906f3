"""Cases that pages are made of: a kernel of threads, and one that is refused."""

from __future__ import annotations

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import KernelCase, WaveCompileOptions

M, N, GLOBAL = tkl.sym.M, tkl.sym.N, tkl.GLOBAL_ADDRESS_SPACE
Floats = tkl.Memory[N, GLOBAL, tkl.f32]
SIZE = 300


@tkw.thread(
    [
        tkw.WorkgroupConstraint(N, 128, 0),
        tkw.HardwareConstraint(threads_per_wave=64, waves_per_block=(2,)),
    ]
)
def vector_add(a: Floats, b: Floats, c: Floats):
    i = tkw.program_id(0) * 128 + tkw.thread_id(0)
    inside = i < N
    total = tkw.load(a, i, mask=inside) + tkw.load(b, i, mask=inside)
    tkw.store(total, c, i, mask=inside)


@tkw.wave([tkw.WorkgroupConstraint(N, 128, 0), tkw.HardwareConstraint()])
def mistyped(a: tkl.Memory[N, GLOBAL, tkl.i32], b: Floats):
    tkw.write(tkw.read(a), b)


def case_of(kernel, target):
    def arguments(rng):
        a, b = rng.standard_normal((2, SIZE)).astype(np.float32)
        return [a, b, np.empty_like(a)]

    return KernelCase(
        kernel=kernel,
        options=WaveCompileOptions(subs={N: SIZE}, target=target),
        shape={"N": SIZE},
        make_arguments=arguments,
        reference=lambda given: [given[0] + given[1]],
        outputs=(2,),
        tolerance=0.0,
    )


def add(shape, settings, target):
    return case_of(vector_add, target)


def wrong(shape, settings, target):
    return case_of(mistyped, target)
