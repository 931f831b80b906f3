"""PTX of small kernels, as somebody has read it; registers are numbered anew."""

from __future__ import annotations

import re

import numpy as np
import pytest
from emulated_kernels import compiled

import wave_core.lang as tkl
import wave_core.lang as tkw

M, N, K = tkl.sym.M, tkl.sym.N, tkl.sym.K
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
REGISTER = re.compile(r"%(?:rd|rs|r|p|f|fd|b)\d+\b")


def plain(ptx):
    """The body without comments, declarations and lines of the user."""
    kept, names = [], {}
    for line in ptx[ptx.index("{") :].splitlines():
        code = line.split("//")[0].rstrip()
        if code.strip() and not code.lstrip().startswith((".reg", ".loc", ".file")):
            kept.append(code)
    text = "\n".join(kept)

    def renamed(found):
        old = found.group()
        kind = re.match(r"%[a-z]+", old).group()
        return names.setdefault(old, f"{kind}{len(names)}")

    return REGISTER.sub(renamed, text[: text.index("\n}") + 2]) + "\n"


def rows(*more):
    return [
        tkw.WorkgroupConstraint(M, 4, 0),
        tkw.WaveConstraint(M, 4),
        tkw.HardwareConstraint(vector_shapes={M: 1, N: 64}),
        *more,
    ]


@tkw.wave(rows(tkw.WorkgroupConstraint(N, 64, 1)))
def scaled(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    factor: tkl.f32,
    b: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    tkw.write(tkw.read(a) * factor, b)


@tkw.wave(rows())
def total(
    a: tkl.Memory[M, N, GLOBAL, tkl.f32],
    b: tkl.Memory[M, GLOBAL, tkl.f32],
):
    tkw.write(tkw.sum(tkw.read(a), dim=N), b)


@tkw.wave(
    [
        tkw.WorkgroupConstraint(M, 16, 0),
        tkw.WorkgroupConstraint(N, 8, 1),
        tkw.HardwareConstraint(),
    ]
)
def multiplied(
    a: tkl.Memory[M, K, GLOBAL, tkl.f16],
    b: tkl.Memory[N, K, GLOBAL, tkl.f16],
    c: tkl.Memory[M, N, GLOBAL, tkl.f32],
):
    zero = tkl.Register[M, N, tkl.f32](0.0)
    tkw.write(tkw.mma(tkw.read(a), tkw.read(b), zero), c)


KERNELS = {
    "scaled": (scaled, {M: 4, N: 64}),
    "scaled at an edge": (scaled, {M: 4, N: 50}),
    "total": (total, {M: 4, N: 64}),
    "multiplied": (multiplied, {M: 16, N: 8, K: 16}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_text(golden, name):
    kernel, sizes = KERNELS[name]
    made = compiled(kernel, sizes, target="sm_80")
    golden(plain(made.ptx))


def test_what_the_texts_compute():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((4, 64), np.float32)
    out = np.full(4, np.nan, np.float32)
    assert not compiled(*KERNELS["total"], target="sm_80").run(x, out)
    np.testing.assert_allclose(out, x.astype(float).sum(1), rtol=1e-5, atol=1e-5)
    a, b = (rng.standard_normal((n, 16)).astype(np.float16) for n in (16, 8))
    c = np.full((16, 8), np.nan, np.float32)
    assert not compiled(*KERNELS["multiplied"], target="sm_80").run(a, b, c)
    np.testing.assert_allclose(c, a.astype(float) @ b.astype(float).T, atol=1e-5)
