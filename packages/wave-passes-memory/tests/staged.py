"""Kernels that ask for staging, compiled and run with counters.

Their preset is ``default``: what is counted is the work of the passes of this package.
"""

from __future__ import annotations

import dataclasses
from functools import cache

import numpy as np

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile
from wave_core.compile.kernels import make_case
from wave_core.executors import LaunchRequest

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
BLOCK_M, BLOCK_N, BLOCK_K = tkl.sym.BLOCK_M, tkl.sym.BLOCK_N, tkl.sym.BLOCK_K
SHARED = tkl.SHARED_ADDRESS_SPACE
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE


@cache
def session():
    """A session without a cache."""
    return Session(config=Config(cache=False))


def gemm(waves, dtype=tkl.f16, more=(), result=tkl.f32):
    """``c = a b^T``, a and b staged; ``waves`` along M and N, ``more`` constraints."""
    constraints = [
        *more,
        tkw.WorkgroupConstraint(M, BLOCK_M, 0),
        tkw.WorkgroupConstraint(N, BLOCK_N, 1),
        tkw.TilingConstraint(K, BLOCK_K),
        tkw.WaveConstraint(M, BLOCK_M / waves[0]),
        tkw.WaveConstraint(N, BLOCK_N / waves[1]),
        tkw.HardwareConstraint(),
    ]

    @tkw.wave(constraints)
    def kernel(
        a: tkl.Memory[M, K, SHARED, dtype],
        b: tkl.Memory[N, K, SHARED, dtype],
        c: tkl.Memory[M, N, GLOBAL, result],
    ) -> None:
        zero = tkl.Register[M, N, tkl.f32](0.0)

        @tkw.iterate(K, init_args=[zero])
        def repeat(acc: tkl.Register[M, N, tkl.f32]) -> tkl.Register[M, N, tkl.f32]:
            return tkw.mma(tkw.read(a), tkw.read(b), acc)

        tkw.write(repeat if result is tkl.f32 else tkw.cast(repeat, result), c)

    return kernel


def compiled_gemm(sizes, tile, waves=(2, 2), dtype=tkl.f16, target="gfx942", **more):
    """The kernel for ``sizes`` (M, N, K) in tiles ``tile``; ``more`` are options."""
    names = (M, N, K, BLOCK_M, BLOCK_N, BLOCK_K)
    subs = dict(zip(names, (*sizes, *tile), strict=True))
    asked = {"preset": "default", **more}
    options = tkl.WaveCompileOptions(subs=subs, target=target, **asked)
    return wave_compile(options, gemm(waves, dtype), session=session())


def dynamic_gemm(tile, target="gfx942", dtype=tkl.f16, more=(), device="auto"):
    """The kernel for sizes that the launch decides, in tiles ``tile``."""
    subs = dict(zip((BLOCK_M, BLOCK_N, BLOCK_K), tile, strict=True))
    options = tkl.WaveCompileOptions(
        subs=subs,
        target=target,
        preset="default",
        dynamic_symbols=[M, N, K],
        device=device,
    )
    return wave_compile(options, gemm((2, 2), dtype, more), session=session())


def run_gemm(kernel, sizes, dtype=tkl.f16, symbols=None):
    """The largest error, relative, and the result of the lane simulator."""
    m, n, k = sizes
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-2, 3, (rows, k)).astype(dtype.numpy()) for rows in (m, n))
    c = np.full((m, n), np.nan, dtype=np.float32)
    result = simulate(kernel, [a, b, c], symbols)
    wanted = a.astype(np.float64) @ b.astype(np.float64).T
    return np.abs(c - wanted).max(initial=0.0), result


def simulate(kernel, arguments, symbols=None):
    """What the lane simulator counts and reports."""
    device = session().plugins.load_executor("sim")
    target = kernel.compiled.target
    return device.launch(LaunchRequest.of(kernel.graph, target, arguments, symbols))


def case_of(name, target, shape=None, settings=None):
    """A case of the kernel library whose arguments ask for staging."""
    factory = session().plugins.load_kernel(name)
    case = make_case(factory, name, shape or {}, settings or {}, target)
    subs = {**case.options.subs, tkl.sym.ADDRESS_SPACE: SHARED}
    options = dataclasses.replace(case.options, subs=subs, preset="default")
    return dataclasses.replace(case, options=options)


def run_case(name, target, shape=None, settings=None):
    """`check_case` of a case of the kernel library."""
    return check_case(case_of(name, target, shape, settings))


def check_case(case):
    """The kernel, what the simulator says, and whether the outputs are right."""
    kernel = wave_compile(case.options, case.kernel, session=session())
    arguments = list(case.make_arguments(np.random.default_rng(0)))
    before = [array.copy() for array in arguments]
    result = simulate(kernel, arguments)
    scale = case.scale(before) if case.scale is not None else 1.0
    right = all(
        np.abs(arguments[position].astype(np.float64) - wanted).max(initial=0.0)
        <= case.tolerance * scale
        for position, wanted in zip(case.outputs, case.reference(before), strict=True)
    )
    return kernel, result, right


def ops(graph, name):
    """The ops of one kind."""
    return [op for op in graph.walk() if op.op_name == name]
