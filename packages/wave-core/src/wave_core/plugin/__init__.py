"""The plugin API: what plugin modules import, and the host that loads them.

Importing it loads neither torch, sympy nor numpy.
"""

from __future__ import annotations

from wave_core.backends import BackendSpec as BackendSpec, lowers as lowers
from wave_core.executors import ExecutorSpec as ExecutorSpec
from wave_core.passes import (
    Amendment as Amendment,
    Analysis as Analysis,
    Fact as Fact,
    PassSpec as PassSpec,
    Phase as Phase,
    Preset as Preset,
)
from wave_core.plugin.api import API_VERSION as API_VERSION, hookimpl as hookimpl
from wave_core.plugin.hookspecs import WaveSpecs as WaveSpecs
from wave_core.plugin.manager import PluginHost as PluginHost
from wave_core.plugin.plan import plan_pipeline as plan_pipeline
from wave_core.plugin.results import (
    CheckSpec as CheckSpec,
    Choice as Choice,
    ChoiceRequest as ChoiceRequest,
    ChooserSpec as ChooserSpec,
    CommandSpec as CommandSpec,
    ConstraintSet as ConstraintSet,
    DisplaySpec as DisplaySpec,
    KernelSpec as KernelSpec,
    LoweringSpec as LoweringSpec,
    ModulePassSpec as ModulePassSpec,
    OpSet as OpSet,
    OptionSpec as OptionSpec,
    PipelineRequest as PipelineRequest,
    StrategySpec as StrategySpec,
    TargetSpec as TargetSpec,
    TileRules as TileRules,
    ViewError as ViewError,
    ViewRequest as ViewRequest,
    ViewResult as ViewResult,
    ViewSpec as ViewSpec,
)
