"""Comparisons, selection and conversion mean what torch means."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from wave_core.ops import compare as ops
from wave_core.types import DTYPES

WITHOUT_TORCH = ("u16", "u32", "u64")
"""torch does not compare them; tests/integration/test_integers.py does."""

PLAIN = [d for d in DTYPES.values() if d.name != "f8e8m0fnu" and not d.is_packed]
RELATIONS = {
    ops.Eq: torch.eq,
    ops.Ne: torch.ne,
    ops.Lt: torch.lt,
    ops.Le: torch.le,
    ops.Gt: torch.gt,
    ops.Ge: torch.ge,
}
BOOL = DTYPES["bool"]
RELATED = [d for d in PLAIN if not d.is_bool and d.name not in WITHOUT_TORCH]


def name(item: object) -> str:
    return getattr(item, "op_name", None) or str(item)


@pytest.mark.parametrize("cls", RELATIONS, ids=name)
@pytest.mark.parametrize("dtype", RELATED, ids=name)
def test_relations(cls, dtype, build, as_torch, pairs_of, same_values):
    lhs, rhs = pairs_of(dtype)
    tensors = [as_torch.tensor(array, dtype) for array in (lhs, rhs)]
    if dtype.is_float and dtype.bits == 8:
        tensors = [tensor.float() for tensor in tensors]
    op = build.binary(cls, dtype)
    assert op.type.dtype == BOOL
    same_values(op.evaluate(lhs, rhs), RELATIONS[cls](*tensors).numpy())


@pytest.mark.parametrize("target", PLAIN, ids=name)
@pytest.mark.parametrize("source", PLAIN, ids=name)
def test_cast(source, target, build, as_torch, samples_of, same_values):
    values = samples_of(source)
    if source.is_float and target.is_integer:
        # Out of range, infinite and NaN have no defined integer.
        wide = values.astype(np.float32)
        values = values[np.isfinite(wide) & (abs(wide) < 100)]
    expected = as_torch.tensor(values, source).to(as_torch.dtype(target))
    op = build.unary(ops.Cast, source, dtype=target)
    same_values(op.evaluate(values), as_torch.array(expected, target))


@pytest.mark.parametrize("target", ["f16", "bf16", "f8e5m2", "f8e4m3fn"])
@pytest.mark.parametrize("source", ["f64", "f32", "i64", "i32"])
def test_cast_rounds_like_torch_everywhere(
    source, target, build, as_torch, same_values
):
    rng = np.random.default_rng(0)
    values = (rng.standard_normal(20000) * 2.0 ** rng.integers(-30, 30, 20000)).astype(
        DTYPES[source].numpy()
    )
    expected = as_torch.tensor(values, DTYPES[source]).to(
        as_torch.dtype(DTYPES[target])
    )
    op = build.unary(ops.Cast, DTYPES[source], dtype=DTYPES[target])
    same_values(op.evaluate(values), as_torch.array(expected, DTYPES[target]))


def test_cast_of_a_tie_through_f32_rounds_twice_as_torch_does(build):
    # 1 + 2^-11 + 2^-40 is above the tie in f64, and on the tie in f32.
    value = np.array([1 + 2.0**-11 + 2.0**-40])
    op = build.unary(ops.Cast, DTYPES["f64"], dtype=DTYPES["f16"])
    expected = torch.from_numpy(value).to(torch.float16).numpy()
    assert op.evaluate(value).tolist() == expected.tolist()


def test_select_unites_dims(build):
    op = build.op(
        ops.Select,
        build.register("M N", "bool"),
        build.register("M N", "f16"),
        build.register("N", "f16"),
    )
    assert op.type.dims == ("M", "N")
    picked = op.evaluate(
        np.array([[True, False]]), np.float16([[1, 2]]), np.float16([[3, 4]])
    )
    assert picked.tolist() == [[1, 4]]
    assert picked.dtype == np.float16


def test_select_keeps_extension_types(build):
    dtype = DTYPES["bf16"].numpy()
    op = build.op(
        ops.Select,
        build.register("M", "bool"),
        build.register("M", "bf16"),
        build.register("M", "bf16"),
    )
    ones, twos = np.ones(2, dtype), np.full(2, 2, dtype)
    assert op.evaluate(np.array([True, False]), ones, twos).dtype == dtype
