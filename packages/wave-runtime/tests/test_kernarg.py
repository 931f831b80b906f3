"""The words of scalar arguments: exact, or refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch

from wave_runtime.kernarg import scalar_packer


@pytest.mark.parametrize(
    ("dtype", "value", "words"),
    [
        ("i32", -1, b"\xff\xff\xff\xff"),
        ("i8", -1, b"\xff\xff\xff\xff"),
        ("i64", 1, b"\1" + b"\0" * 7),
        ("f32", 1.0, b"\0\0\x80\x3f"),
        ("f16", 1.0, b"\0\x3c\0\0"),
        ("bf16", 1.0, b"\x80\x3f\0\0"),
        ("bf16", float("nan"), b"\xc0\x7f\0\0"),
        ("bool", True, b"\1\0\0\0"),
        ("i32", np.int64(5), b"\5\0\0\0"),
    ],
)
def test_words(dtype, value, words):
    assert scalar_packer(dtype)(value) == words


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i32", 1.5),
        ("i32", 1 << 31),
        ("i8", 200),
        ("i64", 1 << 63),
        ("bool", 2),
        ("f16", 1e6),
        ("f32", 1e300),
        ("f32", "one"),
        ("f64", None),
        ("i32", None),
    ],
)
def test_what_does_not_fit(dtype, value):
    with pytest.raises((struct.error, OverflowError, TypeError, ValueError)):
        scalar_packer(dtype)(value)


def test_bf16_rounds_as_torch_does():
    values = np.random.default_rng(3).standard_normal(500).astype("f4")
    wanted = torch.from_numpy(values).bfloat16().view(torch.int16).numpy()
    found = [scalar_packer("bf16")(float(v))[:2] for v in values]
    assert np.array_equal(np.frombuffer(b"".join(found), np.int16), wanted)
