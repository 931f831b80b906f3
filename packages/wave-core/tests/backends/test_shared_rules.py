"""The rules that no vendor owns, computed and compared with what their ops mean."""

from __future__ import annotations

import operator
from importlib import import_module
from itertools import count

import numpy as np
import pytest
from computed_code import ComputedEmission

from wave_core.backends import LoweringTable, rules_of
from wave_core.backends.emission.small import FORMATS
from wave_core.ops import arithmetic as ops
from wave_core.ops.compare import COMPARISONS, Cast, Select
from wave_core.ops.constant import Scalar, Splat
from wave_core.ops.random import Philox
from wave_core.ops.shape import Assemble, Bitcast
from wave_core.ops.structure import Argument
from wave_core.symbols import as_expr, symbol
from wave_core.types import DTYPES, RegisterType

ROOM = "wave_core.backends.emission.rules"
FAMILIES = ("arithmetic", "compare", "constants", "random", "shape")
TABLE = LoweringTable.of(
    "computed",
    [rule for name in FAMILIES for rule in rules_of(import_module(f"{ROOM}.{name}"))],
)
M = symbol("M")
IDENTS = count()
# Scales are no numbers to compute with.
FLOATS = [d for d in DTYPES.values() if d.is_float and d.name != "f8e8m0fnu"]
WIDE_FLOATS = [d for d in FLOATS if not d.is_packed]
INTEGERS = [d for d in DTYPES.values() if d.is_integer and not d.is_packed]
LOOSE = {
    *(ops.Pow, ops.Atan2, ops.Softsign, ops.Exp, ops.Exp2, ops.Sqrt, ops.Rsqrt),
    *(ops.Cbrt, ops.Log, ops.Log2, ops.Log10, ops.Sin, ops.Cos, ops.Sinh, ops.Tanh),
    *(ops.TanhApprox, ops.Erf, ops.Sigmoid, ops.Silu, ops.Gelu),
}
"""What different formulas, or numpy on one number and on many, round differently."""


def argument(dtype):
    made = Argument("parameter", "x", RegisterType((M,), dtype))
    made.type, made.ident = made.declared, next(IDENTS)
    return made


def typed(op):
    op.type, op.ident = op.infer(), next(IDENTS)
    return op


def values_of(dtype, seed):
    """Ends of a type, special values, and random ones."""
    source = np.random.default_rng(seed)
    if dtype.is_bool:
        return source.integers(0, 2, 32).astype(bool)
    if dtype.is_integer:
        low, high = dtype.integer_range[0], dtype.integer_range[-1]
        near = [n for n in (0, 1, 2, 3, 7, 31, 100, -1, -2, -3) if low <= n <= high]
        numbers = [low, low + 1, high, high - 1, *near]
        whole = np.int8 if dtype.is_packed else dtype.numpy()
        rest = 32 - len(numbers)
        drawn = source.integers(low, high, rest, endpoint=True, dtype=whole)
        listed = np.array([*numbers, *map(int, drawn)], object)
        return source.permutation(listed).astype(whole).astype(dtype.numpy())
    numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 3.0, np.inf, -np.inf, np.nan, 1e9]
    listed = np.array([*numbers, *source.standard_normal(20) * 6], np.float32)
    with np.errstate(all="ignore"):
        return source.permutation(listed).astype(dtype.numpy())


def lowered(op, *arrays, registers=0):
    """What the rule for an op computes of these operands."""
    emit = ComputedEmission(TABLE, registers or max(map(len, arrays)))
    for value, array in zip(op.operands, arrays, strict=True):
        emit.put(value, array)
    TABLE.select(op)(op, emit)
    assert emit.fault_of(op, None) == ""
    return emit.array(op)


def check(op, *arrays, loose=False):
    found, wanted = lowered(op, *arrays), op.evaluate(*arrays)
    dtype = op.register_type.dtype
    if not dtype.is_float:
        np.testing.assert_array_equal(found, wanted)
        return
    bits = (each.astype(np.float64) for each in (found, np.asarray(wanted)))
    found, wanted = bits
    if loose:
        ulp = {64: 1e-14, 32: 1e-5, 16: 1e-2}.get(dtype.bits, 0.3)
        np.testing.assert_allclose(found, wanted, ulp, ulp)
        return
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))


