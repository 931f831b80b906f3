"""Kernels in notebooks: the page in a frame below the facts that core shows."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from wave_view.gather import view_of_kernel
from wave_view.html import page

if TYPE_CHECKING:
    from wave_core.compile.kernel import WaveKernel


def framed(kernel: WaveKernel) -> str:
    """The page of a kernel in a frame of its own.

    The frame may run its script and has no other rights. What needs arguments, such as
    cycles, is not in it: `wave view` shows that.
    """
    found = view_of_kernel(kernel)
    text = html.escape(page(found), quote=True)
    return (
        f"<iframe sandbox='allow-scripts' srcdoc=\"{text}\" "
        f"title='views of {html.escape(found.kernel)}' "
        "style='width:100%;height:620px;border:1px solid #8886'></iframe>"
    )
