"""The case of attention over heads, with what may be done to its scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_core.diagnostics import user_error
from wave_kernels.cases.attention import TILES, query_space, softmax_product
from wave_kernels.cases.sizes import (
    left_open,
    normal,
    one_of,
    poisoned,
    symbols,
    with_defaults,
)
from wave_kernels.definitions.attention import Heads, head_attention_kernel
from wave_kernels.definitions.attention_scores import LOG2_E, PLAIN, Scoring
from wave_kernels.definitions.attention_tiles import K2, B, H, M

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

NAME = "attention-heads"
DTYPES = {"f16": tkl.f16, "bf16": tkl.bf16}
RESULTS = {"f32": tkl.f32, **DTYPES}
ROUNDING = {"f32": 0.0, "f16": 2.0**-11, "bf16": 2.0**-8}
"""Half a unit in the last place of a result."""

POWERS = {"f16": 1e-3, "bf16": 8e-3}
"""What rounding powers costs, for values of the size of 1."""

VARIANTS = {"CAUSAL": 0, "WINDOW": 0, "SOFTCAP": 0, "BIAS": 0, "ALIBI": 0, "LSE": 0}
BATCH = {"BLOCK_B": 1, "BLOCK_H": 1, "GROUP": 1}


@dataclass(frozen=True)
class Asked:
    """One case: its sizes, and what the settings ask for."""

    sizes: Mapping[str, int]
    heads: Heads
    scoring: Scoring
    lse: bool

    @property
    def scale(self) -> float:
        """What scores are multiplied by."""
        return 1 / max(self.sizes["K1"], 1) ** 0.5

    def extents(self, dims: tuple[Any, ...]) -> tuple[int, ...]:
        """The sizes of a memory."""
        shared = self.sizes["H"] // self.heads.group
        return tuple({**self.sizes, "KVH": shared}[str(dim)] for dim in dims)

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, and poisoned results."""
        heads, scoring = self.heads, self.scoring
        given = [heads.query, heads.key, heads.value]
        made = [normal(rng, self.extents(dims), heads.dtype) for dims in given]
        if scoring.bias:
            made.append(normal(rng, self.extents(scoring.bias), heads.dtype))
        if scoring.alibi:
            slopes = rng.uniform(0.1, 1.0, self.extents((H,)))
            made.append(slopes.astype("float32"))
        made.append(poisoned(self.extents(heads.output), heads.result))
        rows = [poisoned(self.extents((B, H, M)), tkl.f32)] if self.lse else []
        return made + rows

    def reference(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The outputs in f64."""
        found, sums = self.attended(arguments)
        return [found, *([sums] if self.lse else [])]

    def attended(self, arguments: Sequence[Any]) -> tuple[Any, Any]:
        """The output, and the logarithms of sums, in f64."""
        query, key, value, *added = (each.astype("float64") for each in arguments)
        query, key, value = map(self.by_heads, (query, key, value))
        scores = self.scores(query @ key.swapaxes(-1, -2) * self.scale, added)
        found, sums = softmax_product(scores * LOG2_E, value)
        return self.turned(found), sums

    def turned(self, operand: Any) -> Any:
        """From ``[batch, head, row, channel]`` to the layout, or back."""
        return operand.swapaxes(1, 2) if self.heads.layout == "bshd" else operand

    def by_heads(self, operand: Any) -> Any:
        """``[batch, head, row, channel]``, with keys for each head of queries."""
        found = self.turned(operand)
        return found.repeat(self.sizes["H"] // max(found.shape[1], 1), axis=1)

    def scores(self, products: Any, added: list[Any]) -> Any:
        """What the softmax is taken of."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        scoring, m, keys = self.scoring, self.sizes["M"], self.sizes["K2"]
        behind: Any = np.arange(m)[:, None] + (keys - m) - np.arange(keys)
        if scoring.softcap:
            products = scoring.softcap * np.tanh(products / scoring.softcap)
        if scoring.bias:
            products = products + added.pop(0)
        if scoring.alibi:
            products = products - added.pop(0)[:, None, None] * abs(behind)
        hidden: Any = (behind < 0) & scoring.causal
        if scoring.window:
            hidden = hidden | (abs(behind) >= scoring.window)
        return np.where(hidden, -np.inf, products)


def asked(shape: Mapping[str, int], settings: Mapping[str, int | str]) -> Asked:
    """What sizes and settings say.

    Raises:
        UserError: WV0823 for an unknown type or layout, or heads that no group fits.
    """
    usual = {"B": 2, "M": 128, "H": 4, "N": 64, "K1": 64, "K2": 128}
    sizes, group = with_defaults(shape, usual), int(settings.get("GROUP", 1))
    if group < 1 or sizes["H"] % group:
        raise user_error(
            "WV0823",
            f"setting `GROUP` of kernel `{NAME}` is `{group}`",
            help=f"it divides the heads of queries, which are {sizes['H']}",
        )
    words = {
        name: one_of(table, NAME, name, settings.get(name), usual)
        for name, table, usual in (
            ("LAYOUT", ("bshd", "bhsd"), "bshd"),
            ("DTYPE", DTYPES, "f16"),
            ("RESULT", RESULTS, "f32"),
        )
    }
    kinds = DTYPES[words["DTYPE"]], RESULTS[words["RESULT"]]
    variants = with_defaults(settings, VARIANTS)
    heads = Heads(words["LAYOUT"], group, *kinds)
    return Asked(sizes, heads, _scoring(variants), bool(variants["LSE"]))


def _scoring(variants: Mapping[str, int]) -> Scoring:
    if not any(value for name, value in variants.items() if name != "LSE"):
        return PLAIN
    return Scoring(
        causal=bool(variants["CAUSAL"]),
        window=variants["WINDOW"],
        offset=K2 - M,
        softcap=float(variants["SOFTCAP"]),
        bias=(B, H, M, K2) if variants["BIAS"] else (),
        alibi=bool(variants["ALIBI"]),
        complete=True,
    )


def head_attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """Attention over heads.

    Of the scores ``CAUSAL=1`` and ``WINDOW=n`` hide some, the last query standing at
    the last key; ``SOFTCAP=n``, ``BIAS=1`` and ``ALIBI=1`` change them. ``GROUP``
    heads of queries share one of keys; ``LAYOUT`` is bshd or bhsd; ``LSE=1`` has the
    logarithms of sums too.
    """
    case = asked(shape, settings)
    heads, scoring = case.heads, case.scoring
    batch = with_defaults(settings, BATCH)
    tiles = batch | left_open(settings, TILES)
    known = {name: tiles[name] for name in tiles if name != "GROUP"}
    subs, _ = symbols(case.sizes, known)
    subs |= query_space(tiles)
    if heads.group > 1:
        subs[tkl.sym.KVH] = case.sizes["H"] // heads.group
    words = {"LAYOUT": heads.layout, "DTYPE": str(heads.dtype)}
    first = 3 + bool(scoring.bias) + scoring.alibi
    return KernelCase(
        kernel=head_attention_kernel(
            case.scale * LOG2_E, heads=heads, scoring=scoring, lse=case.lse
        ),
        options=tkl.WaveCompileOptions(subs=subs, target=target),
        shape=case.sizes,
        settings={
            **tiles,
            **with_defaults(settings, VARIANTS),
            **words,
            "RESULT": str(heads.result),
        },
        make_arguments=case.arguments,
        reference=case.reference,
        outputs=(first, first + 1) if case.lse else (first,),
        tolerance=POWERS[str(heads.dtype)] + ROUNDING[str(heads.result)],
        scale=lambda _: 1.0,
    )
