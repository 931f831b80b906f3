"""Products with weights of 4 or 8 bits on tensors of the CPU, against f64."""

from __future__ import annotations

import pytest
import torch

from wave_core.diagnostics import LaunchError
from wave_kernels.functions import matmul_nbits

ACCURACY = {torch.float32: 1e-5, torch.float16: 2.0**-11, torch.bfloat16: 2.0**-8}
TILE = 64


def weights(n, k, bits, kind, *, group=None, zeros=False):
    """Bytes, scales and zeros, and the weights that they stand for, in f64."""
    start = -(1 << (bits - 1)) if kind == torch.int8 else 0
    numbers = torch.randint(start, start + (1 << bits), (n, k))
    count = 1 if group is None else -(-k // group)
    scales = torch.rand(n, count) + 0.5
    zero = torch.full((n, count), 0 if start else 1 << (bits - 1))
    if zeros:
        zero = torch.randint(start, start + (1 << bits), (n, count))
    wide = [each.repeat_interleave(group or k, 1)[:, :k] for each in (zero, scales)]
    bits_of = numbers & ((1 << bits) - 1)
    packed = bits_of if bits == 8 else bits_of[:, ::2] | bits_of[:, 1::2] << 4
    given = {"scales": scales, **({"zeros": zero.to(kind)} if zeros else {})}
    stored = packed.to(torch.uint8).view(kind)
    return stored, given, (numbers - wide[0]) * wide[1].double()


def check(a, b, given, right, **options):
    wanted, scale = a.double() @ right.T, (a.double().abs() @ right.abs().T).max()
    dtype = options.get("out_dtype", a.dtype)
    out = torch.full(wanted.shape, torch.nan, dtype=dtype)
    assert matmul_nbits(a, b, **given, out=out, **options) is out
    limit = (1e-6 + ACCURACY[dtype]) * float(scale)
    torch.testing.assert_close(out.double(), wanted, rtol=0, atol=limit)


@pytest.mark.covering(2)
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("group", [None, 32, 96, 128])
@pytest.mark.parametrize("kind", [torch.int8, torch.uint8])
@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("m", [1, 17])
def test_numbers_of_every_kind(m, bits, kind, group, zeros):
    b, given, right = weights(19, 130, bits, kind, group=group, zeros=zeros)
    check(torch.randn(m, 130), b, given, right, group_size=group)


@pytest.mark.covering(1)
@pytest.mark.parametrize("dtype", ACCURACY)
@pytest.mark.parametrize("k", [2, TILE - 2, TILE, TILE + 2, 500])
@pytest.mark.parametrize("n", [1, TILE - 1, TILE, TILE + 1])
@pytest.mark.parametrize("m", [TILE, TILE + 1, 130])
def test_sizes_about_a_tile(m, n, k, dtype):
    b, given, right = weights(n, k, 4, torch.uint8, group=64, zeros=True)
    check(torch.randn(m, k).to(dtype), b, given, right, group_size=64)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_no_weight_is_rounded(dtype):
    """The greatest numbers less the least zeros, which narrow floats have exactly."""
    numbers = torch.tensor([[255, 0, 254, 1]], dtype=torch.uint8)
    for zero in (0, 255):
        zeros = torch.tensor([[zero]], dtype=torch.uint8)
        given = {"scales": torch.tensor([[1 / 3]]), "zeros": zeros}
        right = (numbers.double() - zero) * given["scales"].double()
        a = torch.eye(4, dtype=dtype)
        check(a, numbers, given, right, out_dtype=torch.float32)


def test_leading_dimensions_and_scales_of_the_same_type():
    b, given, _ = weights(19, 64, 8, torch.int8)
    given["scales"] = given["scales"].half()
    right = b.double() * given["scales"].double()
    check(torch.randn(64).half(), b, given, right)
    check(torch.randn(2, 3, 64).half(), b, given, right, out_dtype=torch.float32)


def test_nothing_of_something():
    b, given, _ = weights(3, 8, 4, torch.int8)
    assert matmul_nbits(torch.ones(0, 8), b, **given).shape == (0, 3)
    none, scales = b[:, :0], given["scales"]
    assert not matmul_nbits(torch.ones(2, 0), none, scales).any()
    assert matmul_nbits(torch.ones(2, 8), b[:0], scales[:0]).shape == (2, 0)


A, B, SCALES = (
    torch.zeros(2, 64),
    torch.zeros(3, 32, dtype=torch.int8),
    torch.ones(3, 1),
)
REFUSED = [
    ("WV0704", "b", lambda: matmul_nbits(A, None, SCALES)),
    ("WV0705", "a", lambda: matmul_nbits(A.double(), B, SCALES)),
    ("WV0705", "b", lambda: matmul_nbits(A, B.int(), SCALES)),
    ("WV0705", "scales", lambda: matmul_nbits(A, B, SCALES.half())),
    ("WV0705", "zeros", lambda: matmul_nbits(A, B, SCALES, zeros=SCALES)),
    ("WV0705", "out_dtype", lambda: matmul_nbits(A, B, SCALES, out_dtype=torch.int8)),
    ("WV0706", "a", lambda: matmul_nbits(A[0, 0], B, SCALES)),
    ("WV0706", "b", lambda: matmul_nbits(A, B[0], SCALES)),
    ("WV0707", "b", lambda: matmul_nbits(A[:, :62], B, SCALES)),
    ("WV0707", "b", lambda: matmul_nbits(A[:, :63], B, SCALES)),
    ("WV0707", "scales", lambda: matmul_nbits(A, B, SCALES[:2])),
    ("WV0707", "scales", lambda: matmul_nbits(A, B, SCALES, group_size=32)),
    ("WV0707", "zeros", lambda: matmul_nbits(A, B, SCALES, zeros=B)),
    ("WV0707", "group_size", lambda: matmul_nbits(A, B, SCALES, group_size=16)),
    ("WV0707", "group_size", lambda: matmul_nbits(A, B, SCALES, group_size=0)),
    ("WV0707", "out", lambda: matmul_nbits(A, B, SCALES, out=torch.zeros(3, 2))),
    ("WV0708", "b", lambda: matmul_nbits(A, B.to("meta"), SCALES)),
    ("WV0714", "scales", lambda: matmul_nbits(A, B, SCALES.clone().requires_grad_())),
]


@pytest.mark.parametrize(("code", "name", "call"), REFUSED)
def test_what_does_not_fit_is_refused_by_name(code, name, call):
    with pytest.raises(LaunchError) as raised:
        call()
    assert raised.value.code == code
    assert f"`{name}`" in str(raised.value)
    assert "test_nbits.py" in str(raised.value)
