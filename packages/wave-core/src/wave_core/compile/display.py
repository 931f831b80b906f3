"""Compiled kernels in notebooks: a table of facts, and what plugins draw below it."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from wave_core.compile.printing import launch_facts

if TYPE_CHECKING:
    from wave_core.compile.kernel import WaveKernel


def html_of(kernel: WaveKernel) -> str:
    """How a kernel is launched, and below that each display, in order of name.

    Raises:
        PluginError: WV0814 where a display cannot be loaded.
    """
    plugins = kernel.compiled.session.plugins
    drawn = (plugins.load_display(name)(kernel) for name in sorted(plugins.displays))
    return "".join([_table(kernel), *drawn])


def _table(kernel: WaveKernel) -> str:
    compiled = kernel.compiled
    machine = f"{compiled.target.name}, device {compiled.device.name}"
    rows = [("target", machine), *launch_facts(compiled)]
    told = "".join(
        f"<tr><th style='text-align:left'>{html.escape(name)}</th>"
        f"<td style='text-align:left'>{html.escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<b>{html.escape(kernel.name)}</b><table>{told}</table>"
