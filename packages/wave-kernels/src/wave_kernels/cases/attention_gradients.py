"""The cases of attention's gradients, as `head_attention` has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.head_attention import (
    BATCH,
    VARIANTS,
    Asked,
    asked,
)
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.attention_backward import (
    gradient_memories,
    key_gradient_kernel,
    query_gradient_kernel,
)
from wave_kernels.definitions.attention_scores import LOG2_E
from wave_kernels.definitions.attention_tiles import B, H, M

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np

ACCURACY = {"f16": 2e-3, "bf16": 2e-2}
"""Of the largest element: gradients of scores are rounded."""

TILES = ("BLOCK_M", "BLOCK_K2", "WAVES_M", "MMA_ROWS")
_VARIANTS = {name: 0 for name in VARIANTS if name != "LSE"}


def query_gradient_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradient of queries, and ``delta``; settings as of attention over heads."""
    return _case(OfQueries, shape, settings, target)


def key_gradient_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradients of keys and values; settings as of attention over heads.

    Where heads share keys, each head of queries has its own.
    """
    return _case(OfKeys, shape, settings, target)


@dataclass(frozen=True)
class _Gradients:
    """One case: attention that was computed, in f64, and a gradient of its result."""

    asked: Asked

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """What attention was given, and a gradient; then what it gave."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        *given, output = self.asked.arguments(rng)
        found, sums = self.asked.attended(given)
        grad = normal(rng, output.shape, self.asked.heads.dtype)
        result = np.ascontiguousarray(found, output.dtype)
        return [*given, grad, sums.astype("float32"), result]

    def parts(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """Queries, keys and the result's gradient; powers and the scores' gradient."""
        case = self.asked
        query, key, value, *more = (each.astype("float64") for each in arguments)
        count = bool(case.scoring.bias) + case.scoring.alibi
        added, (grad, sums, delta) = more[:count], more[count:]
        query, key, value, grad = map(case.by_heads, (query, key, value, grad))
        products = query @ key.swapaxes(-1, -2) * case.scale
        powers = _powers(case.scores(products, added), sums)
        inner = powers * (grad @ value.swapaxes(-1, -2) - delta[..., None])
        return query, key, grad, powers, inner * self._steepness(products) * case.scale

    def delta(self, grad: Any, output: Any) -> np.ndarray:
        """What is subtracted from each row."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        products = grad.astype("float64") * output.astype("float64")
        return np.ascontiguousarray(self.asked.turned(products).sum(-1))

    def _steepness(self, products: Any) -> Any:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        cap = self.asked.scoring.softcap
        return 1 - np.tanh(products / cap) ** 2 if cap else 1.0


class OfQueries(_Gradients):
    """The case of the kernel of queries."""

    make: Callable[..., Any] = staticmethod(query_gradient_kernel)
    dims = ("DK",)

    def all_arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Those of the kernel, in order."""
        case, given = self.asked, self.arguments(rng)
        delta = poisoned(case.extents((B, H, M)), tkl.f32)
        return [*given, delta, poisoned(given[0].shape, case.heads.dtype)]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """``delta`` and the gradient, in f64."""
        *given, grad, sums, output, _, _ = arguments
        delta = self.delta(grad, output)
        _, key, _, _, inner = self.parts([*given, grad, sums, delta])
        return [delta, self.asked.turned(inner @ key)]


class OfKeys(_Gradients):
    """The case of the kernel of keys and values."""

    make: Callable[..., Any] = staticmethod(key_gradient_kernel)
    dims = ("DK", "DN")

    def all_arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Those of the kernel, in order."""
        *given, grad, sums, output = self.arguments(rng)
        delta = self.delta(grad, output).astype("float32")
        *dims, dtype = gradient_memories(self.asked.heads)
        results = [poisoned(self.asked.extents(each), dtype) for each in dims]
        return [*given, grad, sums, delta, *results]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """Gradients of keys and of values, in f64."""
        query, _, grad, powers, inner = self.parts(arguments[:-2])
        pairs = (inner, query), (powers, grad)
        found = (left.swapaxes(-1, -2) @ right for left, right in pairs)
        return [self.asked.turned(each) for each in found]


def _powers(scores: Any, sums: Any) -> Any:
    """What the softmax gives, from the logarithms of its sums."""
    import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

    lowest = np.finfo("float32").min
    return np.exp(scores - np.maximum(sums, lowest)[..., None])


def _case(
    kind: type[OfQueries | OfKeys],
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    word = str(settings.get("DTYPE", "f16"))
    case = asked(shape, {**settings, "RESULT": word, "LSE": 0})
    heads, made = case.heads, kind(case)
    tiles = with_defaults(settings, BATCH) | left_open(settings, TILES)
    known = {name: tiles[name] for name in tiles if name != "GROUP"}
    again = {"DK": case.sizes["K1"], "DN": case.sizes["N"]}
    sizes = {**case.sizes, **{name: again[name] for name in kind.dims}}
    subs, _ = symbols(sizes, known)
    if heads.group > 1:
        subs[tkl.sym.KVH] = case.sizes["H"] // heads.group
    variants, words = with_defaults(settings, _VARIANTS), {"LAYOUT": heads.layout}
    first = 6 + bool(case.scoring.bias) + case.scoring.alibi
    return KernelCase(
        kernel=kind.make(case.scale * LOG2_E, heads=heads, scoring=case.scoring),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=case.sizes,
        settings={**tiles, **variants, **words, "DTYPE": str(heads.dtype)},
        make_arguments=made.all_arguments,
        reference=made.reference,
        outputs=(first, first + 1),
        tolerance=ACCURACY[str(heads.dtype)],
    )
