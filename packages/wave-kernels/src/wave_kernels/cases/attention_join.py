"""The case of joining what queries found among two sets of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_kernels.cases.row_cases import case_of_rows
from wave_kernels.cases.sizes import normal, poisoned, with_defaults
from wave_kernels.definitions.attention_join import Joining, join_kernel

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np

    from wave_core.compile.kernels import KernelCase

_SKIPPED = 1
"""Rows of the part that are not joined."""


def join_case(
    shape: Mapping[str, int], settings: Mapping[str, int | str], target: str
) -> KernelCase:
    """``M`` rows of ``N`` channels of each of ``H`` heads, joined to f32.

    Some rows have seen keys of one set alone. ``DYNAMIC=1`` leaves
    the sizes of memories to the launch, but for channels.
    """
    sizes = with_defaults(shape, {"H": 8, "M": 256, "N": 128})
    h, m, n = sizes.values()
    memories = {"HEADS": h, "ROWS": m, "PART": m + _SKIPPED}

    def make_arguments(rng: np.random.Generator) -> Sequence[Any]:
        lse = normal(rng, (h, m), tkl.f32) * 5
        more_lse = normal(rng, (h, m + _SKIPPED), tkl.f32) * 5
        lse[:1] = more_lse[1:, -1] = float("-inf")
        rows = normal(rng, (h, m, n), tkl.f32)
        more = normal(rng, (h, m + _SKIPPED, n), tkl.f32)
        results = poisoned((h, m), tkl.f32), poisoned((h, m, n), tkl.f32)
        return [rows, lse, more, more_lse, *results]

    def joined(arguments: Sequence[Any]) -> Sequence[Any]:
        import numpy as np  # noqa: PLC0415 - numpy is loaded only when running

        rows, lse, more, more_lse = (x.astype("float64") for x in arguments[:4])
        more, more_lse = more[:, _SKIPPED:], more_lse[:, _SKIPPED:]
        whole = np.logaddexp(lse, more_lse)
        shares = (np.exp(each - whole)[..., None] for each in (lse, more_lse))
        pairs = zip((rows, more), shares, strict=True)
        return [whole, sum(each * share for each, share in pairs)]

    joining = Joining(of_part=_SKIPPED, result=tkl.f32)
    return case_of_rows(
        join_kernel(joining),
        (sizes, with_defaults(settings, {"DYNAMIC": 0}), target),
        ({"M": m, "N": n}, memories),
        (make_arguments, joined, (4, 5)),
    )
