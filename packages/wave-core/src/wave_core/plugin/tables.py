"""Turns registered declarations into what they name: targets, ops, lowerings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, cast

from wave_core.backends.lowering import LOWERING, LoweringTable, ModulePass, rules_of
from wave_core.constraints import Constraint
from wave_core.diagnostics import declaring_package, plugin_error
from wave_core.diagnostics.codes import OWN_PREFIX, is_well_formed
from wave_core.passes.load import load_object
from wave_core.passes.selection import unknown_name
from wave_core.plugin.guarded import guarded
from wave_core.plugin.registry import registered_twice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from wave_core.backends.lowering import AnyLowering
    from wave_core.diagnostics import Code
    from wave_core.ops.base import Op
    from wave_core.plugin.discover import PluginInfo
    from wave_core.plugin.registry import Registered
    from wave_core.plugin.results import (
        ConstraintSet,
        LoweringSpec,
        ModulePassSpec,
        OpSet,
        TileRules,
    )

T = TypeVar("T")

_UNKNOWN = {"target": "WV0701", "executor": "WV0719"}
"""Codes of the kinds of things that have their own for an unknown name."""


def load_named(kind: str, name: str, table: Mapping[str, Registered[Any]]) -> Any:
    """The object that the declaration of ``name`` means; its plugin says its type.

    Raises:
        UserError: WV0701 (target), WV0719 (executor) or WV0801 where nothing of
            that name is registered.
        PluginError: WV0814 where it cannot be loaded.
    """
    if name not in table:
        raise unknown_name(kind, name, table, code=_UNKNOWN.get(kind, "WV0801"))
    found = table[name]
    return load_object(found.value.target, f"{kind} `{name}`", found.provider.name)


def check_codes(codes: Iterable[Registered[Code]]) -> None:
    """See that codes have the form of a code, and that nobody takes Wave's prefix.

    Raises:
        PluginError: WV0818.
    """
    for each in codes:
        name, provider = each.value.name, each.provider
        own = declaring_package(name) == provider.distribution
        if is_well_formed(name) and (own or not name.startswith(OWN_PREFIX)):
            continue
        raise plugin_error(
            "WV0818",
            f"diagnostic code `{name}` of plugin {provider} does not fit",
            notes=f"a code is a prefix of 2 to 8 capitals that is not {OWN_PREFIX},"
            " and 3 to 5 digits",
            help=provider.way_out,
        )


def load_ops(sets: Iterable[Registered[OpSet]]) -> dict[str, type[Op]]:
    """All registered op classes by name of the op, in order of name.

    Raises:
        PluginError: WV0812 for two ops of one name, WV0814 where classes cannot be
            loaded, WV0818 where something else than op classes is found.
    """
    found: dict[str, tuple[type[Op], PluginInfo]] = {}
    for each in sets:
        for op in _classes(each, "op", _is_op):
            if op.op_name in found:
                other = found[op.op_name][1]
                raise registered_twice("op", op.op_name, other, each.provider)
            found[op.op_name] = (op, each.provider)
    return {name: op for name, (op, _) in sorted(found.items())}


def _is_op(found: object) -> TypeGuard[type[Op]]:
    return isinstance(found, type) and bool(getattr(found, "op_name", ""))


def load_constraints(
    sets: Iterable[Registered[ConstraintSet]],
) -> dict[type[Constraint], PluginInfo]:
    """All registered classes of constraints, each with its plugin.

    Raises:
        PluginError: WV0812 for a class registered twice, WV0814 where classes cannot
            be loaded, WV0818 where something else is found.
    """
    found: dict[type[Constraint], PluginInfo] = {}
    for each in sets:
        for cls in _classes(each, "constraint", _is_constraint):
            if cls in found:
                name, other = cls.__name__, found[cls]
                raise registered_twice("constraint", name, other, each.provider)
            found[cls] = each.provider
    return found


def _is_constraint(found: object) -> TypeGuard[type[Constraint]]:
    return isinstance(found, type) and issubclass(found, Constraint)


def _classes(
    each: Registered[OpSet] | Registered[ConstraintSet],
    kind: str,
    accept: Callable[[object], TypeGuard[T]],
) -> Iterator[T]:
    """The classes that a declaration names: one, a tuple, or what a function gives."""
    found = load_object(each.value.target, f"{kind}s", each.provider.name)
    if not isinstance(found, (type, tuple)) and callable(found):
        found = found()
    several = isinstance(found, tuple)
    for one in cast("tuple[object, ...]", found if several else (found,)):
        if not accept(one):
            raise plugin_error(
                "WV0818",
                f"`{each.value.target}` of plugin {each.provider} holds {one!r},"
                f" which is no {kind} class",
                help=each.provider.way_out,
            )
        yield one


def load_tile_rules(
    modules: Iterable[Registered[TileRules]],
) -> tuple[AnyLowering, ...]:
    """The rules that all plugins register for laying out ops and cutting them.

    Raises:
        PluginError: WV0814 where a module cannot be loaded.
    """
    return tuple(
        guarded(rule, each.provider)
        for each in modules
        for rule in rules_of(
            load_object(each.value.module, "tile rules", each.provider.name)
        )
    )


def module_passes_for(
    backend: str, specs: Iterable[Registered[ModulePassSpec]]
) -> tuple[ModulePass, ...]:
    """The passes of plugins on the modules of ``backend``, in order of name.

    Raises:
        PluginError: WV0818 for options that are no JSON values.
    """
    found: list[ModulePass] = []
    for each in specs:
        spec, provider = each.value, each.provider
        try:
            json.dumps(dict(spec.options), allow_nan=False)
        except (TypeError, ValueError) as error:
            raise plugin_error(
                "WV0818",
                f"the options of module pass `{spec.name}` of plugin {provider} are"
                f" no JSON values: {error}",
                help=provider.way_out,
            ) from None
        if spec.backend == backend:
            row = ModulePass(spec.name, str(provider), spec.target, spec.options)
            found.append(row)
    return tuple(sorted(found, key=lambda row: row.name))


def load_lowerings(
    backend: str,
    owner: PluginInfo | None,
    specs: Iterable[Registered[LoweringSpec]],
    module_passes: tuple[ModulePass, ...] = (),
) -> LoweringTable:
    """The rules that all plugins register for ``backend``, which is of ``owner``.

    Raises:
        PluginError: WV0814 where a module cannot be loaded.
    """
    rules: list[AnyLowering] = []
    unsupported: dict[str, str] = {}
    for each in specs:
        spec = each.value
        if spec.backend == backend:
            what = f"lowerings for {backend}"
            module = load_object(spec.module, what, each.provider.name)
            found = [rule for rule in rules_of(module) if rule.role == LOWERING]
            own = each.provider == owner
            rules += found if own else (guarded(r, each.provider) for r in found)
            unsupported |= spec.unsupported
    return LoweringTable.of(backend, rules, unsupported, module_passes)
