"""Index mappings: from what users write to the terms of the IR."""

from __future__ import annotations

import pytest

import wave_core.lang as tkw
from wave_core.diagnostics import UserError
from wave_core.symbols import symbol

M, N, K, S = tkw.sym.M, tkw.sym.N, tkw.sym.K, tkw.sym.S
SPACE = tkw.GLOBAL_ADDRESS_SPACE
i = tkw.IndexMapping.iterator(0)
j = tkw.IndexMapping.iterator(1)
d0 = tkw.IndexMapping.dynamic_val(0)


def first_access(kernel, *constraints):
    graph = tkw.wave(constraints)(kernel).trace()
    accesses = [op for op in graph.walk() if getattr(op, "mapping", None)]
    return accesses[0]


def refusal(kernel, *constraints) -> str:
    with pytest.raises(UserError) as caught:
        tkw.wave(constraints)(kernel).trace()
    return caught.value.code


def reading(mapping, *dynamic):
    def kernel(a: tkw.Memory[M, N, SPACE, tkw.f16]):
        tkw.read(a, mapping=mapping, mapping_dynamic_vals=dynamic)

    return kernel


def at(access, **index):
    return [
        str(e) for e in access.mapping.apply({k: symbol(v) for k, v in index.items()})
    ]


def test_transposed_read():
    mapping = tkw.IndexMapping(2, inputs={M: j, N: i}, outputs={N: i, M: j})
    read = first_access(reading(mapping))
    assert read.type.dims == ("N", "M")
    assert read.mapping.register_dims == ("N", "M")
    assert at(read, N="n", M="m") == ["m", "n"]


def test_register_shape_is_the_order_of_the_keys():
    mapping = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={N: j, M: i})
    read = first_access(reading(mapping))
    assert read.type.dims == ("N", "M")
    assert read.mapping.register_dims == ("M", "N")


def test_arithmetic_and_constants_on_the_memory_side():
    mapping = tkw.IndexMapping(1, inputs={M: i % 4, N: 0}, outputs={K: i})
    read = first_access(reading(mapping))
    assert read.type.dims == ("K",)
    assert read.mapping.coordinates[1].constant_value == 0


def test_write_walks_its_inputs():
    mapping = tkw.IndexMapping(2, inputs={M: i, N: j}, outputs={M: i + 1, N: j})

    def kernel(a: tkw.Memory[M, N, SPACE, tkw.f16]):
        tkw.write(tkw.read(a), a, mapping=mapping)

    assert at(first_access(kernel), M="m", N="n") == ["m + 1", "n"]


def test_index_registers():
    mapping = tkw.IndexMapping(
        2, inputs={M: d0, N: j}, outputs={S: i, N: j}, dynamic_val_mappings={S: i}
    )

    def kernel(
        a: tkw.Memory[M, N, SPACE, tkw.f16], rows: tkw.Memory[S, SPACE, tkw.i32]
    ):
        tkw.read(a, mapping=mapping, mapping_dynamic_vals=(tkw.read(rows),))

    read = first_access(kernel)
    assert read.mapping.dynamic_dims == (("S",),)
    assert read.indices[0].type.dims == ("S",)
    assert "$dynamic_val0" in str(read.mapping.coordinates[0])


def test_index_registers_of_the_wrong_type():
    mapping = tkw.IndexMapping(
        2, inputs={M: d0, N: j}, outputs={S: i, N: j}, dynamic_val_mappings={S: i}
    )

    def kernel(
        a: tkw.Memory[M, N, SPACE, tkw.f16], rows: tkw.Memory[S, SPACE, tkw.f32]
    ):
        tkw.read(a, mapping=mapping, mapping_dynamic_vals=(tkw.read(rows),))

    assert refusal(kernel) == "WV0205"


def test_what_a_mapping_says_of_itself():
    shifted = tkw.IndexMapping(
        2, {M: d0, N: j + K}, {M: i, N: j}, dynamic_val_mappings={M: i // K}
    )
    assert (shifted.num_iterators, shifted.num_dynamic_vals) == (2, 1)
    assert shifted.input_mapping == {M: d0, N: j + K}
    assert shifted.output_mapping == {M: i, N: j}
    assert shifted.input_shape == shifted.output_shape == (M, N)
    assert (shifted.is_input_identity(), shifted.is_output_identity()) == (False, True)
    assert not shifted.is_identity()
    moved = shifted.substitute({K: 4})
    assert moved.input_mapping == {M: d0, N: j + 4}
    assert moved.dynamic_val_mappings == ({M: i // 4},)
    assert shifted.substitute({K: 0, d0: i}).input_mapping == {M: i, N: j}


@pytest.mark.parametrize(
    ("inputs", "outputs", "same"),
    [
        ({M: i, N: j}, {M: i, N: j}, True),
        ({M: i, N: j}, {N: i, M: j}, False),
        ({M: j, N: i}, {M: j, N: i}, False),
        ({M: i, N: 0}, {M: i, N: j}, False),
    ],
)
def test_identity(inputs, outputs, same):
    assert tkw.IndexMapping(2, inputs, outputs).is_identity() is same


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        (tkw.IndexMapping(2, {M: i, N: j}, {M: i, N: j + 1}), "WV0403"),
        (tkw.IndexMapping(2, {M: i, N: j}, {M: i, N: i}), "WV0403"),
        (tkw.IndexMapping(2, {M: i, N: 0}, {M: i}), "WV0403"),
        (tkw.IndexMapping(1, {M: i, N: j}, {M: i}), "WV0403"),
        (tkw.IndexMapping(1, {M: i}, {M: i}), "WV0401"),
        (tkw.IndexMapping(1, {M: i, K: i}, {M: i}), "WV0401"),
        (tkw.IndexMapping(1, {M: d0, N: i}, {S: i}, {S: i}), "WV0402"),
        (tkw.IndexMapping(1, {M: d0, N: i}, {S: i}, {K: i}), "WV0402"),
    ],
)
def test_malformed(mapping, code):
    assert refusal(reading(mapping)) == code


def test_mapping_of_a_write_has_to_name_the_registers_dims():
    mapping = tkw.IndexMapping(1, inputs={M: i}, outputs={M: i, N: 0})

    def kernel(a: tkw.Memory[M, N, SPACE, tkw.f16]):
        tkw.write(tkw.read(a), a, mapping=mapping)

    assert refusal(kernel) == "WV0401"


def test_sources_and_targets_name_bound_iterators():
    x, y = tkw.sym.x, tkw.sym.y
    bindings = tkw.IteratorBindings({x: M, y: N})

    def kernel(a: tkw.Memory[M, N, SPACE, tkw.f16], b: tkw.Memory[N, SPACE, tkw.i32]):
        row = tkw.read(b)
        tkw.read(a, source=(x + 1, y), target=(y, x))
        tkw.write(
            tkw.read(a, source=(row, y), target=(y,)),
            b_out(a),
            source=(y,),
            target=(0, y),
        )

    def b_out(a):
        return a

    read = first_access(kernel, bindings)
    assert read.type.dims == ("N", "M")
    assert at(read, M="m", N="n") == ["m + 1", "n"]


def test_unbound_iterator():
    def kernel(a: tkw.Memory[M, SPACE, tkw.f16]):
        tkw.read(a, source=(tkw.sym.x,), target=(tkw.sym.x,))

    assert refusal(kernel) == "WV0404"
