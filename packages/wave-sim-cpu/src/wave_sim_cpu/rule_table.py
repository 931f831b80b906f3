"""Which rule executes an op: the simulator's own ones, and those of plugins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Generic, TypeVar, cast

if TYPE_CHECKING:
    from wave_core.backends import LoweringTable
    from wave_core.ops.base import Op

R = TypeVar("R")


class RuleTable(Generic[R]):
    """Rules by op class; classes below one with a rule follow it.

    Of the rules for one class those of plugins go first.

    Args:
        own: The rules for core's ops.
        plugins: What plugins register for the simulator.
    """

    def __init__(
        self, own: Mapping[type[Op], R], plugins: LoweringTable | None = None
    ) -> None:
        self._own = own
        self._plugins = plugins

    def find(self, op: Op) -> R | None:
        """The rule of the nearest class of ``op`` that has one.

        Raises:
            PluginError: WV0815 where two rules of plugins fit equally well.
        """
        for cls in type(op).__mro__:
            found = None if self._plugins is None else self._plugins.fitting(cls, op)
            if found is not None:
                return cast("R", found.function)
            if cls in self._own:
                return self._own[cls]
        return None

    def reasons(self, op: Op) -> tuple[str, ...]:
        """Why there is no rule for ``op``, if a plugin says so."""
        if self._plugins is None or op.op_name not in self._plugins.unsupported:
            return ()
        return (self._plugins.unsupported[op.op_name],)
