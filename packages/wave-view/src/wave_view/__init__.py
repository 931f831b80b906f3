"""A kernel as one page: every view of it, linked by the author's lines.

`collect` gathers what there is about a case, `view_of_kernel` what there is about a
compiled kernel; `page` makes HTML of either, `picture` an SVG of its time, and
`trace` what Perfetto opens.
Notebooks show kernels with their page, once this is installed. Importing registers
and loads nothing: the plugin lies in this package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wave_view.drawing import picture
    from wave_view.gather import collect, view_of_kernel
    from wave_view.html import page
    from wave_view.perfetto import trace
    from wave_view.records import View

__all__ = [
    "View",
    "collect",
    "page",
    "picture",
    "trace",
    "view_of_kernel",
]

_HOMES = {
    "View": "records",
    "collect": "gather",
    "page": "html",
    "picture": "drawing",
    "trace": "perfetto",
    "view_of_kernel": "gather",
}


def __getattr__(name: str) -> Any:
    """Load a public name where it is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"wave_view.{_HOMES[name]}"), name)
