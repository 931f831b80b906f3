"""The cases of the matrix products."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile import default_session
from wave_core.compile.kernels import OPEN, KernelCase
from wave_kernels.cases import peers
from wave_kernels.cases.activations import ACTIVATIONS
from wave_kernels.cases.sizes import (
    left_open,
    one_of,
    operand,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.epilogue import PLAIN, Epilogue
from wave_kernels.definitions.gemm import gemm_kernel
from wave_kernels.definitions.products import operand_dims, sums_of
from wave_kernels.definitions.split_k import WAYS, split_k_kernel
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

ACTIVATION_WORDS = ("none", *ACTIVATIONS)
"""Of the setting ``ACTIVATION``."""

RESULTS = {"f32": ("f32", "f16", "bf16"), "i32": ("i32",)}
"""Results, by what is summed in."""


@dataclass(frozen=True)
class Product:
    """Which product: `gemm_kernel` explains the layout.

    Attributes:
        layout: ``NT`` and the like.
        dtype: Of the operands.
        result: Of the result.
        epilogue: How the sums are finished.
        batched: Whether there is one for each ``B``.
    """

    layout: str = "NT"
    dtype: DType = tkl.f16
    result: DType = tkl.f32
    epilogue: Epilogue = PLAIN
    batched: bool = False

    @classmethod
    def asked(
        cls, kernel: str, layout: str, settings: Mapping[str, int | str]
    ) -> Product:
        """What the settings say.

        Raises:
            UserError: WV0823 for an unknown type or activation.
        """
        dtype = one_of(DTYPES, kernel, "DTYPE", settings.get("DTYPE"), "f16")
        sums = str(sums_of(DTYPES[dtype]))
        result = one_of(RESULTS[sums], kernel, "RESULT", settings.get("RESULT"), sums)
        epilogue = Epilogue(
            bias=bool(int(settings.get("BIAS", 0))),
            activation=one_of(
                ACTIVATION_WORDS,
                kernel,
                "ACTIVATION",
                settings.get("ACTIVATION"),
                "none",
            ).removeprefix("none"),
            residual=bool(int(settings.get("RESIDUAL", 0))),
        )
        kinds = DTYPES[dtype], getattr(tkl, result)
        return cls(layout, *kinds, epilogue)

    @property
    def is_plain(self) -> bool:
        """Whether it is a product alone, of operands that torch multiplies."""
        return self.epilogue == PLAIN and self.dtype.bits >= 16

    @property
    def settings(self) -> dict[str, int | str]:
        """The settings that ask for it."""
        return {
            "DTYPE": str(self.dtype),
            "RESULT": str(self.result),
            "BIAS": int(self.epilogue.bias),
            "ACTIVATION": self.epilogue.activation or "none",
            "RESIDUAL": int(self.epilogue.residual),
        }

    @property
    def dims(self) -> list[tuple[str, ...]]:
        """Of a, b, bias and residual, those that there are, and of the result."""
        lead = ("B",) if self.batched else ()
        a, b = ((*lead, *map(str, dims)) for dims in operand_dims(self.layout))
        bias = [("N",)] if self.epilogue.bias else []
        c = (*lead, "M", "N")
        return [a, b, *bias, *([c] if self.epilogue.residual else []), c]

    def arguments(
        self, rng: np.random.Generator, sizes: Mapping[str, int]
    ) -> list[np.ndarray]:
        """Random operands as they lie in memory, and a poisoned result."""
        *given, c = (tuple(sizes[name] for name in dims) for dims in self.dims)
        operands = (operand(rng, extents, self.dtype) for extents in given)
        return [*operands, poisoned(c, self.result)]

    def given(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The operands among the arguments; a workspace may follow them."""
        return arguments[: len(self.dims) - 1]

    def of(self, arguments: Sequence[Any]) -> Any:
        """The finished product in f64."""
        a, b, *added = (each.astype("float64") for each in self.given(arguments))
        sums = self.product(a, b)
        if self.epilogue.bias:
            sums = sums + added[0]
        if self.epilogue.activation:
            sums = ACTIVATIONS[self.epilogue.activation](sums)
        return sums + added[-1] if self.epilogue.residual else sums

    def product(self, a: Any, b: Any) -> Any:
        """The product alone."""
        first, second = self.layout
        x = a if first == "N" else a.swapaxes(-1, -2)
        return x @ (b if second == "N" else b.swapaxes(-1, -2))

    def magnitude(self, arguments: Sequence[Any]) -> float:
        """The largest element of abs(A) abs(B), and of what is added to it."""
        a, b, *added = (abs(each.astype("float64")) for each in self.given(arguments))
        largest = float(self.product(a, b).max(initial=0.0))
        return sum((float(each.max(initial=0.0)) for each in added), largest) or 1.0


F16_NT = Product()
"""What `gemm` is without settings, and the kernels that know no others."""

