"""A session: plugins, configuration, and what was compiled. Nothing is global."""

from __future__ import annotations

import hashlib
import logging
import os
from collections import OrderedDict
from functools import cache, cached_property
from typing import TYPE_CHECKING

from wave_core.compile.config import Config
from wave_core.compile.devices import Gpus, look_for_gpus, settle_target
from wave_core.passes.selection import unknown_name
from wave_core.plugin.manager import PluginHost
from wave_core.symbols.node import lock_across_forks
from wave_core.targets import Target

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping
    from importlib.metadata import EntryPoint

    from wave_core.compile.inputs import Asked
    from wave_core.compile.read_log import Known
    from wave_core.diagnostics import Location
    from wave_core.executors import ExecutorSpec

#: Compiled kernels that a session keeps; the least recently used goes first.
_KEPT = 256

_REMEMBERING = lock_across_forks()
"""Held while what a session remembers changes; one lock for all sessions."""

#: Said at the level of warnings, so that it is seen without any set-up.
_LOG = logging.getLogger("wave_core")


class Session:
    """Owns the plugins, the configuration and the kernels compiled with them.

    Args:
        plugins: Plugins beside the installed ones: modules by name.
        config: The configuration; read from the environment by default.
        entry_points: Installed plugins; what is installed by default.
        announce: Takes what users should know; the log by default.
    """

    def __init__(
        self,
        plugins: Mapping[str, object] | None = None,
        config: Config | None = None,
        *,
        entry_points: Iterable[EntryPoint] | None = None,
        announce: Callable[[str], None] | None = None,
    ) -> None:
        """Read the configuration; plugins are imported when they are first used.

        Raises:
            UserError: WV0825 for a value of the environment that means nothing.
        """
        self.config = Config.of_environment(os.environ) if config is None else config
        self._extra = tuple((plugins or {}).items())
        self._entry_points = entry_points
        self._announce = announce or _LOG.warning
        self._announced: set[str] = set()
        self._kernels: OrderedDict[Hashable, object] = OrderedDict()
        self.functions: dict[int, Known] = {}
        """Values that functions read when they were compiled, with their keys."""
        self.asked: dict[int, Asked] = {}
        """Facts about the options of earlier compilations."""
        self.calls: dict[Hashable, object] = {}
        """How calls of functions are launched again, by what they look like."""
        self._targets: dict[str, Target] = {}
        self._digests: dict[str, tuple[Target, str]] = {}
        self._gpus: dict[str, Gpus] = {}

    @cached_property
    def plugins(self) -> PluginHost:
        """The plugins of the session.

        Raises:
            PluginError: WV08xx where one is broken.
        """
        return PluginHost(self._entry_points, self.config.disabled_plugins, self._extra)

    def target(self, target: str | Target, at: Location | None = None) -> Target:
        """A target, looked up by name; ``at`` is where the user names it.

        ``auto`` is that of a GPU that is here, else ``generic``.

        Raises:
            UserError: WV0701 where there is none of that name.
        """
        target = settle_target(self, target)
        if isinstance(target, Target):
            return target
        found = self._targets.get(target)
        if found is None:
            if target not in self.plugins.targets:
                known = self.plugins.targets
                raise unknown_name("target", target, known, code="WV0701", at=at)
            found = self._targets[target] = self.plugins.load_target(target)
        return found

    def target_digest(self, target: Target) -> str:
        """SHA-256 of all rows of a target."""
        known = self._digests.get(target.name)
        if known is None or known[0] is not target:
            text = hashlib.sha256(repr(target).encode()).hexdigest()
            known = self._digests[target.name] = (target, text)
        return known[1]

    def gpus(self, spec: ExecutorSpec) -> Gpus:
        """The GPUs that a device could run on; looked for once a session."""
        assert spec.architectures is not None, "only GPUs have one"
        if spec.architectures not in self._gpus:
            self._gpus[spec.architectures] = look_for_gpus(spec.architectures)
        return self._gpus[spec.architectures]

    def announce(self, topic: str, message: str) -> None:
        """Tell the user something, once a session for each topic."""
        with _REMEMBERING:
            fresh = topic not in self._announced
            self._announced.add(topic)
        if fresh:
            self._announce(message)

    def remembered(self, key: Hashable) -> object | None:
        """The kernel compiled for ``key``, if it is still here."""
        if not self.config.cache:
            return None
        with _REMEMBERING:
            found = self._kernels.get(key)
            if found is not None:
                self._kernels.move_to_end(key)
            return found

    def remember(self, key: Hashable, kernel: object) -> None:
        """Keep what was compiled for ``key``."""
        if not self.config.cache:
            return
        with _REMEMBERING:
            self._kernels[key] = kernel
            while len(self._kernels) > _KEPT:
                self._kernels.popitem(last=False)

    def forget(self) -> None:
        """Drop all compiled kernels."""
        with _REMEMBERING:
            self._kernels.clear()
            self.functions.clear()
            self.asked.clear()
            self.calls.clear()


@cache
def default_session() -> Session:
    """The session used where none is given; made on first use."""
    return Session()
