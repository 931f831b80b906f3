"""The case of products of groups of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.activations import ACTIVATIONS
from wave_kernels.cases.gemm import TOLERANCES, Product
from wave_kernels.cases.sizes import (
    left_open,
    operand,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.grouped_gemm import grouped_gemm_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.types import DType

SIZES = {"E": 8, "M": 512, "N": 512, "K": 512}

TILES = ("BLOCK_M", "BLOCK_N", "BLOCK_K", "WAVES_M", "WAVES_N", "MMA_ROWS", "STAGED")


def grouped_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c[m] = a[m] b[g]^T`` for the rows m of ``E`` groups g, some of them empty.

    ``GATHERED=1`` picks rows of ``a`` by a table, ``GATED=1`` multiplies twice the
    columns and lets the first half gate the second. ``DYNAMIC=1`` leaves the number of
    rows to the launch. ``DTYPE``, ``RESULT``, ``STAGED``: as in `gemm_case`.
    """
    sizes = with_defaults(shape, SIZES)
    product = Product.asked("gemm-grouped", "NT", settings)
    flags = with_defaults(settings, {"GATHERED": 0, "GATED": 0, "DYNAMIC": 0})
    groups = _Rows(
        sizes,
        product.dtype,
        product.result,
        gathered=bool(flags["GATHERED"]),
        gated=bool(flags["GATED"]),
    )
    return groups.case(settings, flags, target)


@dataclass(frozen=True)
class Groups(ABC):
    """Products within groups of rows, with arguments and in f64.

    Attributes:
        along: The symbol of the rows.
        fixed: Those of sizes that are always bound.
        sizes: All of them.
        dtype: Of operands.
        result: Of what is stored.
        gathered: Whether a table picks rows of ``a``.
    """

    along: ClassVar[str]
    fixed: ClassVar[str]
    sizes: Mapping[str, int]
    dtype: DType
    result: DType
    gathered: bool

    @property
    def rows(self) -> dict[str, int]:
        """How many there are in groups and of ``a``, by the kernel's symbols."""
        n = self.sizes[self.along]
        return (
            {self.along: n, "TOKENS": n // 2 + 1} if self.gathered else {self.along: n}
        )

    @abstractmethod
    def kernel(self) -> Any:
        """What is compiled."""

    @abstractmethod
    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, groups that end anywhere, and a poisoned result."""

    @abstractmethod
    def of(self, arguments: Sequence[Any]) -> Any:
        """The result in f64."""

    @abstractmethod
    def magnitude(self, arguments: Sequence[Any]) -> float:
        """What errors are measured by."""

    def case(
        self,
        settings: Mapping[str, int | str],
        flags: Mapping[str, int | str],
        target: str,
    ) -> KernelCase:
        """The case with what is left open; ``flags`` say which variant it is."""
        words = {"DTYPE": str(self.dtype), "RESULT": str(self.result)}
        chosen = left_open(settings, TILES)
        subs, dynamic = symbols(self.rows, {**chosen, "DYNAMIC": flags["DYNAMIC"]})
        bound = {name: self.sizes[name] for name in self.fixed}
        bound["ENDS"] = self.sizes["E"] + 1
        subs |= {getattr(tkl.sym, name): size for name, size in bound.items()}
        return KernelCase(
            kernel=self.kernel(),
            options=tkl.WaveCompileOptions(
                subs=subs, dynamic_symbols=dynamic, target=target
            ),
            shape=self.sizes,
            settings={**chosen, **flags, **words},
            make_arguments=self.arguments,
            reference=lambda arguments: [self.of(arguments)],
            outputs=(4 if self.gathered else 3,),
            tolerance=TOLERANCES[str(self.result)],
            scale=self.magnitude,
        )


@dataclass(frozen=True)
class _Rows(Groups):
    """Rows of groups times the weights of each."""

    along, fixed = "M", "ENK"
    gated: bool

    def kernel(self) -> Any:
        return grouped_gemm_kernel(
            self.dtype,
            groups=self.sizes["E"],
            result=self.result,
            gathered=self.gathered,
            gated=self.gated,
        )

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, groups that end anywhere, and a poisoned result."""
        e, m, n, k = (self.sizes[name] for name in "EMNK")
        height = self.rows.get("TOKENS", m)
        a = operand(rng, (height, k), self.dtype)
        b = operand(rng, (e, n * (1 + self.gated), k), self.dtype)
        starts = group_starts(rng, e, m)
        picked = [rng.integers(0, height, m, "int32")] if self.gathered else []
        return [a, b, starts, *picked, poisoned((m, n), self.result)]

    def of(self, arguments: Sequence[Any]) -> Any:
        """The result in f64."""
        sums = self._sums(arguments)
        if not self.gated:
            return sums
        n = self.sizes["N"]
        return ACTIVATIONS["silu"](sums[:, :n]) * sums[:, n:]

    def magnitude(self, arguments: Sequence[Any]) -> float:
        """The largest element of abs(A) abs(B), or of the gated result."""
        a, b, *others = arguments
        if self.gated:
            return float(abs(self.of(arguments)).max(initial=0.0)) or 1.0
        sums = self._sums([abs(a.astype("float64")), abs(b.astype("float64")), *others])
        return float(sums.max(initial=0.0)) or 1.0

    def _sums(self, arguments: Sequence[Any]) -> Any:
        """Each row of ``a``, in the order of groups, times its group's weights."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        a, b, starts, *picked = arguments[: 4 if self.gathered else 3]
        rows = a[picked[0]] if picked else a
        group = np.repeat(np.arange(self.sizes["E"]), np.diff(starts))
        weights = b.astype("float64")
        found = [row @ weights[g].T for row, g in zip(rows, group, strict=True)]
        return np.array(found).reshape(len(rows), b.shape[1])


def group_starts(rng: np.random.Generator, groups: int, rows: int) -> np.ndarray:
    """Where groups start that end anywhere, and the end of the last one."""
    starts = rng.integers(0, rows + 1, groups + 1, "int32")
    starts[0], starts[-1] = 0, rows
    starts.sort()
    return starts
