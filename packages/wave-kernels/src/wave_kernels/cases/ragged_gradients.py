"""The cases of gradients of attention of sequences of different lengths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.attention_gradients import ACCURACY, TILES, OfKeys, OfQueries
from wave_kernels.cases.head_attention import BATCH, asked
from wave_kernels.cases.ragged_attention import SIZES, Ragged
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.attention_backward import gradient_memories
from wave_kernels.definitions.attention_scores import LOG2_E

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_VARIANTS = {"CAUSAL": 0, "WINDOW": 0, "SOFTCAP": 0, "ALIBI": 0}


def ragged_query_gradient_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradient of queries, and ``delta``; sequences as `ragged_attention_case`."""
    return _case(OfQueries, shape, settings, target)


def ragged_key_gradient_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """The gradients of keys and values; sequences as `ragged_attention_case`.

    Where heads share keys, each head of queries has its own.
    """
    return _case(OfKeys, shape, settings, target)


@dataclass(frozen=True)
class _Gradients:
    """Attention of sequences that was computed, in f64, and a gradient of its result.

    Attributes:
        sequences: What attention was of.
        kind: Which of the kernels it is, each sequence by itself.
    """

    sequences: Ragged
    kind: type[OfQueries | OfKeys]

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Those of the kernel, in order; results are poisoned."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        heads = self.sequences.asked.heads
        *given, output = self.sequences.arguments(rng)
        found, sums = self.sequences.attended(given)
        grad, lse = normal(rng, output.shape, heads.dtype), sums.astype("float32")
        result = np.ascontiguousarray(found, output.dtype)
        read = [*given, grad, lse]
        if self.kind is OfQueries:
            delta = poisoned(lse.shape, tkl.f32)
            return [*read, result, delta, poisoned(given[0].shape, heads.dtype)]
        products = grad.astype("float64") * result.astype("float64")
        delta = np.ascontiguousarray(products.sum(-1).T, "float32")
        kept = (given[1].shape[0], output.shape[1])
        dtype = gradient_memories(heads)[2]
        gradients = [poisoned((*kept, x.shape[-1]), dtype) for x in given[1:3]]
        return [*read, delta, *gradients]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """The results in f64, sequence after sequence."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        found = [self._one(arguments, *span) for span in self.sequences.spans]
        # ``delta`` has rows of all sequences for each head.
        axes = (1, 0) if self.kind is OfQueries else (0, 0)
        columns = zip(zip(*found, strict=True), axes, strict=True)
        return [np.concatenate(rows, axis=axis) for rows, axis in columns]

    def _one(
        self, arguments: Sequence[Any], queries: tuple[int, int], keys: tuple[int, int]
    ) -> list[Any]:
        """The results of one sequence, as of a batch of it alone."""
        query, key, value, _, _, *more = arguments
        count = self.sequences.asked.scoring.alibi
        slopes, (grad, lse, third, *results) = more[:count], more[count:]
        rows = slice(*queries)
        own = [query[rows], key[slice(*keys)], value[slice(*keys)]]
        of_queries = self.kind is OfQueries
        third = third[rows] if of_queries else third[:, rows]
        last = [grad[rows], lse[:, rows], third]
        given = [*(x[None] for x in own), *slopes, *(x[None] for x in last), *results]
        case = self.kind(self.sequences.of_one(len(own[0]), len(own[1])))
        return [each[0] for each in case.reference(given)]


def _case(
    kind: type[OfQueries | OfKeys],
    shape: Mapping[str, int],
    settings: Mapping[str, int | str],
    target: str,
) -> KernelCase:
    sizes, word = with_defaults(shape, SIZES), str(settings.get("DTYPE", "f16"))
    given = {k: v for k, v in settings.items() if k != "BIAS"}
    words = {"LAYOUT": "bshd", "RESULT": word, "LSE": 0}
    case = asked(sizes, {**given, **words})
    heads, sequences = case.heads, Ragged(case, paged=False, tree=False)
    made = _Gradients(sequences, kind)
    tiles = with_defaults(settings, BATCH) | left_open(settings, TILES)
    known = {name: tiles[name] for name in tiles if name != "GROUP"}
    again = {"DK": sizes["K1"], "DN": sizes["N"]}
    again = {name: again[name] for name in kind.dims}
    subs, _ = symbols({**sizes, **sequences.totals, **again}, known)
    if heads.group > 1:
        subs[tkl.sym.KVH] = sizes["H"] // heads.group
    variants, first = with_defaults(settings, _VARIANTS), 8 + case.scoring.alibi
    return KernelCase(
        kernel=kind.make(
            case.scale * LOG2_E, heads=heads, scoring=case.scoring, ragged=True
        ),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings={**tiles, **variants, "DTYPE": word},
        make_arguments=made.arguments,
        reference=made.reference,
        outputs=(first, first + 1),
        tolerance=ACCURACY[word],
    )
