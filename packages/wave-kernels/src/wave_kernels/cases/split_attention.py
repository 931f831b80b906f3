"""The case of attention of few queries, whose keys are cut in parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_kernels.cases.attention import softmax_product
from wave_kernels.cases.decode_attention import refuse_empty_parts
from wave_kernels.cases.head_attention import (
    POWERS,
    ROUNDING,
    VARIANTS,
    Asked,
    asked,
)
from wave_kernels.cases.sizes import poisoned, with_defaults
from wave_kernels.definitions.attention_scores import LOG2_E
from wave_kernels.definitions.attention_tiles import ROOM, B
from wave_kernels.definitions.key_parts import KEYS, SEQUENCES, SPLIT, STEP, Cut
from wave_kernels.definitions.split_attention import split_attention_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_SIZES = {"B": 2, "M": 2, "H": 4, "N": 64, "K1": 64, "K2": 200}
_USUAL = {"GROUP": 2, "SPLIT": 2}
_SCORES = [name for name in VARIANTS if name != "LSE"]


def split_attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``M`` queries of each of ``B`` sequences and ``H`` heads, ``K2`` keys of each.

    ``GROUP`` heads share each head of keys, which are cut in ``SPLIT`` parts. What is
    done to scores, layouts and types are set as of ``attention-heads``.

    Raises:
        UserError: WV0823 for parts that would have no key; as ``attention-heads``.
    """
    sizes, usual = with_defaults(shape, _SIZES), with_defaults(settings, _USUAL)
    case = asked(sizes, {**settings, **usual, "LSE": 0})
    made = _Split(case, usual["SPLIT"])
    refuse_empty_parts(made.keys, made.share, made.split)
    heads, scoring = case.heads, case.scoring
    written = 3 + bool(scoring.bias) + scoring.alibi
    words = {"LAYOUT": heads.layout, "DTYPE": str(heads.dtype)}
    return KernelCase(
        kernel=split_attention_kernel(
            case.scale * LOG2_E, heads=heads, cut=made.cut, scoring=scoring
        ),
        options=tkl.WaveCompileOptions(
            subs=made.subs, dynamic_symbols=made.dynamic, target=target
        ),
        shape=sizes,
        settings={
            **usual,
            **{name: int(settings.get(name, 0)) for name in _SCORES},
            **words,
            "RESULT": str(heads.result),
        },
        make_arguments=made.arguments,
        reference=made.reference,
        outputs=(written, written + 1) if made.split > 1 else (written,),
        tolerance=POWERS[str(heads.dtype)] + ROUNDING[str(heads.result)],
        scale=lambda _: 1.0,
    )


@dataclass(frozen=True)
class _Split:
    """Attention over heads, and in how many parts its keys are cut."""

    asked: Asked
    split: int

    @property
    def keys(self) -> int:
        """How many some query sees."""
        every, window = self.asked.sizes["K2"], self.asked.scoring.window
        return min(every, self.asked.sizes["M"] + window - 1) if window else every

    @property
    def share(self) -> int:
        """How many keys a part has, but for the last."""
        return -(-self.keys // (self.split * STEP)) * STEP

    @property
    def cut(self) -> Cut:
        """As the kernel has it."""
        scoring = self.asked.scoring
        return Cut(self.split > 1, self.asked.sizes["M"], scoring.window)

    @property
    def subs(self) -> dict[Any, int]:
        """The symbols of the kernel that are no tiles, and do not differ by launch."""
        sizes, group = self.asked.sizes, self.asked.heads.group
        found = {name: sizes[name] for name in ("K1", "N")}
        found |= {"HEADS": sizes["H"], "H": sizes["H"] // group}
        found |= {"QUERIES": sizes["M"], "M": sizes["M"] * group}
        found |= {"K2": ROOM, "BLOCK_B": 1, "BLOCK_H": 1}
        found |= {"BLOCK_N": min(max(1 << (sizes["N"] - 1).bit_length(), 16), 128)}
        return {getattr(tkl.sym, name): value for name, value in found.items()}

    @property
    def dynamic(self) -> list[Any]:
        """The symbols that arguments bind with each launch."""
        return [B, SEQUENCES, KEYS, *([SPLIT] if self.cut.parts else [])]

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, and poisoned results of parts."""
        *operands, output = self.asked.arguments(rng)
        rows = (len(output) * self.split, *output.shape[1:])
        results = [poisoned(rows, self.asked.heads.result)]
        if self.cut.parts:
            sums = (len(output), self.split, *rows[1:-1])
            results.append(poisoned(sums, tkl.f32))
        return [*operands, *results]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """Each part in f64, and the logarithms of its sums in base 2."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        case, first = self.asked, self.asked.sizes["K2"] - self.keys
        query, key, value, *added = (each.astype("float64") for each in arguments)
        query, key, value = map(case.by_heads, (query, key, value))
        scores = case.scores(query @ key.swapaxes(-1, -2) * case.scale, added) * LOG2_E
        parts: list[tuple[Any, Any]] = []
        for begin in range(first, first + self.keys, self.share):
            own = slice(begin, begin + self.share)
            found, sums = softmax_product(scores[..., own], value[:, :, own])
            sums = case.turned(sums[..., None])[..., 0] / np.log(2)
            parts.append((case.turned(found), sums))
        found, sums = (np.stack(each, 1) for each in zip(*parts, strict=True))
        return [found.reshape(-1, *found.shape[2:]), sums][: 1 + self.cut.parts]
