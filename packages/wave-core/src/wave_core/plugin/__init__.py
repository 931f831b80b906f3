"""The plugin API: what plugin modules import, and the host that loads them.

Importing it loads neither torch, sympy nor numpy.
"""

from __future__ import annotations

from wave_core.backends import BackendSpec, lowers
from wave_core.executors import ExecutorSpec
from wave_core.passes import Amendment, Analysis, Fact, PassSpec, Phase, Preset
from wave_core.plugin.api import (
    API_VERSION,
    CORE,
    DISABLE_VARIABLE,
    ENTRY_POINT_GROUP,
    hookimpl,
)
from wave_core.plugin.discover import LoadedPlugin, PluginInfo
from wave_core.plugin.hookspecs import WaveSpecs
from wave_core.plugin.manager import PluginHost
from wave_core.plugin.options import OptionTable
from wave_core.plugin.plan import PipelinePlan, plan_pipeline
from wave_core.plugin.registry import Registered
from wave_core.plugin.results import (
    CommandSpec,
    ConstraintSet,
    KernelSpec,
    LoweringSpec,
    ModulePassSpec,
    OpSet,
    OptionSpec,
    PipelineRequest,
    StrategySpec,
    TargetSpec,
    TileRules,
    ViewError,
    ViewRequest,
    ViewResult,
    ViewSpec,
)
from wave_core.plugin.validate import HOOKS

__all__ = [
    "API_VERSION",
    "CORE",
    "DISABLE_VARIABLE",
    "ENTRY_POINT_GROUP",
    "HOOKS",
    "Amendment",
    "Analysis",
    "BackendSpec",
    "CommandSpec",
    "ConstraintSet",
    "ExecutorSpec",
    "Fact",
    "KernelSpec",
    "LoadedPlugin",
    "LoweringSpec",
    "ModulePassSpec",
    "OpSet",
    "OptionSpec",
    "OptionTable",
    "PassSpec",
    "Phase",
    "PipelinePlan",
    "PipelineRequest",
    "PluginHost",
    "PluginInfo",
    "Preset",
    "Registered",
    "StrategySpec",
    "TargetSpec",
    "TileRules",
    "ViewError",
    "ViewRequest",
    "ViewResult",
    "ViewSpec",
    "WaveSpecs",
    "hookimpl",
    "lowers",
    "plan_pipeline",
]
