"""The cases of decoding: parts of sequences, and what merges them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.compile.kernels import KernelCase
from wave_core.diagnostics import user_error
from wave_kernels.cases.head_attention import POWERS, ROUNDING
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.attention_scores import LOG2_E
from wave_kernels.definitions.attention_tiles import ROOM, B
from wave_kernels.definitions.decode_attention import (
    Decoding,
    decode_attention_kernel,
)
from wave_kernels.definitions.key_parts import SEQUENCES, SPLIT, STEP, Cut
from wave_kernels.definitions.merge import merge_kernel
from wave_kernels.definitions.ragged_attention import ROWS, SLOTS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

_SIZES = {"B": 3, "M": 4, "H": 2, "N": 64, "K1": 64, "K2": 200}
_SETTINGS = {"SPLIT": 2, "PAGED": 0}


def decode_attention_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """One query of each of ``B`` sequences, with up to ``K2`` keys, in f16.

    ``M`` heads share each of ``H`` heads of keys. Each sequence is cut in ``SPLIT``
    parts; ``PAGED=1`` reads keys where a table says.

    Raises:
        UserError: WV0823 for parts that would have no key.
    """
    sizes, given = with_defaults(shape, _SIZES), with_defaults(settings, _SETTINGS)
    decoded = _Decoded(sizes, **{name.lower(): given[name] for name in _SETTINGS})
    refuse_empty_parts(min(decoded.lengths), decoded.share, decoded.split)
    kernel = decode_attention_kernel(
        decoded.scale * LOG2_E,
        decoding=Decoding(Cut(decoded.split > 1), bool(decoded.paged)),
    )
    return KernelCase(
        kernel=kernel,
        options=tkl.WaveCompileOptions(
            subs=decoded.subs, dynamic_symbols=decoded.dynamic, target=target
        ),
        shape=sizes,
        settings=given,
        make_arguments=decoded.arguments,
        reference=decoded.reference,
        outputs=tuple(4 + decoded.paged + i for i in range(decoded.written)),
        tolerance=POWERS["f16"] + ROUNDING["f32"],
        scale=lambda _: 1.0,
    )


def refuse_empty_parts(keys: int, share: int, split: int) -> None:
    """See that each of ``split`` parts of keys has some, and but the last ``share``.

    Raises:
        UserError: WV0823 where one has none.
    """
    if share * (split - 1) >= keys:
        raise user_error(
            "WV0823",
            f"of {keys} keys {split} parts are none",
            help="give more of K2, or fewer of SPLIT",
        )


@dataclass(frozen=True)
class _Decoded:
    """Sequences, each a key shorter than the one before."""

    sizes: Mapping[str, int]
    split: int
    paged: int

    @property
    def scale(self) -> float:
        return self.sizes["K1"] ** -0.5

    @property
    def lengths(self) -> list[int]:
        return [max(self.sizes["K2"] - i, 0) for i in range(self.sizes["B"])]

    @property
    def share(self) -> int:
        """Keys of each part of the shortest sequence, but for the last part."""
        return self._share(min(self.lengths))

    @property
    def written(self) -> int:
        """How many results there are: with parts, their sums too."""
        return 1 + (self.split > 1)

    @property
    def subs(self) -> dict[Any, int]:
        """The symbols of the kernel that are no tiles, and do not differ by launch."""
        found = {name: self.sizes[name] for name in ("M", "H", "N", "K1")}
        found |= {"K2": ROOM, "BLOCK_B": 1, "BLOCK_H": 1}
        found |= {"BLOCK_N": max(1 << (self.sizes["N"] - 1).bit_length(), 16)}
        return {getattr(tkl.sym, name): value for name, value in found.items()}

    @property
    def dynamic(self) -> list[Any]:
        """The symbols that arguments bind with each launch."""
        parts = [SPLIT] if self.split > 1 else []
        return [B, SEQUENCES, SLOTS, *parts, *([ROWS] if self.paged else [])]

    def arguments(self, rng: np.random.Generator) -> list[np.ndarray]:
        """Random operands, and poisoned results."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        b, m, h, n, k1, _ = (self.sizes[name] for name in _SIZES)
        s = sum(self.lengths)
        shapes = (b, h, m, k1), (s, h, k1), (s, h, n)
        made = [normal(rng, shape, tkl.f16) for shape in shapes]
        made.append(np.array([0, *accumulate(self.lengths)], "int32"))
        if self.paged:
            made.append(rng.permutation(s).astype("int32"))
        results = (b * self.split, h, m, n), (b, self.split, h, m)
        return made + [poisoned(each, tkl.f32) for each in results[: self.written]]

    def reference(self, arguments: Sequence[Any]) -> list[Any]:
        """Each part in f64, and the logarithm of its sum in base 2."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        query, key, value, starts, *more = arguments
        table = more[0] if self.paged else np.arange(len(key))
        wide = query.astype("float64") * (self.scale * LOG2_E)
        parts: list[Any] = []
        for one, first, length in zip(wide, starts, self.lengths, strict=False):
            share = self._share(length)
            for begin in range(0, self.split * share, share):
                slots = table[first + begin : first + min(begin + share, length)]
                parts.append(self._part(one, key[slots], value[slots]))
        found, sums = (np.stack(each) for each in zip(*parts, strict=True))
        shape = (len(query), self.split, *sums.shape[1:])
        return [found, sums.reshape(shape)][: self.written]

    def _share(self, length: int) -> int:
        return -(-length // (self.split * STEP)) * STEP

    @staticmethod
    def _part(query: Any, key: Any, value: Any) -> tuple[Any, Any]:
        """``[heads, rows, channels]`` of some keys, and ``[heads, rows]``."""
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        keys, values = (x.astype("float64").swapaxes(0, 1) for x in (key, value))
        powers = np.exp2(query @ keys.swapaxes(-1, -2))
        total = powers.sum(-1)
        return powers @ values / total[..., None], np.log2(total)


def merge_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``SPLIT`` parts of ``M`` heads of each of ``B`` sequences, merged to f32.

    One row's parts have all seen no key. ``DYNAMIC=1`` leaves all sizes to the launch.
    """
    sizes = with_defaults(shape, {"B": 3, "M": 8, "N": 128, "SPLIT": 4})
    b, m, n, split = sizes.values()
    rows = {"SEQUENCES": b, "HEADS": m, "N": n, "SPLIT": split}

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        parts = normal(rng, (b, split, m, n), tkl.f32)
        sums = normal(rng, (b, split, m), tkl.f32) * 5
        sums[:1, :1] = sums[-1:, :, -1:] = float("-inf")
        return [parts, sums, poisoned((b, m, n), tkl.f32)]

    def merged(arguments: Sequence[Any]) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        parts, sums, _ = arguments
        weights = np.exp2(sums.astype("float64"))
        total = weights.sum(1)
        found = (parts * weights[..., None]).sum(1)
        return [found / np.where(total == 0, 1, total)[..., None]]

    return case_of_rows(
        merge_kernel(tkl.f32),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({}, rows),
        (make_arguments, merged, (2,)),
    )
