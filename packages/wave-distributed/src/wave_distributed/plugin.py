"""The plugin: diagnostics of functions that are spread over processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin import hookimpl
from wave_distributed.codes_groups import GROUP_CODES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.diagnostics import Code

REQUIRES_API = (1, 0)


@hookimpl
def wave_register_diagnostics() -> Iterable[Code]:
    """What goes wrong between the processes of a group."""
    return GROUP_CODES
