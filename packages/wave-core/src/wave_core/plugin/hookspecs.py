"""The hooks of Wave.

A hook comes with its first user. There is none yet for the cache key, so
``wave_cache_key`` does not exist.

Hooks that register are called at most once for each session, and their results are
merged in the order of the plugins' names. Two results of one name are an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from wave_core.plugin.api import hookspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from wave_core.backends import BackendSpec
    from wave_core.diagnostics import Code
    from wave_core.executors import ExecutorSpec
    from wave_core.ir.graph import Graph
    from wave_core.passes import (
        Amendment,
        Pass,
        PassContext,
        PassSpec,
        Preset,
    )
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
        PipelineRequest,
        StrategySpec,
        TargetSpec,
        TileRules,
        ViewSpec,
    )


class WaveSpecs:
    """The declarations; a plugin implements any of them as module functions."""

    @hookspec
    def wave_register_ops(self) -> Iterable[OpSet]:
        """Register ops, by where their classes are.

        Fires when a session first needs an op by name: to trace, or to read text.

        Example::

            from wave_core.plugin import OpSet, hookimpl

            @hookimpl
            def wave_register_ops():
                yield OpSet("wave_example_pass.ops:Relu6")
        """
        yield from ()

    @hookspec
    def wave_register_constraints(self) -> Iterable[ConstraintSet]:
        """Register constraints, by where their classes are.

        Fires when a session first compiles a kernel. A constraint of a class that is
        neither built in nor registered is refused (WV0326).

        Example::

            from wave_core.plugin import ConstraintSet, hookimpl

            @hookimpl
            def wave_register_constraints():
                yield ConstraintSet("wave_example_pass.constraints:Interleaved")
        """
        yield from ()

    @hookspec
    def wave_register_passes(self) -> Iterable[PassSpec]:
        """Register passes.

        Fires when a session first puts a pipeline together.

        Example::

            from wave_core.plugin import Fact, PassSpec, Phase, hookimpl

            @hookimpl
            def wave_register_passes():
                yield PassSpec(
                    "fold-double-negation",
                    Phase.CANONICALIZE,
                    "wave_example_pass.fold:FoldDoubleNegation",
                    after=("canonicalize?",),
                )
        """
        yield from ()

    @hookspec
    def wave_register_targets(self) -> Iterable[TargetSpec]:
        """Register machines to compile for.

        Fires when a session first looks up a target.

        Example::

            from wave_core.plugin import TargetSpec, hookimpl

            @hookimpl
            def wave_register_targets():
                yield TargetSpec("toy", "wave_toy.target:toy", "four lanes")
        """
        yield from ()

    @hookspec
    def wave_register_lowerings(self) -> Iterable[LoweringSpec]:
        """Register lowering rules, for a backend or an executor of any plugin.

        Fires when a session first uses it. What a rule takes and returns, the
        backend says; those of the simulators are in `wave_sim_cpu`. Of the rules for
        the nearest class of an op, the one of the highest benefit is taken; a
        backend's own rule for that class stands behind those of plugins.

        Example::

            from wave_core.plugin import LoweringSpec, hookimpl

            @hookimpl
            def wave_register_lowerings():
                yield LoweringSpec("sim", "wave_example_pass.lanes")
        """
        yield from ()

    @hookspec
    def wave_register_tile_rules(self) -> Iterable[TileRules]:
        """Register how ops are laid out over lanes and cut into pieces.

        Fires when a session first compiles a kernel. Only an op whose layout does not
        follow its operands' needs such rules. They stand beside core's own: the
        nearest class of an op decides, and there the highest benefit.

        Example::

            from wave_core.plugin import TileRules, hookimpl

            @hookimpl
            def wave_register_tile_rules():
                yield TileRules("wave_example_pass.layout")
        """
        yield from ()

    @hookspec
    def wave_register_module_passes(self) -> Iterable[ModulePassSpec]:
        """Register passes on the modules that a backend of any plugin emits.

        Fires when a session first compiles for the backend, or prints a pipeline. The
        functions run in the process of the compiler, on modules of MLIR's Python
        bindings in the case of ``amdgpu``.

        Example::

            from wave_core.plugin import ModulePassSpec, hookimpl

            @hookimpl
            def wave_register_module_passes():
                yield ModulePassSpec(
                    "count-barriers", "amdgpu", "wave_toy.mlir:count", {"most": 8}
                )
        """
        yield from ()

    @hookspec
    def wave_register_backends(self) -> Iterable[BackendSpec]:
        """Register what makes machine code of lowered kernels.

        Fires when a session first emits code.

        Example::

            from wave_core.plugin import BackendSpec, Fact, hookimpl

            @hookimpl
            def wave_register_backends():
                yield BackendSpec(
                    "toy",
                    "wave_toy.backend:ToyBackend",
                    targets={"toy"},
                    forms=("asm",),
                    requires={Fact.EXPANDED},
                )
        """
        yield from ()

    @hookspec
    def wave_register_executors(self) -> Iterable[ExecutorSpec]:
        """Register what runs lowered kernels.

        Fires when a session first looks up a device. Backends may each register one
        of the same name, such as ``emulator``: that whose backend knows the target is
        meant.

        Example::

            from wave_core.plugin import ExecutorSpec, Fact, hookimpl

            @hookimpl
            def wave_register_executors():
                yield ExecutorSpec(
                    "toy", "wave_toy.run:ToyExecutor", requires={Fact.EXPANDED}
                )
        """
        yield from ()

    @hookspec
    def wave_register_kernels(self) -> Iterable[KernelSpec]:
        """Register kernels for ``wave run NAME``.

        Fires when the command line first looks up or lists kernels.

        Example::

            from wave_core.plugin import KernelSpec, hookimpl

            @hookimpl
            def wave_register_kernels():
                yield KernelSpec("saxpy", "wave_toy.saxpy:saxpy", "a * x + y")
        """
        yield from ()

    @hookspec
    def wave_register_commands(self) -> Iterable[CommandSpec]:
        """Register subcommands of ``wave``.

        Fires when the command line starts.

        Example::

            from wave_core.plugin import CommandSpec, hookimpl

            @hookimpl
            def wave_register_commands():
                yield CommandSpec("tune", "wave_toy.cli:app", "search options")
        """
        yield from ()

    @hookspec
    def wave_register_views(self) -> Iterable[ViewSpec]:
        """Register views of compiled kernels for ``wave inspect --what NAME``.

        Fires when the command line first looks up a view that core does not have.

        Example::

            from wave_core.plugin import ViewSpec, hookimpl

            @hookimpl
            def wave_register_views():
                yield ViewSpec("bytes", "wave_toy.views:count", "hsaco", "size of code")
        """
        yield from ()

    @hookspec
    def wave_register_displays(self) -> Iterable[DisplaySpec]:
        """Register what notebooks show of compiled kernels.

        Fires when a notebook first shows a kernel.

        Example::

            from wave_core.plugin import DisplaySpec, hookimpl

            @hookimpl
            def wave_register_displays():
                yield DisplaySpec("toy", "wave_toy.notebook:drawn", "a picture")
        """
        yield from ()

    @hookspec
    def wave_register_checks(self) -> Iterable[CheckSpec]:
        """Register what ``wave doctor`` looks for, such as a tool that a backend runs.

        Fires when ``wave doctor`` runs.

        Example::

            from wave_core.plugin import CheckSpec, hookimpl

            @hookimpl
            def wave_register_checks():
                yield CheckSpec("toyas", "wave_toy.tools:found", "the assembler")
        """
        yield from ()

    @hookspec
    def wave_register_presets(self) -> Iterable[Preset]:
        """Register named configurations of the pipeline.

        Fires when a session first looks up a preset.

        Example::

            from wave_core.plugin import Preset, hookimpl

            @hookimpl
            def wave_register_presets():
                yield Preset(
                    "prefetch",
                    "loads one iteration ahead",
                    enable=("schedule-loops",),
                    options={"schedule-loops": {"stages": 2}},
                )
        """
        yield from ()

    @hookspec
    def wave_register_options(self) -> Iterable[OptionSpec]:
        """Register options of compilation that no pass has, such as a backend's.

        Users give them as ``plugin_options``. Fires when a session first checks the
        options of a compilation.

        Example::

            from wave_core.plugin import OptionSpec, hookimpl

            @hookimpl
            def wave_register_options():
                yield OptionSpec(
                    "toy_lines",
                    bool,
                    default=False,
                    package="wave-toy",
                    help="the user's lines in the code object",
                )
        """
        yield from ()

    @hookspec
    def wave_register_diagnostics(self) -> Iterable[Code]:
        """Register diagnostic codes, which ``wave explain`` explains.

        Fires when the command line first explains or lists codes. The prefix is the
        plugin's own, two to eight capitals; ``WV`` is Wave's.

        Example::

            from wave_core.diagnostics import Code
            from wave_core.plugin import hookimpl

            @hookimpl
            def wave_register_diagnostics():
                yield Code("TOY001", "too many toys", "Cause: more than two. ...")
        """
        yield from ()

    @hookspec
    def wave_register_strategies(self) -> Iterable[StrategySpec]:
        """Register ways to schedule loops.

        Fires when a session first compiles a kernel. What a strategy is, the package
        says that schedules: `wave_passes_scheduling.strategies.Strategy`.

        Example::

            from wave_core.plugin import StrategySpec, hookimpl

            @hookimpl
            def wave_register_strategies():
                yield StrategySpec("toy", "wave_toy.schedule:toy", "one op a cycle")
        """
        yield from ()

    @hookspec
    def wave_register_choosers(self) -> Iterable[ChooserSpec]:
        """Register presets that choose for each kernel.

        Fires when a session first compiles a kernel. `ChoiceRequest` says what such
        a function is given, and `Choice` what it gives: ways to compile the kernel,
        the best first. What the author of the kernel settles stays settled.

        Example::

            from wave_core.plugin import ChooserSpec, hookimpl

            @hookimpl
            def wave_register_choosers():
                yield ChooserSpec("toy", "wave_toy.choose:choose", "small tiles first")
        """
        yield from ()

    @hookspec
    def wave_amend_pipeline(self, request: PipelineRequest) -> Iterable[Amendment]:
        """Enable, disable or configure passes; the order is out of reach.

        Fires for every compilation, after the preset and before the user's own
        wishes, which win. Every amendment is printed by ``wave pipeline``.

        Example::

            from wave_core.plugin import Amendment, hookimpl

            @hookimpl
            def wave_amend_pipeline(request):
                if request.target == "toy":
                    yield Amendment(disable=("schedule-loops",), reason="no loops")
        """
        del request
        yield from ()

    @hookspec
    def wave_before_pass(self, step: Pass, graph: Graph, context: PassContext) -> None:
        """Look at the graph before a pass; it must not be changed.

        Fires before each pass that runs, after the checks that are on.

        Example::

            from wave_core.plugin import hookimpl

            @hookimpl
            def wave_before_pass(step, context):
                context.count(f"runs_of_{step.pass_name()}")
        """

    @hookspec
    def wave_after_pass(
        self,
        step: Pass,
        graph: Graph,
        context: PassContext,
        changed: bool,  # noqa: FBT001 - pluggy passes arguments by name
    ) -> None:
        """Look at the graph after a pass; it must not be changed.

        Fires after each pass that ran, when the graph has passed the checks that are
        on.

        Example::

            from wave_core.plugin import hookimpl

            @hookimpl
            def wave_after_pass(step, changed, context):
                if changed:
                    context.count("passes_that_changed_something")
        """
