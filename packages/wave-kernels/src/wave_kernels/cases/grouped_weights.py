"""The case of products of columns within groups of rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from wave_kernels.cases.gemm import Product
from wave_kernels.cases.grouped_gemm import SIZES, Groups, group_starts
from wave_kernels.cases.sizes import operand, poisoned, with_defaults
from wave_kernels.definitions.grouped_weights import grouped_weights_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase


def grouped_weights_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c[g] = a^T b`` over the rows of each of ``E`` groups g, of ``K`` rows in all.

    ``GATHERED=1`` picks rows of ``a`` by a table. ``DYNAMIC=1`` leaves the number of
    rows to the launch. ``DTYPE``, ``RESULT``, ``STAGED``: as in `gemm_case`.
    """
    sizes = with_defaults(shape, SIZES)
    product = Product.asked("gemm-grouped-weights", "TN", settings)
    flags = with_defaults(settings, {"GATHERED": 0, "DYNAMIC": 0})
    columns = _Columns(
        sizes, product.dtype, product.result, gathered=bool(flags["GATHERED"])
    )
    return columns.case(settings, flags, target)


@dataclass(frozen=True)
class _Columns(Groups):
    """Columns of groups times columns."""

    along, fixed = "K", "EMN"

    def kernel(self) -> Any:
        return grouped_weights_kernel(
            self.dtype, result=self.result, gathered=self.gathered
        )

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, groups that end anywhere, and a poisoned result."""
        e, m, n, k = (self.sizes[name] for name in "EMNK")
        height = self.rows.get("TOKENS", k)
        a, b = (operand(rng, s, self.dtype) for s in ((height, m), (k, n)))
        starts = group_starts(rng, e, k)
        picked = [rng.integers(0, height, k, "int32")] if self.gathered else []
        return [a, b, starts, *picked, poisoned((e, m, n), self.result)]

    def of(self, arguments: Sequence[Any]) -> Any:
        """The result in f64."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        a, b, starts, *picked = arguments[: 4 if self.gathered else 3]
        rows = (a[picked[0]] if picked else a).astype("float64")
        return np.stack([rows[i:j].T @ b[i:j] for i, j in pairwise(starts)])

    def magnitude(self, arguments: Sequence[Any]) -> float:
        """The largest element of abs(A)^T abs(B)."""
        a, b, *others = arguments
        sums = self.of([abs(a.astype("float64")), abs(b.astype("float64")), *others])
        return float(sums.max(initial=0.0)) or 1.0
