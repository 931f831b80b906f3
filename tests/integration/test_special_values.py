"""NaN, infinities, zeros of both signs and tiny numbers, as torch has them.

Operands come from memory, or are numbers that the compiler knows and may fold.
"""

from __future__ import annotations

import numpy as np
import pytest
import torch

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, wave_compile

M, P = tkl.sym.M, tkl.sym.P
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
DEVICES = ("sim-logical", "sim", "emulator")
ROWS = [
    tkw.WorkgroupConstraint(M, 64, 0),
    tkw.HardwareConstraint(vector_shapes={M: 64}),
]
KNOWN = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.5, -2.5, 3.0)
VALUES = np.float32([*KNOWN, 2, -3, 1 / 3, 1e-40, -1e-40, 1e30, -1e38])
PAIRS = [(x, y) for x in KNOWN for y in KNOWN]
ULPS = 16
"""Units in the last place that a function may be off."""


def truncated_remainder(x, y):
    """C's fmod; torch's gives NaN where the quotient is large."""
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.fmod(x.numpy(), y.numpy()))


BINARY = {
    "atan2": (tkw.atan2, torch.atan2),
    "power": (tkw.powf, torch.pow),
    "quotient": (lambda x, y: x / y, torch.div),
    "remainder": (tkw.remf, truncated_remainder),
    "maximum": (tkw.maximum, torch.maximum),
    "minimum": (tkw.minimum, torch.minimum),
    "less": (
        lambda x, y: tkw.select(x < y, x, y),
        lambda x, y: torch.where(x < y, x, y),
    ),
}
UNARY = {
    "sqrt": (tkw.sqrt, torch.sqrt),
    "rsqrt": (tkw.rsqrt, torch.rsqrt),
    "exp": (tkw.exp, torch.exp),
    "exp2": (tkw.exp2, torch.exp2),
    "log": (tkw.log, torch.log),
    "log2": (tkw.log2, torch.log2),
    "log10": (tkw.log10, torch.log10),
    "sin": (tkw.sin, torch.sin),
    "cos": (tkw.cos, torch.cos),
    "sinh": (tkw.sinh, torch.sinh),
    "tanh": (tkw.tanh, torch.tanh),
    "erf": (tkw.erf, torch.erf),
    "sigmoid": (tkw.sigmoid, torch.sigmoid),
    "silu": (tkw.silu, torch.nn.functional.silu),
    "gelu": (tkw.gelu, lambda x: x * 0.5 * torch.erfc(-x * 0.5**0.5)),
    "gelu by tanh": (
        lambda x: tkw.gelu(x, approximate="tanh"),
        lambda x: torch.nn.functional.gelu(x.double(), approximate="tanh").float(),
    ),
    "clamp": (lambda x: tkw.clamp(x, -1.0, 2.0), lambda x: x.clamp(-1.0, 2.0)),
    "floor": (tkw.floor, torch.floor),
    "ceil": (tkw.ceil, torch.ceil),
    "round": (tkw.round, torch.round),
    "reciprocal": (tkw.reciprocal, torch.reciprocal),
    "root": (lambda x: x**0.5, lambda x: x**0.5),
    "square": (lambda x: x**2.0, lambda x: x**2.0),
    "cube": (lambda x: x**3.0, lambda x: x**3.0),
    "inverse": (lambda x: x**-1.0, lambda x: x**-1.0),
    "three quarters": (lambda x: x**0.75, lambda x: x**0.75),
}
SIGNS_OF_ZERO = frozenset(BINARY | UNARY) - {"maximum", "minimum"}
"""Where the sign of a zero is promised."""


@pytest.fixture(scope="module")
def session():
    return Session(config=Config(cache=False), announce=lambda _: None)


def launch(session, kernel, device, *arrays, **sizes):
    subs = {getattr(tkl.sym, name): size for name, size in sizes.items()}
    options = tkl.WaveCompileOptions(subs=subs, target="gfx942", device=device)
    wave_compile(options, kernel, session=session)(*arrays)


def assert_alike(name, found, wanted):
    """Equal, of one sign, or within some units of the last place."""
    alike = (found == wanted) | (np.isnan(found) & np.isnan(wanted))
    if name in SIGNS_OF_ZERO:
        alike &= (np.signbit(found) == np.signbit(wanted)) | np.isnan(wanted)
    with np.errstate(invalid="ignore"):
        close = np.abs(found - wanted) <= ULPS * np.spacing(np.abs(wanted))
    alike |= close & (wanted != 0)
    assert alike.all(), (np.flatnonzero(~alike), found[~alike], wanted[~alike])


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BINARY)
def test_two_operands(session, name, device):
    function, reference = BINARY[name]

    @tkw.wave(ROWS)
    def kernel(
        a: tkl.Memory[M, GLOBAL, tkl.f32],
        b: tkl.Memory[M, GLOBAL, tkl.f32],
        c: tkl.Memory[M, GLOBAL, tkl.f32],
    ):
        tkw.write(function(tkw.read(a), tkw.read(b)), c)

    a, b = np.repeat(VALUES, len(VALUES)), np.tile(VALUES, len(VALUES))
    c = np.full_like(a, 7)
    launch(session, kernel, device, a, b, c, M=len(a))
    assert_alike(name, c, reference(torch.from_numpy(a), torch.from_numpy(b)).numpy())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", BINARY)
def test_two_numbers_that_the_compiler_knows(session, name, device):
    function, reference = BINARY[name]
    i = tkw.IndexMapping.iterator(0)

    @tkw.wave(ROWS)
    def kernel(c: tkl.Memory[P, M, GLOBAL, tkl.f32]):
        for row, (x, y) in enumerate(PAIRS):
            one, other = tkl.Register[M, tkl.f32](x), tkl.Register[M, tkl.f32](y)
            to_row = tkw.IndexMapping(1, {M: i}, {P: row, M: i})
            tkw.write(function(one, other), c, mapping=to_row)

    c = np.full((len(PAIRS), 64), 7, np.float32)
    launch(session, kernel, device, c, M=64, P=len(PAIRS))
    assert (np.isnan(c) | (c == c[:, :1])).all()
    x, y = torch.tensor(PAIRS).T
    assert_alike(name, c[:, 0], reference(x, y).numpy())


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", UNARY)
def test_one_operand(session, name, device):
    function, reference = UNARY[name]

    @tkw.wave(ROWS)
    def kernel(a: tkl.Memory[M, GLOBAL, tkl.f32], c: tkl.Memory[M, GLOBAL, tkl.f32]):
        tkw.write(function(tkw.read(a)), c)

    a, c = VALUES, np.full_like(VALUES, 7)
    launch(session, kernel, device, a, c, M=len(a))
    assert_alike(name, c, reference(torch.from_numpy(a)).numpy())