def takes(cls, dtype):
    return dtype.family in cls.allowed


def cases(classes, dtypes):
    return [
        pytest.param(cls, dtype, id=f"{cls.op_name}-{dtype}")
        for cls in classes
        for dtype in dtypes
        if takes(cls, dtype)
    ]


PLAIN = [*WIDE_FLOATS, *INTEGERS, DTYPES["bool"]]


@pytest.mark.parametrize(("cls", "dtype"), cases(ops.BINARY, PLAIN))
def test_an_op_on_two_values_means_what_numpy_says(cls, dtype):
    one, other = values_of(dtype, 1), values_of(dtype, 2)
    op = typed(cls(argument(dtype), argument(dtype)))
    check(op, one, other, loose=cls in LOOSE)


DIVISIONS = {ops.FloorDiv: ["shrsi", "shrui"], ops.Mod: ["andi"]}
"""Their words where the divisor is a power of two."""

PYTHONS = {ops.FloorDiv: operator.floordiv, ops.Mod: operator.mod}


def divided(cls, array, below, dtype, **sizes):
    """What a division comes to, and the words that it took."""
    below = typed(below)
    op, emit = typed(cls(argument(dtype), below)), ComputedEmission(TABLE, len(array))
    emit.graph.bindings.update((symbol(name), of) for name, of in sizes.items())
    emit.put(op.operands[0], array)
    TABLE.select(below)(below, emit)
    TABLE.select(op)(op, emit)
    return emit.array(op), emit.instructions.words


@pytest.mark.parametrize(("cls", "dtype"), cases(DIVISIONS, INTEGERS))
def test_a_division_by_a_power_of_two_is_one_operation(cls, dtype):
    array, divide = values_of(dtype, 14), PYTHONS[cls]
    for power in range(dtype.bits - (not dtype.is_unsigned)):
        below = Splat((M,), dtype, 1 << power)
        found, (word,) = divided(cls, array, below, dtype)
        assert [*found] == [divide(int(x), 1 << power) for x in array]
        assert word in DIVISIONS[cls]


@pytest.mark.parametrize("cls", DIVISIONS)
def test_a_division_by_a_size_that_is_a_power_of_two_is_one_operation(cls):
    array, below = np.arange(-128, 128).astype(np.int8), symbol("SIZE")
    found, words = divided(
        cls, array, Scalar(below, DTYPES["i8"]), DTYPES["i8"], SIZE=as_expr(16)
    )
    assert [*found] == [PYTHONS[cls](int(x), 16) for x in array]
    assert words[-1] in DIVISIONS[cls]


@pytest.mark.parametrize("number", [3, 100, -1, -8, -128])
@pytest.mark.parametrize("cls", DIVISIONS)
def test_a_division_by_another_number_takes_its_sign(cls, number):
    array = np.arange(-128, 128).astype(np.int8)
    found, _ = divided(cls, array, Splat((M,), DTYPES["i8"], number), DTYPES["i8"])
    wanted = [PYTHONS[cls](int(x), number) for x in array]
    assert [*found] == [*np.array(wanted).astype(np.int8)]


@pytest.mark.parametrize("cls", DIVISIONS)
def test_a_division_by_none_is_none(cls):
    none = Splat((M,), DTYPES["i8"], 0)
    found, _ = divided(cls, np.arange(-128, 128).astype(np.int8), none, DTYPES["i8"])
    assert not found.any()


@pytest.mark.parametrize(("cls", "dtype"), cases(ops.UNARY, PLAIN))
def test_an_op_on_one_value_means_what_numpy_says(cls, dtype):
    op = typed(cls(argument(dtype)))
    check(op, values_of(dtype, 3), loose=cls in LOOSE)


