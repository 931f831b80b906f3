"""Modules for the CPU, loaded and launched through IREE's runtime."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from wave_runtime import Artifact, DeviceError, LoadedKernel, open_device
from wave_runtime.manifest import digest

compiler = pytest.importorskip("iree.compiler", reason="compiles the module")

ADD = """
module @add {
  func.func @add(%a: tensor<?x?xf16>, %b: tensor<?x?xf16>, %m: i32, %n: i32, %s: i32)
      -> tensor<?x?xf16> {
    %number = arith.bitcast %s : i32 to f32
    %sum = linalg.generic {
        indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
        iterator_types = ["parallel", "parallel"]}
        ins(%a : tensor<?x?xf16>) outs(%b : tensor<?x?xf16>) {
      ^bb0(%x: f16, %old: f16):
        %half = arith.truncf %number : f32 to f16
        %y = arith.addf %x, %half : f16
        linalg.yield %y : f16
    } -> tensor<?x?xf16>
    return %sum : tensor<?x?xf16>
  }
}
"""


@pytest.fixture(scope="module")
def module():
    """``b = a + s`` for the CPU, as a kernel for IREE looks from outside."""
    return compiler.compile_str(
        ADD,
        target_backends=["llvm-cpu"],
        extra_args=["--iree-llvmcpu-target-cpu=generic"],
    )


@pytest.fixture
def kernel(module, manifest):
    made = msgspec.structs.replace(
        manifest, code_bytes=len(module), code_digest=digest(module)
    )
    return LoadedKernel(Artifact(made, module), open_device("iree:local-task"))


@pytest.mark.parametrize("shape", [(100, 70), (1, 1), (3, 257)])
def test_a_launch_writes_its_output_in_place(kernel, shape):
    a = np.random.default_rng(0).standard_normal(shape).astype(np.float16)
    b = np.full(shape, np.nan, np.float16)
    kernel(a, 1.5, b)
    np.testing.assert_array_equal(b, a + np.float16(1.5))


def test_what_is_no_module_is_refused(artifact):
    with pytest.raises(DeviceError, match="IREE refused the module"):
        LoadedKernel(artifact, open_device("iree:local-task"))


@pytest.mark.parametrize("driver", ["abacus", "hip"])
def test_a_driver_that_is_not_there_is_refused(driver):
    with pytest.raises(DeviceError, match=f"IREE, driver {driver}"):
        open_device(f"iree:{driver}")
