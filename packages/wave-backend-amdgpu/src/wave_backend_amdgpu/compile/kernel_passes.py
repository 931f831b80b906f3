"""The passes between the MLIR that `codegen` writes and LLVM's dialect.

IREE's own pipeline has some 90 more, for tensors, whole programs and linear algebra.
They find nothing to do in these kernels, but each prepares its patterns first: that
takes longer than the kernels do. Those that stay are in the order of IREE's pipeline;
some of them only where the module has what they look for. The code is the same, byte by
byte (``tests/test_compile.py``).
"""

from __future__ import annotations

from wave_backend_amdgpu.compile.flags import DEBUG_INFO

_PREPARE = (
    "iree-codegen-reconcile-translation-info",
    "iree-codegen-convert-hal-descriptor-type-to-gpu-address-space",
)
_ALWAYS = ("",)

_LOOPS = ("scf.", "math.erf")
"""Loops and branches of MLIR, and what a pass makes one of."""

_SIGNED = ("arith.extsi",)
"""Ranges of integers show that a sign is none; what else follows from them LLVM finds
too."""

_SIMPLIFY = (
    ("canonicalize", _ALWAYS),
    ("cse", _ALWAYS),
    ("iree-llvmgpu-vector-lowering", _ALWAYS),
    ("cse", _ALWAYS),
    (
        "iree-util-optimize-int-arithmetic{index-is-i64=true narrow-to-i32=true}",
        _SIGNED,
    ),
    ("cse", _SIGNED),
    ("iree-loop-invariant-code-motion", _LOOPS),
    ("iree-codegen-math-transform", _ALWAYS),
    ("convert-scf-to-cf", _LOOPS),
    ("canonicalize", _LOOPS),
    ("cse", _LOOPS),
    ("iree-convert-unsupported-float-arith", _ALWAYS),
    ("iree-llvmgpu-group-global-loads", _ALWAYS),
)
"""Each with what the module must have some of, for the pass to find something."""

_CONVERT = (
    "iree-convert-to-rocdl",
    "llvm.func(iree-rocdl-annotate-kernel-for-translation)",
)


def kernel_passes(flags: tuple[str, ...], text: str) -> str:
    """The passes as MLIR's pipelines are written.

    Args:
        flags: Options of the compiler; places are kept where they ask for them.
        text: The module.
    """
    forget = () if DEBUG_INFO in flags else ("strip-debuginfo",)
    needs = (_ALWAYS, _LOOPS, _SIGNED)
    has = {words for words in needs if any(word in text for word in words)}
    simplify = f"func.func({','.join(name for name, of in _SIMPLIFY if of in has)})"
    kernel = ",".join((*_PREPARE, simplify, *forget, *_CONVERT))
    return (
        "hal.executable(hal.executable.variant(iree-codegen-create-dispatch-config,"
        f"builtin.module({kernel}),iree-codegen-propagate-dispatch-config))"
    )