@pytest.mark.parametrize(("cls", "dtype"), cases(COMPARISONS, PLAIN))
def test_a_comparison_means_what_numpy_says(cls, dtype):
    op = typed(cls(argument(dtype), argument(dtype)))
    check(op, values_of(dtype, 4), values_of(dtype, 5))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_selection_takes_each_element_from_its_side(dtype):
    truth = DTYPES["bool"]
    op = typed(Select(argument(truth), argument(dtype), argument(dtype)))
    check(op, values_of(truth, 6), values_of(dtype, 7), values_of(dtype, 8))


@pytest.mark.parametrize("wanted", DTYPES.values(), ids=str)
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_conversion_rounds_clamps_and_wraps_as_torch(dtype, wanted):
    array = values_of(dtype, 9)
    if dtype.is_float and wanted.is_integer:
        # Out of range, and for NaN, it is any value.
        wide = array.astype(np.float64)
        held = wanted.integer_range
        array = array[np.isfinite(wide) & (wide > held[0] - 1) & (wide < held[-1] + 1)]
    # So many that narrow ones fill words.
    array = array[: len(array) // 8 * 8]
    check(typed(Cast(argument(dtype), wanted)), array)


@pytest.mark.parametrize("number", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("name", ["f4e2m1fn", "f6e2m3fn", "f6e3m2fn", "i4"])
def test_small_elements_are_cut_from_words_of_any_number(name, number):
    array = values_of(DTYPES[name], 10)[:number]
    op = typed(Cast(argument(DTYPES[name]), DTYPES["f32"]))
    check(op, array)
    back = typed(Cast(argument(DTYPES["f32"]), DTYPES[name]))
    check(back, np.asarray(array, np.float32))


@pytest.mark.parametrize("name", FORMATS)
def test_where_products_keep_denormals_all_codes_are_what_they_are(name, monkeypatch):
    """Without a comparison with what is around 0."""
    monkeypatch.setattr(ComputedEmission, "keeps_denormals", True)
    dtype = DTYPES[name]
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(dtype.numpy())
    check(typed(Cast(argument(dtype), DTYPES["f32"])), codes)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("f32", "i32"), ("f32", "i8"), ("i8", "f64"), ("f16", "i32"), ("i8", "f4e2m1fn")],
)
def test_bits_stay_what_they_are(name, wanted):
    op = typed(Bitcast(argument(DTYPES[name]), DTYPES[wanted]))
    array = values_of(DTYPES[name], 11)
    meant = op.evaluate(array)
    found = lowered(op, array, registers=len(meant))
    assert found.dtype == meant.dtype
    assert found.tobytes() == meant.tobytes()


@pytest.mark.parametrize(
    "picks", [((0, 1), (0, 2), (0, 3)), ((1, 0), (0, 3), (1, 0)), ((1, 2),)]
)
def test_registers_are_put_together(picks):
    dtype = DTYPES["i32"]
    op = typed(Assemble((argument(dtype), argument(dtype)), picks, (M,)))
    sources = np.arange(4, dtype=np.int32), np.arange(10, 14, dtype=np.int32)
    found = lowered(op, *sources, registers=len(picks))
    assert list(found) == [sources[s][r] for s, r in picks]


@pytest.mark.parametrize("word", range(4))
def test_random_words_are_those_of_philox(word):
    wide = DTYPES["u64"]
    op = typed(Philox(argument(wide), argument(wide), word))
    check(op, values_of(wide, 12), values_of(wide, 13))


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_one_number_is_in_every_register(dtype):
    op = typed(Splat((M,), dtype, 1))
    emit = ComputedEmission(TABLE, 3)
    TABLE.select(op)(op, emit)
    assert [float(each) for each in emit.array(op)] == [1.0] * 3


def test_a_rule_that_records_something_else_is_at_fault():
    op = typed(ops.Neg(argument(DTYPES["f32"])))
    emit = ComputedEmission(TABLE, 4)
    assert emit.fault_of(op, None) == "it records no value"
    emit.set(op, "%7", 2)
    assert emit.fault_of(op, None) == "it records 2 x f32, not 4 x f32"
    emit.set(op, "%7", 1)
    assert emit.fault_of(op, None) == ""
