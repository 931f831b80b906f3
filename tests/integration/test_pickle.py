"""Options, constraints, expressions and kernels go to other processes."""

from __future__ import annotations

import multiprocessing
import pickle  # noqa: TID251 - that it can be is the test
import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import wave_core.lang as tkl
import wave_core.lang as tkw
from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.diagnostics import UserError
from wave_core.symbols import ceildiv, ge, logical_and, maximum, select, symbol, xor
from wave_testing.strategies import expressions

M, N, BLOCK, SPACE = tkl.sym.M, tkl.sym.N, tkl.sym.BLOCK, tkl.sym.SPACE
GLOBAL = tkl.GLOBAL_ADDRESS_SPACE
CONSTRAINTS = (
    tkw.WorkgroupConstraint(M, BLOCK, 0),
    tkw.TilingConstraint(N, BLOCK * 2),
    tkw.WaveConstraint(M, BLOCK / 4),
    tkw.HardwareConstraint(threads_per_wave=64),
)


def again(value):
    return pickle.loads(pickle.dumps(value))


@given(expressions())
def test_an_expression_is_the_same_node(value):
    assert again(value) is value


def test_every_kind_of_expression_is_the_same_node():
    m, n = symbol("M"), symbol("N", nonnegative=False)
    kinds = (m + 3, m * n, m // 4, n % 5, maximum(m, n), xor(m, n), m * 3 - n // m)
    tests = (select(ge(m, n), m, n), logical_and(ge(m, n), ge(n, 3)), ceildiv(m, 16))
    assert [again(each) for each in (*kinds, *tests)] == [*kinds, *tests]


def test_shared_parts_stay_shared():
    value = symbol("M")
    for place in range(40):
        value = xor(value // (place + 2), value)
    assert len(pickle.dumps(value)) < 20_000
    assert again(value) is value


@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=lambda c: type(c).__name__)
def test_constraints(constraint):
    assert again(constraint) == constraint
    assert hash(again(constraint)) == hash(constraint)


def test_options():
    options = WaveCompileOptions(
        subs={M: 64, SPACE: GLOBAL},
        dynamic_symbols=[N],
        passes="minimize-global-loads{max-bits=64}",
        target="gfx942",
    )
    assert again(options) == options
    assert again(options).location == options.location


# ---- kernels


@tkw.wave([tkw.WorkgroupConstraint(M, 8, 0), tkw.HardwareConstraint()])
def double(a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]):
    value = tkw.read(a)
    tkw.write(value + value, b)


OPTIONS = WaveCompileOptions(subs={M: 8, N: 64}, device="sim")


def doubled(kernel):
    a = np.arange(512, dtype=np.float32).reshape(8, 64)
    b = np.zeros_like(a)
    kernel(a, b)
    return bool((b == 2 * a).all())


def test_a_kernel_is_found_by_its_name():
    assert again(double) is double


def test_a_compiled_kernel_is_compiled_again():
    kernel = wave_compile(OPTIONS, double)
    other = again(kernel)
    assert other.key == kernel.key
    assert doubled(other)


@pytest.mark.parametrize("way", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_compiled_kernel_runs_in_another_process(way, monkeypatch, request):
    # A spawned process imports this module by its name, which pytest alone knows.
    monkeypatch.syspath_prepend(request.config.rootpath)
    with multiprocessing.get_context(way).Pool(1) as pool:
        assert pool.apply(doubled, (wave_compile(OPTIONS, double),))


def test_a_kernel_of_a_function_is_refused():
    def make():
        @tkw.wave([tkw.WorkgroupConstraint(M, 8, 0), tkw.HardwareConstraint()])
        def inner(
            a: tkl.Memory[M, N, GLOBAL, tkl.f32], b: tkl.Memory[M, N, GLOBAL, tkl.f32]
        ):
            tkw.write(tkw.read(a), b)

        return inner

    for given_ in (make(), wave_compile(OPTIONS, make()), replace(double, name="x")):
        with pytest.raises(UserError) as caught:
            pickle.dumps(given_)
        assert caught.value.code == "WV0117"
    with pytest.raises(UserError) as caught:
        pickle.dumps(make())
    shown = re.sub(r"(?m)(?<=:)\d+|^\d+(?= \|)", "#", str(caught.value))
    assert shown == (
        "error[WV0117]: kernel `inner` cannot be pickled: `"
        f"{__name__}.test_a_kernel_of_a_function_is_refused.<locals>.make.<locals>"
        ".inner` is not this kernel\n"
        "    --> tests/integration/test_pickle.py:#:# in inner\n"
        "# |         def inner(\n"
        "    |         ^^^^^^^^^ this kernel\n"
        "    = help: define it at the top of a module, under the name of its function\n"
        "    = help: or pass what makes it, and make and compile it in the other "
        "process"
    )
