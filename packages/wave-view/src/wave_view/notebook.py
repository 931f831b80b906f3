"""Kernels in Jupyter: ``%load_ext wave_view`` shows them as summary and page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from wave_view.gather import view_of_kernel
from wave_view.html import page

if TYPE_CHECKING:
    from wave_core.compile.kernel import WaveKernel
    from wave_view.records import View

_MODULE, _NAME = "wave_core.compile.kernel", "WaveKernel"


def load_ipython_extension(shell: Any) -> None:
    """Show compiled kernels of the notebook; IPython calls this for ``%load_ext``."""
    _formatter(shell).for_type_by_name(_MODULE, _NAME, kernel_html)


def unload_ipython_extension(shell: Any) -> None:
    """Leave kernels to their text again; IPython calls this for ``%unload_ext``."""
    _formatter(shell).pop(f"{_MODULE}.{_NAME}", None)


def _formatter(shell: Any) -> Any:
    return shell.display_formatter.formatters["text/html"]


def kernel_html(kernel: WaveKernel) -> str:
    """A table of facts about a kernel, and below it the page in a frame of its own.

    The frame may run its script and has no other rights. What needs arguments, such as
    cycles, is not in it: `wave view` shows that.
    """
    found = view_of_kernel(kernel)
    framed = html.escape(page(found), quote=True)
    return (
        f"{_table(found)}<iframe sandbox='allow-scripts' srcdoc=\"{framed}\" "
        f"title='views of {html.escape(found.kernel)}' "
        "style='width:100%;height:620px;border:1px solid #8886'></iframe>"
    )


def _table(found: View) -> str:
    rows = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in found.facts
    )
    return f"<b>{html.escape(found.kernel)}</b><table>{rows}</table>"
