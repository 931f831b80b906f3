"""Executors by name and target: backends may each bring one of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin.registry import Registered, registered_twice

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from wave_core.backends.spec import BackendSpec
    from wave_core.executors.spec import ExecutorSpec
    from wave_core.plugin.discover import PluginInfo

Row = Registered["ExecutorSpec"]


def executor_table(found: Iterable[Row]) -> dict[str, Row]:
    """Executors by name, in order of name; those that share one by name and backend.

    Raises:
        PluginError: WV0812 for two of one name that run code of one backend, or one of
            which runs that of none.
    """
    table: dict[str, Row] = {}
    for name, (first, *others) in _by_name(found).items():
        if others and first.value.backend is None:
            other = others[0].provider
            raise registered_twice("executor", name, first.provider, other)
        for row in (first, *others):
            key = f"{name} ({row.value.backend})" if others else name
            if key in table:
                other = table[key].provider
                raise registered_twice("executor", name, other, row.provider)
            table[key] = row
    return table


def _by_name(found: Iterable[Row]) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in sorted(found, key=_place):
        groups.setdefault(row.value.name, []).append(row)
    return groups


def _place(row: Row) -> tuple[str, str, PluginInfo]:
    return row.value.name, row.value.backend or "", row.provider


def executor_key(
    table: Mapping[str, Row],
    backends: Mapping[str, Registered[BackendSpec]],
    name: str,
    target: str,
) -> str | None:
    """The key in ``table`` of the executor that ``name`` means for a target.

    One that has the name alone is meant whatever the target is, and refuses by itself
    what it cannot run. Of several it is that whose backend knows the target; ``None``
    where none does, or there is none of the name.
    """
    keys = [key for key, row in table.items() if row.value.name == name]
    if len(keys) > 1:
        keys = [key for key in keys if knows(backends, table[key].value, target)]
    return keys[0] if keys else None


def knows(
    backends: Mapping[str, Registered[BackendSpec]], spec: ExecutorSpec, target: str
) -> bool:
    """Whether an executor could run code of a target."""
    backend = backends.get(spec.backend or "")
    return backend is None or target in backend.value.targets
