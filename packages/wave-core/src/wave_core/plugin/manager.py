"""The plugins of one session, and all that they registered."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from wave_core import __version__
from wave_core.backends.spec import BackendSpec
from wave_core.diagnostics import Code
from wave_core.executors.spec import ExecutorSpec
from wave_core.passes.context import PassContext
from wave_core.passes.resolve import resolve
from wave_core.passes.selection import Amendment, Preset
from wave_core.passes.spec import InstalledPass, PassSpec
from wave_core.plugin.api import CORE
from wave_core.plugin.discover import (
    LoadedPlugin,
    PluginInfo,
    check_plugin,
    disabled_names,
    discover,
)
from wave_core.plugin.executors import executor_key, executor_table
from wave_core.plugin.options import OptionTable
from wave_core.plugin.registry import HookObserver, Registered, by_name, call_hook
from wave_core.plugin.results import (
    CheckSpec,
    ChooserSpec,
    CommandSpec,
    ConstraintSet,
    DisplaySpec,
    KernelSpec,
    LoweringSpec,
    ModulePassSpec,
    OpSet,
    OptionSpec,
    StrategySpec,
    TargetSpec,
    TileRules,
    ViewSpec,
)
from wave_core.plugin.tables import (
    check_codes,
    load_constraints,
    load_lowerings,
    load_named,
    load_ops,
    load_tile_rules,
    module_passes_for,
)
from wave_core.plugin.validate import register_all

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from importlib.metadata import EntryPoint

    from wave_core.backends.lowering import AnyLowering, LoweringTable, ModulePass
    from wave_core.backends.spec import Backend
    from wave_core.constraints import Constraint
    from wave_core.executors.spec import Executor
    from wave_core.ops.base import Op
    from wave_core.passes.manual import ManualSchedule
    from wave_core.passes.resolved import ResolvedPipeline
    from wave_core.plugin.registry import Named
    from wave_core.plugin.results import (
        Choice,
        ChoiceRequest,
        PipelineRequest,
        ViewRequest,
        ViewResult,
    )
    from wave_core.targets import Target

N = TypeVar("N", bound="Named")


class _Table(cached_property["Mapping[str, Registered[N]]"]):
    """A table of the host, filled by a hook when it is first looked at."""

    def __init__(
        self,
        hook: str,
        kind: str,
        expected: type[N],
        check: Callable[[Iterable[Registered[N]]], None] = lambda _: None,
        arrange: Callable[[Iterable[Registered[N]]], Mapping[str, Registered[N]]]
        | None = None,
    ) -> None:
        """Take what ``hook`` gives; ``kind`` is one of it in messages.

        Args:
            hook: Its name.
            kind: One of what it gives.
            expected: Its type.
            check: Refuses what does not fit.
            arrange: Makes the table; by name, each once, by default.
        """
        make = arrange or partial(by_name, kind)

        def fill(host: PluginHost) -> Mapping[str, Registered[N]]:
            found = make(host.registered(hook, expected))
            check(found.values())
            return found

        super().__init__(fill)
        self.listed = hook.removeprefix("wave_register_").replace("_", " ")


class PluginHost:
    """The plugins of one session; every registration is asked for once, when needed.

    The tables map names, in order, to `Registered` results: value and provider.
    """

    pass_specs = _Table("wave_register_passes", "pass", PassSpec)
    """The declarations of all passes."""
    op_sets = _Table("wave_register_ops", "group of ops", OpSet)
    """Where ops are declared."""
    constraint_sets = _Table(
        "wave_register_constraints", "group of constraints", ConstraintSet
    )
    """Where constraints are declared, beside the built-in ones."""
    targets = _Table("wave_register_targets", "target", TargetSpec)
    """The machines to compile for."""
    lowering_specs = _Table("wave_register_lowerings", "lowering module", LoweringSpec)
    """Where lowering rules are, by backend and module."""
    module_pass_specs = _Table(
        "wave_register_module_passes", "module pass", ModulePassSpec
    )
    """The passes on the modules that backends emit."""
    tile_rule_modules = _Table("wave_register_tile_rules", "tile rules", TileRules)
    """Where rules for laying out and cutting ops are."""
    backends = _Table("wave_register_backends", "backend", BackendSpec)
    """The makers of machine code."""
    executors = _Table(
        "wave_register_executors", "executor", ExecutorSpec, arrange=executor_table
    )
    """The devices that run lowered kernels; those that share a name, with their
    backend: ``emulator (amdgpu)``."""
    kernels = _Table("wave_register_kernels", "kernel", KernelSpec)
    """The kernels known by name."""
    commands = _Table("wave_register_commands", "command", CommandSpec)
    """The subcommands that plugins add."""
    views = _Table("wave_register_views", "view", ViewSpec)
    """The views of compiled kernels that plugins add."""
    displays = _Table("wave_register_displays", "display", DisplaySpec)
    """What notebooks show of compiled kernels."""
    checks = _Table("wave_register_checks", "check", CheckSpec)
    """What ``wave doctor`` looks for besides packages and devices."""
    presets = _Table("wave_register_presets", "preset", Preset)
    """The named configurations of the pipeline."""
    option_specs = _Table("wave_register_options", "option", OptionSpec)
    """The options of compilation that plugins declare."""
    strategies = _Table("wave_register_strategies", "strategy", StrategySpec)
    """The ways to schedule loops."""
    choosers = _Table("wave_register_choosers", "chooser", ChooserSpec)
    """The presets that choose for each kernel."""
    diagnostics = _Table(
        "wave_register_diagnostics", "diagnostic code", Code, check_codes
    )
    """The diagnostic codes, core's among them; WV0818 where one does not fit."""

    def __init__(
        self,
        entry_points: Iterable[EntryPoint] | None = None,
        disabled: Iterable[str] | None = None,
        extra: Iterable[tuple[str, object]] = (),
    ) -> None:
        """Import the installed plugins.

        Args:
            entry_points: The plugins to load; those that are installed by default.
            disabled: Plugins or distributions not to load; what
                ``WAVE_DISABLE_PLUGINS`` names by default.
            extra: Further plugins, by name: modules, or objects like modules.

        Raises:
            PluginError: WV0812, WV0816, WV0817, WV0818 where a plugin is broken,
                does not fit, or has the name of another.
            UserError: WV0827 where core itself is to be disabled.
        """
        off = disabled_names() if disabled is None else disabled
        found, left_out = discover(entry_points, off, extra)
        core = PluginInfo(CORE, "wave-core", __version__)
        builtin = import_module("wave_core.plugin.builtin")
        self.plugins: tuple[LoadedPlugin, ...] = (
            check_plugin(core, builtin),
            *found,
        )
        """The loaded plugins: core, then the others in order of name."""
        self.disabled: tuple[PluginInfo, ...] = tuple(left_out)
        """Plugins that are installed and left out."""
        self._providers = {plugin.info.name: plugin.info for plugin in self.plugins}
        self._hooks = register_all(self.plugins).hook
        self._lowerings: dict[str, LoweringTable] = {}
        self._backends: dict[str, Backend] = {}
        self._executors: dict[str, Executor] = {}
        self._pipelines: dict[frozenset[str], ResolvedPipeline] = {}

    @cached_property
    def passes(self) -> tuple[InstalledPass, ...]:
        """All passes, in order of name."""
        found = self.pass_specs.values()
        return tuple(InstalledPass(each.value, each.provider.name) for each in found)

    def pipeline(self, disabled: frozenset[str]) -> ResolvedPipeline:
        """The passes in the order in which they run, without the disabled ones.

        Raises:
            PluginError: where they cannot be ordered.
        """
        found = self._pipelines.get(disabled)
        if found is None:
            found = self._pipelines[disabled] = resolve(self.passes, disabled)
        return found

    @cached_property
    def constraint_classes(self) -> Mapping[type[Constraint], PluginInfo]:
        """The classes of plugins' constraints, and who registered each.

        Raises:
            PluginError: WV0812 for a class registered twice, WV0814, WV0818.
        """
        return load_constraints(self.constraint_sets.values())

    @cached_property
    def tile_rules(self) -> tuple[AnyLowering, ...]:
        """How plugins lay out ops and cut them; loads their modules.

        Raises:
            PluginError: WV0814 where a module cannot be loaded.
        """
        return load_tile_rules(self.tile_rule_modules.values())

    @cached_property
    def options(self) -> OptionTable:
        """The options of compilation, with the packages that are here."""
        specs = {name: each.value for name, each in self.option_specs.items()}
        disabled = frozenset(info.distribution for info in self.disabled)
        return OptionTable(specs, self.packages, disabled - self.packages)

    @cached_property
    def packages(self) -> frozenset[str]:
        """The distributions that have a loaded plugin."""
        names = (plugin.info.distribution for plugin in self.plugins)
        return frozenset(name for name in names if name)

    @cached_property
    def op_classes(self) -> Mapping[str, type[Op]]:
        """All ops by name; loads their modules.

        Raises:
            PluginError: WV0812 for two ops of one name, WV0814, WV0818.
        """
        return load_ops(self.op_sets.values())

    def load_target(self, name: str) -> Target:
        """The target of that name.

        Raises:
            UserError: WV0701 where there is none.
            PluginError: WV0814 where it cannot be loaded.
        """
        found: Target | Callable[[], Target] = load_named("target", name, self.targets)
        return found() if callable(found) else found

    def executor_key(self, name: str, target: str) -> str | None:
        """The key in `executors` of what ``name`` means for a target, if anything."""
        return executor_key(self.executors, self.backends, name, target)

    def load_executor(self, name: str) -> Executor:
        """The executor of that key, made once; raises as `load_target`, but WV0719."""
        if name not in self._executors:
            self._executors[name] = load_named("executor", name, self.executors)()
        return self._executors[name]

    def load_backend(self, name: str) -> Backend:
        """The backend of that name, made once; raises as `load_target`, but WV0801."""
        if name not in self._backends:
            self._backends[name] = load_named("backend", name, self.backends)()
        return self._backends[name]

    @cached_property
    def strategy_loaders(self) -> Mapping[str, Callable[[], object]]:
        """By name, what loads a way to schedule loops; raises WV0814."""
        return {
            name: partial(load_named, "strategy", name, self.strategies)
            for name in self.strategies
        }

    def choosers_for(self, preset: str) -> tuple[str, ...]:
        """The choosers that a preset asks, by name: first those that know better."""
        first = (n for n, each in self.choosers.items() if each.value.before == preset)
        return (*sorted(first), *((preset,) if preset in self.choosers else ()))

    @cached_property
    def code_versions(self) -> Mapping[str, str]:
        """Versions of the distributions that decide what code kernels become."""
        tables = self.pass_specs, self.targets, self.backends, self.module_pass_specs
        found = {each.provider for table in tables for each in table.values()}
        rows = {each.distribution: each.version for each in found if each.distribution}
        return dict(sorted(rows.items()))

    def load_chooser(self, name: str) -> Callable[[ChoiceRequest], Iterable[Choice]]:
        """The chooser of that name; raises as `load_target`, but WV0801."""
        return load_named("chooser", name, self.choosers)

    def load_kernel(self, name: str) -> object:
        """The kernel of that name; raises as `load_target`, but WV0801."""
        return load_named("kernel", name, self.kernels)

    def load_command(self, name: str) -> object:
        """The command of that name; raises as `load_target`, but WV0801."""
        return load_named("command", name, self.commands)

    def load_view(self, name: str) -> Callable[[ViewRequest], ViewResult]:
        """The view of that name; raises as `load_target`, but WV0801."""
        return load_named("view", name, self.views)

    def load_display(self, name: str) -> Callable[[Any], str]:
        """The display of that name; raises as `load_target`, but WV0801."""
        return load_named("display", name, self.displays)

    def load_check(self, name: str) -> Callable[[], tuple[str, str]]:
        """The check of that name; raises as `load_target`, but WV0801."""
        return load_named("check", name, self.checks)

    def lowering_table(
        self, backend: str, without: Collection[str] = ()
    ) -> LoweringTable:
        """The lowering rules of all plugins for ``backend``; loads their modules.

        Passes on its modules that ``without`` names are left out.

        Raises:
            PluginError: WV0814 where a module cannot be loaded.
        """
        if backend not in self._lowerings:
            specs, passes = self.lowering_specs.values(), self.module_passes(backend)
            owner = self.backends.get(backend) or self.executors.get(backend)
            self._lowerings[backend] = load_lowerings(
                backend, owner.provider if owner else None, specs, passes
            )
        table = self._lowerings[backend]
        if not without:
            return table
        return replace(table, module_passes=self.module_passes(backend, without))

    def pass_context(
        self,
        target: Target,
        kernel: object = None,
        schedule: ManualSchedule | None = None,
    ) -> PassContext:
        """The context of passes that compile a kernel in this session."""
        return PassContext(
            target,
            kernel,
            strategies=self.strategy_loaders,
            schedule=schedule,
            tile_rules=self.tile_rules,
        )

    def module_passes(
        self, backend: str, without: Collection[str] = ()
    ) -> tuple[ModulePass, ...]:
        """The passes on the modules of ``backend``, in the order in which they run.

        Those that ``without`` names do not run.

        Raises:
            PluginError: WV0812 for two of one name, WV0818 for options that cannot
                be written down.
        """
        found = module_passes_for(backend, self.module_pass_specs.values())
        return tuple(each for each in found if each.name not in without)

    def amend_pipeline(self, request: PipelineRequest) -> list[tuple[str, Amendment]]:
        """Changes of a pipeline by plugins, each with its origin.

        Raises:
            PluginError: WV0818, WV0819 where a hook is at fault.
        """
        hook = self._hooks.wave_amend_pipeline
        found = call_hook(hook, self._providers, Amendment, {"request": request})
        return [(f"plugin {each.provider.name}", each.value) for each in found]

    def observer(self) -> HookObserver:
        """Tells the plugins about passes; to be handed to a `PipelineRunner`."""
        return HookObserver(self._hooks, self._providers)

    def tables(self) -> Mapping[str, Mapping[str, Registered[Named]]]:
        """All that is registered, by kind."""
        rows = vars(PluginHost).items()
        return {
            each.listed: getattr(self, name)
            for name, each in rows
            if isinstance(each, _Table)
        }

    def registered(self, hook: str, expected: type[N]) -> list[Registered[N]]:
        """Results of a hook, each an ``expected``.

        Raises:
            PluginError: WV0818, WV0819 where a plugin is at fault.
        """
        return call_hook(getattr(self._hooks, hook), self._providers, expected)
