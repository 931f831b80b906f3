"""What ops refuse, and with which code."""

from __future__ import annotations

import pytest

from wave_core.diagnostics import UserError
from wave_core.ops import arithmetic, compare, rules
from wave_core.ops.builtin import builtin_ops
from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, Splat
from wave_core.ops.control import Conditional
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate, Read, Write
from wave_core.ops.reduce import Reduce, Shuffle
from wave_core.ops.shape import Broadcast, Extract, Permute, Reshape
from wave_core.ops.sync import SetWavePrio
from wave_core.symbols import constant, symbol
from wave_core.types import DTYPES, AccessMapping, iterator_symbol

M, N, K, B = (symbol(name) for name in "MNKB")
I32, F16, F32 = DTYPES["i32"], DTYPES["f16"], DTYPES["f32"]


def reg(dims, dtype="f32"):
    return lambda build: build.register(dims, dtype)


def mem(dims, dtype="f32"):
    return lambda build: build.memory(dims, dtype)


CASES = {
    "memory as register": ("WV0201", arithmetic.Neg, (mem("M"),), {}),
    "register as memory": ("WV0202", Read, (reg("M"),), {}),
    "no contracted dim": ("WV0203", Mma, (reg("M K"), reg("N B"), reg("M N")), {}),
    "lhs without M": ("WV0203", Mma, (reg("B K"), reg("N K"), reg("M N")), {}),
    "rhs without N": ("WV0203", Mma, (reg("M K"), reg("B K"), reg("M N")), {}),
    "flat accumulator": ("WV0203", Mma, (reg("M K"), reg("N K"), reg("M")), {}),
    "mixed floats": ("WV0204", arithmetic.Add, (reg("M"), reg("M", "f16")), {}),
    "index and int": (
        "WV0204",
        arithmetic.Add,
        (reg("M", "index"), reg("M", "i32")),
        {},
    ),
    "write of another type": ("WV0204", Write, (reg("M", "f16"), mem("M")), {}),
    "exp of integers": ("WV0205", arithmetic.Exp, (reg("M", "i32"),), {}),
    "division of integers": (
        "WV0205",
        arithmetic.Div,
        (reg("M", "i32"), reg("M", "i32")),
        {},
    ),
    "sum of truths": (
        "WV0205",
        arithmetic.Add,
        (reg("M", "bool"), reg("M", "bool")),
        {},
    ),
    "bits of floats": ("WV0205", arithmetic.And, (reg("M"), reg("M")), {}),
    "float condition": ("WV0205", compare.Select, (reg("M"), reg("M"), reg("M")), {}),
    "f16 accumulator": (
        "WV0205",
        Mma,
        (reg("M K", "f16"), reg("N K", "f16"), reg("M N", "f16")),
        {},
    ),
    "float self_index": ("WV0205", SelfIndex, (), {"dim": K, "dtype": F32}),
    "two orders": ("WV0206", arithmetic.Add, (reg("M N K"), reg("N M B")), {}),
    "dim twice": ("WV0207", Splat, (), {"shape": (M, M), "dtype": F32, "value": 0}),
    "permute drops": ("WV0221", Permute, (reg("M N"),), {"shape": (M,)}),
    "write misses a dim": ("WV0208", Write, (reg("M"), mem("M N")), {}),
    "fraction as integer": ("WV0209", Scalar, (), {"value": 0.5, "dtype": I32}),
    "integer too large": (
        "WV0209",
        Scalar,
        (),
        {"value": 128, "dtype": DTYPES["i8"]},
    ),
    "broadcast drops": ("WV0211", Broadcast, (reg("M N"),), {"shape": (M, K)}),
    "reduce over another dim": (
        "WV0214",
        Reduce,
        ([reg("M")],),
        {"kind": "sum", "dim": K},
    ),
    "accumulator type": (
        "WV0215",
        Reduce,
        ([reg("M K")], reg("M", "f16")),
        {"kind": "sum", "dim": K},
    ),
    "extract of a scalar": ("WV0213", Extract, (reg(""),), {"offset": (0,)}),
    "slice outside": (
        "WV0212",
        Reshape,
        ([reg("K")],),
        {"shape": (K,), "logical_slice": 2, "num_slices": 2},
    ),
    "shuffle width": ("WV0216", Shuffle, (reg("M"),), {"offset": 1, "width": 12}),
    "allocate ranks": (
        "WV0217",
        Allocate,
        (),
        {"shape": (M, N), "distributed_shape": (M,), "dtype": F16},
    ),
    "no expression": ("WV0210", ApplyExpr, ([],), {"expr": M}),
    "no condition": ("WV0218", Conditional, (), {"body": None}),
    "expression is no relation": ("WV0218", Conditional, (), {"body": None, "expr": M}),
    "priority": ("WV0219", SetWavePrio, (), {"priority": 4}),
    "mapping of other dims": (
        "WV0401",
        Read,
        (mem("M N"),),
        {
            "mapping": AccessMapping(("K",), (iterator_symbol(0), constant(0))),
            "shape": (M,),
        },
    ),
    "index register missing": (
        "WV0402",
        Read,
        (mem("M"),),
        {
            "mapping": AccessMapping(("M",), (iterator_symbol(0),), (("M",),)),
            "shape": (M,),
        },
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused_with_its_code(case, build):
    code, cls, operands, attributes = CASES[case]
    made = [
        tuple(make(build) for make in item) if isinstance(item, list) else item(build)
        for item in operands
    ]
    with pytest.raises(UserError) as caught:
        build.op(cls, *made, **attributes)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        ("M N", "M N", "M N"),
        ("B M K", "M K", "B M K"),
        ("B N M", "B M", "B N M"),
        ("M", "", "M"),
        ("M", "N", "M N"),
        ("M K", "N K", "M N K"),
        ("M N", "N M", None),
        ("B M K", "K B", None),
    ],
)
def test_union_of_dims(first, second, merged):
    def shape(text):
        return tuple(symbol(name) for name in text.split())

    expected = None if merged is None else shape(merged)
    assert rules.merge_dims(shape(first), shape(second)) == expected


def test_union_takes_the_order_of_the_larger(build):
    op = build.op(
        arithmetic.Add, build.register("M", "f32"), build.register("B M", "f32")
    )
    assert op.type.dims == ("B", "M")


def test_every_op_has_a_name_of_its_own_and_documentation():
    names = [cls.op_name for cls in builtin_ops()]
    assert len(set(names)) == len(names)
    assert all(cls.__doc__ for cls in builtin_ops())