SIZES = {"M": 512, "N": 512, "K": 512}

LEAST = 16
"""Rows, and columns, of the smallest tile that a chip multiplies."""

FEWEST = 2
"""Tiles along K of each workgroup, for less of which no sum is split."""


def gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T``: both have their rows along K.

    ``DTYPE`` is that of the operands, ``RESULT`` of c. ``BIAS=1`` adds a number for
    each column, ``ACTIVATION`` is applied to the sum, ``RESIDUAL=1`` adds a matrix.
    ``DYNAMIC=1`` leaves the sizes to the launch; ``STAGED=1`` stages a and b in LDS.
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


def batched_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c[i] = a[i] b[i]^T`` for ``B`` of them. Settings as in `gemm_case`."""
    product = Product.asked("gemm-batched", "NT", settings)
    return _product_case(replace(product, batched=True), shape, settings, target)


def _layout_case(
    name: str,
    layout: str,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    product = Product.asked(name, layout, settings)
    return _product_case(product, shape, settings, target)


def _product_case(
    product: Product,
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    blocks = ("BLOCK_M", "BLOCK_N", "BLOCK_K")
    tiles = left_open(settings, (*blocks, *_WAVES, "MMA_ROWS", "STAGED"))
    kernel = gemm_kernel(
        product.dtype,
        layout=product.layout,
        result=product.result,
        epilogue=product.epilogue,
        batched=product.batched,
    )
    made = _case(kernel, shape, settings, tiles, target, product)
    made = replace(made, settings={**made.settings, **product.settings})
    if product != F16_NT or made.options.dynamic_symbols:
        return made
    if not ways_of(made.shape, target):
        return made
    given = {name: value for name, value in tiles.items() if value != OPEN}
    return replace(made, others=(split_k_case(shape, given, target),))


def staged_gemm_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` with the tiles of a and b copied to LDS by the author."""
    tiles = with_defaults(settings, {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32})
    return _case(staged_gemm_kernel(), shape, settings, tiles, target)


def split_k_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``c = a b^T`` by ``SPLIT`` workgroups a tile, each with a part of K.

    Operands are staged in LDS; ``STAGED=0`` reads them where they are.
    """
    names = ("SPLIT", "BLOCK_M", "BLOCK_N", "BLOCK_K", *_WAVES)
    chosen = left_open(settings, names) | with_defaults(settings, {"STAGED": 1})
    sizes = with_defaults(shape, SIZES)
    ways = ways_of(sizes, target) or WAYS
    made = _case(split_k_kernel(ways), shape, settings, chosen, target)
    m, n = sizes["M"], sizes["N"]
    most = int(settings.get("SPLIT", max(split for split, *_ in ways)))
    counters = (-(-m // LEAST), -(-n // LEAST))

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        a, b, c = made.make_arguments(rng)
        arrived = np.zeros(counters, "int32")
        return [a, b, poisoned((most, m, n), tkl.f32), arrived, c]

    given = zip(("PARTS", "ROWS", "COLUMNS"), (most, *counters), strict=True)
    subs = {getattr(tkl.sym, name): value for name, value in given}
    split = {} if chosen["SPLIT"] == OPEN else {tkl.sym.SPLIT: most}
    subs = {**made.options.subs, **subs, **split, tkl.sym.ONE: 1}
    options = replace(made.options, subs=subs)
    return replace(made, options=options, make_arguments=make_arguments, outputs=(4,))


def ways_of(sizes: Mapping[str, int], target: str) -> list[tuple[int, ...]]:
    """The ways to split K that leave each workgroup a few tiles of it.

    Their workgroups wait for each other: a chip holds them at once, one a compute unit.
    """
    peaks = default_session().target(target).peaks
    if peaks is None:
        return []

    def suits(split: int, rows: int, columns: int, depth: int) -> bool:
        groups = split * -(-sizes["M"] // rows) * -(-sizes["N"] // columns)
        return groups <= peaks.compute_units and sizes["K"] >= split * depth * FEWEST

    return [way for way in WAYS if suits(*way[:4])]


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
    usual = {"B": 1, **SIZES} if product.batched else SIZES
    sizes = with_defaults(shape, usual)
    chosen = {**tiles, **with_defaults(settings, {"DYNAMIC": 0})}
    subs, dynamic = symbols(sizes, chosen)

    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(
            subs=subs, dynamic_symbols=dynamic, target=target
        ),
        shape=sizes,
        settings=chosen,
        make_arguments=lambda rng: product.arguments(rng, sizes),
        reference=lambda arguments: [product.of(arguments)],
        outputs=(len(product.dims) - 1,),
        tolerance=TOLERANCES[str(product.result)],
        scale=product.magnitude,
        flops=2.0 * prod(sizes.values()),
        peers=peers.product(product.layout) if product.is_plain else {},
    )
