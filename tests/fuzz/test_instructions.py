"""Every elementwise op of the language on every element type, as machine code.

The emulator knows each instruction of the code object, executed or not, and what is
executed raises no hazard. Numbers are checked where ops are tested, not here.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import Config, Session, WaveCompileOptions
from wave_core.compile.emission import emit
from wave_core.diagnostics import UserError
from wave_core.ops.compare import Comparison
from wave_core.ops.elementwise import Binary, Unary
from wave_core.trace.surface import surface
from wave_core.types import DTYPES
from wave_emulator_amdgcn import emulate, load
from wave_emulator_amdgcn.program import Program

SESSION = Session(config=Config(cache=False), announce=lambda _: None)
REFUSALS = ("WV0205",)
"""An element type that the op does not take."""

TARGETS = ("gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201")
M, N = tkl.sym.M, tkl.sym.N
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
TYPES = [
    dtype
    for name, dtype in DTYPES.items()
    if name not in ("index", "f8e8m0fnu") and not dtype.is_packed
]
ROWS = [
    tkw.WorkgroupConstraint(M, 1, 0),
    tkw.HardwareConstraint(vector_shapes={M: 1, N: N}),
]


def leaves(cls):
    """The ops below a class of ops."""
    below = cls.__subclasses__()
    return [leaf for sub in below for leaf in leaves(sub)] if below else [cls]


UNARY = [cls for cls in leaves(Unary) if cls.op_name not in ("", "cast")]
BINARY = [cls for cls in leaves(Binary) if cls.op_name]


def unary(kind, out, function):
    @tkw.wave(ROWS)
    def one(a: tkl.Memory[M, N, GLOBAL, kind], c: tkl.Memory[M, N, GLOBAL, out]):
        tkw.write(function(tkw.read(a)), c)

    return one, (kind, out)


def binary(kind, function):
    @tkw.wave(ROWS)
    def two(
        a: tkl.Memory[M, N, GLOBAL, kind],
        b: tkl.Memory[M, N, GLOBAL, kind],
        c: tkl.Memory[M, N, GLOBAL, kind],
    ):
        tkw.write(function(tkw.read(a), tkw.read(b)), c)

    return two, (kind, kind, kind)


def chosen(cls):
    """An op of two operands; a comparison selects one of them."""
    op = surface(cls)
    if not issubclass(cls, Comparison):
        return op
    return lambda a, b: tkw.select(op(a, b), a, b)


def casts():
    for kind, out in product(TYPES, TYPES):
        if kind is not out:
            yield unary(kind, out, lambda x, out=out: tkw.cast(x, out))


def ops_of_one():
    for cls, kind in product(UNARY, TYPES):
        yield unary(kind, kind, surface(cls))


def ops_of_two():
    for cls, kind in product(BINARY, TYPES):
        function = chosen(cls)
        yield binary(kind, function)
        yield unary(kind, kind, lambda x, function=function: function(x, x))


def values(rng, dtype, shape):
    numbers = rng.integers(-100, 100, shape) if dtype.is_integer else 0
    if dtype.is_float:
        numbers = (rng.standard_normal(shape) * 3).astype(np.float32)
    return np.array(np.broadcast_to(numbers, shape)).astype(dtype.numpy())


def code_of(kernel, target, width):
    """The code object; None where the compiler refuses the op, with its reason."""
    options = WaveCompileOptions(subs={M: 2, N: width}, target=target)
    try:
        return load(emit(options, kernel, "hsaco", SESSION).files["code.hsaco"])
    except UserError as refused:
        if refused.code not in REFUSALS:
            raise
        return None


def know_every_instruction(code):
    """Bind the code of a kernel from its entry to its end."""
    kernel = code.kernel()
    start, data = next(
        (first, image)
        for first, image in code.elf.image
        if first <= kernel.entry < first + len(image)
    )
    program, pc = Program(data, start, code.architecture), kernel.entry
    while pc < kernel.end:
        pc = program.at(pc).following


def check(target, kernels, widths=(64, 256)):
    """How many kernels were executed."""
    count = 0
    for (kernel, dtypes), width in product(kernels, widths):
        code = code_of(kernel, target, width)
        if code is None:
            continue
        know_every_instruction(code)
        rng = np.random.default_rng(7)
        buffers = [values(rng, dtype, (2, width)).view(np.uint8) for dtype in dtypes]
        assert emulate(code, buffers, grid=(2, 1, 1)).reports == ()
        count += 1
    return count


@pytest.mark.parametrize("target", TARGETS)
def test_instructions_that_were_once_unknown(target):
    divided = surface(next(cls for cls in BINARY if cls.op_name == "div"))
    whole = surface(next(cls for cls in BINARY if cls.op_name == "floordiv"))
    kernels = [
        unary(tkl.f16, tkl.f16, lambda x: divided(x, x)),
        unary(tkl.f32, tkl.i16, lambda x: tkw.cast(x, tkl.i16)),
        binary(tkl.i64, whole),
    ]
    assert check(target, kernels, widths=(256,)) == 3


@pytest.mark.fuzz
@pytest.mark.parametrize("kernels", [casts, ops_of_one, ops_of_two])
@pytest.mark.parametrize("target", TARGETS)
def test_every_op_of_every_type(target, kernels):
    assert check(target, kernels()) > 90
