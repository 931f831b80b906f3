"""Ops on whole tiles: their types and what they mean."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wave_core.ops.constant import ApplyExpr, Scalar, SelfIndex, Splat, argument_symbol
from wave_core.ops.matrix import Mma
from wave_core.ops.memory import Allocate
from wave_core.ops.reduce import Reduce, Shuffle, identity_value
from wave_core.ops.shape import Broadcast, Extract, Permute, Reshape
from wave_core.symbols import constant, symbol
from wave_core.types import DTYPES

M, N, K, B = (symbol(name) for name in "MNKB")
F32 = DTYPES["f32"]


def test_splat_is_one_element_of_its_type(build):
    op = build.op(Splat, (M, N), DTYPES["f16"], 0.1)
    assert op.type.dims == ("M", "N")
    assert op.evaluate() == np.float16(0.1)


def test_scalar_has_no_dims(build):
    op = build.op(Scalar, 3, DTYPES["i32"])
    assert (op.type.shape, op.evaluate().dtype) == ((), np.int32)


def test_self_index_is_a_tile_along_its_dim(build):
    assert str(build.op(SelfIndex, K, DTYPES["i64"]).type) == "reg<K, i64>"


def test_relation_of_registers_is_a_truth_value(build):
    values = (build.register("K", "i64"),)
    relation = argument_symbol(0) + 1
    op = build.op(ApplyExpr, values, relation)
    assert str(op.type) == "reg<K, i64>"


def test_apply_expr_unites_dims(build):
    values = (build.register("M", "i32"), build.register("N", "i32"))
    op = build.op(ApplyExpr, values, argument_symbol(0) + argument_symbol(1))
    assert op.type.dims == ("M", "N")


def test_broadcast_adds_axes(build):
    op = build.op(Broadcast, build.register("N", "f32"), (B, M, N))
    assert op.evaluate(np.arange(3.0)).shape == (1, 1, 3)


def test_broadcast_reorders_too(build):
    op = build.op(Broadcast, build.register("N M", "f32"), (M, B, N))
    assert op.evaluate(np.zeros((2, 5))).shape == (5, 1, 2)


def test_permute_transposes(build):
    op = build.op(Permute, build.register("B K M", "f16"), (B, M, K))
    values = np.arange(24, dtype=np.float16).reshape(2, 3, 4)
    assert (op.evaluate(values) == values.transpose(0, 2, 1)).all()
    assert op.type.dims == ("B", "M", "K")


def test_extract_drops_the_last_dim(build):
    op = build.op(Extract, build.register("M K", "f32"), (2,))
    assert op.type.dims == ("M",)
    assert op.evaluate(np.arange(8.0).reshape(2, 4)).tolist() == [2, 6]


def test_reshape_joins_and_cuts(build):
    pieces = [np.arange(4.0), np.arange(4.0, 8.0)]
    registers = tuple(build.register("K", "f32") for _ in pieces)
    joined = build.op(Reshape, registers, (K,)).evaluate(*pieces)
    cut = build.op(Reshape, registers[:1], (K,), logical_slice=1, num_slices=2)
    assert joined.tolist() == list(range(8))
    assert cut.evaluate(joined).tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
@pytest.mark.parametrize("dtype", ["f64", "f32", "f16", "bf16", "i32", "i8"])
@pytest.mark.parametrize(("dim", "axis"), [(M, 0), (N, 1)])
def test_reduce_is_torchs(kind, dtype, dim, axis, build, as_torch, same_values):
    found = DTYPES[dtype]
    drawn = np.random.default_rng(1).integers(-9, 9, (5, 7)).astype(found.numpy())
    function = {"sum": torch.sum, "max": torch.amax, "min": torch.amin}[kind]
    keywords = {"dtype": as_torch.dtype(found)} if kind == "sum" else {}
    expected = function(as_torch.tensor(drawn, found), dim=axis, **keywords)
    op = build.op(Reduce, (build.register("M N", dtype),), kind=kind, dim=dim)
    same_values(op.evaluate(drawn), as_torch.array(expected, found))


def test_narrow_sums_round_once(build):
    op = build.op(Reduce, (build.register("M", "f16"),), kind="sum", dim=M)
    # Added one by one in f16, ones stop counting at 2048.
    assert op.evaluate(np.ones(4096, np.float16)) == np.float16(4096)


def test_reduce_combines_sources_and_init(build):
    sources = (build.register("M K", "f32"), build.register("K M", "f32"))
    op = build.op(Reduce, sources, build.register("M", "f32"), "max", K)
    first, second = np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32)
    second[1, 0] = 5
    result = op.evaluate(first, second, np.array([1, 7], np.float32))
    assert result.tolist() == [5, 7]


@pytest.mark.parametrize("kind", ["max", "min"])
def test_nan_wins(kind, build):
    op = build.op(Reduce, (build.register("M", "f32"),), kind=kind, dim=M)
    assert np.isnan(op.evaluate(np.array([1, np.nan, 3], np.float32)))


@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_reduction_of_nothing_is_the_identity(kind, build):
    op = build.op(Reduce, (build.register("M", "f32"),), kind=kind, dim=M)
    expected = np.float32(identity_value(kind, F32))
    assert op.evaluate(np.empty(0, np.float32)) == expected


def test_identities_of_integers_are_their_limits():
    assert identity_value("max", DTYPES["i8"]) == -128
    assert identity_value("min", DTYPES["i16"]) == 32767


@pytest.mark.parametrize(
    ("mode", "offset", "expected"),
    [
        ("xor", 1, [1, 0, 3, 2, 5, 4, 7, 6]),
        ("up", 1, [0, 0, 1, 2, 4, 4, 5, 6]),
        ("down", 2, [2, 3, 2, 3, 6, 7, 6, 7]),
        ("idx", 3, [3, 3, 3, 3, 7, 7, 7, 7]),
        ("xor", 4, [0, 1, 2, 3, 4, 5, 6, 7]),
    ],
)
def test_shuffle_partners(mode, offset, expected, build):
    op = build.op(Shuffle, build.register("M", "f32"), offset, 4, mode)
    assert [op.partner(lane) for lane in range(8)] == expected


def test_mma_is_a_matrix_product(build):
    rng = np.random.default_rng(0)
    lhs, rhs = rng.standard_normal((5, 7)), rng.standard_normal((3, 7))
    acc = rng.standard_normal((5, 3)).astype(np.float32)
    lhs, rhs = lhs.astype(np.float16), rhs.astype(np.float16)
    op = build.op(
        Mma,
        build.register("M K", "f16"),
        build.register("N K", "f16"),
        build.register("M N", "f32"),
    )
    expected = acc + lhs.astype(np.float64) @ rhs.astype(np.float64).T
    np.testing.assert_allclose(op.evaluate(lhs, rhs, acc), expected, rtol=1e-5)
    assert op.evaluate(lhs, rhs, acc).dtype == np.float32


def test_mma_takes_any_order_of_dims_and_batches(build):
    rng = np.random.default_rng(0)
    lhs, rhs = rng.standard_normal((7, 2, 5)), rng.standard_normal((2, 3, 7))
    op = build.op(
        Mma,
        build.register("K B M", "f32"),
        build.register("B N K", "f32"),
        build.register("B M N", "f32"),
    )
    lhs, rhs = lhs.astype(np.float32), rhs.astype(np.float32)
    result = op.evaluate(lhs, rhs, np.zeros((2, 5, 3), np.float32))
    np.testing.assert_allclose(result, np.einsum("kbm,bnk->bmn", lhs, rhs), rtol=1e-4)


def test_integer_mma_is_exact(build):
    lhs = np.full((4, 512), -128, np.int8)
    op = build.op(
        Mma,
        build.register("M K", "i8"),
        build.register("N K", "i8"),
        build.register("M N", "i32"),
    )
    assert (op.evaluate(lhs, lhs, np.ones((4, 4), np.int32)) == 512 * 128**2 + 1).all()


def test_contraction_tells_the_roles_of_dims(build):
    op = build.op(
        Mma,
        build.register("B K M", "f16"),
        build.register("B N K", "f16"),
        build.register("B M N", "f32"),
    )
    roles = op.contraction()
    assert (roles.batch, roles.m, roles.n, roles.k) == ((B,), M, N, (K,))


def test_padding_lengthens_the_rows_in_storage(build):
    op = build.op(
        Allocate, (M, K), (constant(64), constant(32)), DTYPES["f16"], padding=4
    )
    assert [e.constant_value for e in op.type.physical] == [64, 36]
