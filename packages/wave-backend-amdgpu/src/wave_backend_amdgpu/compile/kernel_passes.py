"""The passes between the MLIR that `codegen` writes and LLVM's dialect.

IREE's own pipeline has some 90 more, for tensors, whole programs and linear algebra.
They find nothing to do in these kernels, but each prepares its patterns first: that
takes longer than the kernels do. Those that stay are in the order of IREE's pipeline;
the code is the same, byte by byte (``tests/test_compile.py``).
"""

from __future__ import annotations

from wave_backend_amdgpu.compile.flags import DEBUG_INFO

_PREPARE = (
    "iree-codegen-reconcile-translation-info",
    "iree-codegen-convert-hal-descriptor-type-to-gpu-address-space",
)
_SIMPLIFY = (
    "canonicalize",
    "cse",
    "iree-llvmgpu-vector-lowering",
    "cse",
    "iree-util-optimize-int-arithmetic{index-is-i64=true narrow-to-i32=true}",
    "cse",
    "iree-loop-invariant-code-motion",
    "iree-codegen-math-transform",
    "convert-scf-to-cf",
    "canonicalize",
    "cse",
    "iree-convert-unsupported-float-arith",
    "iree-llvmgpu-group-global-loads",
)
_CONVERT = (
    "iree-convert-to-rocdl",
    "llvm.func(iree-rocdl-annotate-kernel-for-translation)",
)


def kernel_passes(flags: tuple[str, ...]) -> str:
    """The passes as MLIR's pipelines are written.

    Args:
        flags: Options of the compiler; places are kept where they ask for them.
    """
    forget = () if DEBUG_INFO in flags else ("strip-debuginfo",)
    simplify = f"func.func({','.join(_SIMPLIFY)})"
    kernel = ",".join((*_PREPARE, simplify, *forget, *_CONVERT))
    return (
        "hal.executable(hal.executable.variant(iree-codegen-create-dispatch-config,"
        f"builtin.module({kernel}),iree-codegen-propagate-dispatch-config))"
    )
