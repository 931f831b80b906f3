"""Calls registration hooks plugin by plugin, so that each result has its provider."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from wave_core.diagnostics import (
    PluginError,
    UserError,
    blamed_on_plugin,
    plugin_error,
)
from wave_core.passes.observe import PassObserver

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping

    import pluggy

    from wave_core.ir.graph import Graph
    from wave_core.passes import Pass, PassContext
    from wave_core.plugin.discover import PluginInfo

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Named(Protocol):
    """Anything that is registered under a name."""

    @property
    def name(self) -> str:
        """The name."""
        ...


N = TypeVar("N", bound=Named)


@dataclass(frozen=True)
class Registered(Generic[T_co]):
    """A result of a hook and the plugin that returned it."""

    value: T_co
    provider: PluginInfo


def call_hook(
    hook: pluggy.HookCaller,
    providers: Mapping[str, PluginInfo],
    expected: type[T],
    arguments: Mapping[str, object] | None = None,
) -> list[Registered[T]]:
    """All results of a hook, in the order of the plugins' names.

    Raises:
        PluginError: WV0818 for a result of the wrong type, WV0819 where an
            implementation raises.
    """
    found: list[Registered[T]] = []
    for info, function in _implementations(hook, providers, arguments or {}):
        with _attributed(hook.name, info):
            values = list(function())
        for value in values:
            if not isinstance(value, expected):
                raise _wrong_result(hook.name, info, value, expected)
            found.append(Registered(value, info))
    return found


def _implementations(
    hook: pluggy.HookCaller,
    providers: Mapping[str, PluginInfo],
    arguments: Mapping[str, object],
) -> Iterator[tuple[PluginInfo, Callable[[], Any]]]:
    for impl in sorted(hook.get_hookimpls(), key=lambda impl: impl.plugin_name):
        own = {name: arguments[name] for name in impl.argnames}
        yield providers[impl.plugin_name], partial(impl.function, **own)


@contextmanager
def _attributed(hook: str, info: PluginInfo) -> Generator[None, None, None]:
    where = f"`{hook}` of plugin {info}"
    with blamed_on_plugin(where, help=info.way_out):
        try:
            yield
        except (PluginError, UserError) as error:
            raise _with_origin(error, f"in {where}", info) from error


def _with_origin(
    error: PluginError | UserError, note: str, info: PluginInfo
) -> PluginError:
    return PluginError(
        replace(each, notes=(*each.notes, note), help=(*each.help, *info.way_out))
        for each in error.diagnostics
    )


def _wrong_result(
    hook: str, info: PluginInfo, value: object, expected: type[object]
) -> PluginError:
    fields = ", ".join(signature(expected).parameters)
    return plugin_error(
        "WV0818",
        f"`{hook}` of plugin {info} returned {value!r}, no {expected.__name__}",
        notes=f"the hook returns an iterable of {expected.__name__}({fields})",
        help=info.way_out,
    )


def by_name(kind: str, found: Iterable[Registered[N]]) -> dict[str, Registered[N]]:
    """Results by name, in order of name.

    Raises:
        PluginError: WV0812 where a name is taken twice.
    """
    table: dict[str, Registered[N]] = {}
    for each in sorted(found, key=lambda each: (each.value.name, each.provider)):
        name = each.value.name
        if name in table:
            raise registered_twice(kind, name, table[name].provider, each.provider)
        table[name] = each
    return table


def registered_twice(
    kind: str, name: str, one: PluginInfo, other: PluginInfo
) -> PluginError:
    """Two plugins, or one of them twice, register something of one name."""
    if one == other:
        return plugin_error(
            "WV0812",
            f"{kind} `{name}` is registered twice by plugin {one}",
            help=one.way_out,
        )
    return plugin_error(
        "WV0812",
        f"{kind} `{name}` is registered by plugin {one} and by plugin {other}",
        help=(*one.way_out, *other.way_out),
    )


@dataclass(frozen=True)
class HookObserver(PassObserver):
    """Tells all plugins about every pass, by the hooks around it."""

    hooks: pluggy.HookRelay
    providers: Mapping[str, PluginInfo]

    def before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Call ``wave_before_pass``."""
        given = {"step": step, "graph": graph, "context": context}
        self._tell(self.hooks.wave_before_pass, given)

    def after_pass(
        self, step: Pass, graph: Graph, context: PassContext, *, changed: bool
    ) -> None:
        """Call ``wave_after_pass``."""
        given = {"step": step, "graph": graph, "context": context, "changed": changed}
        self._tell(self.hooks.wave_after_pass, given)

    def _tell(self, hook: pluggy.HookCaller, arguments: Mapping[str, object]) -> None:
        """Call a hook without result, in the order of the plugins' names.

        Raises:
            PluginError: WV0819 where an implementation raises.
        """
        for info, function in _implementations(hook, self.providers, arguments):
            with _attributed(hook.name, info):
                function()
