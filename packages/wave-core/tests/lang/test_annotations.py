"""Memory, Register and SymbolBind, well formed and not."""

from __future__ import annotations

import pytest

import wave_core.lang as tkl
from wave_core.diagnostics import UserError

M, N = tkl.sym.M, tkl.sym.N
SPACE = tkl.GLOBAL_ADDRESS_SPACE


def test_memory_holds_its_parts():
    found = tkl.Memory[M, 2 * N, SPACE, tkl.f16]
    assert (found.dims, found.space, found.dtype) == ((M, 2 * N), SPACE, tkl.f16)


def test_shapes_may_be_tuples():
    assert tkl.Memory[(M, N), SPACE, tkl.f16] == tkl.Memory[M, N, SPACE, tkl.f16]
    assert tkl.Register[(M, N), tkl.f16] == tkl.Register[M, N, tkl.f16]


def test_layout_gives_the_shape_in_storage():
    layout = tkl.MemoryLayout(shape=(M, N + 8))
    assert tkl.Memory[M, N, SPACE, tkl.f16, layout].layout is layout


@pytest.mark.parametrize(
    "make",
    [
        lambda: tkl.Memory[M, N],
        lambda: tkl.Memory[M, tkl.f16],
        lambda: tkl.Memory[M, N, tkl.f16, SPACE],
        lambda: tkl.Memory[M, 2 * N, tkl.f16],
        lambda: tkl.Memory[M, -1, SPACE, tkl.f16],
        lambda: tkl.Memory[M, N - N - 1, SPACE, tkl.f16],
        lambda: tkl.Register[-1, tkl.f16],
        lambda: tkl.Register[M, N],
        lambda: tkl.Register[M, SPACE, tkl.f16],
        lambda: tkl.SymbolBind[tkl.f16],
        lambda: tkl.SymbolBind[M],
    ],
)
def test_malformed(make):
    with pytest.raises(UserError) as caught:
        make()
    assert caught.value.code == "WV0220"


def test_a_layout_has_no_negative_size():
    with pytest.raises(UserError) as caught:
        tkl.MemoryLayout(shape=(-1, 4))
    head, *_, label, first, second = str(caught.value).splitlines()
    assert head == "error[WV0220]: `MemoryLayout` cannot be made of `(-1, 4)`"
    assert label.endswith("^ needs (shape=(dims..))")
    assert first == "   = help: write `MemoryLayout(shape=(dims..))`"
    assert second == "   = help: dims are symbols, or integers from 0 on"


def test_memory_is_not_in_registers():
    with pytest.raises(UserError) as caught:
        tkl.Memory[M, tkl.AddressSpace.REGISTER, tkl.f16]
    assert caught.value.code == "WV0410"


def test_kernels_are_not_called_uncompiled():
    @tkl.wave([])
    def kernel(a: tkl.Memory[M, SPACE, tkl.f16]):
        """Does nothing."""

    assert (kernel.name, kernel.__doc__) == ("kernel", "Does nothing.")
    with pytest.raises(UserError) as caught:
        kernel(1)
    assert caught.value.code == "WV0113"
    assert "wave_compile" in str(caught.value)


def test_constraints_are_checked():
    with pytest.raises(UserError) as caught:
        tkl.wave([tkl.HardwareConstraint(threads_per_wave=64), "M"])
    assert caught.value.code == "WV0114"


def test_only_functions_are_kernels():
    with pytest.raises(UserError) as caught:
        tkl.wave([])("gemm")
    assert caught.value.code == "WV0116"


def test_kernels_are_immutable():
    kernel = tkl.wave([])(lambda: None)
    with pytest.raises(AttributeError):
        kernel.constraints = ()


def test_trace_only():
    @tkl.wave_trace_only([], M=4)
    def kernel(a: tkl.Memory[M, SPACE, tkl.f16]):
        tkl.write(tkl.read(a), a)

    assert [op.op_name for op in kernel().walk()] == ["read", "write", "yield"]
