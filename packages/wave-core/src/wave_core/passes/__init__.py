"""Passes: how they are declared, ordered, configured, written as text and run."""

from __future__ import annotations

from wave_core.passes.base import GraphLike
from wave_core.passes.base import Pass
from wave_core.passes.context import AnalysisCache
from wave_core.passes.context import PassContext
from wave_core.passes.describe import PipelineRow
from wave_core.passes.describe import describe_pipeline
from wave_core.passes.fact import Fact
from wave_core.passes.load import load_object
from wave_core.passes.load import load_pass
from wave_core.passes.observe import IrPrinter
from wave_core.passes.observe import PassObserver
from wave_core.passes.observe import Snapshots
from wave_core.passes.observe import Verify
from wave_core.passes.phase import PHASES
from wave_core.passes.phase import Phase
from wave_core.passes.resolve import check_consumer
from wave_core.passes.resolve import check_essential
from wave_core.passes.resolve import resolve
from wave_core.passes.resolved import ResolvedPass
from wave_core.passes.resolved import ResolvedPipeline
from wave_core.passes.run import PassRun
from wave_core.passes.run import PipelineRunner
from wave_core.passes.run import RunReport
from wave_core.passes.selection import Amendment
from wave_core.passes.selection import Preset
from wave_core.passes.selection import Selection
from wave_core.passes.spec import InstalledPass
from wave_core.passes.spec import PassSpec
from wave_core.passes.text import PassText
from wave_core.passes.text import Pipeline

__all__ = [
    "PHASES",
    "Amendment",
    "AnalysisCache",
    "Fact",
    "GraphLike",
    "InstalledPass",
    "IrPrinter",
    "Pass",
    "PassContext",
    "PassObserver",
    "PassRun",
    "PassSpec",
    "PassText",
    "Phase",
    "Pipeline",
    "PipelineRow",
    "PipelineRunner",
    "Preset",
    "ResolvedPass",
    "ResolvedPipeline",
    "RunReport",
    "Selection",
    "Snapshots",
    "Verify",
    "check_consumer",
    "check_essential",
    "describe_pipeline",
    "load_object",
    "load_pass",
    "resolve",
]
