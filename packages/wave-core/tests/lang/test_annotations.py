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


def test_a_layout_may_leave_extents_as_they_are():
    layout = tkl.MemoryLayout(shape=[None, N + 8])

    def kernel(a: tkl.Memory[M, N, tkl.GLOBAL_ADDRESS_SPACE, tkl.f16, layout]):
        """Nothing."""

    (parameter,) = tkl.wave()(kernel).trace().parameters
    physical = parameter.type.physical
    assert physical is not None
    assert [str(size) for size in physical] == ["M", "N + 8"]


@pytest.mark.parametrize(
    ("dtype", "bits", "mlir", "kind"),
    [
        (tkl.f16, 16, "f16", "float"),
        (tkl.bf16, 16, "bf16", "float"),
        (tkl.f8e4m3fnuz, 8, "f8E4M3FNUZ", "float"),
        (tkl.i8, 8, "i8", "int"),
        (tkl.i1, 1, "i1", "int"),
        (tkl.index, 64, "index", "index"),
    ],
)
def test_element_types_answer_as_in_the_reference(dtype, bits, mlir, kind):
    assert (dtype.bitwidth(), dtype.ir_type_asm()) == (bits, mlir)
    answers = {
        "float": dtype.is_float_asm(),
        "int": dtype.is_int_asm(),
        "index": dtype.is_index_asm(),
    }
    assert [name for name, holds in answers.items() if holds] == [kind]


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


@pytest.mark.parametrize(
    "make",
    [
        lambda: tkl.Memory(M, M, SPACE, tkl.f16),
        lambda: tkl.Memory((M,), SPACE, tkl.f16, usage=5),
        lambda: tkl.Memory((M,), SPACE, tkl.f16, (M,)),
        lambda: tkl.Register(M, tkl.f16),
        lambda: tkl.Register((M,), 16),
    ],
)
def test_parts_of_annotations_are_of_their_kind(make):
    with pytest.raises(UserError) as caught:
        make()
    assert caught.value.code == "WV0220"
    assert "help: write `" in str(caught.value)


def test_memory_is_not_in_registers():
    with pytest.raises(UserError) as caught:
        tkl.Memory[M, tkl.AddressSpace.REGISTER, tkl.f16]
    assert caught.value.code == "WV0410"


INPUT, OUTPUT, TEMPORARY = (
    tkl.KernelBufferUsage.INPUT,
    tkl.KernelBufferUsage.OUTPUT,
    tkl.KernelBufferUsage.TEMPORARY,
)


def copy_with(first, second):
    layout = tkl.MemoryLayout(shape=(M,))

    @tkl.wave([tkl.HardwareConstraint(threads_per_wave=64)])
    def kernel(
        a: tkl.Memory[M, SPACE, tkl.f16, first],
        b: tkl.Memory[M, SPACE, tkl.f16, layout, second],
    ):
        tkl.write(tkl.read(a), b)

    return kernel


@pytest.mark.parametrize("first", [INPUT, TEMPORARY, tkl.KernelBufferUsage.NONE])
@pytest.mark.parametrize("second", [OUTPUT, TEMPORARY])
def test_a_usage_that_is_true_changes_nothing(first, second):
    given = copy_with(first, second).trace({M: 8})
    left_out = copy_with(tkl.KernelBufferUsage.NONE, tkl.KernelBufferUsage.NONE)
    assert str(given) == str(left_out.trace({M: 8}))


def test_an_input_is_not_written():
    with pytest.raises(UserError) as caught:
        copy_with(INPUT, INPUT).trace({M: 8})
    text = str(caught.value)
    assert text.startswith("error[WV0419]: `b` is declared as an input, and written\n")
    assert "tkl.write(tkl.read(a), b)\n" in text
    assert "^ written here" in text
    assert "- `KernelBufferUsage.INPUT`" in text
    assert text.endswith("help: declare it as `OUTPUT`, or leave the usage out")


def test_an_output_is_written():
    with pytest.raises(UserError) as caught:
        copy_with(OUTPUT, OUTPUT).trace({M: 8})
    text = str(caught.value)
    assert "error[WV0419]: `a` is declared as an output, and never written" in text
    assert "^ `KernelBufferUsage.OUTPUT`" in text
    assert text.endswith("declare it as `INPUT`, or leave the usage out")


def test_kernels_are_not_called_uncompiled():
    @tkl.wave([])
    def kernel(a: tkl.Memory[M, SPACE, tkl.f16]):
        """Does nothing."""

    assert (kernel.name, kernel.__doc__) == ("kernel", "Does nothing.")
    with pytest.raises(UserError) as caught:
        kernel(1)
    assert caught.value.code == "WV0113"
    assert "wave_compile" in str(caught.value)
    with pytest.raises(UserError, match="launched on a grid") as caught:
        kernel[(1,)]
    assert caught.value.code == "WV0113"
    assert "constraints size the grid" in str(caught.value)


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
