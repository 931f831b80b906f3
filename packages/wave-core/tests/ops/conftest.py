"""Building ops without a graph, and comparing what they mean with torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from wave_core.ops.structure import Argument
from wave_core.symbols import symbol
from wave_core.types import DTYPES, AddressSpace, DType, MemoryType, RegisterType

TORCH = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f8e5m2": torch.float8_e5m2,
    "f8e5m2fnuz": torch.float8_e5m2fnuz,
    "f8e4m3fn": torch.float8_e4m3fn,
    "f8e4m3fnuz": torch.float8_e4m3fnuz,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u64": torch.uint64,
    "u32": torch.uint32,
    "u16": torch.uint16,
    "u8": torch.uint8,
    "index": torch.int64,
    "bool": torch.bool,
}

SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.0, -7.0, 100.0)
NOT_FINITE = (float("inf"), float("-inf"), float("nan"))


@dataclass(frozen=True)
class Torch:
    """Conversion between numpy arrays of our element types and torch tensors."""

    def dtype(self, dtype: DType) -> torch.dtype:
        return TORCH[dtype.name]

    def tensor(self, array: np.ndarray, dtype: DType) -> torch.Tensor:
        wanted = self.dtype(dtype)
        raw = np.ascontiguousarray(array)
        if not dtype.extension:
            return torch.from_numpy(raw.copy())
        bits = {1: np.uint8, 2: np.int16}[raw.dtype.itemsize]
        return torch.from_numpy(raw.view(bits).copy()).view(wanted)

    def array(self, tensor: torch.Tensor, dtype: DType) -> np.ndarray:
        if not dtype.extension:
            return tensor.numpy()
        bits = {1: torch.uint8, 2: torch.int16}[dtype.bytes]
        return tensor.view(bits).numpy().view(dtype.numpy())


@dataclass(frozen=True)
class Build:
    """Ops on arguments that are in no graph."""

    def register(self, dims: str, dtype: str | DType) -> Argument:
        found = DTYPES[dtype] if isinstance(dtype, str) else dtype
        shape = tuple(symbol(name) for name in dims.split())
        return self.argument(RegisterType(shape, found))

    def memory(self, dims: str, dtype: str) -> Argument:
        shape = tuple(symbol(name) for name in dims.split())
        return self.argument(MemoryType(shape, AddressSpace.GLOBAL, DTYPES[dtype]))

    def argument(self, declared: RegisterType | MemoryType) -> Argument:
        argument = Argument("parameter", "x", declared)
        argument.type = declared
        return argument

    def op(self, cls, *args, **kwargs):
        built = cls(*args, **kwargs)
        built.type = built.infer()
        return built

    def unary(self, cls, source: DType, **kwargs):
        return self.op(cls, self.register("M", source), **kwargs)

    def binary(self, cls, dtype: DType):
        return self.op(cls, self.register("M", dtype), self.register("M", dtype))


def samples(dtype: DType, seed: int = 0) -> np.ndarray:
    """Special values and random ones of an element type."""
    rng = np.random.default_rng(seed)
    if dtype.is_bool:
        return np.array([True, False, True, True, False])
    if dtype.is_integer:
        low, high = np.iinfo(dtype.numpy()).min, np.iinfo(dtype.numpy()).max
        drawn = rng.integers(low, high, 20, dtype=dtype.numpy(), endpoint=True)
        small = [n for n in (0, 1, -1, 2, -2, 3, 7, -7) if n >= low]
        return np.concatenate([np.array([*small, low, high], dtype.numpy()), drawn])
    scale = 4.0 if dtype.bits == 8 else 30.0
    drawn = rng.standard_normal(24) * scale
    values = np.array([*SPECIAL, *NOT_FINITE, *drawn], np.float32)
    return values.astype(dtype.numpy())


def wide(array: np.ndarray) -> np.ndarray:
    """Values to compare: narrow floats as f32, which holds them exactly."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


@pytest.fixture(name="build")
def _build() -> Build:
    return Build()


@pytest.fixture(name="as_torch")
def _as_torch() -> Torch:
    return Torch()


@pytest.fixture(name="samples_of")
def _samples_of():
    return samples


@pytest.fixture(name="pairs_of")
def _pairs_of():
    def pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray]:
        one, other = samples(dtype), samples(dtype, 1)
        lhs, rhs = np.meshgrid(one, other, indexing="ij")
        return lhs.ravel(), rhs.ravel()

    return pairs


@pytest.fixture(name="same_values")
def _same_values():
    def check(actual, expected, rtol: float = 0.0) -> None:
        actual, expected = wide(np.asarray(actual)), wide(np.asarray(expected))
        assert actual.dtype == expected.dtype
        if rtol == 0.0:
            np.testing.assert_array_equal(actual, expected)
            if actual.dtype.kind == "f":
                numbers = ~np.isnan(actual)
                signs = np.signbit(actual) == np.signbit(expected)
                assert signs[numbers].all()
        else:
            np.testing.assert_allclose(actual, expected, rtol=rtol, atol=1e-30)

    return check
