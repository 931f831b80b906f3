"""Tells plugins about passes, by the hooks around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from wave_core.passes.observe import PassObserver
from wave_core.plugin.registry import notify

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pluggy

    from wave_core.ir.graph import Graph
    from wave_core.passes import Pass, PassContext
    from wave_core.plugin.discover import PluginInfo


@dataclass(frozen=True)
class HookObserver(PassObserver):
    """Calls the hooks of all plugins around every pass."""

    hooks: pluggy.HookRelay
    providers: Mapping[str, PluginInfo]

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Call ``wave_before_pass``."""
        given = {"step": step, "graph": graph, "context": context}
        notify(self.hooks.wave_before_pass, self.providers, given)

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Call ``wave_after_pass``."""
        given = {"step": step, "graph": graph, "context": context, "changed": changed}
        notify(self.hooks.wave_after_pass, self.providers, given)
