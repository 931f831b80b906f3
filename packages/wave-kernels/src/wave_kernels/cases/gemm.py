"""The cases of the matrix products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.sizes import (
    left_open,
    one_of,
    operand,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.products import operand_dims, sums_of
from wave_kernels.definitions.staged_gemm import staged_gemm_kernel
from wave_kernels.definitions.stream_k import stream_k_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.types import DType

_WAVES = ("WAVES_M", "WAVES_N")

WORKERS = 8
"""Workgroups of stream-K where none are asked for: no chip holds fewer at once."""

DTYPES = {
    str(dtype): dtype
    for dtype in (
        *(tkl.f16, tkl.bf16, tkl.f32, tkl.i8),
        *(tkl.f8e4m3fn, tkl.f8e5m2, tkl.f8e4m3fnuz, tkl.f8e5m2fnuz),
    )
}
"""Operands."""

TOLERANCES = {"f32": 1e-3, "f16": 1e-3 + 2.0**-11, "bf16": 1e-3 + 2.0**-8, "i32": 0.0}
"""Of max(abs(A) abs(B)) by the result: sums in f32, then rounded; i32 is exact."""

RESULTS = {"f32": ("f32", "f16", "bf16"), "i32": ("i32",)}
"""Results, by what is summed in."""


@dataclass(frozen=True)
class Product:
    """Which product: `gemm_kernel` explains the layout.

    Attributes:
        layout: ``NT`` and the like.
        dtype: Of the operands.
        result: Of the result.
    """

    layout: str = "NT"
    dtype: DType = tkl.f16
    result: DType = tkl.f32

    @classmethod
    def asked(
        cls, kernel: str, layout: str, settings: Mapping[str, int | str]
    ) -> Product:
        """What ``DTYPE`` and ``RESULT`` say.

        Raises:
            UserError: WV0823 for an unknown type.
        """
        dtype = one_of(DTYPES, kernel, "DTYPE", settings.get("DTYPE"), "f16")
        sums = str(sums_of(DTYPES[dtype]))
        result = one_of(RESULTS[sums], kernel, "RESULT", settings.get("RESULT"), sums)
        return cls(layout, DTYPES[dtype], getattr(tkl, result))

    @property
    def settings(self) -> dict[str, int | str]:
        """The settings that ask for it."""
        return {"DTYPE": str(self.dtype), "RESULT": str(self.result)}

    def operands(
        self, rng: np.random.Generator, sizes: Mapping[str, int]
    ) -> list[np.ndarray]:
        """Random a and b as they lie in memory."""
        return [
            operand(rng, tuple(sizes[str(dim)] for dim in dims), self.dtype)
            for dims in operand_dims(self.layout)
        ]

    def of(self, a: Any, b: Any) -> Any:
        """The product in f64."""
        x, y = a.astype("float64"), b.astype("float64")
        first, second = self.layout
        return (x if first == "N" else x.T) @ (y if second == "N" else y.T)


F16_NT = Product()
"""What `gemm` is without settings, and the kernels that know no others."""


def gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T``: both have their rows along K.

    ``DTYPE`` is that of the operands, ``RESULT`` of c. ``DYNAMIC=1`` leaves M, N, K to
    the launch; ``STAGED=1`` stages a and b in LDS.
    """
    return _layout_case("gemm", "NT", shape, settings, target)


def gemm_nn_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b``: b is ``[K, N]``. Settings as in `gemm_case`."""
    return _layout_case("gemm-nn", "NN", shape, settings, target)


def gemm_tn_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a^T b``: a is ``[K, M]``, b ``[K, N]``. Settings as in `gemm_case`."""
    return _layout_case("gemm-tn", "TN", shape, settings, target)


def gemm_tt_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a^T b^T``: a is ``[K, M]``, b ``[N, K]``. Settings as in `gemm_case`."""
    return _layout_case("gemm-tt", "TT", shape, settings, target)


def _layout_case(
    name: str,
    layout: str,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    product = Product.asked(name, layout, settings)
    tiles = left_open(settings, ("BLOCK_M", "BLOCK_N", "BLOCK_K", *_WAVES, "STAGED"))
    kernel = gemm_kernel(product.dtype, layout=layout, result=product.result)
    made = _case(kernel, shape, settings, tiles, target, product)
    return replace(made, settings={**made.settings, **product.settings})


def staged_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` with the tiles of a and b copied to LDS by the author."""
    tiles = with_defaults(settings, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32})
    return _case(staged_gemm_kernel(), shape, settings, tiles, target)


def stream_k_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` by ``WORKERS`` workgroups, which share what tiles are left over.

    ``STAGED=1`` stages a and b in LDS.
    """
    tiles = with_defaults(settings, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32})
    count = with_defaults(settings, {"WORKERS": WORKERS})
    made = _case(
        stream_k_kernel(),
        shape,
        settings,
        tiles | count | left_open(settings, (*_WAVES, "STAGED")),
        target,
    )
    workers, block = count["WORKERS"], (tiles["BLOCK_M"], tiles["BLOCK_N"])

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        a, b, c = made.make_arguments(rng)
        locks = np.zeros(workers, "int32")
        return [a, b, poisoned((workers, *block), tkl.f32), locks, c]

    given = {tkl.sym.WORKERS: workers, tkl.sym.ONE: 1}
    subs = {**made.options.subs, **given}
    options = replace(made.options, subs=subs)
    return replace(made, options=options, make_arguments=make_arguments, outputs=(4,))


def _case(
    kernel: Any,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    tiles: Mapping[str, int | str],
    target: str,
    product: Product = F16_NT,
) -> KernelCase:
    sizes = with_defaults(shape, {"M": 512, "N": 512, "K": 512})
    chosen = {**tiles, **with_defaults(settings, {"DYNAMIC": 0})}
    subs, dynamic = symbols(sizes, chosen)

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        c = poisoned((sizes["M"], sizes["N"]), product.result)
        return [*product.operands(rng, sizes), c]

    def magnitude(arguments: Sequence[Any]) -> float:
        """The largest element of abs(A) abs(B)."""
        a, b = (abs(arguments[i].astype("float64")) for i in (0, 1))
        return float(product.of(a, b).max(initial=0.0)) or 1.0

    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings=chosen,
        make_arguments=make_arguments,
        reference=lambda arguments: [product.of(*arguments[:2])],
        outputs=(2,),
        tolerance=TOLERANCES[str(product.result)],
        scale=magnitude,
    )
