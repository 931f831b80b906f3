"""The dims of convolutions, and the orders in which they lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import wave_core.lang as tkl
from wave_core.diagnostics import user_error

if TYPE_CHECKING:
    from collections.abc import Collection

M = tkl.sym.M
K = tkl.sym.K
N = tkl.sym.N
H = tkl.sym.H
W = tkl.sym.W
C = tkl.sym.C
HF = tkl.sym.HF
WF = tkl.sym.WF
NF = tkl.sym.NF
H_OUT = tkl.sym.H_OUT
W_OUT = tkl.sym.W_OUT
G = tkl.sym.G
CG = tkl.sym.CG
NFG = tkl.sym.NFG

SZ_OUT = H_OUT * W_OUT
"""Positions of a filter on one image."""

IMAGES: dict[str, tuple[Any, ...]] = {"nhwc": (N, H, W, C), "nchw": (N, C, H, W)}
"""Orders of images, slowest first; those of results have the same names."""

RESULTS: dict[str, tuple[Any, ...]] = {
    "nhwc": (N, H_OUT, W_OUT, NF),
    "nchw": (N, NF, H_OUT, W_OUT),
}
"""Orders of results."""

FILTERS: dict[str, tuple[Any, ...]] = {
    "hwcf": (HF, WF, C, NF),
    "fhwc": (NF, HF, WF, C),
    "fchw": (NF, C, HF, WF),
}
"""Orders of filters."""


def check_order(name: str, word: str, table: Collection[str]) -> None:
    """Refuse an order that is not in ``table``.

    Raises:
        UserError: WV0823.
    """
    if word not in table:
        raise user_error(
            "WV0823",
            f"a convolution has no `{name}` in the order `{word}`",
            help=f"they are in one of {', '.join(table)}",
        )
