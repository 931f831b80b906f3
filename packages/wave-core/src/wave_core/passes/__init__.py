"""Passes: how they are declared, ordered, configured, written as text and run."""

from __future__ import annotations

from wave_core.passes.base import Pass
from wave_core.passes.context import AnalysisCache, PassContext
from wave_core.passes.fact import Analysis, Fact
from wave_core.passes.load import load_object, load_pass
from wave_core.passes.observe import IrPrinter, PassObserver, Verify
from wave_core.passes.options import option
from wave_core.passes.phase import PHASES, Phase
from wave_core.passes.resolve import check_consumer, check_essential, resolve
from wave_core.passes.resolved import ResolvedPass, ResolvedPipeline
from wave_core.passes.run import PassRun, PipelineRunner, RunReport
from wave_core.passes.selection import Amendment, Preset, Selection
from wave_core.passes.spec import InstalledPass, PassSpec
from wave_core.passes.text import PassText, Pipeline

__all__ = [
    "PHASES",
    "Amendment",
    "Analysis",
    "AnalysisCache",
    "Fact",
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
    "PipelineRunner",
    "Preset",
    "ResolvedPass",
    "ResolvedPipeline",
    "RunReport",
    "Selection",
    "Verify",
    "check_consumer",
    "check_essential",
    "load_object",
    "load_pass",
    "option",
    "resolve",
]
