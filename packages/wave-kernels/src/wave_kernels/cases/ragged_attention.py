"""The case of attention of sequences of different lengths."""

# Pyright does not know what numpy's comparisons give.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.attention import TILES, query_space, softmax_product
from wave_kernels.cases.head_attention import POWERS, ROUNDING, Asked, asked
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.attention_scores import LOG2_E
from wave_kernels.definitions.ragged_attention import ragged_attention_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

SIZES = {"B": 3, "M": 40, "H": 2, "N": 64, "K1": 64, "K2": 128}
_VARIANTS = {"CAUSAL": 0, "WINDOW": 0, "SOFTCAP": 0, "ALIBI": 0, "PAGED": 0, "TREE": 0}
_BATCH = {"BLOCK_B": 1, "BLOCK_H": 1, "GROUP": 1}


@dataclass(frozen=True)
class Ragged:
    """Sequences, the first with most queries, the last with most keys."""

    asked: Asked
    paged: bool
    tree: bool

    @property
    def query_starts(self) -> list[int]:
        """The first query of each sequence, and an end."""
        b, most = self.asked.sizes["B"], self.asked.sizes["M"]
        return [0, *accumulate(most * (b - i) // b for i in range(b))]

    @property
    def key_starts(self) -> list[int]:
        """The first key of each sequence, and an end."""
        b, most = self.asked.sizes["B"], self.asked.sizes["K2"]
        return [0, *accumulate(most * (i + 1) // b for i in range(b))]

    @property
    def spans(self) -> list[tuple[tuple[int, int], tuple[int, int]]]:
        """The queries and the keys of each sequence."""
        starts = self.query_starts, self.key_starts
        return list(zip(*map(pairwise, starts), strict=True))

    @property
    def totals(self) -> dict[str, int]:
        """The sizes of all sequences together."""
        rows = self.key_starts[-1]
        found = {"TOKENS": self.query_starts[-1], "SLOTS": rows}
        found |= {"ROWS": rows} if self.paged else {}
        return found | ({"WIDTH": self.asked.sizes["M"]} if self.tree else {})

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, and a poisoned result."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        sizes, heads = self.asked.sizes, self.asked.heads
        t, s, shared = self.query_starts[-1], self.key_starts[-1], heads.group
        h, kvh = sizes["H"], sizes["H"] // shared
        shapes = (t, h, sizes["K1"]), (s, kvh, sizes["K1"]), (s, kvh, sizes["N"])
        made = [normal(rng, shape, heads.dtype) for shape in shapes]
        made += [np.array(x, "int32") for x in (self.query_starts, self.key_starts)]
        if self.paged:
            made.append(rng.permutation(s).astype("int32"))
        if self.tree:
            made.append(rng.integers(0, 2, (t, sizes["M"])).astype("int8"))
        if self.asked.scoring.alibi:
            made.append(rng.uniform(0.1, 1.0, h).astype("float32"))
        return [*made, poisoned((t, h, sizes["N"]), heads.result)]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """The output in f64."""
        return [self.attended(arguments[:-1])[0]]

    def attended(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """The output, and the logarithms of sums, in f64, sequence after sequence."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        query, key, value, _, _, *more = arguments
        table = more.pop(0) if self.paged else np.arange(key.shape[0])
        tree = more.pop(0) if self.tree else None
        found: list[tuple[Any, Any]] = []
        for (first, end), keys in self.spans:
            slots = table[slice(*keys)]
            rows = query[first:end], key[slots], value[slots]
            drafts = None if tree is None else tree[first:end, : end - first]
            found.append(self._one(rows, list(more), drafts))
        rows, sums = zip(*found, strict=True)
        return np.concatenate(rows), np.concatenate(sums, axis=-1)

    def _one(
        self, rows: tuple[Any, ...], added: list[Any], drafts: Any
    ) -> tuple[Any, Any]:
        """Of one sequence, ``[rows, heads, channels]`` and ``[heads, rows]``."""
        query, key, value = (x.astype("float64").swapaxes(0, 1) for x in rows)
        group, asked = self.asked.heads.group, self.asked
        key, value = (x.repeat(group, axis=0) for x in (key, value))
        products = query @ key.swapaxes(-1, -2) * asked.scale
        m, keys = products.shape[-2:]
        scores = self.of_one(m, keys).scores(products[None], added)[0]
        if drafts is not None:
            scores = self._among(scores, drafts)
        found, sums = softmax_product(scores * LOG2_E, value)
        return found.swapaxes(0, 1), sums

    def of_one(self, queries: int, keys: int) -> Asked:
        """What is asked for, of a sequence with so many queries and keys alone."""
        sizes = {**self.asked.sizes, "B": 1, "M": queries, "K2": keys}
        return replace(self.asked, sizes=sizes)

    def _among(self, scores: Any, drafts: Any) -> Any:
        """Scores, and minus infinity at drafts that a query does not see."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        m, keys = scores.shape[-2:]
        draft: Any = np.arange(m - keys, m)
        if not m:
            return scores
        own = drafts[:, np.maximum(draft, 0)]
        seen: Any = (draft < 0) | (own != 0)
        return np.where(seen, scores, -np.inf)


def ragged_attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Attention of ``B`` sequences of different lengths, up to M queries and K2 keys.

    ``PAGED=1`` reads keys where a table says; ``TREE=1`` has a mask of drafts; the
    others are as of attention over heads, without a bias.
    """
    sizes = with_defaults(shape, SIZES)
    given = {k: v for k, v in settings.items() if k not in ("PAGED", "TREE", "BIAS")}
    case = asked(sizes, {**given, "LAYOUT": "bshd", "LSE": 0})
    variants = with_defaults(settings, _VARIANTS)
    ragged = Ragged(case, bool(variants["PAGED"]), bool(variants["TREE"]))
    tiles = with_defaults(settings, _BATCH) | left_open(settings, TILES)
    known = {name: tiles[name] for name in tiles if name != "GROUP"}
    subs, _ = symbols({**case.sizes, **ragged.totals}, known)
    subs |= query_space(tiles)
    if case.heads.group > 1:
        subs[tkl.sym.KVH] = sizes["H"] // case.heads.group
    words = {"DTYPE": str(case.heads.dtype), "RESULT": str(case.heads.result)}
    kernel = ragged_attention_kernel(
        case.scale * LOG2_E,
        heads=case.heads,
        scoring=case.scoring,
        paged=ragged.paged,
        tree=ragged.tree,
    )
    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=sizes,
        settings={**tiles, **variants, **words},
        make_arguments=ragged.arguments,
        reference=ragged.reference,
        outputs=(5 + ragged.paged + ragged.tree + case.scoring.alibi,),
        tolerance=POWERS[words["DTYPE"]] + ROUNDING[words["RESULT"]],
        scale=lambda _: 1.0,
    )
