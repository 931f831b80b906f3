"""The plugin API: what plugin modules import, and the host that loads them.

Importing it loads neither torch, sympy nor numpy.
"""

from __future__ import annotations

from wave_core.backends import BackendSpec
from wave_core.backends import lowers
from wave_core.executors import ExecutorSpec
from wave_core.passes import Amendment
from wave_core.passes import Fact
from wave_core.passes import PassSpec
from wave_core.passes import Phase
from wave_core.passes import Preset
from wave_core.plugin.api import API_VERSION
from wave_core.plugin.api import CORE
from wave_core.plugin.api import DISABLE_VARIABLE
from wave_core.plugin.api import ENTRY_POINT_GROUP
from wave_core.plugin.api import hookimpl
from wave_core.plugin.describe import PluginRow
from wave_core.plugin.describe import describe_plugins
from wave_core.plugin.discover import LoadedPlugin
from wave_core.plugin.discover import PluginInfo
from wave_core.plugin.hookspecs import WaveSpecs
from wave_core.plugin.manager import PluginHost
from wave_core.plugin.options import OptionTable
from wave_core.plugin.plan import PipelinePlan
from wave_core.plugin.plan import plan_pipeline
from wave_core.plugin.registry import Registered
from wave_core.plugin.results import CommandSpec
from wave_core.plugin.results import KernelSpec
from wave_core.plugin.results import LoweringSpec
from wave_core.plugin.results import OpSet
from wave_core.plugin.results import OptionSpec
from wave_core.plugin.results import PipelineRequest
from wave_core.plugin.results import StrategySpec
from wave_core.plugin.results import TargetSpec
from wave_core.plugin.results import ViewRequest
from wave_core.plugin.results import ViewResult
from wave_core.plugin.results import ViewSpec
from wave_core.plugin.validate import HOOKS

__all__ = [
    "API_VERSION",
    "CORE",
    "DISABLE_VARIABLE",
    "ENTRY_POINT_GROUP",
    "HOOKS",
    "Amendment",
    "BackendSpec",
    "CommandSpec",
    "ExecutorSpec",
    "Fact",
    "KernelSpec",
    "LoadedPlugin",
    "LoweringSpec",
    "OpSet",
    "OptionSpec",
    "OptionTable",
    "PassSpec",
    "Phase",
    "PipelinePlan",
    "PipelineRequest",
    "PluginHost",
    "PluginInfo",
    "PluginRow",
    "Preset",
    "Registered",
    "StrategySpec",
    "TargetSpec",
    "ViewRequest",
    "ViewResult",
    "ViewSpec",
    "WaveSpecs",
    "describe_plugins",
    "hookimpl",
    "lowers",
    "plan_pipeline",
]
