"""Ways to call a kernel: by name, inside ``torch.compile``."""

from __future__ import annotations

import re

import numpy as np
import pytest
import torch

from wave_core.compile import WaveCompileOptions, wave_compile
from wave_core.diagnostics import LaunchError


@pytest.fixture
def kernel(make_session, copy_kernel, tiles):
    options = WaveCompileOptions(subs={"M": 4, "N": 6, **tiles}, device="sim")
    return wave_compile(options, copy_kernel, session=make_session())


def arrays():
    return np.ones((4, 6), np.float16), np.zeros((4, 6), np.float16)


def by_name(kernel, a, b):
    kernel(b=b, a=a)


def mixed(kernel, a, b):
    kernel(a, b=b)


@pytest.mark.parametrize("call", [by_name, mixed])
def test_arguments_by_name(kernel, call):
    a, b = arrays()
    call(kernel, a, b)
    assert (b == 1).all()


A, B = arrays()

WRONG = {
    "got argument `a` twice": ((A, B), {"a": A}),
    "has no parameter `bb`": ((A,), {"bb": B, "b": B}),
    "takes 2 arguments, 1 were given": ((), {"b": B}),
    "takes 2 arguments, 3 were given": ((A, B, B), {}),
}


@pytest.mark.parametrize("says", WRONG)
def test_wrong_names(kernel, says):
    given, named = WRONG[says]
    with pytest.raises(LaunchError) as caught:
        kernel(*given, **named)
    (found,) = caught.value.diagnostics
    assert found.code == "WV0703"
    assert says in found.message
    assert (B == 0).all()


def test_the_nearest_name_is_told(kernel):
    with pytest.raises(LaunchError, match="did you mean") as caught:
        kernel(A, B, aa=A)
    assert {row.code for row in caught.value.diagnostics} == {"WV0703"}


def told(kernel, *given, **named):
    """The whole message about a call, numbers of lines and columns left out."""
    with pytest.raises(LaunchError) as caught:
        kernel(*given, **named)
    return re.sub(r"(?m)(?<=:)\d+|^\d+(?= \|)", "#", str(caught.value))


CALLED = """\
   ::: packages/wave-core/tests/compile/test_calls.py:#:# in told
# |         kernel(*given, **named)
   |         ----------------------- launched here
"""


def test_the_message_about_a_missing_argument(kernel):
    assert told(kernel, A) == (
        "error[WV0703]: `copy` takes 2 arguments, 1 were given\n"
        "   --> packages/wave-core/tests/compile/conftest.py:#:# in copy\n"
        "# |     def copy(\n"
        "   |     ^^^^^^^^ this kernel\n"
        f"{CALLED}"
        "   = note: missing: b\n"
        "   = help: call copy(a: f16[M, N], b: f16[M, N]), in order or by name; "
        "outputs are allocated by the caller"
    )


def test_the_message_about_an_argument_that_requires_grad(kernel):
    assert told(kernel, torch.tensor(A, requires_grad=True), b=B) == (
        "error[WV0714]: argument `a` of `copy` is read by the kernel and requires "
        "grad\n"
        "   --> packages/wave-core/tests/compile/conftest.py:#:# in copy\n"
        "# |         a: tkw.Memory[M, N, SPACE, tkw.f16],\n"
        "   |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ declared as `a: f16[M, N]`\n"
        f"{CALLED}"
        "   = note: the launch is invisible to autograd: no gradient would flow "
        "through it\n"
        "   = help: pass `argument.detach()`; under `torch.no_grad()` inputs pass as "
        "they are"
    )


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_compile_sees_one_operator(kernel, make_session, backend):
    def doubled(a):
        b = torch.empty_like(a)
        kernel(a, b=b)
        return 2 * b

    compiled = torch.compile(doubled, backend=backend, fullgraph=True)
    a = torch.arange(24.0).reshape(4, 6).half()
    for scale in (1, 3):
        assert torch.equal(compiled(scale * a), 2 * scale * a)
    assert len(make_session.calls()) == 2


def test_a_call_while_another_thread_is_traced(kernel, monkeypatch):
    # Torch has one flag for all threads; the call went round in circles.
    monkeypatch.setattr(torch.compiler, "_is_compiling_flag", True)
    a = torch.arange(24.0).reshape(4, 6).half()
    b = torch.empty_like(a)
    kernel(a, b)
    assert torch.equal(a, b)
    assert kernel.operator is None
